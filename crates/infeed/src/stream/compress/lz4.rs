//! LZ4 frames, through the reader of `lz4_flex`.
//!
//! That reader treats the end of its input between two blocks as the end of the frame, so a truncated frame could end
//! without an error. This wrapper therefore checks whether more input was requested than there was.

use super::{another, cut_off, damaged};
use crate::stream::input::Input;
use infeed_core::Packing;
use lz4_flex::frame::FrameDecoder;
use std::{
    io::{self, ErrorKind, Read},
    sync::Arc,
};

/// Decompressed frames.
pub(super) struct Lz4 {
    shard: Arc<str>,
    decoder: FrameDecoder<Input>,
    between: bool,
}

impl Lz4 {
    pub(super) fn new(shard: &Arc<str>, input: Input) -> Self {
        Lz4 { shard: Arc::clone(shard), decoder: FrameDecoder::new(input), between: false }
    }

    /// Adds what is wrong, and where.
    fn failed(&self, error: io::Error) -> io::Error {
        let at = self.decoder.get_ref().offset();
        let own = error.get_ref().is_some_and(|inner| inner.is::<lz4_flex::frame::Error>());
        match error.kind() {
            ErrorKind::UnexpectedEof => cut_off(&self.shard, Packing::Lz4, at),
            _ if own => damaged(&self.shard, Packing::Lz4, at, &error.to_string()),
            // The error of the file or command itself.
            _ => error,
        }
    }
}

impl Read for Lz4 {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if self.between {
                if !another(self.decoder.get_mut())? {
                    return Ok(0);
                }
                self.between = false;
            }
            match self.decoder.read(out) {
                Ok(0) if self.decoder.get_ref().ended() => {
                    let at = self.decoder.get_ref().offset();
                    return Err(cut_off(&self.shard, Packing::Lz4, at));
                }
                Ok(0) => self.between = true,
                Ok(made) => return Ok(made),
                Err(error) => return Err(self.failed(error)),
            }
        }
    }
}
