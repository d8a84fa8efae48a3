//! infeed-jpeg
