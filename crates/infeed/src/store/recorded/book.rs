//! Ranges of objects and their bytes, as a file.
//!
//! Everything is little-endian: `IOPEN`, a version, for each range the identity of its object (16 bytes), its first byte, its length
//! and the bytes, and behind all of them a checksum. Names of objects are not in it: they can have secrets.

use bytes::{Buf, Bytes};
use infeed_core::Stamp;
use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File, OpenOptions},
    io::{self, Write},
    ops::Range,
    path::Path,
    process,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

const MAGIC: &[u8; 6] = b"IOPEN\x01";
/// Bytes in front of each range, and behind all of them.
const HEAD: usize = 16 + 8 + 4;
const SUM: usize = 16;
/// The largest file that is read.
const LARGEST: u64 = 1 << 30;

/// A range that was read.
#[derive(Debug)]
struct Page {
    bytes: Bytes,
    /// Whether this run has asked for it.
    used: bool,
}

/// What was read, by the identity of its object and its first byte.
#[derive(Debug, Default)]
pub(super) struct Book {
    pages: HashMap<u128, BTreeMap<u64, Page>>,
    /// Bytes that this run has asked for.
    bytes: u64,
    news: bool,
}

impl Book {
    /// The bytes of a range, if they are known: of one page, or of several that follow each other. The next run may cut what it reads in
    /// another way.
    pub(super) fn get(&mut self, identity: u128, range: &Range<u64>) -> Option<Bytes> {
        let pages = self.pages.get_mut(&identity)?;
        let first = *pages.range(..=range.start).next_back()?.0;
        let (mut at, mut parts) = (range.start, Vec::new());
        for (start, page) in pages.range(first..) {
            let end = end_of((start, page)).min(range.end);
            let known = *start <= at && at <= end;
            parts.push(known.then(|| page.bytes.slice((at - start) as usize..(end - start) as usize))?);
            at = end;
            if at == range.end {
                break;
            }
        }
        if at != range.end {
            return None;
        }
        for (_, page) in pages.range_mut(first..).take(parts.len()) {
            if !std::mem::replace(&mut page.used, true) {
                self.bytes += page.bytes.len() as u64;
            }
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { parts.concat().into() })
    }

    /// Adds a range that was read. No page lies within another: so those that follow each other are neighbours.
    pub(super) fn add(&mut self, identity: u128, start: u64, bytes: &Bytes) {
        let pages = self.pages.entry(identity).or_default();
        let end = start.saturating_add(bytes.len() as u64);
        if pages.range(..=start).next_back().is_some_and(|page| end_of(page) >= end) {
            return;
        }
        while let Some(within) =
            pages.range(start..).next().filter(|page| end_of(*page) <= end).map(|(at, _)| *at)
        {
            let page = pages.remove(&within);
            self.bytes -= page.filter(|page| page.used).map_or(0, |page| page.bytes.len() as u64);
        }
        self.news = true;
        self.bytes += bytes.len() as u64;
        // Copied: what was read is part of something larger.
        pages.insert(start, Page { bytes: Bytes::copy_from_slice(bytes), used: true });
    }

    /// Bytes that this run has asked for.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether anything was added.
    pub(super) fn is_news(&self) -> bool {
        self.news
    }

    /// Writes what this run has asked for: aside, and renamed, so that nobody sees half of it.
    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let mut out = MAGIC.to_vec();
        for (identity, pages) in &self.pages {
            for (start, page) in pages.iter().filter(|(_, page)| page.used) {
                out.extend(identity.to_le_bytes());
                out.extend(start.to_le_bytes());
                out.extend((page.bytes.len() as u32).to_le_bytes());
                out.extend(&page.bytes);
            }
        }
        let sum = Stamp::default().bytes(&out).get();
        out.extend(sum.to_le_bytes());
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let aside = file.with_extension(format!("{}-{:x}.tmp", process::id(), NEXT.fetch_add(1, Relaxed)));
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let written = create(&aside).and_then(|mut draft| draft.write_all(&out));
        let written = written.and_then(|()| fs::rename(&aside, file));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        written
    }

    /// Reads a file that is there and whole.
    pub(super) fn read(file: &Path) -> Option<Self> {
        if fs::metadata(file).ok()?.len() > LARGEST {
            return None;
        }
        Book::parse(fs::read(file).ok()?.into())
    }

    pub(super) fn parse(mut all: Bytes) -> Option<Self> {
        let sum = all.split_off(all.len().checked_sub(SUM)?).get_u128_le();
        if Stamp::default().bytes(&all).get() != sum || !all.starts_with(MAGIC) {
            return None;
        }
        all.advance(MAGIC.len());
        let mut book = Book::default();
        while !all.is_empty() {
            let mut head = all.split_to(Some(HEAD).filter(|head| *head <= all.len())?);
            let (identity, start, len) = (head.get_u128_le(), head.get_u64_le(), head.get_u32_le() as usize);
            let bytes = all.split_to(Some(len).filter(|len| *len <= all.len())?);
            book.pages.entry(identity).or_default().insert(start, Page { bytes, used: false });
        }
        Some(book)
    }
}

fn end_of((start, page): (&u64, &Page)) -> u64 {
    start.saturating_add(page.bytes.len() as u64)
}

/// A file that only the user may read: it has parts of data.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
