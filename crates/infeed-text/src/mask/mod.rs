//! Masked language modelling: some tokens are hidden, and the model predicts them.

use infeed_core::{Error, Result, Rng};

#[cfg(test)]
mod tests;

/// Parameters of masking. Of the chosen tokens most become the mask, some a random token, and some stay.
#[derive(Debug, Clone)]
pub struct Masking {
    mask: i64,
    vocab: u64,
    probability: f64,
    keep: f64,
    random: f64,
    special: Vec<i64>,
    ignore: i64,
    /// Whether each token continues the previous word; empty if words do not matter.
    continues: Vec<bool>,
}

/// What happens to a chosen token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Masked,
    Replaced(i64),
    Kept,
}

impl Masking {
    /// Creates a masking. Tokens are chosen with `probability`. Of those, the fraction `keep` stays, the fraction
    /// `random` becomes any of `vocab` tokens, and the rest become `mask`. `special` tokens are never chosen. Labels
    /// of tokens that are not chosen are `ignore`.
    pub fn new(
        mask: i64,
        vocab: u64,
        probability: f64,
        (keep, random): (f64, f64),
        mut special: Vec<i64>,
        ignore: i64,
    ) -> Result<Self> {
        for (name, p) in [("probability", probability), ("keep", keep), ("random", random)] {
            if !(0.0..=1.0).contains(&p) {
                return Err(Error::argument(format!("{name} must be between 0 and 1, got {p}")));
            }
        }
        if keep + random > 1.0 + 1e-9 {
            return Err(Error::argument(format!(
                "keep and random are more than 1 together: {keep} + {random}"
            )));
        }
        if vocab == 0 || mask < 0 || mask as u64 >= vocab {
            return Err(Error::argument(format!("the mask {mask} is not among the {vocab} tokens of vocab")));
        }
        special.sort_unstable();
        Ok(Masking { mask, vocab, probability, keep, random, special, ignore, continues: vec![] })
    }

    /// Masks whole words: `continues` says for each token of the vocabulary whether it continues the previous word.
    #[must_use]
    pub fn whole_words(mut self, continues: Vec<bool>) -> Self {
        self.continues = continues;
        self
    }

    /// Turns tokens into the input of the model.
    pub fn inputs(&self, tokens: &mut [i64], rng: &mut Rng) {
        self.choose(tokens, rng, |token, fate| match fate {
            None | Some(Fate::Kept) => {}
            Some(Fate::Masked) => *token = self.mask,
            Some(Fate::Replaced(other)) => *token = other,
        });
    }

    /// Turns tokens into the labels. With the same random numbers they match the inputs.
    pub fn labels(&self, tokens: &mut [i64], rng: &mut Rng) {
        self.choose(tokens, rng, |token, fate| {
            if fate.is_none() {
                *token = self.ignore;
            }
        });
    }

    /// Iterates over the tokens. Which random numbers are drawn depends only on the tokens, not
    /// on what is done to them.
    fn choose(&self, tokens: &mut [i64], rng: &mut Rng, mut change: impl FnMut(&mut i64, Option<Fate>)) {
        let mut chosen = false;
        let mut in_word = false;
        for token in tokens {
            if self.special.binary_search(token).is_ok() {
                in_word = false;
                change(token, None);
                continue;
            }
            let continues = usize::try_from(*token).ok().and_then(|t| self.continues.get(t)).copied();
            if !(in_word && continues == Some(true)) {
                chosen = rng.chance(self.probability);
            }
            in_word = true;
            if !chosen {
                change(token, None);
                continue;
            }
            let share = rng.unit();
            let fate = if share < self.keep {
                Fate::Kept
            } else if share < self.keep + self.random {
                Fate::Replaced(rng.below(self.vocab) as i64)
            } else {
                Fate::Masked
            };
            change(token, Some(fate));
        }
    }
}
