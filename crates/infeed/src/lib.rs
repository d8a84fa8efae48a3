//! infeed
