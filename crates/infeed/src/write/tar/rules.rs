//! Checks that keys and fields would be read back as they were written.

use infeed_core::{Error, Result};

/// Checks a key. Readers split names at the first dot of the base name, so a key must not have one there.
pub(super) fn check_key(key: &str) -> Result<()> {
    let base = key.rsplit('/').next().unwrap_or(key);
    let wrong = if key.is_empty() {
        "is empty".to_owned()
    } else if base.is_empty() {
        "ends in a slash".to_owned()
    } else if base.contains('.') {
        let (start, _) = base.split_once('.').unwrap_or((base, ""));
        format!("has a dot in `{base}`: it would be read as `{start}`; use `_` instead")
    } else if key.contains('\0') {
        "has a zero byte".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::argument(format!("the key `{}` {wrong}", key.escape_debug())))
}

/// Checks the fields of a sample, sorted by name.
pub(super) fn check_fields(key: &str, fields: &[(&str, &[u8])]) -> Result<()> {
    if fields.is_empty() {
        return Err(Error::argument(format!("the sample `{key}` has no fields: it would not be read back")));
    }
    if let Some(pair) = fields.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::argument(format!("the sample `{key}` has the field `{}` twice", pair[0].0)));
    }
    fields.iter().try_for_each(|(field, _)| check_field(key, field))
}

fn check_field(key: &str, field: &str) -> Result<()> {
    let wrong = if field.is_empty() {
        "is empty"
    } else if field.contains(['/', '\0']) {
        "has a slash or a zero byte in it"
    } else if field.starts_with("__") {
        "starts with `__`, which is kept for the loader's own fields"
    } else if field.to_lowercase() != field {
        "has upper-case letters, which are read as lower-case ones"
    } else if is_note(&format!("{key}.{field}")) {
        "makes a name like `__x__`, which readers skip"
    } else {
        return Ok(());
    };
    Err(Error::argument(format!("the field `{}` of the sample `{key}` {wrong}", field.escape_debug())))
}

/// Whether readers treat a name as metadata of the data set.
fn is_note(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or(name);
    first.len() >= 4 && first.starts_with("__") && first.ends_with("__")
}
