//! Validates a whole index, in one pass over each array.

use super::{Drift, damaged, header::Header, header::long, layout::SequenceLayout};
use infeed_core::{Error, Result, Sums};

/// Bytes of the `.bin` that the index does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surplus {
    /// How many.
    pub bytes: u64,
    /// Whether they are exactly one element for each non-empty document.
    pub one_per_document: bool,
}

pub(super) struct Checked {
    pub(super) layout: SequenceLayout,
    pub(super) tokens: u64,
    pub(super) surplus: Option<Surplus>,
}

pub(super) fn check(
    bytes: &[u8],
    header: &Header,
    name: &str,
    bin_len: u64,
    drift: Drift,
) -> Result<Checked> {
    let filled = documents(bytes, header, name)?;
    if header.legacy {
        dims(bytes, header, name)?;
    }
    let found = sequences(bytes, header, name, bin_len)?;
    let size = header.dtype.size() as u64;
    // Never more than the bin unless sequences overlap, because each is within the bin; gaps only make it less.
    let counted = found.tokens.saturating_mul(size);
    if counted == bin_len || found.tokens == 0 && bin_len == 0 {
        let layout = if found.straight { SequenceLayout::Straight } else { table(bytes, header, &[]) };
        return Ok(Checked { layout, tokens: found.tokens, surplus: None });
    }
    let bin = bin_name(name);
    if counted > bin_len {
        // This happens only if sequences overlap.
        let what =
            format!("its sequences have {counted} bytes together, but `{bin}` has {bin_len}: they overlap");
        return Err(damaged(name, header.pointers_at, what));
    }
    let bytes_more = bin_len - counted;
    let one_per_document = filled > 0 && found.straight && bytes_more == filled * size;
    let surplus = Surplus { bytes: bytes_more, one_per_document };
    match drift {
        Drift::Error => Err(drifting(header, name, &bin, &surplus, filled)),
        Drift::Ignore => {
            let layout = if found.straight { SequenceLayout::Straight } else { table(bytes, header, &[]) };
            Ok(Checked { layout, tokens: found.tokens, surplus: Some(surplus) })
        }
        Drift::Repair if one_per_document => {
            let layout = repaired(bytes, header, name)?;
            Ok(Checked { layout, tokens: found.tokens + filled, surplus: Some(surplus) })
        }
        Drift::Repair => {
            let what = format!(
                "`{bin}` has {bytes_more} bytes more than the index counts, which is not one element for each of {filled} \
                 documents: this cannot be repaired; write the index anew, or read what it counts with drift=\"ignore\""
            );
            Err(damaged(name, header.sizes_at, what))
        }
    }
}

fn drifting(header: &Header, name: &str, bin: &str, surplus: &Surplus, filled: u64) -> Error {
    let what = if surplus.one_per_document {
        format!(
            "`{bin}` has {filled} tokens more than the index counts, one for each document: it was written with \
             end-of-document tokens that the index leaves out, so every document begins too early. drift=\"repair\" \
             counts them in; drift=\"ignore\" reads it as it is"
        )
    } else {
        format!(
            "`{bin}` has {} bytes more than the index counts: they may not belong together, or a writer was interrupted. \
             Write the index anew, or read what it counts with drift=\"ignore\"",
            surplus.bytes
        )
    };
    damaged(name, header.sizes_at, what)
}

fn bin_name(name: &str) -> String {
    format!("{}.bin", name.strip_suffix(".idx").unwrap_or(name))
}

/// Checks the array of documents and returns the number of non-empty ones.
fn documents(bytes: &[u8], header: &Header, name: &str) -> Result<u64> {
    let wrong = |i: usize, what: String| damaged(name, header.documents_at + 8 * i, what);
    let first = header.document(bytes, 0);
    if first != 0 {
        return Err(wrong(0, format!("the first document begins with sequence {first}, not 0")));
    }
    let (mut last, mut filled) = (0, 0);
    for i in 1..header.documents {
        let next = header.document(bytes, i);
        if next < last {
            return Err(wrong(
                i,
                format!("document {i} begins with sequence {next}, before the one before it ({last})"),
            ));
        }
        filled += u64::from(next > last);
        last = next;
    }
    if last != header.sequences as i64 {
        let what = format!("the last document ends with sequence {last}, and there are {}", header.sequences);
        return Err(wrong(header.documents - 1, what));
    }
    Ok(filled)
}

/// Checks that every array of a legacy index has one dimension.
fn dims(bytes: &[u8], header: &Header, name: &str) -> Result<()> {
    for i in 0..=header.sequences {
        let at = header.dims_at + 8 * i;
        if long(bytes, at) != i as i64 {
            return Err(damaged(
                name,
                at,
                format!("sequence {i} has not exactly one dimension: no array of tokens"),
            ));
        }
    }
    Ok(())
}

struct Sequences {
    tokens: u64,
    straight: bool,
}

/// Checks sizes and pointers.
fn sequences(bytes: &[u8], header: &Header, name: &str, bin_len: u64) -> Result<Sequences> {
    let element = header.dtype.size() as u64;
    let (mut tokens, mut straight) = (0u64, true);
    for i in 0..header.sequences {
        let (size, pointer) = (header.size(bytes, i), header.pointer(bytes, i));
        // Neither kind of index can represent a sequence of 2^31 tokens or more.
        let Some(size) = u64::try_from(size).ok().filter(|size| *size <= i32::MAX as u64) else {
            return Err(damaged(name, header.size_at(i), format!("sequence {i} has a length of {size}")));
        };
        let end = u64::try_from(pointer).ok().and_then(|at| at.checked_add(size * element));
        let inside = end.is_some_and(|end| end <= bin_len);
        if !inside || !(pointer as u64).is_multiple_of(element) {
            return Err(pointer_error(header, name, i, size, pointer, bin_len));
        }
        straight &= pointer as u64 == tokens * element;
        tokens += size;
        if header.legacy && i + 1 == header.sequences {
            let (at, last) = (header.pointers_at + 8 * (i + 1), header.pointer(bytes, i + 1));
            if last as u64 != tokens * element && straight {
                return Err(damaged(
                    name,
                    at,
                    format!("the last offset is {last} bytes, not {}", tokens * element),
                ));
            }
        }
    }
    Ok(Sequences { tokens, straight })
}

fn pointer_error(header: &Header, name: &str, i: usize, size: u64, pointer: i64, bin_len: u64) -> Error {
    let (at, bin) = (header.pointers_at + 8 * i, bin_name(name));
    let element = header.dtype.size();
    let what = if (0..=bin_len as i64).contains(&pointer) && pointer % element as i64 != 0 {
        format!("sequence {i} begins at byte {pointer}, which is not a multiple of {element}")
    } else {
        format!(
            "sequence {i} has {size} tokens at byte {pointer}, but `{bin}` has only {bin_len} bytes: the index is longer \
             than its bin. The bin was cut short, or belongs to another index"
        )
    };
    damaged(name, at, what)
}

/// Builds a table of sizes and starts. `more` says which sequences have an extra token.
fn table(bytes: &[u8], header: &Header, more: &[bool]) -> SequenceLayout {
    let size = |i| header.size(bytes, i) as u32 + u32::from(more.get(i).copied().unwrap_or(false));
    SequenceLayout::Table {
        starts: (0..header.sequences).map(size).collect::<Sums<u32>>(),
        repaired: !more.is_empty(),
    }
}

fn repaired(bytes: &[u8], header: &Header, name: &str) -> Result<SequenceLayout> {
    let ends = (1..header.documents).map(|i| header.document(bytes, i));
    let each = header.documents == header.sequences + 1
        && ends.clone().enumerate().all(|(i, end)| end == i as i64 + 1);
    if each {
        return Ok(SequenceLayout::OneMoreEach);
    }
    let mut more = vec![false; header.sequences];
    let mut last = 0;
    for end in ends {
        if end > last {
            // Already checked: no entry is beyond the sequences.
            let place = more.get_mut(end as usize - 1);
            *place.ok_or_else(|| {
                damaged(name, header.documents_at, "a document ends beyond the sequences")
            })? = true;
        }
        last = end;
    }
    Ok(table(bytes, header, &more))
}
