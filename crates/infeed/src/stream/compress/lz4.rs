//! LZ4: frames, through the reader of `lz4_flex`, frames of the legacy format, and skippable frames.
//!
//! That reader treats the end of its input between two blocks as the end of the frame, so a truncated frame could end
//! without an error. This wrapper therefore checks whether more input was requested than there was.

use super::{another, cut_off, damaged};
use crate::stream::input::Input;
use infeed_core::{Packing, memory};
use lz4_flex::frame::FrameDecoder;
use std::{
    io::{self, ErrorKind, Read},
    sync::Arc,
};

/// How a frame starts, and how one of the legacy format does.
const FRAME: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// The largest block of the legacy format, and the most that one can take when it does not become smaller.
const BLOCK: usize = 8 << 20;
const PACKED: usize = BLOCK + BLOCK / 255 + 16;

/// Decompressed frames.
pub(super) struct Lz4 {
    shard: Arc<str>,
    decoder: FrameDecoder<Input>,
    place: Place,
    /// A block of the legacy format, and how much of it was handed out.
    block: Vec<u8>,
    given: usize,
    packed: Vec<u8>,
}

/// Where the input is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Start,
    Frame,
    Legacy,
    Between,
}

impl Lz4 {
    pub(super) fn new(shard: &Arc<str>, input: Input) -> Self {
        Lz4 {
            shard: Arc::clone(shard),
            decoder: FrameDecoder::new(input),
            place: Place::Start,
            block: vec![],
            given: 0,
            packed: vec![],
        }
    }

    /// Adds what is wrong, and where.
    fn failed(&self, error: io::Error) -> io::Error {
        let at = self.decoder.get_ref().offset();
        let own = error.get_ref().is_some_and(|inner| inner.is::<lz4_flex::frame::Error>());
        match error.kind() {
            ErrorKind::UnexpectedEof => self.cut_off(),
            _ if own => damaged(&self.shard, Packing::Lz4, at, &error.to_string()),
            // The error of the file or command itself.
            _ => error,
        }
    }

    fn cut_off(&self) -> io::Error {
        cut_off(&self.shard, Packing::Lz4, self.decoder.get_ref().offset())
    }

    fn damaged(&self, what: &str) -> io::Error {
        damaged(&self.shard, Packing::Lz4, self.decoder.get_ref().offset(), what)
    }

    /// Looks at the start of a frame. Skippable frames are consumed.
    fn begin(&mut self) -> io::Result<()> {
        let input = self.decoder.get_mut();
        let head = input.peek(8)?;
        if head.starts_with(&LEGACY) {
            input.consume(LEGACY.len());
            self.place = Place::Legacy;
        } else if let Some(mut left) = Packing::skippable(head) {
            while left > 0 {
                let some = input.fill()?.len() as u64;
                if some == 0 {
                    return Err(self.cut_off());
                }
                input.consume(some.min(left) as usize);
                left -= some.min(left);
            }
            self.place = Place::Between;
        } else {
            self.place = Place::Frame;
        }
        Ok(())
    }

    /// Decompresses the next block of the legacy format. Its frames have no end of their own: they end where the data does, or
    /// where another frame starts.
    fn next_block(&mut self) -> io::Result<()> {
        let input = self.decoder.get_mut();
        let Some(head) = input.peek(4)?.first_chunk::<4>().copied() else {
            // Nothing, or the rest of a length.
            let rest = input.peek(4)?.iter().any(|byte| *byte != 0);
            self.place = Place::Between;
            return if rest { Err(self.cut_off()) } else { Ok(()) };
        };
        let skips = matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18]);
        if head == FRAME || head == LEGACY || skips || head == [0; 4] {
            self.place = Place::Between;
            return Ok(());
        }
        let len = u32::from_le_bytes(head) as usize;
        if len > PACKED {
            return Err(self.damaged(&format!("a block claims {len} bytes")));
        }
        input.consume(head.len());
        let room = |buffer: &mut Vec<u8>, len| memory::resize(buffer, len).map_err(io::Error::other);
        room(&mut self.packed, len)?;
        room(&mut self.block, BLOCK)?;
        if let Err(error) = input.read_exact(&mut self.packed) {
            return Err(self.failed(error));
        }
        match lz4_flex::block::decompress_into(&self.packed, &mut self.block) {
            Ok(made) => self.block.truncate(made),
            Err(error) => return Err(self.damaged(&error.to_string())),
        }
        self.given = 0;
        Ok(())
    }
}

impl Read for Lz4 {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            match self.place {
                Place::Start => self.begin()?,
                Place::Between => {
                    if !another(self.decoder.get_mut())? {
                        return Ok(0);
                    }
                    self.begin()?;
                }
                Place::Legacy => {
                    let left = &self.block[self.given..];
                    if !left.is_empty() {
                        let some = left.len().min(out.len());
                        out[..some].copy_from_slice(&left[..some]);
                        self.given += some;
                        return Ok(some);
                    }
                    self.next_block()?;
                }
                Place::Frame => match self.decoder.read(out) {
                    Ok(0) if self.decoder.get_ref().ended() => return Err(self.cut_off()),
                    Ok(0) => self.place = Place::Between,
                    Ok(made) => return Ok(made),
                    Err(error) => return Err(self.failed(error)),
                },
            }
        }
    }
}
