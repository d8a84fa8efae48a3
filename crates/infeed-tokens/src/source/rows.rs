//! Maps row numbers to tokens.

use super::{RowKind, TokenSource, write::Scratch};
use crate::file::Run;
use bytes::Bytes;
use infeed_core::{Error, Result};
use std::{collections::BTreeMap, ops::Range};

impl TokenSource {
    /// Locates the tokens of a row.
    #[inline]
    pub(super) fn runs(&self, row: u64, out: &mut Vec<Run>) -> Result<()> {
        out.clear();
        if row >= self.total {
            return Err(Error::Internal { what: format!("there is no row {row} of tokens") });
        }
        match &self.rows {
            RowKind::Windows { stride } => {
                let start = row * stride;
                self.overlaps(start..start + self.need as u64, |file, range| {
                    self.files[file].runs(file as u32, range, out);
                });
                Ok(())
            }
            RowKind::Gpt(samples) => {
                let file = &self.files[0];
                let Some(index) = file.index() else {
                    return Err(Error::Internal { what: "GPT samples without an index".to_owned() });
                };
                let size = file.dtype().size() as u64;
                let whole = samples.pieces(row, |document, from, to| {
                    let to = to.unwrap_or_else(|| index.size(document));
                    if from < to {
                        let byte = index.byte(document) + from * size;
                        out.push(Run { file: 0, byte, tokens: to - from });
                    }
                });
                whole.ok_or_else(|| Error::Internal { what: format!("GPT sample {row} is not whole") })
            }
        }
    }

    /// Reads the bytes of all rows in files that are not mapped: one call per file, so that a remote store
    /// can fetch them in parallel.
    pub(super) fn read_ahead(&self, rows: &[u64], scratch: &mut Scratch) -> Result<()> {
        scratch.ahead.clear();
        scratch.used = 0;
        if self.held {
            return Ok(());
        }
        // By file: the indices in `ahead`, and the ranges to read there.
        let mut wanted: BTreeMap<u32, (Vec<usize>, Vec<Range<u64>>)> = BTreeMap::new();
        let mut count = 0;
        for row in rows {
            self.runs(*row, &mut scratch.runs)?;
            for run in &scratch.runs {
                let file = &self.files[run.file as usize];
                if !file.data().is_held() {
                    let (places, ranges) = wanted.entry(run.file).or_default();
                    places.push(count);
                    ranges.push(run.byte..run.byte + run.tokens * file.dtype().size() as u64);
                    count += 1;
                }
            }
        }
        scratch.ahead.resize(count, Bytes::new());
        for (file, (places, ranges)) in wanted {
            let bytes = self.files[file as usize].data().read(&ranges)?;
            places.into_iter().zip(bytes).for_each(|(place, bytes)| scratch.ahead[place] = bytes);
        }
        Ok(())
    }

    /// Calls `each` with every file that contains some of these tokens, and their range within that file.
    pub(super) fn overlaps(&self, range: Range<u64>, mut each: impl FnMut(usize, Range<u64>)) {
        // Files without tokens begin where others do.
        let mut file = self.begins.partition_point(|begin| *begin <= range.start).saturating_sub(1);
        let mut at = range.start;
        while at < range.end && file < self.files.len() {
            let end = self.begins[file + 1].min(range.end);
            if end > at {
                let shift = self.parts[file].start + at - self.begins[file];
                each(file, shift..shift + (end - at));
                at = end;
            }
            file += 1;
        }
    }

    /// Returns the file and the token in it where a row begins.
    pub(super) fn place(&self, row: u64) -> (usize, u64) {
        let mut found = (0, 0);
        match &self.rows {
            RowKind::Windows { stride } => {
                let start = row.saturating_mul(*stride);
                self.overlaps(start..start.saturating_add(1), |file, range| found = (file, range.start));
            }
            RowKind::Gpt(samples) => {
                let mut first = None;
                let _ = samples.pieces(row, |document, from, _| {
                    first.get_or_insert((document, from));
                });
                if let (Some((document, from)), Some(index)) = (first, self.files[0].index()) {
                    found.1 = index.first_token(document) + from;
                }
            }
        }
        found
    }

    /// Finds where documents begin in a row, according to the index.
    pub(super) fn starts(&self, row: u64, scratch: &mut Scratch) {
        let starts = &mut scratch.starts;
        match &self.rows {
            RowKind::Windows { stride } => {
                let begin = row * stride;
                let mut done = 0;
                self.overlaps(begin..begin + self.need as u64, |file, range| {
                    if done > 0 {
                        // A document never continues in another file.
                        starts.push(done);
                    }
                    if let Some(index) = self.files[file].index() {
                        let mut document = index.document_after(range.start);
                        while document < index.documents() {
                            let start = index.document_start(document);
                            if start >= range.end {
                                break;
                            }
                            starts.push(done + (start - range.start) as usize);
                            document += 1;
                        }
                    }
                    done += (range.end - range.start) as usize;
                });
                // It is also known whether the token after the row begins a document.
                if self.need == self.len && self.begins_document(begin + self.need as u64) {
                    starts.push(self.len);
                }
            }
            RowKind::Gpt(_) => {
                let mut done = 0;
                for run in &scratch.runs {
                    done += run.tokens as usize;
                    starts.push(done);
                }
                // The end of the last piece is the end of its document only if nothing follows in it.
                starts.pop();
                if self.need == self.len && self.ends_document(row) {
                    starts.push(done);
                }
            }
        }
    }

    /// Returns whether a document begins at this token of the concatenation; the end of everything counts as a start.
    fn begins_document(&self, token: u64) -> bool {
        if token >= self.begins.last().copied().unwrap_or(0) {
            return true;
        }
        let mut found = false;
        self.overlaps(token..token + 1, |file, range| {
            found = range.start == self.parts[file].start
                || self.files[file].index().is_some_and(|index| {
                    // Whether the last document that begins at or before the token begins at it.
                    let after = index.document_after(range.start);
                    after > 0 && index.document_start(after - 1) == range.start
                });
        });
        found
    }

    /// Returns whether a GPT sample ends with a document.
    fn ends_document(&self, row: u64) -> bool {
        let RowKind::Gpt(samples) = &self.rows else { return false };
        let mut last = None;
        let _ = samples.pieces(row, |document, _, to| last = Some((document, to)));
        match (last, self.files[0].index()) {
            (Some((document, Some(to))), Some(index)) => to == index.size(document),
            _ => false,
        }
    }
}
