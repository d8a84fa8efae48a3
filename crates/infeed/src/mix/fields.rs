//! Selects the fields that are mixed, and the field of the labels.

use super::{cut::Pixels, labels::is_integer};
use infeed_core::{Dim, Dtype, Error, FieldKind, FieldSpec, Result, Spec};

/// The field of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) field: usize,
    pub(super) classes: usize,
    /// Whether they are class numbers; otherwise they are shares of classes, from an earlier mix.
    pub(super) numbers: bool,
}

/// Finds the labels: the field of that name, or the only candidate.
pub(super) fn label(
    owner: &str,
    input: &Spec,
    name: Option<&str>,
    num_classes: Option<usize>,
) -> Result<Label> {
    let field = match name {
        Some(name) => input.require(name, owner)?,
        None => only(owner, input, num_classes)?,
    };
    let (name, spec) = &input.fields[field];
    let error = |what: String| Err(Error::plan(owner, what));
    if is_number(spec) {
        let Some(classes) = num_classes else {
            return error(format!(
                "needs num_classes: the labels in `{name}` are class numbers, which become shares of classes"
            ));
        };
        return Ok(Label { field, classes, numbers: true });
    }
    match (shares(spec), num_classes) {
        (Some(classes), None) => Ok(Label { field, classes, numbers: false }),
        (Some(n), Some(classes)) if n == classes => Ok(Label { field, classes, numbers: false }),
        (Some(n), Some(classes)) => {
            error(format!("num_classes={classes}, but the labels in `{name}` have {n} classes"))
        }
        (None, _) => {
            let cure = match spec.kind {
                FieldKind::Encoded => format!("decode them first, for example .decode({name}=\"int\")"),
                _ => "decode them as \"int\", or name another field with label=".to_owned(),
            };
            error(format!("labels must be whole numbers, but the field `{name}` is {spec}: {cure}"))
        }
    }
}

fn only(owner: &str, input: &Spec, num_classes: Option<usize>) -> Result<usize> {
    let find = |fits: &dyn Fn(&FieldSpec) -> bool| -> Vec<usize> {
        (0..input.fields.len()).filter(|i| fits(&input.fields[*i].1)).collect()
    };
    let mut found = find(&is_number);
    if found.is_empty() {
        found = find(&|spec| shares(spec).is_some_and(|n| num_classes.is_none_or(|classes| n == classes)));
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::plan(
            owner,
            "finds no labels: decode them, for example .decode(cls=\"int\"), or name the field with label=",
        )),
        many => {
            let names: Vec<&str> = many.iter().map(|i| &*input.fields[*i].0).collect();
            Err(Error::plan(
                owner,
                format!("several fields could be the labels ({}): name one with label=", names.join(", ")),
            ))
        }
    }
}

fn is_number(spec: &FieldSpec) -> bool {
    spec.kind == FieldKind::Array && spec.shape.is_empty() && is_integer(spec.dtype)
}

/// Returns the number of classes of labels that are shares already.
fn shares(spec: &FieldSpec) -> Option<usize> {
    match (spec.kind, spec.dtype, spec.shape.as_slice()) {
        (FieldKind::Array, Dtype::F32, [Dim::Fixed(n)]) if *n > 0 => Some(*n),
        _ => None,
    }
}

/// Refuses fields that cannot be mixed.
pub(super) fn check(owner: &str, input: &Spec, on: &[usize], label: &Label) -> Result<()> {
    for at in on {
        let (name, spec) = &input.fields[*at];
        let error = |what: &str| Err(Error::plan(owner, format!("the field `{name}` is {spec}: {what}")));
        if *at == label.field {
            return error("it holds the labels, which are mixed anyway; leave it out of on=");
        }
        match spec.kind {
            FieldKind::Image(_) | FieldKind::Array => {}
            FieldKind::Encoded => return error("decode it first, for example .decode(jpg=\"rgb\")"),
            _ => return error("only images and arrays can be mixed"),
        }
        if spec.fixed_shape().is_none() {
            return error(
                "its samples differ in size; bring them to one size first, for example with RandomResizedCrop(224)",
            );
        }
        if !matches!(spec.dtype, Dtype::U8 | Dtype::F16 | Dtype::Bf16 | Dtype::F32) {
            return error("only u8, f16, bf16 and f32 can be mixed");
        }
    }
    Ok(())
}

/// Returns the pixel layout of fields that get a rectangle of their neighbour: they must be images of one size.
pub(super) fn pixels(owner: &str, input: &Spec, on: &[usize]) -> Result<Vec<Pixels>> {
    let mut out: Vec<Pixels> = Vec::with_capacity(on.len());
    for at in on {
        let (name, spec) = &input.fields[*at];
        let (FieldKind::Image(layout), Some((Dim::Fixed(height), Dim::Fixed(width), Dim::Fixed(channels)))) =
            (spec.kind, spec.image_dims())
        else {
            return Err(Error::plan(owner, format!("works on images, but the field `{name}` is {spec}")));
        };
        if let Some(first) = out.first()
            && (first.height, first.width) != (height, width)
        {
            return Err(Error::plan(
                owner,
                format!(
                    "cuts the same rectangle out of all fields, but `{}` is {}x{} and `{name}` is {height}x{width}: name \
                     fields of one size with on=",
                    input.fields[on[0]].0, first.height, first.width
                ),
            ));
        }
        out.push(Pixels { layout, height, width, channels, element: spec.dtype.size() });
    }
    Ok(out)
}
