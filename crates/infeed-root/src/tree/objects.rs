//! Objects inside of an object: each has its length before it, and names its class or refers to one that was named before.

use crate::{
    cursor::Cursor,
    error::{Error, Result},
};
use std::{collections::HashMap, sync::Arc};

/// Set in lengths.
const COUNT: u32 = 0x4000_0000;
/// Set in references to classes.
const CLASS: u32 = 0x8000_0000;
/// A class that was not named before.
const NEW_CLASS: u32 = 0xffff_ffff;
/// References are counted from here on.
const FIRST: u64 = 2;
/// Objects inside of objects.
const DEEPEST: usize = 64;

/// What a reference leads to.
#[derive(Debug, Clone)]
enum Known {
    Class(Arc<str>),
    /// An object, by its name.
    Object(Arc<str>),
}

/// What was read of an object that a pointer leads to.
pub(crate) enum Pointed<T> {
    Nothing,
    New(T),
    /// One that was read before, by its name.
    Before(Arc<str>),
}

impl<T> Pointed<T> {
    fn if_new(self) -> Option<T> {
        match self {
            Pointed::New(found) => Some(found),
            _ => None,
        }
    }
}

/// The head of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) version: u16,
    /// Where it ends, if it says so.
    pub(crate) end: Option<usize>,
}

/// Reads an object of a class that ends there, if that is known; returns its name and what it is.
pub(crate) type ReadObject<'r, 'a, T> =
    &'r mut dyn FnMut(&mut Objects<'a>, &str, Option<usize>) -> Result<(Arc<str>, T)>;

/// Reads objects.
pub(crate) struct Objects<'a> {
    pub(crate) cursor: Cursor<'a>,
    known: HashMap<u64, Known>,
    /// Bytes of the key before the bytes: references count them.
    key: u64,
    depth: usize,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(cursor: Cursor<'a>, key: usize) -> Self {
        Objects { cursor, known: HashMap::new(), key: key as u64, depth: 0 }
    }

    fn place(&self) -> u64 {
        self.cursor.at() as u64 + self.key
    }

    /// The head of an object: its length, if it has one, and its version.
    pub(crate) fn head(&mut self) -> Result<Head> {
        let begin = self.cursor.at();
        let count = self.cursor.u32()?;
        if count & COUNT == 0 {
            self.cursor.go(begin)?;
            return Ok(Head { version: self.cursor.u16()?, end: None });
        }
        let end = self.end(begin, count & !COUNT)?;
        Ok(Head { version: self.cursor.u16()?, end: Some(end) })
    }

    /// Where what begins here ends, which must be inside of the bytes.
    fn end(&self, begin: usize, count: u32) -> Result<usize> {
        let end = begin + 4 + count as usize;
        if end > self.cursor.at() + self.cursor.left() {
            return Err(self.cursor.wrong(format!("an object of {count} bytes does not fit")));
        }
        Ok(end)
    }

    /// Goes to the end of an object, which nothing may have passed.
    pub(crate) fn leave(&mut self, what: &str, head: Head) -> Result<()> {
        let Some(end) = head.end else { return Ok(()) };
        if self.cursor.at() > end {
            let over = self.cursor.at() - end;
            return Err(self.cursor.wrong(format!("{what} is {over} bytes longer than it says")));
        }
        self.cursor.go(end)
    }

    /// Leaves an object out that is not needed.
    pub(crate) fn skip(&mut self, what: &str) -> Result<()> {
        let head = self.head()?;
        match head.end {
            Some(end) => self.cursor.go(end),
            None => Err(self.cursor.wrong(format!("{what} does not say how long it is"))),
        }
    }

    /// The base that every object has.
    pub(crate) fn object(&mut self) -> Result<()> {
        self.cursor.u16()?;
        self.cursor.u32()?;
        let bits = self.cursor.u32()?;
        if bits & 1 << 4 != 0 {
            self.cursor.u16()?;
        }
        Ok(())
    }

    /// The base with a name and a title.
    pub(crate) fn named(&mut self) -> Result<(String, String)> {
        let head = self.head()?;
        self.object()?;
        let (name, title) = (self.cursor.text()?, self.cursor.text()?);
        self.leave("a name", head)?;
        Ok((name, title))
    }

    /// What a pointer leads to. `read` is given the class, and returns what it read and its name.
    pub(crate) fn pointer<T>(&mut self, read: ReadObject<'_, 'a, T>) -> Result<Pointed<T>> {
        let (begin, place) = (self.cursor.at(), self.place());
        let first = self.cursor.u32()?;
        let (end, start, tag) = if first & COUNT == 0 || first == NEW_CLASS {
            (None, None, first)
        } else {
            let end = self.end(begin, first & !COUNT)?;
            (Some(end), Some(self.place()), self.cursor.u32()?)
        };
        let class: Arc<str> = if tag & CLASS == 0 {
            let before = match self.known.get(&u64::from(tag)) {
                Some(Known::Object(name)) => Pointed::Before(Arc::clone(name)),
                _ => Pointed::Nothing,
            };
            if let Some(end) = end {
                self.cursor.go(end)?;
            }
            return Ok(before);
        } else if tag == NEW_CLASS {
            let class: Arc<str> = self.cursor.zero_text()?.into();
            let number = start.map_or(self.known.len() as u64 + 1, |start| start + FIRST);
            self.known.insert(number, Known::Class(Arc::clone(&class)));
            class
        } else {
            match self.known.get(&u64::from(tag & !CLASS)) {
                Some(Known::Class(class)) => Arc::clone(class),
                _ => return Err(self.cursor.wrong("an object of a class that was not named before")),
            }
        };
        if self.depth >= DEEPEST {
            return Err(self.cursor.wrong("objects are inside of each other too often"));
        }
        self.depth += 1;
        let (name, found) = read(self, &class, end)?;
        self.depth -= 1;
        if let Some(end) = end {
            let head = Head { version: 0, end: Some(end) };
            self.leave(&class, head)?;
        }
        let number = end.map_or(self.known.len() as u64 + 1, |_| place + FIRST);
        self.known.insert(number, Known::Object(name));
        Ok(Pointed::New(found))
    }

    /// An array of pointers: what is new among them.
    pub(crate) fn list<T>(&mut self, what: &str, read: ReadObject<'_, 'a, T>) -> Result<Vec<T>> {
        let head = self.head()?;
        self.object()?;
        self.cursor.text()?;
        let count = self.cursor.count(what)?;
        self.cursor.i32()?;
        // Each has 4 bytes at least.
        if count > self.cursor.left() / 4 {
            return Err(self.cursor.wrong(format!("{count} {what} do not fit")));
        }
        let mut out = Vec::new();
        for _ in 0..count {
            out.extend(self.pointer(read)?.if_new());
        }
        self.leave(what, head)?;
        Ok(out)
    }

    /// Numbers in an array, with a byte before them: `wide` ones have 8 bytes.
    pub(crate) fn numbers(&mut self, count: usize, wide: bool) -> Result<Vec<u64>> {
        let size = if wide { 8 } else { 4 };
        let kind = self.cursor.u8()?;
        // An old way to say that places have 8 bytes.
        let size = if kind == 2 { 8 } else { size };
        let bytes = count.checked_mul(size).ok_or_else(|| self.cursor.wrong("an endless array"))?;
        let bytes = self.cursor.take(bytes)?;
        let number = |one: &[u8]| one.iter().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
        Ok(bytes.chunks_exact(size).map(number).collect())
    }

    /// Refuses a version that is not known.
    pub(crate) fn versions(
        &self,
        class: &str,
        version: u16,
        known: std::ops::RangeInclusive<u16>,
    ) -> Result<()> {
        if known.contains(&version) {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "{class} of version {version} is not known (versions {} to {} are); write the file again with another ROOT",
            known.start(),
            known.end()
        )))
    }
}
