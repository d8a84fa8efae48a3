//! Replaces libwebp in builds without it: every file is refused.

use infeed_core::{Error, Rect, Result};

/// Properties from the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) alpha: bool,
    pub(super) animated: bool,
    pub(super) lossless: bool,
}

fn refused() -> Error {
    Error::sample(
        "this build has no libwebp (it was made with --cfg infeed_portable): use a build without that flag, or save the \
         images as PNG",
    )
}

pub(super) fn features(_bytes: &[u8]) -> Result<Features> {
    Err(refused())
}

pub(super) fn decode(_: &[u8], _crop: Rect, _alpha: bool, _out: &mut [u8], _stride: usize) -> Result<()> {
    Err(refused())
}

pub(super) fn first_frame<T>(_: &[u8], _show: impl FnOnce(&[u8], u32, u32) -> Result<T>) -> Result<T> {
    Err(refused())
}
