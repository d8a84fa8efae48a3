//! infeed-core
