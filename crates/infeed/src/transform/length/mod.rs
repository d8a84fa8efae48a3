//! `Length`: the number of elements of an array or a text.

use infeed_core::{
    Args, Context, Dtype, Entry, Error, FieldKind, FieldSpec, Result, Tensor, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Length",
    about: "how many elements an array has along its first dimension, or how many bytes a text",
    params: &[],
    build,
};

#[derive(Debug)]
struct Length;

fn build(_: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Length))
}

impl Transform for Length {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        match input.kind {
            FieldKind::Array if input.shape.is_empty() => {
                Err(Error::plan("Length", "the field is a single number, which has no length"))
            }
            FieldKind::Array | FieldKind::Text | FieldKind::Encoded => Ok(FieldSpec::scalar(Dtype::I64)),
            _ => Err(Error::plan("Length", format!("works on arrays and texts, and the field is {input}"))),
        }
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        let length = match &*value {
            Value::Tensor(tensor) => tensor.shape.first().copied().unwrap_or(0),
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            other => return Err(Error::sample(format!("{} has no length", other.what()))),
        };
        *value = Value::Tensor(Tensor::int(length as i64));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::{Rng, Scratch};

    #[test]
    fn lengths() {
        let mut scratch = Scratch::new();
        let mut length = |value: Value| {
            let mut value = value;
            Length.apply(&mut value, &mut Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch })?;
            let Value::Tensor(tensor) = value else { return Ok(None) };
            Ok::<_, Error>(Some(tensor))
        };
        let row = Tensor::new(Dtype::U16, vec![3, 2], vec![0; 12].into()).unwrap();
        assert_eq!(length(Value::Tensor(row)).unwrap(), Some(Tensor::int(3)));
        assert_eq!(length(Value::Text("äb".to_owned())).unwrap(), Some(Tensor::int(3)));
        assert!(length(Value::Missing).is_err());
    }
}
