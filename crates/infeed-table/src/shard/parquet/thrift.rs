//! The few things that are looked at in a footer before the library reads it, in Thrift's compact protocol.

use crate::shard::depth;

/// Structs and lists inside each other that are stepped over, at most.
const DEEPEST: usize = 64;

/// Kinds of values, as the protocol numbers them.
pub(super) mod kind {
    pub(in super::super) const STOP: u8 = 0;
    pub(in super::super) const TRUE: u8 = 1;
    pub(in super::super) const FALSE: u8 = 2;
    pub(in super::super) const BYTE: u8 = 3;
    pub(in super::super) const I16: u8 = 4;
    pub(in super::super) const I32: u8 = 5;
    pub(in super::super) const I64: u8 = 6;
    pub(in super::super) const DOUBLE: u8 = 7;
    pub(in super::super) const BINARY: u8 = 8;
    pub(in super::super) const LIST: u8 = 9;
    pub(in super::super) const SET: u8 = 10;
    pub(in super::super) const MAP: u8 = 11;
    pub(in super::super) const STRUCT: u8 = 12;
    pub(in super::super) const UUID: u8 = 13;
}

/// Fields of the struct `FileMetaData`.
const SCHEMA: i16 = 2;
const ENCRYPTION: i16 = 8;
/// A field of the struct `SchemaElement`.
const CHILDREN: i16 = 5;

/// A group is a list, a map or a struct. Lists and maps are written as two groups inside each other.
const GROUPS: usize = 2 * depth::DEEPEST;

const SHORT: &str = "it ends too early";

/// What is wrong with bytes.
pub(super) type Found<T> = Result<T, String>;

/// Checks the tree of columns: its depth, and that no group claims more columns than there are. The library builds the tree by
/// recursion, and takes memory for as many columns as a group claims.
pub(super) fn check_schema(footer: &[u8]) -> Found<()> {
    let mut input = Input { rest: footer };
    let mut id = 0;
    while let Some(kind) = input.field(&mut id)? {
        if id == SCHEMA && kind == kind::LIST {
            return input.schema();
        }
        input.skip(kind)?;
    }
    Ok(())
}

/// Whether a footer that is not encrypted itself says that columns are.
pub(super) fn has_encryption(footer: &[u8]) -> bool {
    let mut input = Input { rest: footer };
    let mut id = 0;
    while let Ok(Some(kind)) = input.field(&mut id) {
        if id == ENCRYPTION {
            return true;
        }
        if input.skip(kind).is_err() {
            return false;
        }
    }
    false
}

/// Bytes that are read from front to back.
pub(super) struct Input<'a> {
    pub(super) rest: &'a [u8],
}

impl Input<'_> {
    /// The columns, each before those inside it.
    fn schema(&mut self) -> Found<()> {
        let (kind, count) = self.list()?;
        // Columns that are still to come in each group that is open.
        let mut open: Vec<u64> = vec![];
        for at in 0..count {
            let children = self.children(kind)?;
            if children > count - at {
                return Err(format!("a group claims {children} columns, and there are {count} in all"));
            }
            if let Some(left) = open.last_mut() {
                *left = left.saturating_sub(1);
            }
            if children > 0 {
                // The root is no group of the user's.
                if open.len() > GROUPS {
                    return Err(depth::too_deep());
                }
                open.push(children);
            }
            while open.last() == Some(&0) {
                open.pop();
            }
        }
        Ok(())
    }

    /// How many columns are inside of the column that is described here.
    fn children(&mut self, kind: u8) -> Found<u64> {
        if kind != kind::STRUCT {
            return Err("its columns are no structs".to_owned());
        }
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            if id == CHILDREN && (kind::I16..=kind::I64).contains(&kind) {
                let number = self.varint()?;
                if number & 1 == 1 {
                    return Err("a group claims less than no columns".to_owned());
                }
                children = number >> 1;
            } else {
                self.skip(kind)?;
            }
        }
        Ok(children)
    }

    /// The kind of the next field of a struct, whose number is put into `id`; none at its end.
    pub(super) fn field(&mut self, id: &mut i16) -> Found<Option<u8>> {
        let head = self.byte()?;
        let kind = head & 15;
        if kind == kind::STOP {
            return Ok(None);
        }
        *id = match head >> 4 {
            0 => {
                let number = self.varint()?;
                (number >> 1) as i16 ^ -((number & 1) as i16)
            }
            more => id.wrapping_add(i16::from(more)),
        };
        Ok(Some(kind))
    }

    /// Kind and number of the elements of a list.
    pub(super) fn list(&mut self) -> Found<(u8, u64)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        // An element takes at least a byte.
        if count > self.rest.len() as u64 {
            return Err(format!("a list claims {count} elements and {} bytes are left", self.rest.len()));
        }
        Ok((head & 15, count))
    }

    /// Steps over a value of a struct.
    pub(super) fn skip(&mut self, kind: u8) -> Found<()> {
        self.skip_inside(kind, DEEPEST)
    }

    fn skip_inside(&mut self, kind: u8, deep: usize) -> Found<()> {
        if deep == 0 {
            return Err(format!("its structs are nested more than {DEEPEST} levels deep"));
        }
        match kind {
            kind::TRUE | kind::FALSE => {}
            kind::BYTE => self.step(1)?,
            kind::I16..=kind::I64 => {
                self.varint()?;
            }
            kind::DOUBLE => self.step(8)?,
            kind::UUID => self.step(16)?,
            kind::BINARY => {
                let len = self.varint()?;
                self.step(len)?;
            }
            kind::LIST | kind::SET => {
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    self.element(kind, deep - 1)?;
                }
            }
            kind::MAP => {
                let count = self.varint()?;
                if count > self.rest.len() as u64 {
                    return Err(format!("a map claims {count} pairs and {} bytes are left", self.rest.len()));
                }
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.element(kinds >> 4, deep - 1)?;
                    self.element(kinds & 15, deep - 1)?;
                }
            }
            kind::STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip_inside(kind, deep - 1)?;
                }
            }
            other => return Err(format!("there is no kind {other} of values")),
        }
        Ok(())
    }

    /// Steps over an element of a list: unlike in a struct, true and false take a byte there.
    fn element(&mut self, kind: u8, deep: usize) -> Found<()> {
        if matches!(kind, kind::TRUE | kind::FALSE) { self.step(1) } else { self.skip_inside(kind, deep) }
    }

    fn byte(&mut self) -> Found<u8> {
        let (byte, rest) = self.rest.split_first().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*byte)
    }

    pub(super) fn step(&mut self, len: u64) -> Found<()> {
        let len = usize::try_from(len).map_err(|_| SHORT)?;
        self.rest = self.rest.get(len..).ok_or(SHORT)?;
        Ok(())
    }

    pub(super) fn varint(&mut self) -> Found<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte & 128 == 0 {
                return Ok(value);
            }
        }
        Err("a number has more than 64 bits".to_owned())
    }
}

#[cfg(test)]
mod tests;
