//! The fourteen record types.
//!
//! Source: latency-model document, record type codes.

use serde::Serialize;

macro_rules! record_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Record types with their documented codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[repr(u16)]
        pub enum RecordType { $($(#[$doc])* $name = $code,)* }

        impl RecordType {
            /// Every type, by code.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The type with this code.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }

            /// What it is, for messages.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

record_types! {
    /// Wraps the whole table.
    Root = 1, "the root container";
    /// Latency, throughput and dual issue of a class.
    Standard = 23, "a standard entry";
    /// `!`: begins the named sections.
    CategoryHeader = 33, "a category header ('!')";
    /// `,`: per-architecture class data.
    SmSpecific = 44, "an SM-specific entry (',')";
    /// `-`: links the barrier table.
    BarrierHeader = 45, "the barrier header ('-')";
    /// `1`: dimension sub-records.
    Dimensions = 49, "the dimension entries ('1')";
    /// `5`: dependency tracking by scoreboard.
    Scoreboard = 53, "a scoreboard entry ('5')";
    /// `6`: dependency tracking by waiting.
    Wait = 54, "a wait entry ('6')";
    /// `9`: ends the named sections.
    CategoryFooter = 57, "the category footer ('9')";
    /// `;`: variant sub-records.
    Variants = 59, "the variant section (';')";
    /// `<`: separates scheduling groups.
    GroupBoundary = 60, "a group boundary ('<')";
    /// `E`: a barrier with its stall count.
    BarrierEntry = 69, "a barrier entry ('E')";
    /// `M`: barrier or synchronisation data.
    BarrierData = 77, "a barrier data entry ('M')";
    /// `W`: supplementary weights.
    Weights = 87, "the supplementary weights ('W')";
}

impl RecordType {
    /// The documented code.
    pub const fn code(self) -> u16 {
        self as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_the_documented_characters() {
        let codes: Vec<u16> = RecordType::ALL.iter().map(|kind| kind.code()).collect();
        let characters = [1, 23].into_iter().chain("!,-1569;<EMW".bytes().map(u16::from));
        assert_eq!(codes, characters.collect::<Vec<_>>());
        let known = (0..=u16::MAX).filter_map(RecordType::from_code).collect::<Vec<_>>();
        assert_eq!(known, RecordType::ALL);
    }
}
