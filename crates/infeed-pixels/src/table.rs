//! Lookup-table operations, including those that compute the table from the picture.

type Table = [u8; 256];

fn table(of: impl Fn(u8) -> u8) -> Table {
    let mut out = [0; 256];
    for (i, value) in (0..=255u8).zip(&mut out) {
        *value = of(i);
    }
    out
}

/// Inverts every value.
pub fn invert(pixels: &mut [u8]) {
    for value in pixels {
        *value = 255 - *value;
    }
}

/// Keeps the highest `bits` bits of every value.
pub fn posterize(pixels: &mut [u8], bits: u32) {
    let mask = if bits == 0 { 0 } else { 0xffu8 << (8 - bits.min(8)) };
    for value in pixels {
        *value &= mask;
    }
}

/// Inverts the values from `threshold` on.
pub fn solarize(pixels: &mut [u8], threshold: f64) {
    // The first value that is not below the threshold, so that integers can be compared.
    let first = (0..=255u8).find(|v| f64::from(*v) >= threshold);
    let Some(first) = first else { return };
    for value in pixels {
        *value = if *value >= first { 255 - *value } else { *value };
    }
}

/// Histograms of the values, per channel.
fn histograms(pixels: &[u8], channels: usize) -> [[u32; 256]; 4] {
    // Two sets, used alternately: neighbours are often equal, and consecutive increments of one counter would wait.
    let mut sets = [[[0u32; 256]; 4]; 2];
    if channels == 3 {
        let (pairs, rest) = pixels.as_chunks::<6>();
        let [even, odd] = &mut sets;
        for [a, b, c, d, e, f] in pairs {
            even[0][usize::from(*a)] += 1;
            even[1][usize::from(*b)] += 1;
            even[2][usize::from(*c)] += 1;
            odd[0][usize::from(*d)] += 1;
            odd[1][usize::from(*e)] += 1;
            odd[2][usize::from(*f)] += 1;
        }
        for (value, counts) in rest.iter().zip(even.iter_mut()) {
            counts[usize::from(*value)] += 1;
        }
    } else {
        for (i, pixel) in pixels.chunks_exact(channels).enumerate() {
            for (value, counts) in pixel.iter().zip(&mut sets[i % 2]) {
                counts[usize::from(*value)] += 1;
            }
        }
    }
    let [mut sum, other] = sets;
    for (sum, other) in sum.as_flattened_mut().iter_mut().zip(other.as_flattened()) {
        *sum += other;
    }
    sum
}

/// Applies table c to channel c.
fn apply(pixels: &mut [u8], channels: usize, tables: &[Table; 4]) {
    match channels {
        1 => pixels.iter_mut().for_each(|v| *v = tables[0][usize::from(*v)]),
        3 => {
            let [r, g, b, _] = tables;
            for pixel in pixels.as_chunks_mut::<3>().0 {
                let [x, y, z] = pixel.map(usize::from);
                *pixel = [r[x], g[y], b[z]];
            }
        }
        _ => {
            for pixel in pixels.chunks_exact_mut(channels) {
                pixel.iter_mut().zip(tables).for_each(|(v, table)| *v = table[usize::from(*v)]);
            }
        }
    }
}

/// Makes a table for each channel from its histogram and applies it. `None` leaves the channel unchanged.
fn by_histogram(pixels: &mut [u8], channels: usize, make: impl Fn(&[u32; 256]) -> Option<Table>) {
    let counts = histograms(pixels, channels);
    let tables: [Option<Table>; 4] =
        std::array::from_fn(|c| if c < channels { make(&counts[c]) } else { None });
    if tables.iter().any(Option::is_some) {
        apply(pixels, channels, &tables.map(|t| t.unwrap_or_else(|| table(|i| i))));
    }
}

/// Stretches every channel to 0..=255: Pillow's `ImageOps.autocontrast`.
pub fn autocontrast(pixels: &mut [u8], channels: usize) {
    by_histogram(pixels, channels, |counts| {
        let low = counts.iter().position(|n| *n > 0)? as f64;
        let high = counts.iter().rposition(|n| *n > 0)? as f64;
        if high <= low {
            return None;
        }
        let scale = 255.0 / (high - low);
        let offset = -low * scale;
        Some(table(|i| (f64::from(i) * scale + offset) as u8))
    });
}

/// Equalises the histogram of every channel: Pillow's `ImageOps.equalize`.
pub fn equalize(pixels: &mut [u8], channels: usize) {
    by_histogram(pixels, channels, |counts| {
        let total: u64 = counts.iter().map(|n| u64::from(*n)).sum();
        let last = u64::from(*counts.iter().rfind(|n| **n > 0)?);
        let step = (total - last) / 255;
        if step == 0 {
            return None;
        }
        let mut out = [0; 256];
        let mut sum = step / 2;
        for (value, count) in out.iter_mut().zip(counts) {
            *value = (sum / step).min(255) as u8;
            sum += u64::from(*count);
        }
        Some(out)
    });
}
