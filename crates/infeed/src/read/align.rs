//! Which rows of several sources belong together: those that have the same value of a coordinate.
//!
//! Values are compared exactly, whatever their types: 6 as an integer and 6.0 as a float are the same number. Rows of several
//! steps (windows) belong together if all of their steps do.

use half::{bf16, f16};
use infeed_core::{Dtype, Error, Result, Source, Value};
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

/// Rows that are read at a time.
const STEP: u64 = 4096;
/// What tells a float that is no whole number from whole numbers.
const FRACTION: i128 = 1 << 100;

/// A coordinate of a source.
#[derive(Debug)]
pub struct Coordinate {
    /// What has it; its rows are those of the source.
    pub source: Arc<dyn Source>,
    /// The fields to compare: the coordinate, and that of targets.
    pub fields: Vec<Arc<str>>,
    /// What errors call the source.
    pub place: String,
}

/// The value of a coordinate in a row.
type Key = Box<[u8]>;

/// Returns for each coordinate the rows that all have in common, in the order of the first.
pub fn align(all: &[Coordinate]) -> Result<Vec<Vec<u64>>> {
    let Some((first, others)) = all.split_first() else { return Ok(Vec::new()) };
    let mut maps = Vec::with_capacity(others.len());
    for other in others {
        maps.push(other.by_key()?);
    }
    let mut out = vec![Vec::new(); all.len()];
    let mut seen: HashMap<Key, u64> = HashMap::new();
    first.each(&mut |row, key| {
        let found: Option<Vec<u64>> = maps.iter().map(|map| map.get(&key).copied()).collect();
        if let Some(found) = found {
            out[0].push(row);
            out[1..].iter_mut().zip(found).for_each(|(rows, row)| rows.push(row));
        }
        first.only_once(&mut seen, key, row)
    })?;
    Ok(out)
}

impl Coordinate {
    fn by_key(&self) -> Result<HashMap<Key, u64>> {
        let mut out = HashMap::new();
        self.each(&mut |row, key| self.only_once(&mut out, key, row))?;
        Ok(out)
    }

    fn only_once(&self, seen: &mut HashMap<Key, u64>, key: Key, row: u64) -> Result<()> {
        match seen.entry(key) {
            Entry::Vacant(free) => {
                free.insert(row);
                Ok(())
            }
            Entry::Occupied(before) => Err(Error::plan(
                "zip",
                format!(
                    "rows {} and {row} of {} have the same `{}`, so nobody can say which one is meant: leave one of them out",
                    before.get(),
                    self.place,
                    self.fields[0]
                ),
            )),
        }
    }

    /// Calls `each` with every row and its key, in order.
    fn each(&self, each: &mut dyn FnMut(u64, Key) -> Result<()>) -> Result<()> {
        let total = self.source.rows();
        for start in (0..total).step_by(STEP as usize) {
            let rows: Vec<u64> = (start..(start + STEP).min(total)).collect();
            self.source.will_fetch(&rows, &self.fields);
            for (row, record) in rows.iter().zip(self.source.fetch(&rows, &self.fields)?) {
                let mut key = Vec::new();
                for value in &record.fields {
                    self.add(value, *row, &mut key)?;
                }
                each(*row, key.into_boxed_slice())?;
            }
        }
        self.source.forget_ahead();
        Ok(())
    }

    fn add(&self, value: &Value, row: u64, key: &mut Vec<u8>) -> Result<()> {
        match value {
            Value::Text(text) => key.extend_from_slice(text.as_bytes()),
            Value::Tensor(tensor) => {
                for element in tensor.data.chunks_exact(tensor.dtype.size()) {
                    let number = number(tensor.dtype, element).ok_or_else(|| {
                        let what =
                            format!("`{}` is no number in row {row} of {}", self.fields[0], self.place);
                        Error::plan("zip", what + ": rows cannot be joined on it")
                    })?;
                    key.extend_from_slice(&number.to_le_bytes());
                }
            }
            other => {
                let what = format!("`{}` of {} is {}", self.fields[0], self.place, other.what());
                return Err(Error::plan("zip", what + ": rows are joined on numbers and texts"));
            }
        }
        Ok(())
    }
}

/// A number that is equal for equal numbers of all types; `None` for NaN.
fn number(dtype: Dtype, bytes: &[u8]) -> Option<i128> {
    macro_rules! read {
        ($type:ty) => {
            <$type>::from_ne_bytes(bytes.try_into().ok()?)
        };
    }
    let float = match dtype {
        Dtype::Bool | Dtype::U8 => return Some(read!(u8).into()),
        Dtype::I8 => return Some(read!(i8).into()),
        Dtype::U16 => return Some(read!(u16).into()),
        Dtype::I16 => return Some(read!(i16).into()),
        Dtype::U32 => return Some(read!(u32).into()),
        Dtype::I32 => return Some(read!(i32).into()),
        Dtype::U64 => return Some(read!(u64).into()),
        Dtype::I64 => return Some(read!(i64).into()),
        Dtype::F16 => f64::from(read!(f16)),
        Dtype::Bf16 => f64::from(read!(bf16)),
        Dtype::F32 => f64::from(read!(f32)),
        Dtype::F64 => read!(f64),
    };
    match float {
        nan if nan.is_nan() => None,
        whole if whole.trunc() == whole && whole.abs() < 18_446_744_073_709_551_616.0 => Some(whole as i128),
        other => Some(FRACTION | i128::from(other.to_bits())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Cells, MemorySource};

    fn coordinate(values: &[f64]) -> Coordinate {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let cells = Cells::Array { dtype: Dtype::F64, shape: vec![], data: data.into() };
        let source = MemorySource::new("m", values.len() as u64, vec![("time".to_owned(), cells)]).unwrap();
        Coordinate { source: Arc::new(source), fields: vec!["time".into()], place: "part 0".to_owned() }
    }

    #[test]
    fn rows_are_those_of_the_first_that_all_have() {
        let all = [coordinate(&[3.0, 1.0, 2.5, 7.0]), coordinate(&[7.0, 2.5, 0.0, 1.0, 9.0])];
        assert_eq!(align(&all).unwrap(), [vec![1, 2, 3], vec![3, 1, 0]]);
        let text = align(&[coordinate(&[1.0, 2.0]), coordinate(&[2.0, 5.0, 2.0])]).unwrap_err().to_string();
        assert!(text.contains("rows 0 and 2 of part 0 have the same `time`"), "{text}");
        let text = align(&[coordinate(&[1.0, 1.0]), coordinate(&[2.0])]).unwrap_err().to_string();
        assert!(text.contains("rows 0 and 1"), "{text}");
        let text = align(&[coordinate(&[1.0, f64::NAN]), coordinate(&[2.0])]).unwrap_err().to_string();
        assert!(text.contains("is no number in row 1"), "{text}");
    }

    #[test]
    fn equal_numbers_of_all_types_are_equal() {
        let six = [
            number(Dtype::U8, &[6]),
            number(Dtype::I16, &6i16.to_ne_bytes()),
            number(Dtype::U64, &6u64.to_ne_bytes()),
            number(Dtype::F16, &f16::from_f32(6.0).to_ne_bytes()),
            number(Dtype::F32, &6f32.to_ne_bytes()),
            number(Dtype::F64, &6f64.to_ne_bytes()),
        ];
        assert_eq!(six, [Some(6); 6]);
        assert_eq!(number(Dtype::F64, &(-0.0f64).to_ne_bytes()), Some(0));
        assert_eq!(number(Dtype::F32, &0.5f32.to_ne_bytes()), number(Dtype::F64, &0.5f64.to_ne_bytes()));
        assert_ne!(number(Dtype::F32, &0.1f32.to_ne_bytes()), number(Dtype::F64, &0.1f64.to_ne_bytes()));
        let wide = [u64::MAX, u64::MAX - 1].map(|n| number(Dtype::U64, &n.to_ne_bytes()));
        assert_ne!(wide[0], wide[1]);
        assert_ne!(
            number(Dtype::F64, &f64::INFINITY.to_ne_bytes()),
            number(Dtype::F64, &f64::MAX.to_ne_bytes())
        );
        assert_eq!(number(Dtype::F64, &f64::NAN.to_ne_bytes()), None);
    }
}
