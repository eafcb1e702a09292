//! CUDA Tile IR text.
