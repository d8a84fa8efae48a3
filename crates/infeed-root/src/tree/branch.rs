//! Branches: leaves that are stored together, and where their baskets lie.

use super::{
    basket::{self, Embedded},
    leaf::{self, Leaf},
    objects::Objects,
};
use crate::error::{Error, Result};
use std::sync::Arc;

/// Some entries of a branch.
#[derive(Debug, Clone)]
pub(crate) struct Basket {
    /// The first entry.
    pub(crate) first: u64,
    /// How many entries.
    pub(crate) entries: u64,
    pub(crate) place: Place,
}

/// Where a basket lies.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// In the file.
    File {
        /// Where.
        seek: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// In the tree.
    Tree(Arc<Embedded>),
}

/// A branch.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    pub(crate) name: Arc<str>,
    /// The class of its objects, if it has objects.
    pub(crate) class: Option<String>,
    /// How objects were split into it; 0 for what was not split, or a plain member.
    pub(crate) split: i32,
    /// The type of a member, as streamers count them.
    pub(crate) member: i32,
    /// Entries in its baskets.
    pub(crate) held: u64,
    /// Bytes of all entries, unpacked.
    pub(crate) bytes: u64,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) baskets: Vec<Basket>,
    pub(crate) branches: Vec<Branch>,
    /// The file of its baskets, if they are in another one.
    pub(crate) elsewhere: String,
}

/// Reads a branch of a class.
pub(crate) fn read(objects: &mut Objects<'_>, class: &str) -> Result<(Arc<str>, Branch)> {
    if class == "TBranchElement" {
        return element(objects);
    }
    if class != "TBranch" && class != "TBranchObject" && class != "TBranchClones" && class != "TBranchRef" {
        return Err(Error::Unsupported(format!("branches of class {class} are not read")));
    }
    if class == "TBranch" {
        let branch = plain(objects)?;
        return Ok((Arc::clone(&branch.name), branch));
    }
    // What else these have is behind the end that the pointer knows.
    let head = objects.head()?;
    let mut branch = plain(objects)?;
    branch.class = Some(class.to_owned());
    branch.split = -1;
    objects.leave(class, head)?;
    Ok((Arc::clone(&branch.name), branch))
}

fn element(objects: &mut Objects<'_>) -> Result<(Arc<str>, Branch)> {
    let head = objects.head()?;
    objects.versions("TBranchElement", head.version, 8..=10)?;
    let mut branch = plain(objects)?;
    let cursor = &mut objects.cursor;
    branch.class = Some(cursor.text()?);
    cursor.text()?;
    cursor.text()?;
    cursor.u32()?;
    cursor.take(if head.version < 10 { 4 } else { 2 })?;
    cursor.i32()?;
    branch.split = cursor.i32()?;
    branch.member = cursor.i32()?;
    // What counts its elements is not needed: baskets know where entries begin.
    objects.leave("TBranchElement", head)?;
    Ok((Arc::clone(&branch.name), branch))
}

fn plain(objects: &mut Objects<'_>) -> Result<Branch> {
    let head = objects.head()?;
    objects.versions("TBranch", head.version, 10..=13)?;
    let (name, _) = objects.named()?;
    let inside = |error: Error| error.inside(&format!("branch `{name}`"));
    let branch = content(objects, head.version, &name).map_err(inside)?;
    objects.leave("TBranch", head).map_err(inside)?;
    Ok(branch)
}

fn content(objects: &mut Objects<'_>, version: u16, name: &str) -> Result<Branch> {
    objects.skip("TAttFill")?;
    let cursor = &mut objects.cursor;
    cursor.take(12)?;
    let written = cursor.count("baskets")?;
    cursor.u64()?;
    if version >= 13 {
        objects.skip("TIOFeatures")?;
    }
    let cursor = &mut objects.cursor;
    cursor.i32()?;
    let most = cursor.count("baskets")?;
    cursor.i32()?;
    let entries = cursor.long("entries")?;
    if version >= 11 {
        let first = cursor.long("entries before the first")?;
        if first != 0 {
            return Err(Error::Unsupported(format!("its first entry is {first} and not 0")));
        }
    }
    let bytes = cursor.u64()?;
    cursor.u64()?;
    let branches = objects.list("branches", &mut |objects, class, _| read(objects, class))?;
    let leaves = objects.list("leaves", &mut |objects, class, _| leaf::read(objects, class))?;
    let embedded = objects.list("baskets", &mut |objects, class, end| {
        if class != "TBasket" {
            return Err(objects.cursor.wrong(format!("a basket of class {class}")));
        }
        Ok(("basket".into(), basket::embedded(&mut objects.cursor, end)?))
    })?;
    let sizes = objects.numbers(most, false)?;
    let starts = objects.numbers(most, true)?;
    let seeks = objects.numbers(most, true)?;
    let elsewhere = objects.cursor.text()?;
    let wrong = |what: String| objects.cursor.wrong(what);
    if written > most {
        return Err(wrong(format!("{written} baskets were written, and there is room for {most}")));
    }
    let mut embedded = embedded.into_iter().map(Arc::new);
    let mut baskets: Vec<Basket> = Vec::with_capacity(written);
    let mut place = 0;
    for at in 0..written {
        let first = starts[at];
        let next = starts.get(at + 1).copied().filter(|_| at + 1 < written || starts[at + 1] != 0);
        let next = next.unwrap_or(entries);
        if first != place || next < first || next > entries {
            return Err(wrong(format!(
                "basket {at} has the entries {first} to {next}, after {place} of {entries}"
            )));
        }
        place = next;
        let found = match seeks[at] {
            0 => embedded.next().map(Place::Tree),
            seek => Some(Place::File { seek, bytes: sizes[at] }),
        };
        let Some(found) = found else { return Err(wrong(format!("basket {at} is nowhere"))) };
        if next > first {
            baskets.push(Basket { first, entries: next - first, place: found });
        }
    }
    // Those that were not written yet when the tree was.
    for basket in embedded {
        let count = basket.entries as u64;
        if count > 0 && place < entries {
            baskets.push(Basket { first: place, entries: count, place: Place::Tree(basket) });
            place = place.saturating_add(count);
        }
    }
    let name: Arc<str> = name.trim_end_matches('.').into();
    let held = place;
    Ok(Branch { name, class: None, split: 0, member: 0, held, bytes, leaves, baskets, branches, elsewhere })
}
