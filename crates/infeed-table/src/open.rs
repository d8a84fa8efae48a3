//! From paths and arguments to a source.

use crate::{
    args::TableArgs,
    avro::AvroShard,
    blocks::Blocks,
    csv,
    decoded::Made,
    field::{Field, How},
    files,
    ipc::IpcShard,
    loose::Filling,
    mixed::{self, Columns},
    ops,
    parquet::ParquetShard,
    source::TableSource,
    sqlite,
};
use infeed_core::{Dim, Dtype, Error, FieldSpec, Result, Source, parallel, registry};
use infeed_order::filter::Expr;
use serde_json::{Map, Value as Json, json};
use std::{fs::File, io::Read, path::Path, sync::Arc};

/// The formats.
pub const KINDS: [&str; 5] = ["parquet", "arrow", "avro", "sqlite", "csv_table"];

/// Opens files of one format, one of [`KINDS`]. Reads footers and headers, of comma-separated values everything once to find
/// their rows; with `where` also the columns that it names.
pub fn open(kind: &str, paths: &[String], args: &Map<String, Json>) -> Result<TableSource> {
    let kind = known(kind)?;
    let parsed = TableArgs::parse(kind, args)?;
    let shards = shards(kind, paths, &parsed)?;
    let columns = columns(&shards, &parsed)?;
    let fields = fields(&columns, &parsed)?;
    TableSource::new(kind, shards, columns, fields, &parsed)
}

/// The format of a file or folder, by its first bytes and its name.
pub fn kind_of(path: &str) -> Result<&'static str> {
    let unknown = || {
        Error::argument(format!("`{path}` is no table that is known ({}): give format=", KINDS.join(", ")))
    };
    if Path::new(path).is_dir() {
        return files::kind_of_folder(path).ok_or_else(unknown);
    }
    let mut head = [0; 16];
    let mut file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    let got = file.read(&mut head).map_err(|e| Error::io("read", path, e))?;
    Ok(match &head[..got] {
        [b'P', b'A', b'R', b'1', ..] => "parquet",
        [b'O', b'b', b'j', 1, ..] => "avro",
        head if head.starts_with(b"ARROW1") || head.starts_with(&[0xff; 4]) => "arrow",
        head if head == b"SQLite format 3\0" => "sqlite",
        // Text begins with anything: its name must tell.
        _ if csv::is_named(path) => "csv_table",
        _ => return Err(unknown()),
    })
}

/// What a table has, as JSON: rows, blocks, and of every field its name, type and whether it is one number.
pub fn info(kind: &str, paths: &[String], args: &Map<String, Json>) -> Result<Json> {
    let source = open(kind, paths, args)?;
    let fields: Vec<Json> = source
        .spec()
        .fields
        .iter()
        .map(|(name, spec)| {
            let number = spec.shape.is_empty() && spec.fixed_bytes().is_some();
            json!({"name": &**name, "spec": spec.to_string(), "dtype": spec.dtype.name(), "number": number})
        })
        .collect();
    Ok(json!({"rows": source.rows(), "blocks": source.block_rows().len(), "fields": fields}))
}

fn known(kind: &str) -> Result<&'static str> {
    KINDS.into_iter().find(|name| *name == kind).ok_or_else(|| {
        let near =
            registry::nearest(kind, &KINDS).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        Error::argument(format!("there is no table format `{kind}`{near} (there are: {})", KINDS.join(", ")))
    })
}

/// The shards, opened on all CPUs.
pub(crate) fn shards(kind: &str, paths: &[String], args: &TableArgs) -> Result<Vec<Arc<dyn Blocks>>> {
    let names = files::expand(kind, paths, args.split.as_deref())?;
    if kind == "csv_table" {
        return csv::shards(&names, args);
    }
    parallel::map(names.len(), parallel::cpus(), |place| {
        let name = &names[place];
        Ok(match kind {
            "parquet" => Arc::new(ParquetShard::open(name, args.reading)?) as Arc<dyn Blocks>,
            "arrow" => Arc::new(IpcShard::open(name, args.reading)?),
            "avro" => Arc::new(AvroShard::open(name, args.reading)?),
            _ => Arc::new(sqlite::SqliteShard::open(name, args)?),
        })
    })
}

/// The columns that are needed, looked up in every shard.
pub(crate) fn columns(shards: &[Arc<dyn Blocks>], args: &TableArgs) -> Result<Columns> {
    let mut needed: Vec<String> = args.columns.clone().unwrap_or_default();
    needed.extend(args.matrices.iter().flat_map(|matrix| matrix.columns.iter().cloned()));
    if let Some(text) = &args.filter {
        needed.extend(Expr::parse(text)?.names());
    }
    let all = args.columns.is_none() && args.matrices.is_empty();
    mixed::common(shards, &needed, all)
}

/// The fields of the source: columns that were asked for, then matrices.
fn fields(columns: &Columns, args: &TableArgs) -> Result<Vec<(Arc<str>, FieldSpec, Made)>> {
    let mut out = vec![];
    for (place, field) in columns.fields.iter().enumerate() {
        let asked = match &args.columns {
            None => args.matrices.is_empty(),
            Some(names) => names.iter().any(|name| {
                *field.name == **name
                    || field.name.strip_prefix(&**name).is_some_and(|rest| rest.starts_with('.'))
            }),
        };
        if asked {
            let fill = filling(field, args)?;
            out.push((field.name.clone(), field.spec.clone(), Made::Column { field: place, fill }));
        }
    }
    for matrix in &args.matrices {
        let bad = |what: String| Error::argument(format!("matrix `{}`: {what}", matrix.name));
        if out.iter().any(|(name, ..)| **name == *matrix.name) {
            return Err(bad(
                "there is a column of that name among the fields: give it another one".to_owned()
            ));
        }
        if let Some(wrong) = matrix.ops.keys().find(|name| *name != "*" && !matrix.columns.contains(name)) {
            return Err(bad(format!("there are operations for `{wrong}`, which is none of its columns")));
        }
        let mut made = vec![];
        for name in &matrix.columns {
            let place = columns.fields.iter().position(|field| *field.name == **name);
            let place = place.ok_or_else(|| {
                bad(format!("`{name}` is a struct: name its columns, as in `{name}.first`"))
            })?;
            let steps = matrix.ops.get(name).or_else(|| matrix.ops.get("*"));
            let ops = steps.map(|steps| ops::parse(name, steps)).transpose()?.unwrap_or_default();
            check(&columns.fields[place], &ops).map_err(bad)?;
            made.push((place, ops));
        }
        let shape = if matrix.scalar { vec![] } else { vec![Dim::Fixed(made.len())] };
        let spec = FieldSpec::array(matrix.dtype, shape);
        out.push((matrix.name.as_str().into(), spec, Made::Matrix { dtype: matrix.dtype, columns: made }));
    }
    if out.is_empty() {
        return Err(Error::argument("no column is asked for: name one in columns= or leave columns= out"));
    }
    if let Some(wrong) =
        args.fill.keys().find(|name| *name != "*" && !columns.fields.iter().any(|f| *f.name == ***name))
    {
        return Err(Error::argument(format!("fill: there is no column `{wrong}` among those that are read")));
    }
    Ok(out)
}

/// Whether a column can be in a matrix.
fn check(field: &Field, steps: &[ops::Op]) -> Result<(), String> {
    let categories = match steps.first() {
        Some(ops::Op::Categories(list)) => Some(list),
        _ => None,
    };
    match (&field.how, categories) {
        (How::Number(dtype), Some(list)) if dtype.is_float() || !list.texts.is_empty() => Err(format!(
            "column `{}` is {}, and its categories are not whole numbers",
            field.name, field.plain
        )),
        (How::Text, Some(list)) if !list.ints.is_empty() => {
            Err(format!("column `{}` is text, and its categories are numbers", field.name))
        }
        (How::Number(_), _) | (How::Text, Some(_)) => Ok(()),
        (How::Text, None) => Err(format!(
            "column `{}` is text: leave it out, or number its values with categories={{\"{}\": [...]}}",
            field.name, field.name
        )),
        _ => Err(format!("column `{}` is {}, and only numbers can be in a matrix", field.name, field.plain)),
    }
}

/// The value for nulls of a column, checked against its type.
fn filling(field: &Field, args: &TableArgs) -> Result<Option<Filling>> {
    let own = args.fill.get(&*field.name);
    let Some(value) = own.or_else(|| args.fill.get("*")).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let filling = match (&field.how, value) {
        (How::Number(Dtype::Bool), Json::Bool(value)) => Some(Filling::Number(f64::from(u8::from(*value)))),
        (How::Number(dtype) | How::Fixed(dtype, _), Json::Number(number)) => {
            let number = number.as_f64().filter(|x| dtype.is_float() || x.fract() == 0.0);
            number.map(Filling::Number)
        }
        (How::Text, Json::String(text)) => Some(Filling::Text(text.clone())),
        _ => None,
    };
    // A value for all columns only concerns those that it fits.
    match (filling, own) {
        (None, Some(_)) => Err(Error::argument(format!(
            "fill: {value} does not fit column `{}` of {}",
            field.name, field.plain
        ))),
        (filling, _) => Ok(filling),
    }
}
