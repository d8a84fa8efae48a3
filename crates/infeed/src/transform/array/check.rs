//! For tests: arrays, and transforms on them.

use infeed_core::{Bytes, Context, Dim, Dtype, FieldSpec, Result, Rng, Scratch, Tensor, Value};

/// An array of f32.
pub(in crate::transform) fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
    Tensor::new(Dtype::F32, shape.to_vec(), data.into()).unwrap()
}

/// An array of numbers that count up, in the given type.
pub(in crate::transform) fn counting(dtype: Dtype, shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    let mut tensor = floats(shape, &(0..n).map(|i| (i % 100) as f32).collect::<Vec<_>>());
    let mut scratch = Scratch::new();
    let mut context = Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch };
    super::element::cast(&mut tensor, dtype, &mut context).unwrap();
    tensor
}

/// The values of an array, as f64.
pub(in crate::transform) fn values(tensor: &Tensor) -> Vec<f64> {
    use super::element::{Element, with_element};
    with_element!(tensor.dtype, E => E::all(&tensor.data).iter().map(|raw| E::get(*raw).to_f64()).collect())
}

/// The spec of an array.
pub(in crate::transform) fn spec(tensor: &Tensor) -> FieldSpec {
    FieldSpec::array(tensor.dtype, tensor.shape.iter().map(|n| Dim::Fixed(*n)).collect())
}

/// Makes a transform and applies it. What `spec` promises is compared with what came out.
pub(in crate::transform) fn apply(name: &str, args: &str, tensor: &Tensor, row: u64) -> Result<Tensor> {
    let table = crate::transform::all();
    let made =
        infeed_core::registry::find(&table, name, "transform")?.make(&serde_json::from_str(args).unwrap())?;
    let promised = made.spec(&spec(tensor))?;
    let mut scratch = Scratch::new();
    // Once from memory of its own, and once from memory that others have too.
    let shared = tensor.data.clone();
    let mut out = vec![];
    for data in [Bytes::copy_from_slice(&shared), shared] {
        let mut value = Value::Tensor(Tensor { data, ..tensor.clone() });
        made.apply(&mut value, &mut Context { rng: Rng::at(3, 1, row, 0), scratch: &mut scratch })?;
        let Value::Tensor(made) = value else { panic!("{name} made {}", value.what()) };
        assert_eq!(made.dtype, promised.dtype, "{name} {args}");
        if let Some(shape) = promised.fixed_shape() {
            assert_eq!(made.shape, shape, "{name} {args}");
        }
        assert_eq!(
            made.data.len(),
            made.shape.iter().product::<usize>() * made.dtype.size(),
            "{name} {args}"
        );
        out.push(made);
    }
    let second = out.pop();
    assert_eq!(out.last().map(|t| &t.data), second.as_ref().map(|t| &t.data), "{name} {args}");
    Ok(out.remove(0))
}
