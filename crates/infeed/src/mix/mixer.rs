//! What MixUp, CutMix and RandomMix have in common.

use super::{
    beta,
    blend::blend,
    cut::{Cut, paste},
    fields::{self, Label},
    labels::{self, KnownClass},
};
use infeed_core::{
    Args, BatchMut, BatchTransform, Context, Dim, Dtype, Error, FieldSpec, Param, Result, Rng, Spec,
    Transform,
};
use std::sync::Arc;

/// The `num_classes` parameter.
pub(super) const NUM_CLASSES: Param = Param {
    name: "num_classes",
    python: "int | None",
    default: Some("null"),
    about: "number of classes; must be given when labels are class numbers",
};

/// The `label` parameter.
pub(super) const LABEL: Param = Param {
    name: "label",
    python: "str | None",
    default: Some("null"),
    about: "field of the labels; None takes the only field of whole numbers",
};

/// Mixes neighbouring samples of a batch by sum or by rectangle.
#[derive(Debug)]
pub(super) struct Mixer {
    /// Its name.
    pub(super) owner: &'static str,
    /// Alpha for sums of samples.
    pub(super) mixup: Option<f64>,
    /// Alpha for rectangles.
    pub(super) cutmix: Option<f64>,
    /// Probability of rectangles, if both are enabled.
    pub(super) switch: f64,
    /// Probability that a batch is mixed at all.
    pub(super) p: f64,
    pub(super) num_classes: Option<usize>,
    pub(super) label: Option<String>,
}

enum Choice {
    Nothing,
    Sum(f32),
    Rectangle(f32),
}

impl Mixer {
    /// Creates a mixer with [`NUM_CLASSES`] and [`LABEL`] read, and nothing enabled.
    pub(super) fn new(owner: &'static str, args: &Args) -> Result<Self> {
        let num_classes = match args.is_none("num_classes") {
            true => None,
            false => Some(args.int("num_classes", 1)? as usize),
        };
        let label = match args.is_none("label") {
            true => None,
            false => Some(args.text("label")?.to_owned()),
        };
        Ok(Mixer { owner, mixup: None, cutmix: None, switch: 0.5, p: 1.0, num_classes, label })
    }

    fn find(&self, input: &Spec) -> Result<Label> {
        fields::label(self.owner, input, self.label.as_deref(), self.num_classes)
    }

    fn choose(&self, rng: &mut Rng) -> Choice {
        if self.p < 1.0 && !rng.chance(self.p) {
            return Choice::Nothing;
        }
        match (self.mixup, self.cutmix) {
            (Some(_), Some(alpha)) if rng.chance(self.switch) => Choice::Rectangle(beta::draw(alpha, rng)),
            (Some(alpha), _) => Choice::Sum(beta::draw(alpha, rng)),
            (None, Some(alpha)) => Choice::Rectangle(beta::draw(alpha, rng)),
            (None, None) => Choice::Nothing,
        }
    }
}

/// Reads a parameter of the Beta distribution.
pub(super) fn alpha(args: &Args, name: &str) -> Result<f64> {
    let alpha = args.float(name)?;
    if alpha > 0.0 { Ok(alpha) } else { Err(args.error(name, "must be above 0")) }
}

impl BatchTransform for Mixer {
    fn spec(&self, input: &Spec, on: &[usize]) -> Result<Spec> {
        let label = self.find(input)?;
        fields::check(self.owner, input, on, &label)?;
        if self.cutmix.is_some() {
            fields::pixels(self.owner, input, on)?;
        }
        let mut out = input.clone();
        out.fields[label.field].1 = FieldSpec::array(Dtype::F32, vec![Dim::Fixed(label.classes)]);
        Ok(out)
    }

    fn check(&self, input: &Spec) -> Result<Option<(usize, Arc<dyn Transform>)>> {
        let Label { field, classes, numbers } = self.find(input)?;
        Ok(numbers.then(|| (field, Arc::new(KnownClass { classes }) as Arc<dyn Transform>)))
    }

    fn apply(&self, batch: &mut BatchMut<'_>, context: &mut Context<'_>) -> Result<()> {
        let label = self.find(batch.spec)?;
        let samples = batch.samples;
        // A single sample has no partner.
        let choice = if samples < 2 { Choice::Nothing } else { self.choose(&mut context.rng) };
        let spare = &mut context.scratch.pixels;
        let lambda = match choice {
            Choice::Nothing => 1.0,
            Choice::Sum(lambda) => {
                for at in batch.on {
                    let dtype = batch.spec.fields[*at].1.dtype;
                    blend(dtype, batch.blocks[*at].data, samples, lambda, spare);
                }
                lambda
            }
            Choice::Rectangle(lambda) => {
                let pixels = fields::pixels(self.owner, batch.spec, batch.on)?;
                let (height, width) = pixels.first().map_or((1, 1), |p| (p.height, p.width));
                let cut = Cut::draw(lambda, height, width, &mut context.rng);
                for (at, pixels) in batch.on.iter().zip(pixels) {
                    paste(pixels, batch.blocks[*at].data, samples, cut, spare);
                }
                cut.lambda(height, width)
            }
        };
        let block = &mut batch.blocks[label.field];
        match (label.numbers, &mut block.out) {
            (true, Some(out)) => {
                let dtype = batch.spec.fields[label.field].1.dtype;
                labels::mix(dtype, block.data, label.classes, lambda, out)
                    .map_err(|e| e.in_field(&batch.spec.fields[label.field].0))
            }
            (false, None) => {
                blend(Dtype::F32, block.data, samples, lambda, spare);
                Ok(())
            }
            _ => Err(Error::Internal { what: "mixed labels have no memory of their own".to_owned() }),
        }
    }
}
