//! Rows in memory: arrays, and cells of varying length.

use infeed_core::{Bytes, Dim, Dtype, Error, FieldSpec, Image, Record, Result, Source, Spec, Tensor, Value};
use std::sync::Arc;

/// One field of every row.
#[derive(Debug, Clone)]
pub enum Cells {
    /// Arrays of one shape, concatenated.
    Array {
        /// Element type.
        dtype: Dtype,
        /// Shape of one row.
        shape: Vec<usize>,
        /// All rows.
        data: Bytes,
    },
    /// u8 images of one size, height x width x channels.
    Image {
        /// Height, width, channels.
        shape: [usize; 3],
        /// All rows.
        data: Bytes,
    },
    /// Cells of varying length.
    Pieces {
        /// The start of each row in `data`, and the end of the last one.
        offsets: Arc<[u64]>,
        /// All rows.
        data: Bytes,
        /// Whether the bytes are UTF-8 text.
        text: bool,
    },
}

/// Rows in memory. They are not copied until a record is made.
#[derive(Debug)]
pub struct MemorySource {
    name: String,
    rows: [u64; 1],
    spec: Spec,
    cells: Vec<Cells>,
}

impl MemorySource {
    /// Creates a source of `rows` rows. Without fields, rows are only numbers: the caller makes the samples.
    pub fn new(name: impl Into<String>, rows: u64, fields: Vec<(String, Cells)>) -> Result<Self> {
        let name = name.into();
        if rows == 0 {
            return Err(Error::plan("read", format!("`{name}` has no rows")));
        }
        let mut spec = Spec::default();
        let mut all = vec![];
        for (field, cells) in fields {
            cells
                .check(rows)
                .map_err(|what| Error::plan("read", format!("the field `{field}` of `{name}` {what}")))?;
            if spec.position(&field).is_some() {
                return Err(Error::plan("read", format!("`{name}` has two fields `{field}`")));
            }
            spec.fields.push((field.into(), cells.spec()));
            all.push(cells);
        }
        Ok(MemorySource { name, rows: [rows], spec, cells: all })
    }
}

impl Cells {
    fn spec(&self) -> FieldSpec {
        let fixed = |shape: &[usize]| shape.iter().map(|n| Dim::Fixed(*n)).collect();
        match self {
            Cells::Array { dtype, shape, .. } => FieldSpec::array(*dtype, fixed(shape)),
            Cells::Image { shape, .. } => {
                FieldSpec { shape: fixed(shape), ..FieldSpec::image(Dim::Fixed(shape[2])) }
            }
            Cells::Pieces { text: true, .. } => FieldSpec::text(),
            Cells::Pieces { .. } => FieldSpec::encoded(),
        }
    }

    /// Returns the bytes of one row, if all rows have the same.
    fn each(&self) -> Option<usize> {
        match self {
            Cells::Array { dtype, shape, .. } => Some(shape.iter().product::<usize>() * dtype.size()),
            Cells::Image { shape, .. } => Some(shape.iter().product()),
            Cells::Pieces { .. } => None,
        }
    }

    /// Checks that there is a cell for every row. The error says what is wrong.
    fn check(&self, rows: u64) -> std::result::Result<(), String> {
        match self {
            Cells::Array { data, .. } | Cells::Image { data, .. } => {
                let wanted = self.each().and_then(|each| each.checked_mul(usize::try_from(rows).ok()?));
                if wanted == Some(data.len()) {
                    return Ok(());
                }
                Err(format!("has {} bytes, which are not {rows} rows of {}", data.len(), self.spec()))
            }
            Cells::Pieces { offsets, data, .. } => {
                if offsets.len() as u64 != rows + 1 {
                    return Err(format!("has {} offsets for {rows} rows", offsets.len()));
                }
                let end = offsets.last().copied().unwrap_or(0);
                if !offsets.is_sorted() || end > data.len() as u64 {
                    return Err("has offsets that do not fit its bytes".to_owned());
                }
                Ok(())
            }
        }
    }

    fn cell(&self, row: usize) -> Result<Value> {
        Ok(match self {
            Cells::Array { dtype, shape, data } => {
                let each = self.each().unwrap_or(0);
                Value::Tensor(Tensor::new(*dtype, shape.clone(), data.slice(row * each..(row + 1) * each))?)
            }
            Cells::Image { shape: [height, width, channels], data } => {
                let each = height * width * channels;
                let pixels = data[row * each..(row + 1) * each].to_vec();
                Value::Image(Box::new(Image::raw(*width as u32, *height as u32, *channels as u8, pixels)?))
            }
            Cells::Pieces { offsets, data, text } => {
                // A copy: Python may have lent this memory and go on writing to it, while decoders and `str` rely
                // on bytes that they have checked.
                let piece = data[offsets[row] as usize..offsets[row + 1] as usize].to_vec();
                if *text {
                    let text =
                        String::from_utf8(piece).map_err(|e| Error::sample(format!("not UTF-8: {e}")))?;
                    Value::Text(text)
                } else {
                    Value::Bytes(piece.into())
                }
            }
        })
    }

    fn row_bytes(&self, row: usize) -> u64 {
        match self {
            Cells::Pieces { offsets, .. } => offsets[row + 1] - offsets[row],
            _ => self.each().unwrap_or(0) as u64,
        }
    }
}

impl Source for MemorySource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.rows
    }

    fn shard_of(&self, _row: u64) -> String {
        self.name.clone()
    }

    fn key(&self, row: u64) -> String {
        row.to_string()
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        if row >= self.rows[0] {
            return 0;
        }
        let cells = fields.iter().filter_map(|f| self.spec.position(f));
        cells.map(|at| self.cells[at].row_bytes(row as usize)).sum()
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let wanted: Vec<Option<&Cells>> =
            fields.iter().map(|f| self.spec.position(f).map(|at| &self.cells[at])).collect();
        rows.iter()
            .map(|row| {
                if *row >= self.rows[0] {
                    return Err(Error::argument(format!("`{}` has no row {row}", self.name)));
                }
                let cell =
                    |cells: &Option<&Cells>| cells.map_or(Ok(Value::Missing), |c| c.cell(*row as usize));
                Ok(Record { fields: wanted.iter().map(cell).collect::<Result<_>>()? })
            })
            .collect()
    }

    fn fills(&self, field: &str) -> bool {
        self.spec.position(field).is_some_and(|at| matches!(self.cells[at], Cells::Array { .. }))
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        for (field, out) in fields.iter().zip(out) {
            let cells = self.spec.position(field).map(|at| &self.cells[at]);
            let (Some(Cells::Array { data, .. }), Some(each)) = (cells, cells.and_then(Cells::each)) else {
                return Err(Error::Internal { what: format!("`{field}` cannot be copied as it is") });
            };
            if each == 0 {
                continue;
            }
            for (row, place) in rows.iter().zip(out.chunks_exact_mut(each)) {
                let start = usize::try_from(*row).unwrap_or(usize::MAX).saturating_mul(each);
                let found = data.get(start..start.saturating_add(each));
                place
                    .copy_from_slice(found.ok_or_else(|| Error::argument(format!("there is no row {row}")))?);
            }
        }
        Ok(())
    }

    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let Some(Cells::Array { dtype: Dtype::I64, shape, data }) =
            self.spec.position(name).map(|at| &self.cells[at])
        else {
            return Ok(None);
        };
        if !shape.is_empty() {
            return Ok(None);
        }
        let number = |bytes: &[u8]| i64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        Ok(Some(data.chunks_exact(8).map(number).collect()))
    }

    fn describe(&self) -> String {
        format!("`{}`, {} rows in memory", self.name, self.rows[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[i64]) -> Cells {
        let data: Vec<u8> = values.iter().flat_map(|n| n.to_ne_bytes()).collect();
        Cells::Array { dtype: Dtype::I64, shape: vec![], data: data.into() }
    }

    #[test]
    fn rows_come_back_as_they_are() {
        let offsets: Arc<[u64]> = [0, 1, 1, 4].into();
        let pieces = Cells::Pieces { offsets, data: Bytes::from_static(b"abcd"), text: true };
        let image = Cells::Image { shape: [1, 2, 3], data: (0..18).collect::<Vec<u8>>().into() };
        let fields =
            vec![("n".to_owned(), ints(&[5, 6, 7])), ("t".to_owned(), pieces), ("i".to_owned(), image)];
        let source = MemorySource::new("memory", 3, fields).unwrap();
        assert_eq!(source.column("n").unwrap(), Some(vec![5, 6, 7]));
        assert_eq!(source.column("t").unwrap(), None);
        let names: Vec<Arc<str>> = vec!["t".into(), "n".into(), "i".into(), "none".into()];
        let mut records = source.fetch(&[2, 1], &names).unwrap();
        assert!(matches!(&records[0].fields[0], Value::Text(t) if t == "bcd"));
        assert!(matches!(&records[1].fields[0], Value::Text(t) if t.is_empty()));
        assert!(matches!(&records[0].fields[1], Value::Tensor(t) if *t == Tensor::int(7)));
        assert!(matches!(&records[0].fields[3], Value::Missing));
        let image = records[0].fields[2].image_mut().unwrap();
        let mut out = vec![0; image.bytes()];
        image.render(&mut infeed_core::Scratch::new(), &mut out).unwrap();
        assert_eq!(out, (12..18).collect::<Vec<u8>>());
        assert_eq!(source.row_bytes(2, &names), 3 + 8 + 6);
        assert!(source.fetch(&[3], &names).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |rows, cells| {
            MemorySource::new("m", rows, vec![("x".to_owned(), cells)]).unwrap_err().to_string()
        };
        assert!(refused(4, ints(&[1, 2, 3])).contains("24 bytes, which are not 4 rows of i64"));
        let pieces =
            |offsets: &[u64]| Cells::Pieces { offsets: offsets.into(), data: Bytes::new(), text: false };
        assert!(refused(2, pieces(&[0, 0])).contains("2 offsets for 2 rows"));
        assert!(refused(1, pieces(&[0, 9])).contains("do not fit"));
        assert!(MemorySource::new("m", 0, vec![]).is_err());
        let twice = vec![("x".to_owned(), ints(&[1])), ("x".to_owned(), ints(&[1]))];
        assert!(MemorySource::new("m", 1, twice).is_err());
    }
}
