//! The replacement for libjpeg-turbo in builds without it.

use crate::error::Error;
use crate::header::Header;
use crate::request::Request;

/// There is no libjpeg-turbo, so it uses no SIMD.
pub fn simd_enabled() -> bool {
    false
}

/// Refuses every file.
pub(crate) struct Turbo;

impl Turbo {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Turbo)
    }

    pub(crate) fn limit_memory(&mut self, _bytes: u64) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) fn decode(
        &mut self,
        _bytes: &[u8],
        header: &Header,
        _request: &Request,
        _out: &mut [u8],
        _stride: usize,
    ) -> Result<(), Error> {
        let kind = if header.progressive {
            "a progressive file"
        } else {
            "not a sequential file of at least 16x16 pixels, gray or YCbCr, or it is damaged"
        };
        Err(Error::Unsupported(format!(
            "this build has no libjpeg-turbo (it was made with --cfg infeed_portable), and this is {kind}: use a build \
             without that flag"
        )))
    }
}
