//! Reads the golden files of the transforms, which `crates/infeed-pixels/golden/make.py` writes and describes.

use super::policy::{Op, Space, Style};
use infeed_core::{Context, Entry, Image, Result, Rng, Scratch, Transform, Value};

/// The arguments of a record.
pub(super) struct Case {
    /// The arguments; NaN stands for none.
    pub(super) args: Vec<f64>,
}

impl Case {
    /// One argument.
    pub(super) fn at(&self, i: usize) -> f64 {
        self.args[i]
    }

    /// Two arguments, unless they are NaN.
    pub(super) fn pair(&self, i: usize) -> Option<(f64, f64)> {
        (!self.args[i].is_nan()).then(|| (self.args[i], self.args[i + 1]))
    }
}

/// The synthetic picture: a wrapping gradient with noise, the same with little contrast, or one colour.
pub(super) fn picture(kind: u32, width: u32, height: u32, channels: u32) -> Image {
    let mut data = Vec::new();
    for i in 0..width * height * channels {
        let (x, y, c) = (i / channels % width, i / channels / width, i % channels);
        let mut noise = i;
        noise = (noise ^ (noise >> 16)).wrapping_mul(0x7feb_352d);
        noise = (noise ^ (noise >> 15)).wrapping_mul(0x846c_a68b);
        let value = ((x * 5 + y * 7 + c * 60) % 256 * 3 + (noise >> 24)) / 4;
        data.push(match kind {
            0 => value,
            1 => 60 + value / 3,
            _ => 40 + c * 50,
        } as u8);
    }
    Image::raw(width, height, channels as u8, data).unwrap()
}

/// Runs `work` on every record and compares; values may differ by `bound`.
pub(super) fn check(
    mut file: &[u8],
    bound: u8,
    work: impl Fn(&mut Image, &Case, &mut Context<'_>) -> Result<()>,
) {
    let mut scratch = Scratch::new();
    let mut records = 0;
    while !file.is_empty() {
        let head: [u32; 8] = std::array::from_fn(|_| u32::from_le_bytes(take(&mut file)));
        let [kind, channels, width, height, out_width, out_height, out_channels, count] = head;
        let args: Vec<f64> = (0..count).map(|_| f64::from_le_bytes(take(&mut file))).collect();
        let (expected, rest) = file.split_at((out_width * out_height * out_channels) as usize);
        file = rest;
        let mut image = picture(kind, width, height, channels);
        let case = Case { args };
        let mut context = Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch };
        work(&mut image, &case, &mut context).unwrap();
        let what = format!("{head:?} {:?}", case.args);
        assert_eq!((image.width(), image.height()), (out_width, out_height), "{what}");
        let found = image.pixels_mut(&mut scratch).unwrap();
        assert_eq!(found.len(), expected.len(), "{what}");
        let worst = found.iter().zip(expected).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        let different = found.iter().zip(expected).filter(|(a, b)| a != b).count();
        assert!(worst <= bound, "{what}: {different} of {} differ by up to {worst}", found.len());
        records += 1;
    }
    assert!(records > 3, "the golden file is all but empty");
}

/// Runs the transform itself on every record, with the record's arguments converted by `json`.
pub(super) fn check_entry(file: &[u8], entry: &Entry<dyn Transform>, json: impl Fn(&Case) -> String) {
    check(file, 0, |image, case, context| {
        let transform = entry.make(&serde_json::from_str(&json(case)).unwrap())?;
        let mut value = Value::Image(Box::new(image.clone()));
        transform.apply(&mut value, context)?;
        *image = value.image_mut()?.clone();
        Ok(())
    });
}

/// Checks every operation of a policy with every magnitude: magnitudes of bins, signs and pixels.
pub(super) fn check_ops(mut file: &[u8], ops: &[Op], space: Space, bins: usize) {
    let mut scratch = Scratch::new();
    let mut seen = 0;
    while !file.is_empty() {
        let [op, bin, bilinear]: [u32; 3] = std::array::from_fn(|_| u32::from_le_bytes(take(&mut file)));
        let [magnitude, sign]: [f64; 2] = std::array::from_fn(|_| f64::from_le_bytes(take(&mut file)));
        let expected = u64::from_le_bytes(take(&mut file));
        let op = ops[op as usize];
        let what = format!("{op:?} bin {bin} sign {sign} bilinear {bilinear}");
        let found = space.magnitude(op, bin as usize, bins, (37, 29)).unwrap_or(0.0);
        assert_eq!(found, magnitude, "{what}");
        let mut image = picture(0, 37, 29, 3);
        let style = Style::of(bilinear == 1, [12; 4]);
        let mut context = Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch };
        style.apply(&mut image, op, sign * magnitude, &mut context).unwrap();
        assert_eq!(checksum(image.pixels_mut(&mut scratch).unwrap()), expected, "{what}");
        seen += 1;
    }
    assert!(seen > 10 * bins, "{seen}");
}

fn checksum(data: &[u8]) -> u64 {
    (1u64..).zip(data).fold(0u64, |sum, (i, v)| {
        let weight = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum.wrapping_add((weight ^ (weight >> 29)).wrapping_mul(u64::from(*v)))
    })
}

fn take<const N: usize>(file: &mut &[u8]) -> [u8; N] {
    let (head, rest) = file.split_first_chunk().unwrap();
    *file = rest;
    *head
}
