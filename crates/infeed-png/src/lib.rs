//! infeed-png
