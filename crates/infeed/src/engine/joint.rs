//! Steps that several fields of a sample take together: an image, and what lies in it.

use super::plan::{Joint, Part, PartRole};
use infeed_core::{
    Boxes, Bytes, Canvas, Context, Error, Image, Masks, Move, Moves, Reach, Result, Rng, Scratch, Tensor,
    Transform, Value, memory,
};

/// Takes the step. The values are those of the joint's parts, in their order.
pub(super) fn apply(joint: &Joint, values: &mut [Value], rng: Rng, scratch: &mut Scratch) -> Result<()> {
    let canvas = canvas(&joint.parts, values)?;
    for (part, value) in joint.parts.iter().zip(values.iter_mut()) {
        place(value, canvas).map_err(|e| e.in_field(&part.name))?;
    }
    match &joint.transform {
        Some(transform) => transformed(&joint.parts, values, &**transform, canvas, &rng, scratch),
        None => ended(&joint.parts, values, canvas, scratch),
    }
}

/// The size of the image that all parts lie in. Masks of instances know it themselves.
fn canvas(parts: &[Part], values: &[Value]) -> Result<Canvas> {
    let anchor = parts.iter().zip(values).find(|(part, _)| part.role == PartRole::Anchor);
    match anchor.or_else(|| parts.iter().zip(values).next()) {
        Some((_, Value::Image(image))) => Ok((image.width(), image.height())),
        Some((_, Value::Masks(masks))) => Ok(masks.size),
        Some((part, other)) => {
            Err(Error::sample(format!("expected an image, found {}", other.what())).in_field(&part.name))
        }
        None => Err(Error::Internal { what: "a joint without fields".to_owned() }),
    }
}

/// Checks that a value fits an image of this size.
fn place(value: &mut Value, canvas: Canvas) -> Result<()> {
    let size = match value {
        Value::Image(image) => (image.width(), image.height()),
        Value::Masks(masks) => masks.size,
        Value::Boxes(boxes) => return boxes.place(canvas),
        Value::Points(points) => return points.place(canvas),
        _ => return Ok(()),
    };
    if size == canvas {
        return Ok(());
    }
    Err(Error::sample(format!(
        "the mask has {}x{} pixels and its image {}x{}: they cannot be of one picture; resize the mask when the data is made",
        size.0, size.1, canvas.0, canvas.1
    )))
}

fn transformed(
    parts: &[Part],
    values: &mut [Value],
    transform: &dyn Transform,
    canvas: Canvas,
    rng: &Rng,
    scratch: &mut Scratch,
) -> Result<()> {
    let scene = transform.reach() == Reach::Scene;
    let boxes = values.iter().find_map(|v| if let Value::Boxes(boxes) = v { Some(&**boxes) } else { None });
    let numbers = values.iter().any(|v| matches!(v, Value::Boxes(_) | Value::Points(_)));
    let moves = match (scene, numbers) {
        (true, _) => transform.moves(canvas, boxes, &mut rng.clone())?,
        (false, true) => transform.moves(canvas, None, &mut rng.clone())?,
        (false, false) => Moves::default(),
    };
    let mut after = canvas;
    for (part, value) in parts.iter().zip(values) {
        let done = match value {
            Value::Image(image) if scene => follow(image, &moves, scratch),
            Value::Image(_) => transform.apply(value, &mut Context { rng: rng.clone(), scratch }),
            Value::Masks(masks) => each_mask(masks, transform, scene.then_some(&moves), rng, scratch),
            Value::Boxes(boxes) => {
                boxes.follow(&moves);
                Ok(())
            }
            Value::Points(points) => {
                points.follow(&moves);
                Ok(())
            }
            _ => Ok(()),
        };
        done.map_err(|e| e.in_field(&part.name))?;
        match value {
            Value::Image(image) if part.role == PartRole::Anchor => after = (image.width(), image.height()),
            Value::Masks(masks) => masks.size = after,
            Value::Boxes(boxes) if boxes.canvas() != Some(after) => {
                return Err(Error::Internal {
                    what: format!("boxes of {:?} in an image of {after:?}", boxes.canvas()),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

fn each_mask(
    masks: &mut Masks,
    transform: &dyn Transform,
    moves: Option<&Moves>,
    rng: &Rng,
    scratch: &mut Scratch,
) -> Result<()> {
    for image in &mut masks.images {
        match moves {
            Some(moves) => follow(image, moves, scratch)?,
            None => {
                let mut value = Value::Image(Box::new(image.clone()));
                transform.apply(&mut value, &mut Context { rng: rng.clone(), scratch })?;
                if let Value::Image(moved) = value {
                    *image = *moved;
                }
            }
        }
    }
    Ok(())
}

/// Moves the pixels of an image. Transforms that look at boxes only cut, so that is all there is.
fn follow(image: &mut Image, moves: &Moves, scratch: &mut Scratch) -> Result<()> {
    for step in &moves.list {
        match step {
            Move::Crop { left, top, size } => image.crop(*left, *top, size.0, size.1, [0; 4], scratch)?,
            Move::FlipX => image.flip_horizontal(),
            Move::FlipY => image.flip_vertical(),
            other => return Err(Error::Internal { what: format!("an image cannot follow {other:?}") }),
        }
    }
    Ok(())
}

/// Makes arrays of boxes, points and masks, and takes along what belongs to boxes that are gone.
fn ended(parts: &[Part], values: &mut [Value], canvas: Canvas, scratch: &mut Scratch) -> Result<()> {
    let boxes = values.iter().find_map(|v| if let Value::Boxes(boxes) = v { Some(&**boxes) } else { None });
    let count = boxes.map(Boxes::count);
    let (mut made, kept) = match boxes.map(Boxes::finish).transpose()? {
        Some((tensor, kept)) => (Some(tensor), Some(kept)),
        None => (None, None),
    };
    let kept = kept.as_deref();
    for (part, value) in parts.iter().zip(values) {
        let done = match (part.role, &mut *value) {
            (PartRole::Boxes, _) => Ok(made.take().map(Value::Tensor)),
            (PartRole::Points, Value::Points(points)) => same(count, points.count(), "keypoints")
                .and_then(|()| Ok(Some(Value::Tensor(points.finish(kept)?)))),
            (PartRole::Masks, Value::Masks(masks)) => same(count, masks.images.len(), "masks")
                .and_then(|()| Ok(Some(Value::Tensor(stacked(masks, kept, canvas, scratch)?)))),
            (PartRole::Along, value) => along(value, count.unwrap_or(0), kept.unwrap_or_default()),
            _ => Ok(None),
        };
        if let Some(new) = done.map_err(|e| e.in_field(&part.name))? {
            *value = new;
        }
    }
    Ok(())
}

/// Checks that there is one of each per box.
fn same(boxes: Option<usize>, count: usize, what: &str) -> Result<()> {
    match boxes {
        Some(boxes) if boxes != count => {
            Err(Error::sample(format!("there are {boxes} boxes and {count} {what}: one per box is needed")))
        }
        _ => Ok(()),
    }
}

/// The elements of the boxes that were kept.
fn along(value: &Value, count: usize, kept: &[usize]) -> Result<Option<Value>> {
    let all = kept.len() == count;
    match value {
        Value::Tensor(tensor) => {
            let Some(length) = tensor.shape.first().copied() else {
                return Err(Error::sample(
                    "a single number cannot have an element per box: take it out of along=",
                ));
            };
            same(Some(count), length, "elements")?;
            if all {
                return Ok(None);
            }
            let row = tensor.data.len().checked_div(length).unwrap_or(0);
            let mut data: Vec<u8> = memory::with_capacity(row * kept.len())?;
            kept.iter().for_each(|at| data.extend_from_slice(&tensor.data[at * row..(at + 1) * row]));
            let mut shape = tensor.shape.clone();
            shape[0] = kept.len();
            Ok(Some(Value::Tensor(Tensor::new(tensor.dtype, shape, Bytes::from(data))?)))
        }
        Value::Json(text) => {
            let list: Vec<serde_json::Value> = serde_json::from_str(text)
                .map_err(|_| Error::sample("expected a JSON list with an element per box"))?;
            same(Some(count), list.len(), "elements")?;
            if all {
                return Ok(None);
            }
            let some: Vec<&serde_json::Value> = kept.iter().map(|at| &list[*at]).collect();
            let text = serde_json::to_string(&some).map_err(|e| Error::sample(e.to_string()))?;
            Ok(Some(Value::Json(text)))
        }
        other => Err(Error::sample(format!(
            "{} cannot have an element per box: take it out of along=",
            other.what()
        ))),
    }
}

/// Masks as one array of count, height, width.
fn stacked(
    masks: &Masks,
    kept: Option<&[usize]>,
    (width, height): Canvas,
    scratch: &mut Scratch,
) -> Result<Tensor> {
    let all: Vec<usize> = (0..masks.images.len()).collect();
    let kept = kept.unwrap_or(&all);
    let one = width as usize * height as usize;
    let bytes = one.saturating_mul(kept.len());
    scratch.claim(bytes as u64)?;
    let mut data = memory::zeroed(bytes)?;
    for (at, out) in kept.iter().zip(data.chunks_exact_mut(one.max(1))) {
        masks.images[*at].render(scratch, out)?;
    }
    Tensor::new(infeed_core::Dtype::U8, vec![kept.len(), height as usize, width as usize], data.into())
}
