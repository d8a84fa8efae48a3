//! Transforms: `apply` does what `spec` promises, and the same address gives the same result.

use super::{args, building, guarded};
use infeed::transform::ENTRIES;
use infeed_core::{
    Context, Dim, Dtype, Entry, FieldKind, FieldSpec, Image, Reach, Rng, Scratch, Transform, Value,
};

const SIZE: (u32, u32) = (30, 20);

/// Every transform builds, rejects encoded bytes, fulfils its spec, and is reproducible.
pub fn transforms() -> Vec<String> {
    let mut faults = Vec::new();
    for entry in ENTRIES {
        guarded(&mut faults, entry.name, || building(entry));
        guarded(&mut faults, entry.name, || keeps_promise(entry));
    }
    faults
}

fn keeps_promise(entry: &Entry<dyn Transform>) -> Result<(), String> {
    let transform = entry.make(&args::for_params(entry.params)).map_err(|e| e.to_string())?;
    if transform.spec(&FieldSpec::encoded()).is_ok() {
        return Err("takes encoded bytes for an image".to_owned());
    }
    let mut input = FieldSpec::image(Dim::Fixed(3));
    input.shape = vec![Dim::Fixed(SIZE.1 as usize), Dim::Fixed(SIZE.0 as usize), Dim::Fixed(3)];
    let spec = transform.spec(&input).map_err(|e| e.to_string())?;
    moves_what_lies_in_it(&*transform)?;
    if transform.reach() == Reach::Scene {
        return Ok(());
    }
    for row in 0..10 {
        let made = finished(apply(&*transform, row)?)?;
        let (dtype, shape, _) = &made;
        if spec.fixed_shape().is_some_and(|wanted| wanted != *shape) || spec.dtype != *dtype {
            return Err(format!("promises {spec} and gives {dtype}{shape:?}"));
        }
        if finished(apply(&*transform, row)?)? != made {
            return Err(format!("gives different values the second time, in row {row}"));
        }
    }
    Ok(())
}

/// A transform that moves pixels takes what lies in an image, and tells where it moves to; others take colours alone.
fn moves_what_lies_in_it(transform: &dyn Transform) -> Result<(), String> {
    let boxes = FieldSpec { kind: FieldKind::Boxes, ..FieldSpec::array(Dtype::F32, vec![Dim::Any]) };
    let taken = transform.spec(&boxes).is_ok();
    let moves = matches!(transform.reach(), Reach::Places | Reach::Scene);
    if taken != moves {
        return Err(format!("reaches {:?}, and boxes are taken: {taken}", transform.reach()));
    }
    if transform.reach() != Reach::Places {
        return Ok(());
    }
    for row in 0..10 {
        let told = transform.moves(SIZE, None, &mut Rng::at(3, 1, row, 0)).map_err(|e| e.to_string())?;
        let size = told.list.iter().fold(SIZE, |size, step| step.canvas(size));
        let mut value = apply(transform, row)?;
        let image = value.image_mut().map_err(|e| e.to_string())?;
        if size != (image.width(), image.height()) {
            return Err(format!(
                "tells {size:?} and makes {}x{}, in row {row}",
                image.width(),
                image.height()
            ));
        }
    }
    Ok(())
}

fn apply(transform: &dyn Transform, row: u64) -> Result<Value, String> {
    let run = || {
        let image = Image::raw(SIZE.0, SIZE.1, 3, crate::photo(SIZE.0, SIZE.1, 1))?;
        let mut value = Value::Image(Box::new(image));
        let mut context = Context { rng: Rng::at(3, 1, row, 0), scratch: &mut Scratch::new() };
        transform.apply(&mut value, &mut context)?;
        Ok(value)
    };
    run().map_err(|e: infeed_core::Error| e.to_string())
}

/// The dtype, shape and bytes of an image as it was changed, or of the array that it became.
fn finished(value: Value) -> Result<(Dtype, Vec<usize>, Vec<u8>), String> {
    match value {
        Value::Tensor(tensor) => Ok((tensor.dtype, tensor.shape, tensor.data.to_vec())),
        Value::Image(image) => {
            let mut out = vec![0; image.bytes()];
            image.render(&mut Scratch::new(), &mut out).map_err(|e| e.to_string())?;
            Ok((image.finish.dtype, image.shape(), out))
        }
        other => Err(format!("makes {} of an image", other.what())),
    }
}
