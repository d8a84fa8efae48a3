//! infeed-cli
