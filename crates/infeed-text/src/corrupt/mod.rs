//! Span corruption: spans of tokens are replaced by sentinels, and the model predicts the removed tokens.
//!
//! From `A B C D E F G` the spans `C` and `F G` may be removed: the inputs are `A B <0> D E <1>`, the targets `<0> C
//! <1> F G`. As in T5, the span lengths are a random partition: every way to divide the noise into spans is equally
//! likely, and so is every way to divide the tokens between them.

use infeed_core::{Error, Result, Rng};

#[cfg(test)]
mod tests;

/// Parameters of span corruption.
#[derive(Debug, Clone)]
pub struct Corruption {
    sentinel: i64,
    /// The difference from one sentinel to the next.
    step: i64,
    density: f64,
    mean_span: f64,
    eos: Option<i64>,
    /// Maximum tokens of a text that are used.
    most: Option<usize>,
}

impl Corruption {
    /// Creates a corruption. `sentinel` is the first sentinel; each further one is one less, or one more with
    /// `ascending`. `density` is the fraction of noise tokens, `mean_span` the mean length of a span. `eos` ends
    /// inputs and targets. With a `length`, texts are cut so that inputs have at most that many tokens.
    pub fn new(
        sentinel: i64,
        ascending: bool,
        density: f64,
        mean_span: f64,
        eos: Option<i64>,
        length: Option<usize>,
    ) -> Result<Self> {
        if !(density > 0.0 && density < 1.0) {
            return Err(Error::argument(format!("density must lie between 0 and 1, got {density}")));
        }
        if !(mean_span >= 1.0 && mean_span.is_finite()) {
            return Err(Error::argument(format!("mean_span must be at least 1, got {mean_span}")));
        }
        if sentinel < 0 {
            return Err(Error::argument(format!("sentinel_start must not be negative, got {sentinel}")));
        }
        let step = if ascending { 1 } else { -1 };
        let mut made = Corruption { sentinel, step, density, mean_span, eos, most: None };
        if let Some(length) = length {
            if length < 2 + usize::from(eos.is_some()) {
                return Err(Error::argument(format!(
                    "length of {length} leaves no room for text and a sentinel"
                )));
            }
            // Inputs grow with the text by zero or one token, so the longest text is found by binary search.
            let (mut low, mut high) = (1, 2);
            while made.sizes(high).0 <= length {
                (low, high) = (high, high * 2);
            }
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if made.sizes(middle).0 <= length { low = middle } else { high = middle }
            }
            made.most = Some(low);
        }
        Ok(made)
    }

    /// Returns the maximum number of tokens used of a text, if inputs have a length.
    pub fn most(&self) -> Option<usize> {
        self.most
    }

    /// Returns the numbers of input and target tokens for a text of `tokens` tokens.
    pub fn sizes(&self, tokens: usize) -> (usize, usize) {
        let tokens = self.most.map_or(tokens, |most| tokens.min(most));
        let eos = usize::from(self.eos.is_some());
        if tokens < 2 {
            return (tokens + eos, eos);
        }
        let (noise, spans) = self.amounts(tokens);
        (tokens - noise + spans + eos, noise + spans + eos)
    }

    /// Returns the number of noise tokens and the number of spans.
    fn amounts(&self, tokens: usize) -> (usize, usize) {
        let round = |x: f64| x.round_ties_even() as usize;
        let noise = round(tokens as f64 * self.density).clamp(1, tokens - 1);
        // Each span needs a token, and one before it.
        let spans = round(noise as f64 / self.mean_span).clamp(1, noise.min(tokens - noise));
        (noise, spans)
    }

    /// Returns the input of the model.
    pub fn inputs(&self, tokens: &[i64], rng: &mut Rng) -> Result<Vec<i64>> {
        self.walk(tokens, rng, true)
    }

    /// Returns the targets. With the same random numbers they match the inputs.
    pub fn targets(&self, tokens: &[i64], rng: &mut Rng) -> Result<Vec<i64>> {
        self.walk(tokens, rng, false)
    }

    fn walk(&self, tokens: &[i64], rng: &mut Rng, inputs: bool) -> Result<Vec<i64>> {
        let tokens = &tokens[..self.most.map_or(tokens.len(), |most| tokens.len().min(most))];
        let sizes = self.sizes(tokens.len());
        let mut out = Vec::with_capacity(if inputs { sizes.0 } else { sizes.1 });
        if tokens.len() < 2 {
            // Nothing can be removed from a single token.
            out.extend_from_slice(if inputs { tokens } else { &[] });
            out.extend(self.eos);
            return Ok(out);
        }
        let (noise, spans) = self.amounts(tokens.len());
        let last = self.sentinel + self.step * (spans as i64 - 1);
        if last < 0 {
            return Err(Error::sample(format!(
                "{spans} spans of noise need as many sentinels, and from {} down there are only {}; cut the text first",
                self.sentinel,
                self.sentinel + 1
            )));
        }
        let noises = partition(noise, spans, rng);
        let plains = partition(tokens.len() - noise, spans, rng);
        let mut at = 0;
        for (n, (plain, noise)) in plains.iter().zip(&noises).enumerate() {
            let sentinel = self.sentinel + self.step * n as i64;
            let (kept, hidden) = (at..at + plain, at + plain..at + plain + noise);
            at = hidden.end;
            if inputs {
                out.extend_from_slice(&tokens[kept]);
                out.push(sentinel);
            } else {
                out.push(sentinel);
                out.extend_from_slice(&tokens[hidden]);
            }
        }
        out.extend(self.eos);
        Ok(out)
    }
}

/// Divides `items` into `parts` of at least one, all ways equally likely, by drawing which of the gaps
/// between items end a part.
fn partition(items: usize, parts: usize, rng: &mut Rng) -> Vec<usize> {
    let mut lengths = Vec::with_capacity(parts);
    let (mut cuts, mut length) = (parts - 1, 1);
    for left in (1..items).rev() {
        if rng.below(left as u64) < cuts as u64 {
            lengths.push(length);
            length = 0;
            cuts -= 1;
        }
        length += 1;
    }
    lengths.push(length);
    lengths
}
