//! `Moments`: what `infeed stats` needs to know of one array. Not for users: the engine puts it at the end of chains.
//!
//! An array becomes a row of numbers per channel: how many values, NaN and infinities there are, mean, sum of squared
//! deviations, least, most, and some of the values. Workers make these, and whoever takes the batches merges them in the order
//! of rows: the result is the same for every number of threads.

use super::array::{
    axis,
    element::{Element, with_element},
    elements, need_array, one_axis, tensor,
};
use infeed_core::{
    Args, Bytes, Context, Dim, Dtype, Entry, Error, FieldSpec, Param, Result, Rng, Transform, Value, memory,
};

/// Numbers of a channel before its values.
pub(crate) const HEAD: usize = 7;

/// The name of the entry.
pub(crate) const NAME: &str = "Moments";

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: NAME,
    about: "count, mean, deviation, least and most of an array, and some of its values",
    params: &[
        Param { name: "axis", python: "int | None", default: Some("null"), about: "the axis of channels" },
        Param {
            name: "values",
            python: "int",
            default: Some("0"),
            about: "values of each channel that are drawn",
        },
    ],
    build,
};

#[derive(Debug)]
struct Moments {
    axis: Option<i64>,
    values: usize,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let values = args.int("values", 0)?;
    if values > 1 << 24 {
        return Err(args.error("values", "must be at most 2^24"));
    }
    Ok(Box::new(Moments { axis: one_axis(args, "axis")?, values: values as usize }))
}

/// Count, mean and sum of squared deviations of some values, with the smallest and the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    pub(crate) count: f64,
    pub(crate) mean: f64,
    pub(crate) squares: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Tally {
    /// Of nothing.
    pub(crate) const NONE: Tally =
        Tally { count: 0.0, mean: 0.0, squares: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };

    /// Of both together (Chan, Golub and LeVeque).
    #[must_use]
    pub(crate) fn with(self, other: Tally) -> Tally {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let delta = other.mean - self.mean;
        Tally {
            count,
            mean: self.mean + delta * (other.count / count),
            squares: self.squares + other.squares + delta * delta * (self.count / count * other.count),
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// Values that are summed up at once: few enough that two passes stay in the cache.
const BLOCK: usize = 4096;

/// A block of finite values in two passes.
fn tally(values: &[f64]) -> Tally {
    if values.is_empty() {
        return Tally::NONE;
    }
    let count = values.len() as f64;
    // Relative to the first value, so that a large common part costs no digits.
    let base = values[0];
    let mean = base + lanes(values, |x| x - base) / count;
    let squares = lanes(values, |x| (x - mean) * (x - mean));
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Tally { count, mean, squares, low, high }
}

/// A sum in eight lanes, which the compiler keeps in vectors. The order is fixed, so the result is.
fn lanes(values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let (whole, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in whole {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += f(*x);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|x| f(*x)).sum::<f64>()
}

/// One channel while it is looked at.
struct Channel {
    tally: Tally,
    nan: f64,
    infinite: f64,
    block: Vec<f64>,
}

impl Channel {
    fn new() -> Result<Self> {
        Ok(Channel { tally: Tally::NONE, nan: 0.0, infinite: 0.0, block: memory::with_capacity(BLOCK)? })
    }

    fn push(&mut self, x: f64) {
        if x.is_finite() {
            self.block.push(x);
            if self.block.len() == BLOCK {
                self.flush();
            }
        } else if x.is_nan() {
            self.nan += 1.0;
        } else {
            self.infinite += 1.0;
        }
    }

    fn flush(&mut self) {
        self.tally = self.tally.with(tally(&self.block));
        self.block.clear();
    }
}

/// Where the elements of a channel are.
#[derive(Clone, Copy)]
struct Layout {
    channels: usize,
    inner: usize,
    /// Elements of each channel.
    each: usize,
}

impl Layout {
    /// The n-th element of a channel.
    fn at(self, channel: usize, n: usize) -> usize {
        (n / self.inner * self.channels + channel) * self.inner + n % self.inner
    }
}

fn look<E: Element>(bytes: &[u8], layout: Layout, values: usize, rng: &mut Rng) -> Result<Vec<f64>> {
    let all = E::all(bytes);
    let mut out = memory::with_capacity(layout.channels * (HEAD + values))?;
    for channel in 0..layout.channels {
        let mut seen = Channel::new()?;
        for part in all.chunks_exact(layout.inner).skip(channel).step_by(layout.channels) {
            part.iter().for_each(|raw| seen.push(E::get(*raw).to_f64()));
        }
        seen.flush();
        let Tally { count, mean, squares, low, high } = seen.tally;
        out.extend([count, seen.nan, seen.infinite, mean, squares, low, high]);
        let whole = layout.each <= values;
        for n in 0..values {
            // All values if there are no more than wanted, else some that may repeat. What is not finite is left out later.
            let chosen = if whole { n } else { rng.below(layout.each as u64) as usize };
            let found = (chosen < layout.each).then(|| E::get(all[layout.at(channel, chosen)]).to_f64());
            out.push(found.filter(|x| x.is_finite()).unwrap_or(f64::NAN));
        }
    }
    Ok(out)
}

impl Transform for Moments {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array(NAME, input)?;
        let channels = match self.axis {
            None => Dim::Fixed(1),
            Some(given) => input.shape[axis(NAME, "axis", given, input.shape.len())?],
        };
        Ok(FieldSpec::array(Dtype::F64, vec![channels, Dim::Fixed(HEAD + self.values)]))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let (channels, inner) = match self.axis {
            None => (1, elements(&tensor.shape)?),
            Some(given) => {
                let at = axis(NAME, "axis", given, tensor.shape.len())?;
                (tensor.shape[at], tensor.shape[at + 1..].iter().product())
            }
        };
        let each = elements(&tensor.shape)?.checked_div(channels).unwrap_or(0);
        let layout = Layout { channels, inner: inner.max(1), each };
        let bytes = (channels as u64).saturating_mul((HEAD + self.values) as u64 * 8);
        context.scratch.claim(bytes)?;
        let rng = &mut context.rng;
        let numbers = with_element!(tensor.dtype, E => look::<E>(&tensor.data, layout, self.values, rng))?;
        if numbers.len() != channels * (HEAD + self.values) {
            return Err(Error::Internal { what: format!("{NAME} made {} numbers", numbers.len()) });
        }
        tensor.data = Bytes::from(numbers.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>());
        (tensor.dtype, tensor.shape) = (Dtype::F64, vec![channels, HEAD + self.values]);
        Ok(())
    }
}
