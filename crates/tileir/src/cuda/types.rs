//! Types.

use super::tree::Argument;

/// A size, or one that is known when the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known.
    Static(u64),
    /// `?`.
    Dynamic,
}

impl Extent {
    /// The number, where it is known.
    pub fn known(self) -> Option<u64> {
        match self {
            Extent::Static(size) => Some(size),
            Extent::Dynamic => None,
        }
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `tile<128x64xf16>`.
    Tile(Tile),
    /// `tensor_view<?x?xf16, strides=[?,1]>`.
    TensorView(TensorView),
    /// `partition_view<…>` and its relatives.
    View(View),
    /// `ptr<f16>`.
    Pointer(Box<Type>),
    /// `token`: orders accesses to memory.
    Token,
    /// A type without parameters: `f16`, `i1`, `f8E4M3FN`.
    Scalar(String),
    /// Any other: a name and its parameters.
    Other {
        /// The name.
        name: String,
        /// What stands in the angle brackets.
        parameters: Vec<Argument>,
    },
}

/// Values in the shape of an array; a number is one without axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// The axes, outermost first.
    pub shape: Vec<Extent>,
    /// What an element is.
    pub element: Box<Type>,
}

/// Memory seen as an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorView {
    /// The axes, outermost first.
    pub shape: Vec<Extent>,
    /// What an element is.
    pub element: Box<Type>,
    /// How many elements apart neighbours are, for every axis.
    pub strides: Vec<Extent>,
}

/// What cuts an array into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewKind {
    /// `partition_view`: tiles side by side.
    Partition,
    /// `strided_view`: tiles at steps of their own.
    Strided,
    /// `gather_scatter_view`: one axis by indices.
    GatherScatter,
}

impl ViewKind {
    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<ViewKind> {
        Some(match name {
            "partition_view" => ViewKind::Partition,
            "strided_view" => ViewKind::Strided,
            "gather_scatter_view" => ViewKind::GatherScatter,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ViewKind::Partition => "partition_view",
            ViewKind::Strided => "strided_view",
            ViewKind::GatherScatter => "gather_scatter_view",
        }
    }
}

/// An array cut into tiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// How it is cut.
    pub kind: ViewKind,
    /// The shape of a tile.
    pub tile: Vec<u64>,
    /// `traversal_strides`: elements between tiles, for every axis.
    pub traversal: Option<Vec<u64>>,
    /// `padding_value`: what elements outside the array read as.
    pub padding: Option<String>,
    /// The array.
    pub tensor: TensorView,
    /// `dim_map`: which axis of the array an axis of the tile is, where they differ.
    pub dim_map: Option<Vec<u64>>,
    /// `sparse_dim`: the axis that indices choose from.
    pub sparse_dim: Option<u64>,
}

impl Type {
    /// The tile that it is.
    pub fn as_tile(&self) -> Option<&Tile> {
        match self {
            Type::Tile(tile) => Some(tile),
            _ => None,
        }
    }

    /// The view that it is.
    pub fn as_view(&self) -> Option<&View> {
        match self {
            Type::View(view) => Some(view),
            _ => None,
        }
    }

    /// Whether it is a token.
    #[cfg(test)]
    pub(crate) fn is_token(&self) -> bool {
        *self == Type::Token
    }

    /// The bits of an element, read off its name: 8 of `f8E4M3FN`. Pointers have 64.
    pub fn bits(&self) -> Option<u64> {
        match self {
            Type::Scalar(name) => {
                let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
                let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                digits[..end].parse().ok()
            }
            Type::Pointer(_) => Some(64),
            _ => None,
        }
    }
}

impl Tile {
    /// How many elements it has, where that is known and fits.
    pub fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |product, extent| product.checked_mul(extent.known()?))
    }

    /// How many bytes its elements take side by side, the last one whole.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.elements()?.checked_mul(self.element.bits()?)?.div_ceil(8))
    }
}
