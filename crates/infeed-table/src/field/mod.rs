//! Maps the columns of a table to fields.
//!
//! `columns` finds them in all shards. `numbers` converts a column to native numbers, with the operations of `ops`.
//! `even` finds lists that all have one length. `loose` makes values of the other columns, `json` of nested ones.

pub(crate) mod cell_files;
pub(crate) mod columns;
pub(crate) mod even;
pub(crate) mod json;
pub(crate) mod loose;
pub(crate) mod numbers;
pub(crate) mod ops;

use arrow_schema::{DataType, Field as Column, FieldRef, Schema};
use infeed_core::{Dim, Dtype, FieldSpec};
use std::sync::Arc;

/// How a column is converted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnForm {
    /// One number per row.
    Number(Dtype),
    /// A fixed number of numbers per row.
    Fixed(Dtype, usize),
    /// A variable number of numbers per row.
    List(Dtype),
    Text,
    Bytes,
    /// A struct of bytes and path.
    File,
    Json,
}

/// A column, or one inside a struct, as a field.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: Arc<str>,
    pub(crate) how: ColumnForm,
    pub(crate) spec: FieldSpec,
    /// The type without details that do not matter to users: dictionaries, large and view types.
    pub(crate) plain: DataType,
    pub(crate) place: ColumnPlace,
    /// Whether its lists have one length, though its type allows others.
    pub(crate) even: bool,
}

/// The location of a column: the top-level column, and the path down through structs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnPlace {
    pub(crate) root: usize,
    pub(crate) path: Vec<usize>,
}

/// Returns all fields of a table, with structs flattened. Columns that cannot be read are omitted and
/// listed in the second result.
pub(crate) fn fields(schema: &Schema) -> (Vec<Field>, Vec<(String, DataType)>) {
    let (mut out, mut odd) = (vec![], vec![]);
    for (root, column) in schema.fields().iter().enumerate() {
        walk(column, column.name().clone(), ColumnPlace { root, path: vec![] }, &mut out, &mut odd);
    }
    (out, odd)
}

fn walk(
    column: &FieldRef,
    name: String,
    place: ColumnPlace,
    out: &mut Vec<Field>,
    odd: &mut Vec<(String, DataType)>,
) {
    if let DataType::Struct(parts) = values(column.data_type())
        && !is_file(parts)
    {
        for (at, part) in parts.iter().enumerate() {
            let mut place = place.clone();
            place.path.push(at);
            walk(part, format!("{name}.{}", part.name()), place, out, odd);
        }
        return;
    }
    match kind(column) {
        Some((how, spec)) => {
            let plain = plain(column.data_type());
            out.push(Field { name: name.into(), how, spec, plain, place, even: false });
        }
        None => odd.push((name, column.data_type().clone())),
    }
}

/// Returns the type of the values of dictionaries and run-length encoded columns.
fn values(mut kind: &DataType) -> &DataType {
    loop {
        kind = match kind {
            DataType::Dictionary(_, values) => values,
            DataType::RunEndEncoded(_, values) => values.data_type(),
            other => return other,
        };
    }
}

/// Returns whether a struct has the form in which Hugging Face stores images and audio: the bytes of a
/// file, its path, or both.
fn is_file(parts: &arrow_schema::Fields) -> bool {
    let has = |name: &str, ok: fn(&DataType) -> bool| {
        parts.iter().any(|part| part.name() == name && ok(part.data_type()))
    };
    parts.len() == 2 && has("bytes", is_binary) && has("path", is_text)
}

pub(crate) fn is_binary(kind: &DataType) -> bool {
    matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

pub(crate) fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Returns the dtype that a column of numbers is converted to.
pub(crate) fn number(kind: &DataType) -> Option<Dtype> {
    Some(match kind {
        DataType::Boolean => Dtype::Bool,
        DataType::Int8 => Dtype::I8,
        DataType::Int16 => Dtype::I16,
        DataType::Int32 => Dtype::I32,
        DataType::Int64 => Dtype::I64,
        DataType::UInt8 => Dtype::U8,
        DataType::UInt16 => Dtype::U16,
        DataType::UInt32 => Dtype::U32,
        DataType::UInt64 => Dtype::U64,
        DataType::Float16 => Dtype::F16,
        DataType::Float32 => Dtype::F32,
        DataType::Float64 => Dtype::F64,
        DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_) => Dtype::I64,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => Dtype::F64,
        _ => return None,
    })
}

fn kind(column: &Column) -> Option<(ColumnForm, FieldSpec)> {
    let kind = column.data_type();
    if let Some(dtype) = number(kind) {
        return Some((ColumnForm::Number(dtype), FieldSpec::scalar(dtype)));
    }
    Some(match kind {
        DataType::Dictionary(_, values) => {
            let inner = Column::new(column.name(), (**values).clone(), true);
            return self::kind(&inner);
        }
        DataType::RunEndEncoded(_, values) => return self::kind(values),
        kind if is_text(kind) => (ColumnForm::Text, FieldSpec::text()),
        DataType::Null => (ColumnForm::Text, FieldSpec::text()),
        kind if is_binary(kind) => (ColumnForm::Bytes, FieldSpec::encoded()),
        DataType::FixedSizeBinary(_) => (ColumnForm::Bytes, FieldSpec::encoded()),
        DataType::Struct(_) => (ColumnForm::File, FieldSpec::encoded()),
        DataType::FixedSizeList(..) => match fixed(kind) {
            Some((dtype, shape)) => {
                let shape = tensor_shape(column, &shape).unwrap_or(shape);
                let count = shape.iter().product();
                let spec = FieldSpec::array(dtype, shape.into_iter().map(Dim::Fixed).collect());
                (ColumnForm::Fixed(dtype, count), spec)
            }
            None => (ColumnForm::Json, FieldSpec::json()),
        },
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => match number(item.data_type()) {
            Some(dtype) => (ColumnForm::List(dtype), FieldSpec::array(dtype, vec![Dim::Any])),
            None => (ColumnForm::Json, FieldSpec::json()),
        },
        DataType::Map(..) | DataType::Union(..) | DataType::Interval(_) => {
            (ColumnForm::Json, FieldSpec::json())
        }
        _ => return None,
    })
}

/// Returns the dtype and shape of nested fixed-size lists.
fn fixed(kind: &DataType) -> Option<(Dtype, Vec<usize>)> {
    if let DataType::FixedSizeList(item, len) = kind {
        let (dtype, mut shape) = fixed(item.data_type())?;
        shape.insert(0, usize::try_from(*len).ok()?);
        return Some((dtype, shape));
    }
    Some((number(kind)?, vec![]))
}

/// Returns the shape that Arrow's fixed-shape tensors store in addition to their flat type.
fn tensor_shape(column: &Column, flat: &[usize]) -> Option<Vec<usize>> {
    let meta = column.metadata();
    if meta.get("ARROW:extension:name")? != "arrow.fixed_shape_tensor" {
        return None;
    }
    let about: serde_json::Value = serde_json::from_str(meta.get("ARROW:extension:metadata")?).ok()?;
    let dims = about.get("shape")?.as_array()?;
    let shape: Vec<usize> = dims.iter().map(|n| usize::try_from(n.as_u64()?).ok()).collect::<Option<_>>()?;
    let product = shape.iter().try_fold(1usize, |a, b| a.checked_mul(*b))?;
    (product == flat.iter().product::<usize>() && about.get("permutation").is_none()).then_some(shape)
}

/// Returns the type without what users do not see: the storage of text and lists, and dictionaries.
pub(crate) fn plain(kind: &DataType) -> DataType {
    let item = |field: &FieldRef| Arc::new(Column::new("item", plain(field.data_type()), true));
    match kind {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        kind if is_text(kind) => DataType::Utf8,
        kind if is_binary(kind) => DataType::Binary,
        DataType::List(of)
        | DataType::LargeList(of)
        | DataType::ListView(of)
        | DataType::LargeListView(of) => DataType::List(item(of)),
        DataType::FixedSizeList(of, len) => DataType::FixedSizeList(item(of), *len),
        DataType::Struct(parts) => DataType::Struct(
            parts
                .iter()
                .map(|part| Arc::new(Column::new(part.name(), plain(part.data_type()), true)))
                .collect(),
        ),
        kind => kind.clone(),
    }
}
