//! Heaps: where names, links, attributes and texts of any length are kept.

mod fractal;
mod global;
mod local;

pub(crate) use fractal::FractalHeap;
pub(crate) use global::GlobalHeap;
pub(crate) use local::LocalHeap;
