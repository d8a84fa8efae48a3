//! Specs and values of the fields that annotations have: for each kind of field one function of each.

use infeed_core::{Budget, Bytes, Dim, Dtype, Error, FieldSpec, Result, Tensor, Value, memory};

/// The spec of boxes: corners in pixels (COCO, VOC), or centre and size as shares of the image's sides (YOLO).
pub(super) fn boxes_spec() -> FieldSpec {
    FieldSpec::array(Dtype::F32, vec![Dim::Any, Dim::Fixed(4)])
}

/// Boxes as a value.
pub(super) fn boxes(boxes: &[[f32; 4]]) -> Result<Value> {
    array(Dtype::F32, vec![boxes.len(), 4], boxes.iter().flatten().map(|value| value.to_ne_bytes()))
}

/// The spec of keypoints: x, y and visibility each, in the units of the boxes.
pub(super) fn keypoints_spec(count: usize) -> FieldSpec {
    FieldSpec::array(Dtype::F32, vec![Dim::Any, Dim::Fixed(count), Dim::Fixed(3)])
}

/// Keypoints of objects as a value. Those that an object lacks are zeros, which means not labelled.
pub(super) fn keypoints(count: usize, objects: &[&[f32]]) -> Result<Value> {
    let size = count * 3;
    let padded = objects.iter().flat_map(|points| {
        points.iter().copied().chain(std::iter::repeat_n(0.0, size.saturating_sub(points.len()))).take(size)
    });
    array(Dtype::F32, vec![objects.len(), count, 3], padded.map(f32::to_ne_bytes))
}

/// The spec of numbers, one per object.
pub(super) fn numbers_spec(dtype: Dtype) -> FieldSpec {
    FieldSpec::array(dtype, vec![Dim::Any])
}

/// Numbers of the classes as a value.
pub(super) fn labels(labels: &[i64]) -> Result<Value> {
    array(Dtype::I64, vec![labels.len()], labels.iter().map(|value| value.to_ne_bytes()))
}

/// Floats, one per object, as a value.
pub(super) fn floats(values: &[f32]) -> Result<Value> {
    array(Dtype::F32, vec![values.len()], values.iter().map(|value| value.to_ne_bytes()))
}

/// Flags, one per object, as a value.
pub(super) fn flags(flags: impl ExactSizeIterator<Item = bool>) -> Result<Value> {
    array(Dtype::U8, vec![flags.len()], flags.map(|flag| [u8::from(flag)]))
}

/// Plain data as JSON.
pub(super) fn json<T: serde::Serialize + ?Sized>(data: &T) -> Result<Value> {
    let text = serde_json::to_string(data);
    text.map(Value::Json).map_err(|e| Error::Internal { what: format!("annotations as JSON: {e}") })
}

fn array<const N: usize>(
    dtype: Dtype,
    shape: Vec<usize>,
    items: impl Iterator<Item = [u8; N]>,
) -> Result<Value> {
    let size = shape.iter().try_fold(N, |size, dim| size.checked_mul(*dim)).unwrap_or(usize::MAX);
    // Objects without keypoints get as many as the object with most: that can be far more than the file has.
    Budget::default().check(size as u64)?;
    let mut data = memory::with_capacity(size)?;
    items.for_each(|item| data.extend_from_slice(&item));
    Ok(Value::Tensor(Tensor::new(dtype, shape, Bytes::from(data))?))
}
