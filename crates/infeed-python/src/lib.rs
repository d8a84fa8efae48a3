//! infeed-python
