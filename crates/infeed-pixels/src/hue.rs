//! Hue rotation, through Pillow's 8-bit HSV.
//!
//! Pillow computes in doubles and rounds to floats in between. All numbers here are floats, of which a vector holds more. The
//! tests compare every hue, every saturation and every level with Pillow's arithmetic: all are equal.

use crate::wide::{Change, Plane, change_planes, widened};

widened! {
    /// Rotates the hue of RGB pixels by `factor` turns, -0.5 to 0.5: torchvision's `adjust_hue` on PIL images.
    pub fn hue(pixels: &mut [u8], factor: f64) {
        // torchvision adds to the 8-bit hue and lets it wrap; even a rotation by zero goes through HSV and back.
        let by = f32::from((factor * 255.0) as i32 as u8);
        change_planes(pixels, &Turn { by });
    }
}

struct Turn {
    by: f32,
}

impl Change for Turn {
    #[inline(always)]
    fn change(&self, [reds, greens, blues]: &mut [Plane; 3]) {
        for ((r, g), b) in reds.iter_mut().zip(greens).zip(blues) {
            [*r, *g, *b] = turned(f32::from(*r), f32::from(*g), f32::from(*b), self.by);
        }
    }
}

/// The new channels of one pixel. Branches are choices between two numbers, which vectors can make.
#[inline(always)]
fn turned(r: f32, g: f32, b: f32, by: f32) -> [u8; 3] {
    let high = larger(larger(r, g), b);
    // The other two, in the order of the circle, and what Pillow counts from.
    let (is_r, is_g) = (r == high, g == high);
    let other = if is_r {
        b
    } else if is_g {
        r
    } else {
        g
    };
    let another = if is_r {
        g
    } else if is_g {
        b
    } else {
        r
    };
    let base = if is_r {
        0.0
    } else if is_g {
        2.0
    } else {
        4.0
    };
    let range = high - smaller(other, another);
    let hue = hue_of(base, other >= another, range, high - larger(other, another)) + by;
    let hue = if hue >= 256.0 { hue - 256.0 } else { hue };
    levels(high, hue, saturation_of(high, range))
}

/// Hue of a colour, a whole number. That of gray has no meaning, and does not matter: its saturation is 0.
///
/// `base` and `is_first` tell which channel is the highest and which of the others the middle one, `middle` is how far the
/// middle one is from the highest. Divisions, not products with the inverse: Pillow's roundings are kept.
#[inline(always)]
fn hue_of(base: f32, is_first: bool, range: f32, middle: f32) -> f32 {
    let share = middle / larger(range, 1.0);
    // One rounding, as Pillow has it: the sum of base and one is exact.
    let sector = if is_first { (base - 1.0) + share } else { (base + 1.0) - share };
    let turns = sector / 6.0;
    let turns = if sector < 0.0 { turns + 1.0 } else { turns };
    let hue = turns * 255.0;
    let whole = (hue + WHOLE) - WHOLE;
    if whole > hue { whole - 1.0 } else { whole }
}

/// Saturation of a colour, a whole number.
#[inline(always)]
fn saturation_of(high: f32, range: f32) -> f32 {
    // Rounds down: numbers are whole, or far from the next whole number.
    (range / larger(high, 1.0) * 255.0 - 0.4999) + WHOLE - WHOLE
}

/// Red, green and blue of value, hue and saturation: each is as much less than the value as it is far from its own hue, up to
/// a third of the circle. A sixth of the circle is 42.5, so twice the hue keeps numbers whole.
#[inline(always)]
fn levels(value: f32, hue: f32, saturation: f32) -> [u8; 3] {
    let at = 2.0 * hue;
    let less = value * (saturation * (1.0 / (255.0 * 85.0)));
    // Halves are rounded up: the little that is added is smaller than any other difference.
    let value = value + 1e-5;
    let level = |far: f32| {
        let far = smaller(larger(far, 0.0), 85.0);
        (value - less * far + WHOLE).to_bits() as u8
    };
    [level(170.0 - (at - 255.0).abs()), level((at - 170.0).abs() - 85.0), level((at - 340.0).abs() - 85.0)]
}

/// 1.5 * 2^23: a float that is much smaller, of either sign, plus this is rounded to a whole number, which lies in the lowest
/// bits.
const WHOLE: f32 = 12_582_912.0;

/// One instruction, which `f32::max` is not: there are no NaNs here.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wide::with_every_width;

    /// Hue by Pillow's arithmetic: doubles, kept as floats. `x` and `y` are the distances of two channels from the highest.
    fn pillow_hue(base: f64, range: u8, x: u8, y: u8) -> u8 {
        let share = |v: u8| f64::from(f32::from(v) / f32::from(range));
        let sector = (base + share(x) - share(y)) as f32;
        let hue = ((f64::from(sector) / 6.0 + 1.0) % 1.0) as f32;
        (f64::from(hue) * 255.0) as i32 as u8
    }

    fn pillow_saturation(high: u8, range: u8) -> u8 {
        (f64::from(f32::from(range) / f32::from(high)) * 255.0) as i32 as u8
    }

    /// Sectors of the circle: which of value, middle and lowest level each channel has.
    const PLACES: [[usize; 3]; 6] = [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [1, 2, 0], [0, 2, 1]];

    /// Levels by Pillow's arithmetic.
    fn pillow_levels(value: u8, hue: u8, saturation: u8) -> [u8; 3] {
        let at = f64::from(hue) * 6.0 / 255.0;
        let (sector, rest) = (at as usize % 6, (at - at.floor()) as f32);
        let share = (f64::from(saturation) / 255.0) as f32;
        let falling = f64::from(share * rest);
        let rising = f64::from(share) * (1.0 - f64::from(rest));
        let level = |less: f64| (f64::from(value) * (1.0 - less) + 0.5) as u8;
        let all = [value, level(if sector % 2 == 1 { falling } else { rising }), level(f64::from(share))];
        PLACES[sector].map(|which| all[which])
    }

    #[test]
    fn every_hue_is_pillows() {
        for range in 1..=255 {
            for middle in 0..=range {
                for base in [0.0, 2.0, 4.0] {
                    for (is_first, x, y) in [(true, middle, range), (false, range, middle)] {
                        let hue = hue_of(base, is_first, f32::from(range), f32::from(middle));
                        assert_eq!(
                            hue,
                            f32::from(pillow_hue(base.into(), range, x, y)),
                            "{base} {range} {x} {y}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_saturation_is_pillows() {
        for high in 0..=255 {
            for range in 0..=high {
                let want = if range == 0 { 0 } else { pillow_saturation(high, range) };
                assert_eq!(
                    saturation_of(f32::from(high), f32::from(range)),
                    f32::from(want),
                    "{high} {range}"
                );
            }
        }
    }

    #[test]
    fn every_level_is_pillows() {
        for saturation in 0..=255 {
            for hue in 0..=255 {
                for value in 0..=255 {
                    let got = levels(f32::from(value), f32::from(hue), f32::from(saturation));
                    assert_eq!(got, pillow_levels(value, hue, saturation), "{value} {hue} {saturation}");
                }
            }
        }
    }

    /// A whole pixel by Pillow's arithmetic.
    fn pillow([r, g, b]: [u8; 3], by: u8) -> [u8; 3] {
        let (high, low) = (r.max(g).max(b), r.min(g).min(b));
        if high == low {
            return [r, g, b];
        }
        let (base, x, y) = if r == high {
            (0.0, b, g)
        } else if g == high {
            (2.0, r, b)
        } else {
            (4.0, g, r)
        };
        let hue = pillow_hue(base, high - low, high - x, high - y).wrapping_add(by);
        pillow_levels(high, hue, pillow_saturation(high, high - low))
    }

    #[test]
    fn pixels_are_pillows() {
        let steps: Vec<u8> = (0..=255).step_by(5).chain([1, 2, 127, 128, 253, 254]).collect();
        let before: Vec<u8> = steps
            .iter()
            .flat_map(|r| steps.iter().flat_map(|g| steps.iter().flat_map(|b| [*r, *g, *b])))
            .collect();
        for by in [0u8, 1, 25, 128, 230, 255] {
            let factor = f64::from(by as i8) / 255.0 + if by as i8 >= 0 { 1e-9 } else { -1e-9 };
            let want: Vec<u8> = before.as_chunks::<3>().0.iter().flat_map(|p| pillow(*p, by)).collect();
            with_every_width(|| {
                let mut pixels = before.clone();
                hue(&mut pixels, factor);
                let wrong = (0..pixels.len() / 3).find(|i| pixels[3 * i..][..3] != want[3 * i..][..3]);
                assert_eq!(wrong.map(|i| &before[3 * i..][..3]), None, "by {by}");
            });
        }
    }
}
