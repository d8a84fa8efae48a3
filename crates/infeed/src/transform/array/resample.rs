//! Other numbers of elements along axes: linear or nearest, one axis after the other.
//!
//! Element `i` of `n` covers `i..i + 1`, and the first and last edges of both arrays coincide, as in
//! `torch.nn.functional.interpolate(align_corners=False)` and in Pillow.

use super::{
    element::{Element, cast, with_element},
    room,
};
use infeed_core::{Args, Context, Dtype, Error, Param, Result, Tensor};
use infeed_resample::Filter;

/// The `interpolation` parameter of images and arrays.
pub(in crate::transform) const INTERPOLATION: Param = Param {
    name: "interpolation",
    python: "str",
    default: Some("\"bilinear\""),
    about: "nearest, box, bilinear, hamming, bicubic or lanczos; for arrays nearest, or bilinear: linear over all axes",
};

/// How arrays are resampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transform) struct Method {
    pub(in crate::transform) linear: bool,
    pub(in crate::transform) antialias: bool,
}

impl Method {
    /// Of the filter of an image; `None` if arrays do not have it.
    pub(in crate::transform) fn of(filter: Filter, antialias: bool) -> Option<Method> {
        match filter {
            Filter::Nearest => Some(Method { linear: false, antialias }),
            Filter::Bilinear => Some(Method { linear: true, antialias }),
            _ => None,
        }
    }

    /// The same, with an error.
    pub(in crate::transform) fn need(method: Option<Method>, name: &str) -> Result<Method> {
        method.ok_or_else(|| Error::plan(name, "interpolation must be nearest or bilinear for arrays"))
    }
}

/// Reads the filter of images, which arrays may share.
pub(in crate::transform) fn filter(args: &Args) -> Result<Filter> {
    crate::transform::common::filter(args)
}

/// The elements that one element of the result is made of.
struct Taps {
    start: usize,
    weights: Vec<f64>,
}

/// Taps of a triangle around each new element. It is as wide as an element of the result, if that is the larger one and
/// all elements shall count.
fn taps(from: usize, to: usize, antialias: bool) -> Vec<Taps> {
    let step = from as f64 / to as f64;
    let wide = if antialias { step.max(1.0) } else { 1.0 };
    let one = |i: usize| {
        // The centre of the new element among the centres of the old ones; none lies beyond the outer two.
        let centre = ((i as f64 + 0.5) * step - 0.5).clamp(if wide > 1.0 { f64::MIN } else { 0.0 }, f64::MAX);
        let first = ((centre - wide).ceil().max(0.0) as usize).min(from - 1);
        let last = ((centre + wide).floor().max(0.0) as usize).min(from - 1);
        let weight = |at: usize| (1.0 - (at as f64 - centre).abs() / wide).max(0.0);
        let mut weights: Vec<f64> = (first..=last).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            weights.iter_mut().for_each(|w| *w /= sum);
        } else {
            weights = vec![1.0];
        }
        Taps { start: first, weights }
    };
    (0..to).map(one).collect()
}

/// The nearest element, as Pillow and `mode="nearest-exact"` of torch choose it.
fn nearest(from: usize, to: usize) -> Vec<usize> {
    let step = from as f64 / to as f64;
    (0..to).map(|i| (((i as f64 + 0.5) * step) as usize).min(from - 1)).collect()
}

/// Resamples the last axes to these lengths. Integers and bool are classes and take the nearest element.
pub(in crate::transform) fn resample(
    tensor: &mut Tensor,
    sizes: &[usize],
    method: Method,
    context: &mut Context<'_>,
) -> Result<()> {
    let Some(outer) = tensor.shape.len().checked_sub(sizes.len()) else {
        return Err(Error::sample(format!(
            "an array of {:?} has fewer axes than size {sizes:?}",
            tensor.shape
        )));
    };
    if tensor.shape[outer..].contains(&0) {
        return Err(Error::sample(format!("an array of {:?} has nothing to resample", tensor.shape)));
    }
    let linear = method.linear && tensor.dtype.is_float();
    let dtype = tensor.dtype;
    let math = if dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    if linear {
        cast(tensor, math, context)?;
    }
    // The axis that shrinks most goes first: the others then have less to do.
    let mut order: Vec<usize> = (0..sizes.len()).filter(|i| tensor.shape[outer + i] != sizes[*i]).collect();
    order.sort_by(|a, b| {
        let ratio = |i: usize| sizes[i] as f64 / tensor.shape[outer + i] as f64;
        ratio(*a).total_cmp(&ratio(*b))
    });
    for i in order {
        let axis = outer + i;
        let (from, to) = (tensor.shape[axis], sizes[i]);
        let inner: usize = tensor.shape[axis + 1..].iter().product();
        let mut shape = tensor.shape.clone();
        shape[axis] = to;
        let mut out = room(tensor.dtype, &shape, context)?;
        if !linear {
            let chosen = nearest(from, to);
            with_element!(tensor.dtype, E => pick::<E>(&tensor.data, &mut out, from, inner, &chosen));
        } else if math == Dtype::F64 {
            blend::<f64>(&tensor.data, &mut out, from, inner, &taps(from, to, method.antialias));
        } else {
            blend::<f32>(&tensor.data, &mut out, from, inner, &taps(from, to, method.antialias));
        }
        (tensor.shape, tensor.data) = (shape, out.into());
    }
    if linear { cast(tensor, dtype, context) } else { Ok(()) }
}

fn pick<E: Element>(from: &[u8], to: &mut [u8], length: usize, inner: usize, chosen: &[usize]) {
    let (from, to) = (E::all(from), E::all_mut(to));
    let Some(block) = length.checked_mul(inner).filter(|n| *n > 0) else { return };
    for (old, new) in from.chunks_exact(block).zip(to.chunks_exact_mut(chosen.len() * inner)) {
        for (row, at) in new.chunks_exact_mut(inner).zip(chosen) {
            row.copy_from_slice(&old[at * inner..][..inner]);
        }
    }
}

fn blend<E: Element + std::ops::Mul<Output = E> + std::ops::Add<Output = E>>(
    from: &[u8],
    to: &mut [u8],
    length: usize,
    inner: usize,
    taps: &[Taps],
) {
    let (from, to) = (E::all(from), E::all_mut(to));
    let Some(block) = length.checked_mul(inner).filter(|n| *n > 0) else { return };
    for (old, new) in from.chunks_exact(block).zip(to.chunks_exact_mut(taps.len() * inner)) {
        for (row, tap) in new.chunks_exact_mut(inner).zip(taps) {
            for (n, weight) in tap.weights.iter().enumerate() {
                let weight = E::of_f64(*weight);
                let source = &old[(tap.start + n) * inner..][..inner];
                if n == 0 {
                    row.iter_mut().zip(source).for_each(|(o, i)| *o = (E::get(*i) * weight).raw());
                } else {
                    let add = |(o, i): (&mut E::Raw, &E::Raw)| *o = (E::get(*o) + E::get(*i) * weight).raw();
                    row.iter_mut().zip(source).for_each(add);
                }
            }
        }
    }
}
