//! Hue rotation, through Pillow's 8-bit HSV.

/// Rotates the hue of RGB pixels by `factor` turns, -0.5 to 0.5: torchvision's `adjust_hue` on PIL images.
pub fn hue(pixels: &mut [u8], factor: f64) {
    // torchvision adds to the 8-bit hue and lets it wrap; even a rotation by zero goes through HSV and back.
    let by = (factor * 255.0) as i32 as u8;
    let back = Back::new();
    for pixel in pixels.as_chunks_mut::<3>().0 {
        let [r, g, b] = *pixel;
        let (high, low) = (r.max(g).max(b), r.min(g).min(b));
        if high != low {
            let (h, s) = hue_saturation(r, g, b, high, low);
            *pixel = back.rgb(h.wrapping_add(by), s, high);
        }
    }
}

/// Hue and saturation of a colour that is not gray, rounded where Pillow's C code rounds: it keeps floats and computes in
/// doubles. Without branches, which noise in a picture would make unpredictable.
#[inline(always)]
fn hue_saturation(r: u8, g: u8, b: u8, high: u8, low: u8) -> (u8, u8) {
    let range = f32::from(high - low);
    let saturation = range / f32::from(high);
    let (is_r, is_g) = (r == high, g == high);
    let base = if is_r { 0.0 } else { if is_g { 2.0 } else { 4.0 } };
    let plus = if is_r { b } else { if is_g { r } else { g } };
    let minus = if is_r { g } else { if is_g { b } else { r } };
    let share = |v: u8| f64::from(f32::from(high - v) / range);
    // Sums of two floats and a small number are exact in doubles.
    let sector = (base + share(plus) - share(minus)) as f32;
    // The remainder of a division by one, for numbers from 5/6 to 2.
    let turned = f64::from(sector) / 6.0 + 1.0;
    let hue = (turned - if turned >= 1.0 { 1.0 } else { 0.0 }) as f32;
    ((f64::from(hue) * 255.0) as i32 as u8, (f64::from(saturation) * 255.0) as i32 as u8)
}

/// Which of value, middle and lowest level each channel has, by sector of the circle.
const PLACES: [[u8; 3]; 6] = [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [1, 2, 0], [0, 2, 1]];

/// Conversion back from HSV: tables for what depends on only one of the three.
struct Back {
    /// Sector of the circle and position in it, by hue.
    place: [(u8, f32); 256],
    /// Saturation in 0..=1.
    share: [f32; 256],
}

impl Back {
    fn new() -> Self {
        Back {
            place: std::array::from_fn(|h| {
                let at = h as f64 * 6.0 / 255.0;
                ((at as u8) % 6, (at - at.floor()) as f32)
            }),
            share: std::array::from_fn(|s| (s as f64 / 255.0) as f32),
        }
    }

    #[inline(always)]
    fn rgb(&self, h: u8, s: u8, v: u8) -> [u8; 3] {
        let (sector, at) = self.place[usize::from(h)];
        let share = self.share[usize::from(s)];
        let level = |less: f64| (f64::from(v) * (1.0 - less) + 0.5) as i32 as u8;
        // Falling in every second sector, rising in the others.
        let falling = f64::from(share * at);
        let rising = f64::from(share) * (1.0 - f64::from(at));
        let mean = level(if sector % 2 == 1 { falling } else { rising });
        let levels = [v, mean, level(f64::from(share)), 0];
        PLACES[usize::from(sector)].map(|which| levels[usize::from(which & 3)])
    }
}
