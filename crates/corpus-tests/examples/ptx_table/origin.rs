//! Who wrote a module, by its name.

/// Who wrote a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Nvcc,
    Triton,
    Clang,
    Library,
}

impl Origin {
    pub const ALL: [Origin; 4] = [Origin::Nvcc, Origin::Triton, Origin::Clang, Origin::Library];

    pub fn name(self) -> &'static str {
        match self {
            Origin::Nvcc => "nvcc",
            Origin::Triton => "Triton",
            Origin::Clang => "clang",
            Origin::Library => "libraries (nvcc)",
        }
    }

    /// Whether it wrote the module with this name.
    pub fn has(self, module: &str) -> bool {
        let origin = match module.split(['/', '_']).next() {
            Some("triton") => Origin::Triton,
            Some("clang") => Origin::Clang,
            Some("wheels") => Origin::Library,
            _ => Origin::Nvcc,
        };
        origin == self
    }
}
