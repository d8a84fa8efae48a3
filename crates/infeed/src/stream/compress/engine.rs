//! One step of each decompressor.

use flate2::FlushDecompress;
use infeed_core::Packing;
use liblzma::stream::Action;
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

/// Memory that an xz file may use: `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 512 << 20;
/// The largest window of a zstd file, as a power of two: 128 MiB, the limit of the command `zstd`.
const ZSTD_WINDOW: u32 = 27;

/// A decompressor that is called with one buffer at a time.
pub(super) enum Engine {
    Gzip(Box<flate2::Decompress>),
    Zstd(Box<zstd::stream::raw::Decoder<'static>>),
    Bzip2(Box<bzip2::Decompress>),
    Xz(Box<liblzma::stream::Stream>),
}

/// The result of a step.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Bytes consumed, as far as the decompressor reports them.
    pub(super) taken: usize,
    /// Bytes produced.
    pub(super) made: usize,
    /// Whether the member is complete.
    pub(super) ended: bool,
    /// What is wrong with the data.
    pub(super) wrong: Option<String>,
}

impl Engine {
    /// Creates a decompressor; `None` for lz4, which is read in another way.
    pub(super) fn new(packing: Packing) -> Result<Option<Engine>, String> {
        Ok(Some(match packing {
            Packing::Gzip => Engine::Gzip(Box::new(gzip())),
            Packing::Zstd => Engine::Zstd(Box::new(zstd()?)),
            Packing::Bzip2 => Engine::Bzip2(Box::new(bzip2::Decompress::new(false))),
            Packing::Xz => Engine::Xz(Box::new(xz()?)),
            Packing::Lz4 => return Ok(None),
        }))
    }

    /// Prepares for the next member.
    pub(super) fn again(&mut self) -> Result<(), String> {
        match self {
            Engine::Gzip(inner) => **inner = gzip(),
            Engine::Zstd(inner) => inner.reinit().map_err(|e| e.to_string())?,
            Engine::Bzip2(inner) => **inner = bzip2::Decompress::new(false),
            Engine::Xz(inner) => **inner = xz()?,
        }
        Ok(())
    }

    /// Consumes some of `input` and fills some of `out`.
    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8]) -> Step {
        match self {
            Engine::Gzip(inner) => {
                let before = (inner.total_in(), inner.total_out());
                let status = inner.decompress(input, out, FlushDecompress::None);
                let mut step = Step::between(before, (inner.total_in(), inner.total_out()));
                match status {
                    Ok(status) => step.ended = status == flate2::Status::StreamEnd,
                    Err(error) => step.wrong = Some(error.to_string()),
                }
                step
            }
            Engine::Bzip2(inner) => {
                let before = (inner.total_in(), inner.total_out());
                let status = inner.decompress(input, out);
                let mut step = Step::between(before, (inner.total_in(), inner.total_out()));
                match status {
                    Ok(status) => step.ended = status == bzip2::Status::StreamEnd,
                    Err(error) => step.wrong = Some(error.to_string()),
                }
                step
            }
            Engine::Xz(inner) => {
                let before = (inner.total_in(), inner.total_out());
                let status = inner.process(input, out, Action::Run);
                let mut step = Step::between(before, (inner.total_in(), inner.total_out()));
                match status {
                    Ok(status) => step.ended = status == liblzma::stream::Status::StreamEnd,
                    Err(liblzma::stream::Error::MemLimit) => {
                        let limit = XZ_MEMORY >> 20;
                        step.wrong = Some(format!("its dictionary needs more than {limit} MiB of memory"));
                    }
                    Err(error) => step.wrong = Some(error.to_string()),
                }
                step
            }
            Engine::Zstd(inner) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(out));
                let left = inner.run(&mut from, &mut to);
                let mut step = Step { taken: from.pos(), made: to.pos(), ..Step::default() };
                match left {
                    // Nothing of the frame is left, neither in the input nor in the decompressor.
                    Ok(left) => step.ended = left == 0,
                    Err(error) => step.wrong = Some(error.to_string()),
                }
                step
            }
        }
    }
}

impl Step {
    /// Computes a step from the totals before and after.
    fn between(before: (u64, u64), after: (u64, u64)) -> Step {
        Step {
            taken: after.0.saturating_sub(before.0) as usize,
            made: after.1.saturating_sub(before.1) as usize,
            ..Step::default()
        }
    }
}

fn gzip() -> flate2::Decompress {
    flate2::Decompress::new_gzip(15)
}

fn zstd() -> Result<zstd::stream::raw::Decoder<'static>, String> {
    let mut decoder = zstd::stream::raw::Decoder::new().map_err(|e| e.to_string())?;
    let window = zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW);
    decoder.set_parameter(window).map_err(|e| e.to_string())?;
    Ok(decoder)
}

fn xz() -> Result<liblzma::stream::Stream, String> {
    liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0).map_err(|e| e.to_string())
}
