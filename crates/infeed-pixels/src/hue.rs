//! Hue rotation, through Pillow's 8-bit HSV.
//!
//! Pillow computes with floats for every pixel. But hue depends on little: which channels are the highest and the lowest, and how
//! far the middle one is from the highest, as a share of the range. So hue and saturation are looked up, and levels are products
//! with looked-up factors: the same numbers without a division.

use std::sync::OnceLock;

/// Rotates the hue of RGB pixels by `factor` turns, -0.5 to 0.5: torchvision's `adjust_hue` on PIL images.
pub fn hue(pixels: &mut [u8], factor: f64) {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    // torchvision adds to the 8-bit hue and lets it wrap; even a rotation by zero goes through HSV and back.
    let by = (factor * 255.0) as i32 as u8;
    let tables = TABLES.get_or_init(Tables::new);
    for pixel in pixels.as_chunks_mut::<3>().0 {
        *pixel = tables.turn(*pixel, by);
    }
}

/// What depends on only two numbers of a pixel. Gray has neither hue nor saturation, and comes out as it is.
struct Tables {
    /// Hue by order of the channels, range, and distance of the middle channel from the highest.
    hue: Vec<[[u8; 256]; 256]>,
    /// Saturation by highest channel and range.
    saturation: Vec<[u8; 256]>,
    /// The share of the value that the middle level is, by hue and saturation.
    middle: Vec<[Share; 256]>,
    /// The share of the value that the lowest level is, by saturation.
    lowest: [Share; 256],
    /// Where each channel finds its level, by hue.
    shifts: [[u8; 3]; 256],
}

/// A number from 0 to 1 with 24 binary places: enough for the level of every value, hue and saturation.
type Share = u32;

impl Tables {
    fn new() -> Self {
        let mut new = Tables {
            hue: vec![[[0; 256]; 256]; 6],
            saturation: vec![[0; 256]; 256],
            middle: vec![[0; 256]; 256],
            lowest: std::array::from_fn(|s| share_left(f64::from(saturation(s as u8)))),
            shifts: std::array::from_fn(|h| PLACES[place(h as u8).0].map(|which| 8 * which)),
        };
        for (order, by_range) in new.hue.iter_mut().enumerate() {
            for (range, by_middle) in by_range.iter_mut().enumerate().skip(1) {
                for (middle, hue) in by_middle.iter_mut().enumerate().take(range + 1) {
                    *hue = hue_of(order, range as u8, middle as u8);
                }
            }
        }
        for (high, by_range) in new.saturation.iter_mut().enumerate() {
            for (range, saturation) in by_range.iter_mut().enumerate().take(high + 1).skip(1) {
                *saturation = (f64::from(range as f32 / high as f32) * 255.0) as i32 as u8;
            }
        }
        for (hue, by_saturation) in new.middle.iter_mut().enumerate() {
            for (s, share) in by_saturation.iter_mut().enumerate() {
                *share = share_left(middle_less(hue as u8, s as u8));
            }
        }
        new
    }

    #[inline(always)]
    fn turn(&self, [r, g, b]: [u8; 3], by: u8) -> [u8; 3] {
        let (high, low) = (r.max(g).max(b), r.min(g).min(b));
        let middle = r.max(g).min(r.min(g).max(b));
        // Which is the highest, and which of the other two the middle one. Neighbours mostly agree, so branches are cheap here.
        let (is_r, is_g) = (r == high, g == high);
        let first = if is_r { b >= g } else { if is_g { r >= b } else { g >= r } };
        let order = if is_r { 0 } else { if is_g { 2 } else { 4 } } + usize::from(!first);
        let h = self.hue[order][usize::from(high - low)][usize::from(high - middle)].wrapping_add(by);
        let s = usize::from(self.saturation[usize::from(high)][usize::from(high - low)]);
        let mean = level(high, self.middle[usize::from(h)][s]);
        let levels = u32::from(high) | mean << 8 | level(high, self.lowest[s]) << 16;
        self.shifts[usize::from(h)].map(|by| (levels >> by) as u8)
    }
}

/// The rounded product of a value and a share.
#[inline(always)]
fn level(value: u8, share: Share) -> u32 {
    (u32::from(value) * share + (1 << 23)) >> 24
}

/// What is left of one, as a share.
fn share_left(less: f64) -> Share {
    ((1.0 - less) * f64::from(1 << 24)).round() as Share
}

/// Hue of a colour that is not gray, rounded where Pillow's C code rounds: it keeps floats and computes in doubles.
fn hue_of(order: usize, range: u8, middle: u8) -> u8 {
    let base = [0.0, 2.0, 4.0][order / 2];
    // The lowest channel is a whole range away from the highest.
    let share = f64::from(f32::from(middle) / f32::from(range));
    let (plus, minus) = if order.is_multiple_of(2) { (share, 1.0) } else { (1.0, share) };
    // Sums of two floats and a small number are exact in doubles.
    let sector = (base + plus - minus) as f32;
    // The remainder of a division by one, for numbers from 5/6 to 2.
    let turned = f64::from(sector) / 6.0 + 1.0;
    let hue = (turned - if turned >= 1.0 { 1.0 } else { 0.0 }) as f32;
    (f64::from(hue) * 255.0) as i32 as u8
}

/// Which of value, middle and lowest level each channel has, by sector of the circle.
const PLACES: [[u8; 3]; 6] = [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [1, 2, 0], [0, 2, 1]];

/// The sector of a hue, and how far in it the hue is.
fn place(hue: u8) -> (usize, f32) {
    let at = f64::from(hue) * 6.0 / 255.0;
    ((at as usize) % 6, (at - at.floor()) as f32)
}

/// Saturation in 0..=1, as the float that Pillow keeps.
fn saturation(s: u8) -> f32 {
    (f64::from(s) / 255.0) as f32
}

/// How much less than the value the middle level is, as a share: falling in every second sector, rising in the others.
fn middle_less(hue: u8, s: u8) -> f64 {
    let ((sector, at), share) = (place(hue), saturation(s));
    if sector % 2 == 1 { f64::from(share * at) } else { f64::from(share) * (1.0 - f64::from(at)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by Pillow's arithmetic, pixel by pixel.
    fn slow([r, g, b]: [u8; 3], by: u8) -> [u8; 3] {
        let (high, low) = (r.max(g).max(b), r.min(g).min(b));
        if high == low {
            return [r, g, b];
        }
        let range = f32::from(high - low);
        let share = |v: u8| f64::from(f32::from(high - v) / range);
        let sector = if r == high {
            share(b) - share(g)
        } else if g == high {
            2.0 + share(r) - share(b)
        } else {
            4.0 + share(g) - share(r)
        } as f32;
        let hue = ((f64::from(sector) / 6.0 + 1.0) % 1.0) as f32;
        let h = ((f64::from(hue) * 255.0) as i32 as u8).wrapping_add(by);
        let s = (f64::from(range / f32::from(high)) * 255.0) as i32 as u8;
        let levels = [high, exact(high, middle_less(h, s)), exact(high, f64::from(saturation(s)))];
        PLACES[place(h).0].map(|which| levels[usize::from(which)])
    }

    /// A level as Pillow's doubles give it.
    fn exact(value: u8, less: f64) -> u8 {
        (f64::from(value) * (1.0 - less) + 0.5) as u8
    }

    #[test]
    fn shares_have_places_enough() {
        for s in 0..=255 {
            for hue in 0..=255 {
                let less = middle_less(hue, s);
                for value in 0..=255 {
                    assert_eq!(level(value, share_left(less)) as u8, exact(value, less), "{value} {hue} {s}");
                }
            }
            let less = f64::from(saturation(s));
            (0..=255).for_each(|v| assert_eq!(level(v, share_left(less)) as u8, exact(v, less)));
        }
    }

    #[test]
    fn tables_give_what_arithmetic_gives() {
        let steps: Vec<u8> = (0..=255).step_by(5).chain([1, 2, 127, 128, 253, 254]).collect();
        for by in [0u8, 1, 25, 128, 230, 255] {
            let factor = f64::from(by as i8) / 255.0 + if by as i8 >= 0 { 1e-9 } else { -1e-9 };
            for r in &steps {
                let mut pixels: Vec<u8> =
                    steps.iter().flat_map(|g| steps.iter().flat_map(move |b| [*r, *g, *b])).collect();
                let want: Vec<u8> = pixels.as_chunks::<3>().0.iter().flat_map(|p| slow(*p, by)).collect();
                hue(&mut pixels, factor);
                assert_eq!(pixels, want, "by {by}, red {r}");
            }
        }
    }
}
