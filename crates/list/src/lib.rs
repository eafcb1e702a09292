//! One list-scheduling engine; a strategy is a small type that ranks ready nodes.
