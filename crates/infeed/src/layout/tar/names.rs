//! Splits member names into keys and fields, by WebDataset's rule.
//!
//! The rule is the expression `^((?:.*/|)[^.]+)[.]([^/]*)$`: the key ends at the first dot of the base name, folders
//! stay in the key, and a name without a dot is not part of any sample.

/// Returns key and extension of a name, or `None`.
pub(crate) fn split(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let base = memchr::memrchr(b'/', name).map_or(0, |slash| slash + 1);
    let dot = base + memchr::memchr(b'.', &name[base..])?;
    // A base name that starts with a dot has no key of its own. The expression then takes the folder as the key, unless
    // the folder's own name has a dot; this code must do the same.
    if dot == base {
        let folder = name[..base].strip_suffix(b"/")?;
        let last = memchr::memrchr(b'/', folder).map_or(0, |slash| slash + 1);
        if folder[last..].contains(&b'.') {
            return None;
        }
    }
    Some((&name[..dot], &name[dot + 1..]))
}

/// Whether a name starts with `__something__`, alone or as a folder: metadata of the data set, not a sample.
pub(crate) fn is_note(name: &[u8]) -> bool {
    let first = &name[..memchr::memchr(b'/', name).unwrap_or(name.len())];
    first.len() >= 4 && first.starts_with(b"__") && first.ends_with(b"__")
}
