//! Where bytes come from. This crate opens no file and makes no request by itself.

use crate::error::ReadError;
use bytes::Bytes;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// Which bytes of an object are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// All of them.
    All,
    /// A range, all of which must be there.
    Range(Range<u64>),
    /// As many from the end, all of which must be there.
    Last(u64),
}

/// A store of named objects: a folder, a bucket, a zip file. Keys have no slash at their front and none at their end.
pub trait Objects: Send + Sync {
    /// Length of an object in bytes; `None` if there is no such object.
    fn size(&self, key: &str) -> Result<Option<u64>, ReadError>;

    /// Bytes of an object; `None` if there is no such object. Fewer bytes than a range or an end needs are an error.
    fn read(&self, key: &str, span: &Span) -> Result<Option<Bytes>, ReadError>;

    /// Names of what lies directly below a folder (the empty one is the whole store): folders and objects, in any order.
    /// It is only asked where metadata is not consolidated, and never for the folder of an array.
    fn children(&self, folder: &str) -> Result<Vec<String>, ReadError>;
}

/// The part of bytes that a span names.
pub(crate) fn cut(data: &Bytes, span: &Span) -> Result<Bytes, ReadError> {
    let size = data.len() as u64;
    let range = match span {
        Span::All => 0..size,
        Span::Range(range) => range.clone(),
        Span::Last(len) => {
            size.checked_sub(*len).ok_or_else(|| format!("the last {len} bytes of {size}"))?..size
        }
    };
    if range.start > range.end || range.end > size {
        return Err(format!("bytes {range:?} of {size}").into());
    }
    Ok(data.slice(range.start as usize..range.end as usize))
}

/// The names directly below a folder, out of all keys of a store in order.
pub(crate) fn below<'a>(keys: impl Iterator<Item = &'a str>, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = keys
        .filter_map(|key| match folder {
            "" => Some(key),
            _ => key.strip_prefix(folder)?.strip_prefix('/'),
        })
        .filter_map(|rest| rest.split('/').next())
        .map(str::to_owned)
        .collect();
    names.dedup();
    names
}

impl Objects for BTreeMap<String, Bytes> {
    fn size(&self, key: &str) -> Result<Option<u64>, ReadError> {
        Ok(self.get(key).map(|data| data.len() as u64))
    }

    fn read(&self, key: &str, span: &Span) -> Result<Option<Bytes>, ReadError> {
        self.get(key).map(|data| cut(data, span)).transpose()
    }

    fn children(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        Ok(below(self.keys().map(String::as_str), folder))
    }
}

impl<S: Objects + ?Sized> Objects for Arc<S> {
    fn size(&self, key: &str) -> Result<Option<u64>, ReadError> {
        (**self).size(key)
    }

    fn read(&self, key: &str, span: &Span) -> Result<Option<Bytes>, ReadError> {
        (**self).read(key, span)
    }

    fn children(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        (**self).children(folder)
    }
}
