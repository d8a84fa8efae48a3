//! Cuts a part into blocks of whole rows.

use crate::{
    layout::rows::{Row, RowCodec, RowLayout, RowSchema, START, said},
    store::Pool,
    stream::{
        compress::{self, lift},
        input::Input,
        parts::{Cut, Keep},
    },
};
use infeed_core::{Bytes, Error, Result};
use infeed_records::split::{End, Split};
use std::{
    fmt,
    io::{ErrorKind, Read},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Bytes per block: large enough that handing it over is negligible, small enough to stay in a core's cache.
const BLOCK: usize = 1 << 20;

/// What all blocks of a part have in common.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) name: Arc<str>,
    titles: Bytes,
    codec: OnceLock<Result<Arc<dyn RowCodec>>>,
}

impl Origin {
    /// Returns the codec that parses its rows.
    pub(super) fn codec(&self, schema: &dyn RowSchema) -> Result<&dyn RowCodec> {
        match self.codec.get_or_init(|| schema.codec(&self.titles)) {
            Ok(codec) => Ok(&**codec),
            Err(error) => Err(Error::plan("read", format!("shard `{}`: {error}", self.name))),
        }
    }
}

/// Consecutive rows of a part.
#[derive(Debug)]
pub(in crate::stream) struct RowBlock {
    pub(super) origin: Arc<Origin>,
    bytes: Bytes,
    ends: Vec<End>,
    /// The number of the first row, its line and its offset.
    first: u64,
    line: Option<u64>,
    start: usize,
}

impl RowBlock {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of a row in its part.
    pub(super) fn number(&self, at: usize) -> u64 {
        self.first + at as u64
    }

    pub(super) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the column titles at the start of its part.
    pub(super) fn titles(&self) -> Bytes {
        self.origin.titles.clone()
    }

    /// Returns the rows from this one on.
    pub(super) fn rows(&self, from: usize) -> Vec<Row> {
        let (mut start, mut line) = (self.start, self.line);
        let mut out = Vec::with_capacity(self.ends.len() - from.min(self.ends.len()));
        for (at, end) in self.ends.iter().enumerate() {
            if at >= from {
                out.push(Row { number: self.number(at), line, bytes: self.bytes.slice(start..end.at) });
            }
            start = end.at;
            line = line.map(|line| line + u64::from(end.lines));
        }
        out
    }
}

/// A part that is read block by block.
pub(in crate::stream) struct Blocks {
    layout: Arc<dyn RowLayout>,
    read: Box<dyn Read + Send>,
    split: Option<Box<dyn Split>>,
    pool: Arc<Pool>,
    origin: Arc<Origin>,
    /// Bytes left over from the last block.
    held: Vec<u8>,
    titles: bool,
    rows: u64,
    line: Option<u64>,
    /// Decompressed bytes before `held`.
    passed: u64,
    over: bool,
    /// Most bytes of a row.
    largest: u64,
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("origin", &self.origin)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// Cuts a part into blocks of rows.
#[derive(Debug)]
pub(in crate::stream) struct BlockCut {
    pub(super) layout: Arc<dyn RowLayout>,
    pub(super) pool: Arc<Pool>,
    /// Most bytes of a row, if that is less than the layout allows.
    pub(super) largest: AtomicU64,
}

impl Cut for BlockCut {
    type Item = RowBlock;
    type Reader = Blocks;

    fn begin(&self, name: &Arc<str>, bytes: Input) -> Result<Blocks> {
        let layout = &self.layout;
        let (read, _) = compress::unpack_unless(name, bytes, |start| layout.is_plain(start))?;
        let origin = Origin { name: Arc::clone(name), titles: Bytes::new(), codec: OnceLock::new() };
        Ok(Blocks {
            layout: Arc::clone(layout),
            read,
            split: None,
            pool: Arc::clone(&self.pool),
            origin: Arc::new(origin),
            held: vec![],
            titles: layout.titled(),
            rows: 0,
            line: layout.numbered().then_some(1),
            passed: 0,
            over: false,
            largest: self.largest.load(Relaxed).min(layout.largest()),
        })
    }

    fn next(reader: &mut Blocks, _: Keep) -> Result<Option<RowBlock>> {
        reader.next()
    }
}

impl Blocks {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read.read(&mut out[filled..]) {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(lift(&self.origin.name, e)),
            }
        }
        Ok(filled)
    }

    fn fault(&self, what: String) -> Error {
        let what = format!("row {}: {what} (counted in the data as it is when it is unpacked)", self.rows);
        Error::Format { shard: self.origin.name.to_string(), offset: self.passed, what }
    }

    /// Returns the next block; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<RowBlock>> {
        let mut room = BLOCK;
        while !self.over {
            // A row is longer than the block: the next attempt reads twice as much.
            room = room.max(self.held.len() * 2);
            let mut buffer = self.pool.take(room)?;
            let kept = self.held.len();
            buffer[..kept].copy_from_slice(&self.held);
            let got = self.fill(&mut buffer[kept..])?;
            let (len, last) = (kept + got, kept + got < room);
            if self.split.is_none() {
                self.layout.prepare(&self.origin.name, &buffer[..len.min(START as usize)]);
            }
            let layout = &self.layout;
            let split = self.split.get_or_insert_with(|| layout.splitter());
            let mut ends = vec![];
            split.split(&buffer[..len], last, &mut ends).map_err(|e| self.fault(said(e)))?;
            self.over = last;
            let done = ends.last().map_or(0, |end| end.at);
            self.held.clear();
            self.held.extend_from_slice(&buffer[done..len]);
            let largest = self.largest;
            let mut before = 0;
            for end in &ends {
                if (end.at - before) as u64 > largest {
                    return Err(self.too_long());
                }
                before = end.at;
            }
            if self.held.len() as u64 > largest {
                return Err(self.too_long());
            }
            let bytes = buffer.freeze();
            self.passed += done as u64;
            let mut start = 0;
            if self.titles && !ends.is_empty() {
                let end = ends.remove(0);
                (self.titles, start) = (false, end.at);
                self.line = self.line.map(|line| line + u64::from(end.lines));
                // A copy: the titles outlive the block.
                let titles = Bytes::copy_from_slice(&bytes[..end.at]);
                self.origin =
                    Arc::new(Origin { name: Arc::clone(&self.origin.name), titles, codec: OnceLock::new() });
            }
            if ends.is_empty() {
                continue;
            }
            let (first, line) = (self.rows, self.line);
            self.rows += ends.len() as u64;
            self.line = line.map(|line| line + ends.iter().map(|end| u64::from(end.lines)).sum::<u64>());
            return Ok(Some(RowBlock { origin: Arc::clone(&self.origin), bytes, ends, first, line, start }));
        }
        Ok(None)
    }

    fn too_long(&self) -> Error {
        let cure = if self.largest < self.layout.largest() { "memory=..." } else { "max_row=..." };
        self.fault(format!("it has more than {} bytes; {cure} allows longer ones", self.largest))
    }
}
