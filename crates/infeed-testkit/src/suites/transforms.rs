//! Transforms: `apply` does what `spec` promises, and the same address gives the same result.

use super::{args, building, guarded};
use infeed::transform::ENTRIES;
use infeed_core::{Context, Dim, Entry, FieldKind, FieldSpec, Image, Reach, Rng, Scratch, Transform, Value};

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
        let (image, pixels) = apply(&*transform, row)?;
        let fits = spec.fixed_shape().is_none_or(|shape| shape == image.shape());
        if !fits || spec.dtype != image.finish.dtype {
            return Err(format!("promises {spec} and gives {}{:?}", image.finish.dtype, image.shape()));
        }
        if apply(&*transform, row)?.1 != pixels {
            return Err(format!("gives different pixels the second time, in row {row}"));
        }
    }
    Ok(())
}

/// A transform that moves pixels takes what lies in an image, and tells where it moves to; others take colours alone.
fn moves_what_lies_in_it(transform: &dyn Transform) -> Result<(), String> {
    let boxes =
        FieldSpec { kind: FieldKind::Boxes, ..FieldSpec::array(infeed_core::Dtype::F32, vec![Dim::Any]) };
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
        let (image, _) = apply(transform, row)?;
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

fn apply(transform: &dyn Transform, row: u64) -> Result<(Image, Vec<u8>), String> {
    let run = || {
        let mut scratch = Scratch::new();
        let image = Image::raw(SIZE.0, SIZE.1, 3, crate::photo(SIZE.0, SIZE.1, 1))?;
        let mut value = Value::Image(Box::new(image));
        let mut context = Context { rng: Rng::at(3, 1, row, 0), scratch: &mut scratch };
        transform.apply(&mut value, &mut context)?;
        let image = value.image_mut()?.clone();
        let mut out = vec![0; image.bytes()];
        image.render(&mut scratch, &mut out)?;
        Ok((image, out))
    };
    run().map_err(|e: infeed_core::Error| e.to_string())
}
