//! NumPy's `.npy` files.

mod order;

use super::needs_encoded;
use infeed_core::{
    Args, Bytes, Decoder, Dim, Dtype, Entry, Error, FieldSpec, Param, Result, Scratch, Tensor, Value,
};
use infeed_records::npy::Header;

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> = Entry {
    name: "npy",
    about: "an array as numpy.save writes it",
    params: &[
        Param {
            name: "dtype",
            python: "str | None",
            default: Some("null"),
            about: "the element type of the arrays, so that it is known before reading; others are refused",
        },
        Param {
            name: "shape",
            python: "Sequence[int] | None",
            default: Some("null"),
            about: "the shape of the arrays, -1 where it differs from array to array; others are refused",
        },
    ],
    build: |args| Ok(Box::new(Npy::new(args)?)),
};

/// The decoder without promises about type and shape.
pub(super) fn plain() -> &'static dyn Decoder {
    static PLAIN: Npy = Npy { dtype: None, shape: None };
    &PLAIN
}

#[derive(Debug)]
struct Npy {
    dtype: Option<Dtype>,
    shape: Option<Vec<Dim>>,
}

impl Npy {
    fn new(args: &Args) -> Result<Npy> {
        let shape = if args.is_none("shape") {
            None
        } else {
            let dim = |n: &i64| usize::try_from(*n).map_or(Dim::Any, Dim::Fixed);
            Some(args.ints("shape", -1)?.iter().map(dim).collect())
        };
        let dtype = if args.is_none("dtype") { None } else { Some(args.dtype("dtype")?) };
        Ok(Npy { dtype, shape })
    }

    /// Checks a file against the dtype and shape that the plan relies on.
    fn check(&self, header: &Header) -> Result<()> {
        if let Some(wanted) = self.dtype.filter(|d| *d != header.dtype) {
            let found = header.dtype;
            return Err(Error::sample(format!(
                "the array is of {found}, not of {wanted}: say dtype=\"{found}\" to the decoder `npy`, or leave the field a list \
                 if types differ: batch(..., ragged={{FIELD: \"list\"}})"
            )));
        }
        let fits = |wanted: &Vec<Dim>| {
            wanted.len() == header.shape.len()
                && wanted
                    .iter()
                    .zip(&header.shape)
                    .all(|(w, n)| matches!(w, Dim::Any) || *w == Dim::Fixed(*n))
        };
        match &self.shape {
            Some(wanted) if !fits(wanted) => {
                let spec = FieldSpec::array(header.dtype, wanted.clone());
                Err(Error::sample(format!(
                    "the array has the shape {:?}, not that of {spec}; if shapes differ, give the decoder `npy` a shape \
                     with -1 where they do, or leave the field a list: batch(..., ragged={{FIELD: \"list\"}})",
                    header.shape
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Decoder for Npy {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("npy", encoded)?;
        // A spec cannot say "unknown", so without arguments this is a guess: the files decide. Plans give what some files say.
        let dtype = self.dtype.unwrap_or(Dtype::F32);
        Ok(FieldSpec::array(dtype, self.shape.clone().unwrap_or_else(|| vec![Dim::Any])))
    }

    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value> {
        let header = Header::read(bytes).map_err(|fault| Error::sample(fault.what))?;
        self.check(&header)?;
        let (len, swapped) = (header.data_len(), header.is_swapped());
        let Header { dtype, fortran, shape, data_at, .. } = header;
        let len =
            len.ok_or_else(|| Error::sample(format!("NumPy array of the impossible shape {shape:?}")))?;
        let there = bytes.len() - data_at;
        if there != len {
            return Err(Error::sample(if there < len {
                format!("NumPy array ends early: {dtype}{shape:?} has {len} bytes, the file only {there}")
            } else {
                format!("NumPy array of {len} bytes followed by {} more: one array per field", there - len)
            }));
        }
        scratch.claim(len as u64 * 2)?;
        // Usually nothing is copied: the tensor is a slice of the record.
        let mut data = bytes.slice(data_at..);
        if swapped {
            data = order::swap(&data, dtype.size())?.into();
        }
        if fortran && shape.len() > 1 {
            data = order::rows_first(&data, dtype.size(), &shape)?.into();
        }
        Ok(Value::Tensor(Tensor::new(dtype, shape, data)?))
    }
}
