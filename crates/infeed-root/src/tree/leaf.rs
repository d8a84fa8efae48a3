//! Leaves: what the numbers of a branch are.

use super::objects::{Objects, Pointed};
use crate::error::Result;
use std::sync::Arc;

/// A leaf.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) name: Arc<str>,
    /// Name and dimensions: `x[n][3]`.
    pub(crate) title: String,
    pub(crate) class: String,
    /// Elements, apart from those that another leaf counts.
    pub(crate) len: i32,
    pub(crate) unsigned: bool,
    /// The leaf that counts its elements.
    pub(crate) counter: Option<Arc<str>>,
    /// The type of a member of a class.
    pub(crate) member: i32,
}

/// Reads a leaf of a class.
pub(crate) fn read(objects: &mut Objects<'_>, class: &str) -> Result<(Arc<str>, Leaf)> {
    let head = objects.head()?;
    objects.versions(class, head.version, 0..=1)?;
    let base = objects.head()?;
    objects.versions("TLeaf", base.version, 2..=2)?;
    let (name, title) = objects.named()?;
    let cursor = &mut objects.cursor;
    let len = cursor.i32()?;
    cursor.i32()?;
    cursor.i32()?;
    cursor.u8()?;
    let unsigned = cursor.u8()? != 0;
    let counter = match objects.pointer(&mut |objects, class, _| {
        let (name, _) = read(objects, class)?;
        Ok((Arc::clone(&name), name))
    })? {
        Pointed::Nothing => None,
        Pointed::New(name) | Pointed::Before(name) => Some(name),
    };
    objects.leave("TLeaf", base)?;
    let member = if class == "TLeafElement" {
        objects.cursor.i32()?;
        objects.cursor.i32()?
    } else {
        0
    };
    objects.leave(class, head)?;
    let name: Arc<str> = name.into();
    let leaf =
        Leaf { name: Arc::clone(&name), title, class: class.to_owned(), len, unsigned, counter, member };
    Ok((name, leaf))
}
