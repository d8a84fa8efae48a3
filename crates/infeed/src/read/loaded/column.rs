//! Columns that name files: from a value to the name of a file.

use infeed_core::{
    Dtype, Error, FieldKind, FieldSpec, Result, Spec, Store, Tensor, Value,
    store::below::{folder_of, name_below},
};
use serde_json::Value as Json;
use std::{borrow::Cow, sync::Arc};

/// A column whose values name files, and the field that has the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileColumn {
    /// The field that is read for the paths.
    pub(super) column: Arc<str>,
    /// Where in the field the path is, for fields of JSON: `meta.path` has the part `path`.
    part: Option<String>,
    /// The folder that paths are relative to and must lead below; by default that of the shard. It ends in a slash, or in the
    /// colon of a store.
    root: Option<String>,
    /// What stands before and behind a value in a path.
    pattern: (String, String),
    /// The name of the field of files, for errors.
    pub(super) to: String,
    /// The name of the field of files in records.
    pub(super) stored: Arc<str>,
}

impl FileColumn {
    /// Checks a column against the fields of a source. `column` is a field, or a part of a field of JSON behind a dot.
    pub fn new(
        spec: &Spec,
        column: &str,
        to: &str,
        root: Option<&str>,
        pattern: Option<&str>,
    ) -> Result<FileColumn> {
        let (at, part) = match (spec.position(column), column.split_once('.')) {
            (None, Some((field, part))) if spec.position(field).is_some() => {
                (spec.require(field, "load")?, Some(part.to_owned()))
            }
            _ => (spec.require(column, "load")?, None),
        };
        let (name, field) = &spec.fields[at];
        if !can_name(field, part.is_some()) {
            return Err(Error::plan(
                "load",
                format!("`{column}` is {field}: a column that names files has text, or whole numbers"),
            ));
        }
        let pattern = match pattern.map(|pattern| pattern.split("{}").collect::<Vec<_>>()).as_deref() {
            None => (String::new(), String::new()),
            Some([before, behind]) => ((*before).to_owned(), (*behind).to_owned()),
            Some(_) => {
                return Err(Error::plan("load", "a pattern has {} once, where the value stands: \"{}.jpg\""));
            }
        };
        let root = root.map(|root| match root.ends_with(['/', ':']) {
            true => root.to_owned(),
            false => format!("{root}/"),
        });
        Ok(FileColumn {
            column: Arc::clone(name),
            part,
            root,
            pattern,
            to: to.to_owned(),
            stored: stored(to),
        })
    }

    /// Gives the field of files another name in records.
    #[must_use]
    pub fn stored_as(mut self, name: &str) -> Self {
        self.stored = name.into();
        self
    }

    /// Returns the folder that a row's path is relative to. `shard` is asked for only where no folder was given.
    pub(super) fn folder(&self, shard: impl FnOnce() -> String) -> Cow<'_, str> {
        match &self.root {
            Some(root) => Cow::Borrowed(root),
            None => Cow::Owned(folder_of(&shard())),
        }
    }

    /// Returns the name of the file that a value stands for.
    pub(super) fn name(&self, store: &dyn Store, folder: &str, value: &Value) -> Result<String> {
        let value = self.text(value)?;
        if value.is_empty() {
            return Err(Error::sample(format!("`{}` has no path, but an empty text", self.column)));
        }
        let path = match &self.pattern {
            (before, behind) if before.is_empty() && behind.is_empty() => value,
            (before, behind) => Cow::Owned(format!("{before}{value}{behind}")),
        };
        name_below(store, folder, &path).ok_or_else(|| {
            Error::sample(format!(
                "`{}` names the file `{path}`, which is outside of `{folder}`: it is not read; root= names the folder that \
                 paths are relative to",
                self.column
            ))
        })
    }

    /// Returns the path in a value.
    fn text<'a>(&self, value: &'a Value) -> Result<Cow<'a, str>> {
        let wrong = |what: &str| {
            let part = self.part.as_ref().map(|part| format!(".{part}")).unwrap_or_default();
            Error::sample(format!("`{}{part}` has no path, but {what}", self.column))
        };
        let text = match value {
            Value::Text(text) | Value::Json(text) => text.as_str(),
            Value::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| wrong("bytes that are no UTF-8 text"))?;
                text.trim_end_matches(['\r', '\n'])
            }
            Value::Tensor(tensor) => {
                return whole(tensor).map(Cow::Owned).ok_or_else(|| wrong("an array"));
            }
            other => return Err(wrong(other.what())),
        };
        if self.part.is_none() && !matches!(value, Value::Json(_)) {
            return Ok(Cow::Borrowed(text));
        }
        let json: Json = serde_json::from_str(text).map_err(|e| wrong(&format!("no valid JSON ({e})")))?;
        let mut parts = self.part.iter().flat_map(|part| part.split('.'));
        let found = parts.try_fold(&json, |json, part| json.get(part));
        match found {
            Some(Json::String(text)) => Ok(Cow::Owned(text.clone())),
            Some(Json::Number(number)) if number.is_i64() || number.is_u64() => {
                Ok(Cow::Owned(number.to_string()))
            }
            Some(Json::Null) | None => Err(wrong("nothing")),
            Some(_) => Err(wrong("another kind of JSON")),
        }
    }
}

/// Returns the name in records of the field of files called `to`. Another one than `to`, which the column itself may have.
pub fn stored(to: &str) -> Arc<str> {
    format!("{to} (file)").into()
}

fn can_name(field: &FieldSpec, has_part: bool) -> bool {
    use Dtype::{I8, I16, I32, I64, U8, U16, U32, U64};
    match field.kind {
        FieldKind::Text | FieldKind::Json | FieldKind::Encoded => true,
        FieldKind::Array if !has_part && field.shape.is_empty() => {
            matches!(field.dtype, U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64)
        }
        _ => false,
    }
}

/// Returns a whole number as text.
fn whole(tensor: &Tensor) -> Option<String> {
    fn number<const N: usize>(tensor: &Tensor) -> Option<[u8; N]> {
        tensor.data.as_ref().try_into().ok()
    }
    if !tensor.shape.is_empty() {
        return None;
    }
    Some(match tensor.dtype {
        Dtype::U8 => u8::from_ne_bytes(number(tensor)?).to_string(),
        Dtype::I8 => i8::from_ne_bytes(number(tensor)?).to_string(),
        Dtype::U16 => u16::from_ne_bytes(number(tensor)?).to_string(),
        Dtype::I16 => i16::from_ne_bytes(number(tensor)?).to_string(),
        Dtype::U32 => u32::from_ne_bytes(number(tensor)?).to_string(),
        Dtype::I32 => i32::from_ne_bytes(number(tensor)?).to_string(),
        Dtype::U64 => u64::from_ne_bytes(number(tensor)?).to_string(),
        Dtype::I64 => i64::from_ne_bytes(number(tensor)?).to_string(),
        _ => return None,
    })
}
