//! Parses and checks the arguments of a table.

use crate::shard::bytes::Reading;
use infeed_core::{Args, Dtype, Error, Result};
use serde_json::{Map, Value as Json};

/// How nulls are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// NaN in floats, missing elsewhere.
    Auto,
    /// A row with a null in a requested field is a bad sample.
    Error,
}

/// All arguments but the paths.
#[derive(Debug, Clone)]
pub(crate) struct TableArgs {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) filter: Option<String>,
    pub(crate) nulls: Nulls,
    /// Fill values for nulls: by column, or under `*` for all.
    pub(crate) fill: Map<String, Json>,
    pub(crate) matrices: Vec<MatrixArgs>,
    /// Whether lists that have one length are arrays of that shape.
    pub(crate) even_lists: bool,
    pub(crate) reading: Reading,
    pub(crate) split: Option<String>,
    /// The folder that cells may name files of, besides that of the table.
    pub(crate) files: Option<String>,
    pub(crate) table: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) key: Option<Vec<String>>,
    pub(crate) page: u64,
    pub(crate) csv: CsvArgs,
}

/// The dialect of a CSV file.
#[derive(Debug, Clone, Default)]
pub(crate) struct CsvArgs {
    /// The field separator; detected if not given.
    pub(crate) delimiter: Option<u8>,
    /// Whether the first row has the titles.
    pub(crate) titled: bool,
    /// Names of the columns, in place of the titles.
    pub(crate) names: Option<Vec<String>>,
    /// Types of some columns; `None` is text.
    pub(crate) types: Vec<(String, Option<Dtype>)>,
}

impl CsvArgs {
    fn parse(args: &Args) -> Result<Self> {
        let get = |name: &str| args.value(name);
        let bad = |name: &str, what: &str, value: &Json| {
            Error::argument(format!("{name} must be {what}, got {value}"))
        };
        let delimiter = match get("delimiter") {
            None => None,
            Some(value) => match value.as_str().map(str::as_bytes) {
                Some([one]) if !matches!(one, b'"' | b'\n' | b'\r') => Some(*one),
                _ => return Err(bad("delimiter", "one character, and no quote or line end", value)),
            },
        };
        let titled = match get("header") {
            None => true,
            Some(value) => value.as_bool().ok_or_else(|| bad("header", "true or false", value))?,
        };
        let mut types = vec![];
        if let Some(value) = get("types") {
            let all = value.as_object().ok_or_else(|| bad("types", "a table of columns", value))?;
            for (name, value) in all {
                let of = match value.as_str() {
                    Some("text" | "str" | "string") => None,
                    Some(text) => Some(Dtype::parse(text).filter(|d| !matches!(d, Dtype::F16 | Dtype::Bf16))),
                    None => Some(None),
                };
                let what = "text, bool, int64, float32, ...";
                let of = of.map(|of| of.ok_or_else(|| bad(&format!("types: `{name}`"), what, value)));
                types.push((name.clone(), of.transpose()?));
            }
        }
        let names = get("names").map(|value| names("names", value)).transpose()?;
        Ok(CsvArgs { delimiter, titled, names, types })
    }
}

/// One matrix field.
#[derive(Debug, Clone)]
pub(crate) struct MatrixArgs {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) dtype: Dtype,
    /// Whether the field is a single number instead of an array of one.
    pub(crate) scalar: bool,
    pub(crate) ops: Map<String, Json>,
}

/// Default rows per page of an SQLite table.
const PAGE: u64 = 8192;

impl TableArgs {
    /// Parses arguments whose names were checked against the format's entry; those the entry lacks count as not given.
    pub(crate) fn parse(args: &Args) -> Result<Self> {
        let get = |name: &str| args.value(name);
        let text = |name: &str| match get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Error::argument(format!("{name} must be text, got {other}"))),
        };
        let nulls = match text("nulls")?.as_deref() {
            None | Some("auto") => Nulls::Auto,
            Some("error") => Nulls::Error,
            Some(other) => {
                return Err(Error::argument(format!("nulls must be \"auto\" or \"error\", got \"{other}\"")));
            }
        };
        let reading = match text("read")?.as_deref() {
            None | Some("mmap") => Reading::Mapped,
            Some("pread") => Reading::Ranges,
            Some(other) => {
                return Err(Error::argument(format!("read must be \"mmap\" or \"pread\", got \"{other}\"")));
            }
        };
        let even_lists = match text("lists")?.as_deref() {
            None | Some("auto") => true,
            Some("vary") => false,
            Some(other) => {
                return Err(Error::argument(format!("lists must be \"auto\" or \"vary\", got \"{other}\"")));
            }
        };
        let fill = match get("fill") {
            None => Map::new(),
            Some(Json::Object(fill)) => fill.clone(),
            Some(value) => Map::from_iter([("*".to_owned(), value.clone())]),
        };
        let matrices = match get("matrix") {
            None => vec![],
            Some(Json::Object(all)) => {
                all.iter().map(|(name, about)| matrix(name, about)).collect::<Result<_>>()?
            }
            Some(other) => {
                return Err(Error::argument(format!("matrix must be a table of matrices, got {other}")));
            }
        };
        let page = match get("page") {
            None => PAGE,
            Some(page) => page.as_u64().filter(|n| (1..=1 << 24).contains(n)).ok_or_else(|| {
                Error::argument(format!("page must be a number of rows from 1 on, got {page}"))
            })?,
        };
        Ok(TableArgs {
            columns: get("columns").map(|value| names("columns", value)).transpose()?,
            filter: text("where")?,
            nulls,
            fill,
            matrices,
            even_lists,
            reading,
            split: text("split")?,
            files: text("files")?,
            table: text("table")?,
            query: text("query")?,
            key: get("key").map(|value| names("key", value)).transpose()?,
            page,
            csv: CsvArgs::parse(args)?,
        })
    }
}

/// Parses one name or a list of names.
fn names(what: &str, value: &Json) -> Result<Vec<String>> {
    let bad = || Error::argument(format!("{what} must be names, got {value}"));
    match value {
        Json::String(name) => Ok(vec![name.clone()]),
        Json::Array(all) => all.iter().map(|name| Ok(name.as_str().ok_or_else(bad)?.to_owned())).collect(),
        _ => Err(bad()),
    }
}

fn matrix(name: &str, about: &Json) -> Result<MatrixArgs> {
    let bad = |what: String| Error::argument(format!("matrix `{name}`: {what}"));
    let Json::Object(about) = about else { return Err(bad(format!("must be a table, got {about}"))) };
    const KNOWN: [&str; 4] = ["columns", "dtype", "scalar", "ops"];
    if let Some(wrong) = about.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(bad(format!("there is no `{wrong}` (there are: {})", KNOWN.join(", "))));
    }
    let columns = match about.get("columns") {
        Some(columns) => names("columns", columns).map_err(|e| bad(e.to_string()))?,
        None => return Err(bad("columns are missing".to_owned())),
    };
    if columns.is_empty() {
        return Err(bad("there must be at least one column".to_owned()));
    }
    let dtype = match about.get("dtype") {
        None => Dtype::F32,
        Some(Json::String(text)) => {
            Dtype::parse(text).ok_or_else(|| bad(format!("there is no dtype \"{text}\"")))?
        }
        Some(other) => return Err(bad(format!("dtype must be text, got {other}"))),
    };
    let scalar = about.get("scalar").is_some_and(|value| value == true);
    if scalar && columns.len() != 1 {
        return Err(bad(format!("a scalar has one column, got {}", columns.len())));
    }
    let ops = match about.get("ops") {
        None | Some(Json::Null) => Map::new(),
        Some(Json::Object(ops)) => ops.clone(),
        Some(other) => return Err(bad(format!("ops must be a table of columns, got {other}"))),
    };
    Ok(MatrixArgs { name: name.to_owned(), columns, dtype, scalar, ops })
}
