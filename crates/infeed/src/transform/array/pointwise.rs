//! Arithmetic on every element of an array of floats: in f64 for f64, in f32 for all others.

use super::{
    edit,
    element::{Element, cast},
    float_of,
};
use half::{bf16, f16};
use infeed_core::{Context, Dtype, Error, Result, Tensor};

/// The numbers that are computed with.
pub(in crate::transform) trait Real:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    fn of(x: f64) -> Self;
    fn log1p(self) -> Self;
    fn power(self, by: Self) -> Self;
    fn size(self) -> Self;
    fn signed_as(self, other: Self) -> Self;
}

macro_rules! real {
    ($($t:ty),*) => {$(
        impl Real for $t {
            fn of(x: f64) -> Self {
                x as $t
            }
            fn log1p(self) -> Self {
                self.ln_1p()
            }
            fn power(self, by: Self) -> Self {
                self.powf(by)
            }
            fn size(self) -> Self {
                self.abs()
            }
            fn signed_as(self, other: Self) -> Self {
                self.copysign(other)
            }
        }
    )*};
}
real!(f32, f64);

/// What is done to an element. The constants are converted once, outside of the loop.
pub(in crate::transform) trait Op {
    fn on<R: Real>(&self) -> impl FnMut(R) -> R;
}

/// A floating-point element, and the numbers that it is computed with.
trait Float: Element {
    type Math: Real;
    fn math(self) -> Self::Math;
    fn back(x: Self::Math) -> Self;
}

macro_rules! float {
    ($($t:ty, $math:ty, $to:expr, $of:expr);*) => {$(
        impl Float for $t {
            type Math = $math;
            fn math(self) -> $math {
                $to(self)
            }
            fn back(x: $math) -> Self {
                $of(x)
            }
        }
    )*};
}
float!(f32, f32, |x| x, |x| x; f64, f64, |x| x, |x| x; f16, f32, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::to_f32, bf16::from_f32);

fn run<F: Float>(raw: &mut [F::Raw], mut op: impl FnMut(F::Math) -> F::Math) {
    for one in raw {
        *one = F::back(op(F::get(*one).math())).raw();
    }
}

/// Does `ops` in turn to runs of `inner` elements.
fn runs<F: Float>(bytes: &mut [u8], ops: &[impl Op], inner: usize) {
    let raw = F::all_mut(bytes);
    match ops {
        [one] => run::<F>(raw, one.on::<F::Math>()),
        // Channels last: one operation per element, in turn.
        many if inner == 1 => {
            let mut ops: Vec<_> = many.iter().map(Op::on::<F::Math>).collect();
            for row in raw.chunks_exact_mut(many.len()) {
                for (one, op) in row.iter_mut().zip(&mut ops) {
                    *one = F::back(op(F::get(*one).math())).raw();
                }
            }
        }
        many => {
            for (part, op) in raw.chunks_exact_mut(inner.max(1)).zip(many.iter().cycle()) {
                run::<F>(part, op.on::<F::Math>());
            }
        }
    }
}

/// Does `op` to every element. Integers and bool become f32 first.
pub(in crate::transform) fn each(tensor: &mut Tensor, op: &impl Op, context: &mut Context<'_>) -> Result<()> {
    channels(tensor, std::slice::from_ref(op), 0, context)
}

/// Does one operation to every element, or one for each index of an axis.
pub(in crate::transform) fn channels(
    tensor: &mut Tensor,
    ops: &[impl Op],
    axis: usize,
    context: &mut Context<'_>,
) -> Result<()> {
    cast(tensor, float_of(tensor.dtype), context)?;
    if ops.len() != 1 && tensor.shape.get(axis) != Some(&ops.len()) {
        return Err(Error::sample(format!(
            "there are numbers for {} channels, but the array of {:?} has others along axis {axis}",
            ops.len(),
            tensor.shape
        )));
    }
    let inner = tensor.shape.get(axis + 1..).unwrap_or_default().iter().product();
    context.scratch.claim(tensor.data.len() as u64)?;
    edit(&mut tensor.data, |bytes| match tensor.dtype {
        Dtype::F64 => runs::<f64>(bytes, ops, inner),
        Dtype::F16 => runs::<f16>(bytes, ops, inner),
        Dtype::Bf16 => runs::<bf16>(bytes, ops, inner),
        _ => runs::<f32>(bytes, ops, inner),
    })
}
