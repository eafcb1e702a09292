//! The dependence graph of a region.
