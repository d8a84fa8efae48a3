//! Text files that list images and their labels.
//!
//! ```text
//! path,label            a first line of titles is skipped
//! # a comment
//! cats/1.jpg,cat        the label is a whole number or a name; tab, comma or space before it
//! dogs/7.jpg,dog        names are numbered in sorted order: cat 0, dog 1
//! ```

use super::is_image;
use infeed_core::{Error, Result};
use std::collections::BTreeSet;

/// The content of a manifest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) names: Vec<String>,
    /// One per name, or `None` if no line has one.
    pub(super) labels: Option<Vec<i64>>,
    /// The class names, if labels are names.
    pub(super) classes: Vec<String>,
}

/// Parses a manifest; `name` is for messages.
pub(super) fn parse(name: &str, text: &str) -> Result<Manifest> {
    let mut lines = lines(text).peekable();
    lines.next_if(|(_, line)| is_title(line));
    let mut names = Vec::new();
    let mut labels = Vec::new();
    for (number, line) in lines {
        let (path, label) = split(line);
        let wrong = |what: &str| Error::argument(format!("manifest `{name}`, line {number}: {what}"));
        if path.is_empty() {
            return Err(wrong("there is no path"));
        }
        if label == Some("") {
            return Err(wrong("there is nothing after the separator"));
        }
        labels.extend(label);
        names.push(path.to_owned());
        // All lines or none: a label that is only sometimes missing is a mistake.
        if !labels.is_empty() && labels.len() != names.len() {
            return Err(wrong(match label {
                Some(_) => "it has a label, the lines before it have none",
                None => "it has no label, the lines before it have one",
            }));
        }
    }
    if names.is_empty() {
        return Err(Error::argument(format!("manifest `{name}` lists no files")));
    }
    let (labels, classes) = number(&labels);
    Ok(Manifest { names, labels, classes })
}

/// Whether a text looks like a manifest: its first line names an image.
pub(super) fn looks_like_one(text: &str) -> bool {
    let first = lines(text).find(|(_, line)| !is_title(line));
    first.is_some_and(|(_, line)| is_image(split(line).0))
}

/// Returns the non-empty lines, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // Spreadsheets write a byte order mark at the start of UTF-8 files.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn is_title(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let (path, label) = split(&line);
    let known = |word: &str, words: &[&str]| words.contains(&word);
    known(path, &["path", "file", "filename", "image", "name"])
        && label.is_none_or(|label| known(label, &["label", "class", "target", "cls"]))
}

/// Splits a line into path and label. What follows the last separator is a label unless it ends like an image's name.
fn split(line: &str) -> (&str, Option<&str>) {
    for separator in ['\t', ',', ' '] {
        if let Some((path, label)) = line.rsplit_once(separator) {
            return if is_image(bare(label)) { (bare(line), None) } else { (bare(path), Some(bare(label))) };
        }
    }
    (bare(line), None)
}

/// Strips surrounding spaces and quotes.
fn bare(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')).unwrap_or(text)
}

/// Returns labels as numbers, and the class names if they are names.
fn number(labels: &[&str]) -> (Option<Vec<i64>>, Vec<String>) {
    if labels.is_empty() {
        return (None, Vec::new());
    }
    if let Ok(numbers) = labels.iter().map(|label| label.parse()).collect() {
        return (Some(numbers), Vec::new());
    }
    let classes: Vec<&str> = labels.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let place = |label: &&str| classes.binary_search(label).map_or(-1, |at| at as i64);
    (Some(labels.iter().map(place).collect()), classes.iter().map(|&c| c.to_owned()).collect())
}
