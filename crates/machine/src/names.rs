//! Goal: a closed set of names: enum, text form, parser and list of all, from one declaration.

macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$vdoc])* $variant),* }

        impl $type {
            /// All of them, in table order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The short name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(format!("expected one of {}", [$($name),*].join(", "))),
                }
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}
pub(crate) use names;
