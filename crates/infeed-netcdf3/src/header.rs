//! The header: dimensions, attributes, variables, and where these begin.

use crate::{
    cursor::Cursor,
    error::{Error, Result},
    source::{ByteSource, Limits},
};

/// The numbers that variables and attributes are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    I8,
    /// A character: a byte of text.
    Char,
    I16,
    I32,
    F32,
    F64,
    U8,
    U16,
    U32,
    I64,
    U64,
}

impl Kind {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Kind> {
        let code = cursor.u32()?;
        // The newer ones came with the fifth version.
        let last = if cursor.wide { 11 } else { 6 };
        if code > last {
            return Err(cursor.wrong(format!("the type {code} does not exist")));
        }
        Ok(match code {
            1 => Kind::I8,
            2 => Kind::Char,
            3 => Kind::I16,
            4 => Kind::I32,
            5 => Kind::F32,
            6 => Kind::F64,
            7 => Kind::U8,
            8 => Kind::U16,
            9 => Kind::U32,
            10 => Kind::I64,
            11 => Kind::U64,
            _ => return Err(cursor.wrong(format!("the type {code} does not exist"))),
        })
    }

    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::Char | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::F32 | Kind::U32 => 4,
            Kind::F64 | Kind::I64 | Kind::U64 => 8,
        }
    }
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// Whole numbers.
    Integers(Vec<i128>),
    /// Floating point numbers.
    Floats(Vec<f64>),
}

/// A dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Its length: that of the record dimension is the number of records.
    pub len: u64,
    /// Whether it can grow. Only one dimension of a file can.
    pub record: bool,
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What its elements are.
    pub kind: Kind,
    /// Its shape.
    pub shape: Vec<u64>,
    /// The names of its dimensions.
    pub dimensions: Vec<String>,
    /// Its attributes.
    pub attributes: Vec<(String, Value)>,
    /// Where its first element is.
    pub begin: u64,
    /// Bytes between neighbours along each axis. Records of all variables take turns, so that those of one are far apart.
    pub strides: Vec<u64>,
}

/// Everything that the header says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub(crate) version: u8,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<(String, Value)>,
    pub(crate) variables: Vec<Variable>,
}

/// A variable before the records are counted.
struct Draft {
    name: String,
    kind: Kind,
    axes: Vec<usize>,
    attributes: Vec<(String, Value)>,
    begin: u64,
    /// Bytes of all of it, or of one record.
    bytes: u64,
    records: bool,
}

impl Header {
    pub(crate) fn read(source: &dyn ByteSource, limits: Limits) -> Result<Header> {
        let mut cursor = Cursor::new(source, limits)?;
        let magic = cursor.take(4).map_err(|_| Error::NotNetcdf3)?;
        let version = match &magic[..] {
            [b'C', b'D', b'F', version @ (1 | 2 | 5)] => *version,
            _ => return Err(Error::NotNetcdf3),
        };
        cursor.wide = version == 5;
        let told = cursor.count()?;
        // All bits set: whoever wrote the file did not know yet.
        let streaming = told == if cursor.wide { u64::MAX } else { u64::from(u32::MAX) };
        let mut dimensions = Vec::new();
        for _ in 0..cursor.list(10, 8)? {
            let (name, len) = (cursor.name()?, cursor.count()?);
            dimensions.push(Dimension { name, len, record: len == 0 });
        }
        if dimensions.iter().filter(|dimension| dimension.record).count() > 1 {
            return Err(cursor.wrong("several dimensions without a length"));
        }
        let attributes = attributes(&mut cursor)?;
        let mut drafts = Vec::new();
        for _ in 0..cursor.list(11, 28)? {
            drafts.push(draft(&mut cursor, &dimensions, version)?);
        }
        let (record, records) = records(&drafts, source.size(), (!streaming).then_some(told))
            .ok_or_else(|| cursor.wrong("records without a size"))?;
        for dimension in dimensions.iter_mut().filter(|dimension| dimension.record) {
            dimension.len = records;
        }
        let finish = |draft| finish(draft, &dimensions, record, &cursor);
        let variables = drafts.into_iter().map(finish).collect::<Result<_>>()?;
        Ok(Header { version, dimensions, attributes, variables })
    }
}

fn attributes(cursor: &mut Cursor<'_>) -> Result<Vec<(String, Value)>> {
    let mut out = Vec::new();
    for _ in 0..cursor.list(12, 12)? {
        let (name, kind) = (cursor.name()?, Kind::parse(cursor)?);
        let count = cursor.things(kind.size() as u64)?;
        let data = cursor.padded(count * kind.size() as u64)?;
        out.push((name, value(kind, &data)));
    }
    Ok(out)
}

fn value(kind: Kind, data: &[u8]) -> Value {
    let raw =
        data.chunks_exact(kind.size()).map(|n| n.iter().fold(0u64, |all, &byte| all << 8 | u64::from(byte)));
    let left = 64 - kind.size() as u32 * 8;
    match kind {
        Kind::Char => Value::Text(String::from_utf8_lossy(data).into_owned()),
        Kind::F32 => Value::Floats(raw.map(|n| f64::from(f32::from_bits(n as u32))).collect()),
        Kind::F64 => Value::Floats(raw.map(f64::from_bits).collect()),
        Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => {
            Value::Integers(raw.map(|n| i128::from((n << left) as i64 >> left)).collect())
        }
        _ => Value::Integers(raw.map(i128::from).collect()),
    }
}

fn draft(cursor: &mut Cursor<'_>, dimensions: &[Dimension], version: u8) -> Result<Draft> {
    let name = cursor.name()?;
    let mut axes = Vec::new();
    for _ in 0..cursor.things(4)? {
        let axis = cursor.count()?;
        let known = usize::try_from(axis).ok().filter(|&axis| axis < dimensions.len());
        axes.push(known.ok_or_else(|| cursor.wrong(format!("there is no dimension {axis}")))?);
    }
    let records = axes.first().is_some_and(|&axis| dimensions[axis].record);
    if axes.iter().skip(1).any(|&axis| dimensions[axis].record) {
        return Err(cursor.wrong("a dimension without a length is not the first one"));
    }
    let attributes = attributes(cursor)?;
    let kind = Kind::parse(cursor)?;
    // The size that is told cannot hold large ones, so it is counted anew.
    cursor.count()?;
    let begin = if version == 1 { u64::from(cursor.u32()?) } else { cursor.u64()? };
    let mut inner = axes.iter().skip(usize::from(records)).map(|&axis| dimensions[axis].len);
    let bytes = inner.try_fold(kind.size() as u64, |all, n| all.checked_mul(n));
    let bytes =
        bytes.filter(|&bytes| bytes < 1 << 62).ok_or_else(|| cursor.wrong(format!("the size of {name}")))?;
    Ok(Draft { name, kind, axes, attributes, begin, bytes, records })
}

/// Bytes of one record of all variables, and how many records there are.
fn records(drafts: &[Draft], size: u64, told: Option<u64>) -> Option<(u64, u64)> {
    let mut own = drafts.iter().filter(|draft| draft.records);
    // A variable that is alone is not filled up.
    let record = match (own.next(), own.next()) {
        (None, _) => return Some((0, told.unwrap_or(0))),
        (Some(only), None) => only.bytes,
        _ => drafts
            .iter()
            .filter(|draft| draft.records)
            .try_fold(0u64, |all, draft| all.checked_add(draft.bytes.next_multiple_of(4)))?,
    };
    let first = drafts.iter().filter(|draft| draft.records).map(|draft| draft.begin).min()?;
    let there = || size.saturating_sub(first).checked_div(record).unwrap_or(0);
    Some((record, told.unwrap_or_else(there)))
}

fn finish(draft: Draft, dimensions: &[Dimension], record: u64, cursor: &Cursor<'_>) -> Result<Variable> {
    let shape: Vec<u64> = draft.axes.iter().map(|&axis| dimensions[axis].len).collect();
    let mut strides = vec![draft.kind.size() as u64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    if draft.records {
        strides[0] = record;
    }
    let all = match shape.first() {
        Some(&count) if draft.records => count.checked_mul(record.max(draft.bytes)),
        _ => Some(draft.bytes),
    };
    // Also the elements must be countable: they are given without what is between records.
    let end = all.and_then(|all| all.checked_add(draft.begin)).filter(|&end| end < 1 << 63);
    if end.is_none() {
        return Err(cursor.wrong(format!("the size of {}", draft.name)));
    }
    let names = draft.axes.iter().map(|&axis| dimensions[axis].name.clone()).collect();
    Ok(Variable {
        name: draft.name,
        kind: draft.kind,
        shape,
        dimensions: names,
        attributes: draft.attributes,
        begin: draft.begin,
        strides,
    })
}
