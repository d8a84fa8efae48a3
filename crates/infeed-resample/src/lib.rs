//! infeed-resample
