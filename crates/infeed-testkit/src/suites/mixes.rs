//! Batch transforms: they build, reject encoded bytes, and give the batch that `spec` promises, the
//! same for the same address.

use super::{args, building, guarded};
use infeed::mix::ENTRIES;
use infeed_core::{
    BatchBlock, BatchMut, BatchTransform, Context, Dim, Dtype, Entry, FieldSpec, Rng, Scratch, Spec,
};
use serde_json::json;

/// Tries every batch transform on a small batch of images with labels.
pub fn batch_transforms() -> Vec<String> {
    let mut faults = Vec::new();
    for entry in ENTRIES {
        guarded(&mut faults, entry.name, || building(entry));
        guarded(&mut faults, entry.name, || keeps_promise(entry));
    }
    faults
}

fn keeps_promise(entry: &Entry<dyn BatchTransform>) -> Result<(), String> {
    let mut given = args::for_params(entry.params);
    if entry.params.iter().any(|p| p.name == "num_classes") {
        given.insert("num_classes".to_owned(), json!(4));
    }
    let transform = entry.make(&given).map_err(|e| e.to_string())?;
    let mut image = FieldSpec::image(Dim::Fixed(3));
    image.shape = vec![Dim::Fixed(5), Dim::Fixed(6), Dim::Fixed(3)];
    let mut spec =
        Spec { fields: vec![("jpg".into(), image), ("cls".into(), FieldSpec::scalar(Dtype::I64))] };
    for row in 0..10 {
        if apply(&*transform, &spec, row, 1)? != apply(&*transform, &spec, row, 2)? {
            return Err(format!("gives a different batch the second time, in row {row}"));
        }
    }
    spec.fields[0].1 = FieldSpec::encoded();
    match transform.spec(&spec, &[0]) {
        Ok(_) => Err("takes encoded bytes for images".to_owned()),
        Err(_) => Ok(()),
    }
}

/// Returns the bytes of every field after the transform. New memory is filled with `left_over` bytes first.
fn apply(
    transform: &dyn BatchTransform,
    spec: &Spec,
    row: u64,
    left_over: u8,
) -> Result<Vec<Vec<u8>>, String> {
    let samples = 3;
    let after = transform.spec(spec, &[0]).map_err(|e| e.to_string())?;
    let mut data = vec![
        (0..samples * 90).map(|i| (i * 7 % 251) as u8).collect::<Vec<u8>>(),
        [2i64, 0, 3].iter().flat_map(|n| n.to_ne_bytes()).collect(),
    ];
    let mut out: Vec<Option<Vec<u8>>> = (0..2)
        .map(|i| (spec.fields[i] != after.fields[i]).then(|| after.fields[i].1.fixed_bytes().unwrap_or(0)))
        .map(|bytes| bytes.map(|bytes| vec![left_over; bytes * samples]))
        .collect();
    let blocks = data
        .iter_mut()
        .zip(&mut out)
        .map(|(data, out)| BatchBlock { data, out: out.as_deref_mut() })
        .collect();
    let mut scratch = Scratch::new();
    let mut context = Context { rng: Rng::at(3, 1, row, 0), scratch: &mut scratch };
    let mut batch = BatchMut { spec, on: &[0], samples, blocks };
    transform.apply(&mut batch, &mut context).map_err(|e| e.to_string())?;
    Ok(data.into_iter().zip(out).map(|(data, out)| out.unwrap_or(data)).collect())
}
