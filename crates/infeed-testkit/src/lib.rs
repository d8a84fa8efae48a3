//! infeed-testkit
