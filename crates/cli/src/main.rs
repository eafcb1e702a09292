//! The `sassafras` command.

fn main() {}
