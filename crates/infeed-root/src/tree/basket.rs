//! Baskets: the bytes of some entries of a branch, and where each entry begins among them.

use crate::{
    cells::Work,
    cursor::Cursor,
    error::{Error, Result},
    key::LARGEST,
    pack,
};

/// A basket that lies in the tree itself, because it was not full when the tree was written.
#[derive(Debug, Clone)]
pub(crate) struct Embedded {
    pub(crate) entries: usize,
    data: Vec<u8>,
    /// Where entries begin, if they have different lengths.
    starts: Option<Vec<u8>>,
    /// Bytes that all these places are too large by.
    before: usize,
}

/// Bytes of entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unpacked<'a> {
    pub(crate) data: &'a [u8],
    /// Where entries begin, as numbers of 4 bytes in the order of the file; one for each entry, or more.
    starts: Option<&'a [u8]>,
    before: usize,
    /// Where the basket lies in the file.
    at: u64,
}

/// What stands behind the key of a basket.
struct Head {
    entries: usize,
    /// Where the bytes of the entries end, counted from the key on.
    last: usize,
    flag: u8,
}

/// The head of a key, up to its names: bytes with and without it, and its own.
fn key(cursor: &mut Cursor<'_>) -> Result<(i32, usize, usize)> {
    let stored = cursor.i32()?;
    let wide = cursor.u16()? > 1000;
    let len = cursor.count("bytes of a basket")?;
    cursor.u32()?;
    let head = usize::from(cursor.u16()?);
    cursor.u16()?;
    cursor.take(if wide { 16 } else { 8 })?;
    for _ in 0..3 {
        cursor.text()?;
    }
    Ok((stored, len, head))
}

fn head(cursor: &mut Cursor<'_>) -> Result<Head> {
    let version = cursor.u16()?;
    if !(2..=3).contains(&version) {
        return Err(Error::Unsupported(format!("TBasket of version {version} is not known (2 and 3 are)")));
    }
    cursor.i32()?;
    // A negative number says that a byte of features follows.
    if cursor.i32()? < 0 {
        cursor.u8()?;
    }
    let entries = cursor.count("entries")?;
    let last = cursor.count("bytes of entries")?;
    Ok(Head { entries, last, flag: cursor.u8()? })
}

/// Reads a basket that lies in the tree.
pub(crate) fn embedded(cursor: &mut Cursor<'_>, end: Option<usize>) -> Result<Embedded> {
    let (_, _, before) = key(cursor)?;
    let head = head(cursor)?;
    let flag = if head.flag >= 80 { head.flag - 80 } else { head.flag };
    let mut starts = None;
    if head.flag < 80 && flag != 0 && flag % 10 != 2 && head.entries > 0 {
        let count = cursor.count("places of entries")?;
        let bytes = count.checked_mul(4).ok_or_else(|| cursor.wrong("endless places of entries"))?;
        starts = Some(cursor.take(bytes)?.to_vec());
        if flag > 40 {
            let count = cursor.count("moved entries")?;
            cursor.take(count.saturating_mul(4))?;
        }
    }
    let mut data = Vec::new();
    if flag == 1 || flag > 10 {
        let all = cursor.take(head.last)?;
        let found = all.get(before..).ok_or_else(|| cursor.wrong("a basket that ends before its key"))?;
        data = found.to_vec();
    } else if head.entries > 0 {
        return Err(cursor.wrong("a basket without bytes"));
    }
    if let Some(end) = end {
        cursor.go(end)?;
    }
    Ok(Embedded { entries: head.entries, data, starts, before })
}

impl Embedded {
    pub(crate) fn unpacked(&self) -> Unpacked<'_> {
        Unpacked { data: &self.data, starts: self.starts.as_deref(), before: self.before, at: 0 }
    }
}

/// A basket as it is stored.
pub(crate) struct Packed<'a> {
    body: &'a [u8],
    /// Bytes of the body when it is unpacked.
    len: usize,
    /// Where the bytes of entries end among them.
    border: usize,
    before: usize,
    at: u64,
}

/// Opens a basket of so many entries. `stored` is all of it, and `at` its place in the file.
pub(crate) fn open(stored: &[u8], at: u64, entries: u64) -> Result<Packed<'_>> {
    let mut cursor = Cursor::new(stored, at);
    let (all, len, before) = key(&mut cursor)?;
    if all < 0 || all as usize != stored.len() {
        return Err(cursor.wrong(format!("a basket of {} bytes says that it has {all}", stored.len())));
    }
    let head = head(&mut cursor)?;
    if head.entries as u64 != entries {
        return Err(cursor.wrong(format!("a basket of {entries} entries says that it has {}", head.entries)));
    }
    let Some(body) = stored.get(before..) else {
        return Err(cursor.wrong(format!("a key of {before} bytes in a basket of {}", stored.len())));
    };
    let border = head.last.checked_sub(before).filter(|border| *border <= len && len <= LARGEST);
    let Some(border) = border else {
        let what = format!("entries end at {} in a basket of {len} bytes with a key of {before}", head.last);
        return Err(cursor.wrong(what));
    };
    Ok(Packed { body, len, border, before, at })
}

impl<'a> Packed<'a> {
    /// Bytes of the entries alone, if nothing follows them.
    pub(crate) fn plain(&self) -> Option<usize> {
        (self.border == self.len).then_some(self.len)
    }

    /// Unpacks it into memory of as many bytes.
    pub(crate) fn write(&self, to: &mut [u8], work: &mut Work) -> Result<()> {
        if self.body.len() == to.len() {
            to.copy_from_slice(self.body);
            return Ok(());
        }
        pack::unpack_to(self.body, self.at + self.before as u64, to, &mut work.codecs)
    }

    /// Unpacks it.
    pub(crate) fn unpack<'b>(&self, work: &'b mut Work) -> Result<Unpacked<'b>>
    where
        'a: 'b,
    {
        let data = if self.body.len() == self.len {
            self.body
        } else {
            let at = self.at + self.before as u64;
            pack::unpack(self.body, self.len, at, &mut work.out, &mut work.codecs)?
        };
        let (data, rest) = data.split_at(self.border);
        // The count of the places is before them.
        let starts = rest.get(4..);
        Ok(Unpacked { data, starts, before: self.before, at: self.at })
    }
}

impl<'a> Unpacked<'a> {
    pub(crate) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::damaged(self.at, what)
    }

    /// Where entries begin and where the last ends, for entries of different lengths.
    pub(crate) fn bounds(&self, entries: usize) -> Result<Bounds<'a>> {
        let Some(starts) = self.starts else {
            return Err(Error::Unsupported(
                "its baskets do not say where entries begin (kGenerateOffsetMap); write the file again without that feature"
                    .to_owned(),
            ));
        };
        let Some(starts) = starts.as_chunks::<4>().0.get(..entries) else {
            return Err(self.wrong(format!("fewer places of entries than the {entries} entries")));
        };
        Ok(Bounds { starts, before: self.before, end: self.data.len(), at: self.at })
    }
}

/// Where entries begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'a> {
    starts: &'a [[u8; 4]],
    before: usize,
    end: usize,
    at: u64,
}

impl Bounds<'_> {
    /// Where an entry begins; behind the last one, where that ends.
    pub(crate) fn start(&self, entry: usize) -> Result<usize> {
        let Some(start) = self.starts.get(entry) else { return Ok(self.end) };
        let start = u32::from_be_bytes(*start) as usize;
        let found = start.checked_sub(self.before).filter(|start| *start <= self.end);
        found.ok_or_else(|| {
            Error::damaged(
                self.at,
                format!("entry {entry} of a basket begins at {start}, outside of its bytes"),
            )
        })
    }
}
