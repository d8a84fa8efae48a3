//! Class folders, numbered and ordered like torchvision's `ImageFolder`, so that labels and row numbers are the same
//! in both.

use super::Endings;
use infeed_core::{Error, Result};
use std::{cmp::Ordering, collections::BTreeSet};

/// The images of class folders, in order.
#[derive(Debug)]
pub(super) struct Classes {
    /// Class names, sorted; the index is the label.
    pub(super) classes: Vec<String>,
    /// The first row of each class.
    pub(super) starts: Vec<u64>,
    /// Names below the root.
    pub(super) names: Vec<String>,
}

/// Sorts names below `root` (sub-folders end in `/`) into classes.
pub(super) fn classes(root: &str, mut names: Vec<String>, endings: &Endings) -> Result<Classes> {
    let found: BTreeSet<&str> = names.iter().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    let classes: Vec<String> = found.into_iter().map(str::to_owned).collect();
    if classes.is_empty() {
        let hint = "; it has no class folders; an image folder is `root/class/image.jpg`".to_owned();
        return Err(Error::NotFound { path: root.to_owned(), hint });
    }
    // Files directly in the root belong to no class.
    names.retain(|name| name.contains('/') && endings.has(name));
    // Most listings are sorted already: the two orders differ only where a name continues with a character below `/`.
    if !names.is_sorted_by(|a, b| order(a, b) != Ordering::Greater) {
        names.sort_unstable_by(|a, b| order(a, b));
    }
    let class_of = |name: &String| name.split('/').next().unwrap_or_default().to_owned();
    let mut starts = Vec::with_capacity(classes.len());
    let mut empty = Vec::new();
    let mut at = 0;
    for class in &classes {
        starts.push(at as u64);
        let before = at;
        at += names[at..].partition_point(|name| class_of(name) <= *class);
        if at == before {
            empty.push(class.as_str());
        }
    }
    if !empty.is_empty() {
        let hint = format!("; of the class folders {}, each has {}", empty.join(", "), endings.words());
        return Err(Error::NotFound { path: root.to_owned(), hint });
    }
    Ok(Classes { classes, starts, names })
}

/// Compares by class, then by folder, then by file. Folders are compared by their whole path, like a sorted `os.walk`,
/// so `a/b-c` comes before `a/b/c`.
fn order(a: &str, b: &str) -> Ordering {
    parts(a).cmp(&parts(b))
}

fn parts(name: &str) -> (&str, &str, &str) {
    let class = name.split('/').next().unwrap_or_default();
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    (class, folder, file)
}
