//! The reusable decoder that callers hold, one per thread.

use crate::error::Error;
use crate::fast::Fast;
use crate::header::Header;
use crate::request::Request;
use crate::turbo::Turbo;

/// Which implementation decodes. For tests and benchmarks: the result is the same either way.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// The fastest implementation that can decode the file.
    #[default]
    Auto,
    /// Always libjpeg-turbo.
    Turbo,
    /// Never libjpeg-turbo: files that need it are errors.
    Fast,
}

/// A decoder with its scratch memory, to be reused from file to file.
pub struct Decoder {
    turbo: Turbo,
    fast: Fast,
    backend: Backend,
}

impl Decoder {
    /// Makes a decoder. Its scratch memory grows with the first images and is then reused.
    pub fn new() -> Result<Self, Error> {
        Ok(Decoder { turbo: Turbo::new()?, fast: Fast::new(), backend: Backend::Auto })
    }

    /// Chooses the implementation, for comparisons.
    #[doc(hidden)]
    pub fn set_backend(&mut self, backend: Backend) {
        self.backend = backend;
    }

    /// Limits the memory that decoding takes for files whose pixels come in several scans. Without a call there is no limit.
    pub fn limit_memory(&mut self, bytes: u64) -> Result<(), Error> {
        self.turbo.limit_memory(bytes)
    }

    /// Decodes one region of an image into `out`.
    ///
    /// Writes `request.region.height` rows of `request.region.width` pixels, each row `stride` bytes after
    /// the one before; bytes between the rows are not touched. `header` must be what
    /// [`read_header`](crate::read_header) returned for the same bytes. After an error the content of `out`
    /// is unspecified.
    ///
    /// The bytes are read several times and must be the same each time. Copy those of a mapped file first: if another
    /// process writes to it meanwhile, memory is overwritten.
    ///
    /// A file that ends before the data of the region is [`Error::Truncated`]; flaws that libjpeg only warns
    /// about are accepted.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        header: &Header,
        request: &Request,
        out: &mut [u8],
        stride: usize,
    ) -> Result<(), Error> {
        request.check(header, out, stride)?;
        if self.backend != Backend::Turbo && self.fast.decode(bytes, header, request, out, stride).is_ok() {
            return Ok(());
        }
        if self.backend == Backend::Fast {
            return Err(Error::Unsupported("this file needs libjpeg-turbo".into()));
        }
        self.turbo.decode(bytes, header, request, out, stride)
    }
}
