//! Profiles through files, and the profiles of the machine tables.

mod common;
mod machine_profiles;
mod roundtrip;
