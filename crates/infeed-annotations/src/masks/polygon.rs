//! Polygons to runs of pixels, with the results of COCO's own tools.
//!
//! Those tools draw the outline on a grid that is five times as fine as the pixels, point by point. Where the outline
//! crosses the middle line of a column of pixels, the column changes between inside and outside, from the first pixel
//! whose middle is not above the crossing. Pixels are numbered column by column, so the sorted crossings are the ends of
//! runs. All roundings below are part of the result.

/// Fine points per pixel.
const FINE: i64 = 5;
/// The middle of a pixel in fine points.
const MIDDLE: i64 = 2;
/// Coordinates beyond this are wrong, whatever the image is.
const FARTHEST: f64 = 1e6;
/// Fine points of one outline: many times what the largest images need, and less than a second of work.
const LONGEST: u64 = 1 << 26;

/// Appends the places where a polygon begins and ends in an image; `points` is x, y, x, y, and so on.
pub(super) fn crossings(points: &[f64], height: u32, width: u32) -> Result<Vec<u64>, String> {
    if points.len() < 6 {
        return Err(format!("a polygon of {} numbers has fewer than 3 points", points.len()));
    }
    if !points.len().is_multiple_of(2) {
        return Err(format!("a polygon has {} numbers, which are no pairs of x and y", points.len()));
    }
    if let Some(far) = points.iter().find(|value| !value.is_finite() || value.abs() > FARTHEST) {
        return Err(format!("a polygon has the coordinate {far}, which is no place in an image"));
    }
    let fine = |value: f64| (FINE as f64 * value + 0.5) as i64;
    let corners: Vec<(i64, i64)> =
        points.chunks_exact(2).map(|point| (fine(point[0]), fine(point[1]))).collect();
    let edges = || corners.iter().zip(corners.iter().cycle().skip(1));
    let length: u64 = edges().map(|(from, to)| from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)) + 1).sum();
    if length > LONGEST {
        return Err(format!("a polygon has an outline of {} pixels", length / FINE as u64));
    }
    let (height, width) = (i64::from(height), i64::from(width));
    let mut found = Vec::new();
    let mut before: Option<(i64, i64)> = None;
    for (from, to) in edges() {
        line(*from, *to, |x, y| {
            if let Some((old_x, old_y)) = before.replace((x, y))
                && old_x != x
            {
                // The middle line of a column lies between the two fine points beside it.
                let left = if x < old_x { x } else { x - 1 };
                let column = (left - MIDDLE).div_euclid(FINE);
                if (left - MIDDLE).rem_euclid(FINE) == 0 && (0..width).contains(&column) {
                    let row = (old_y.min(y) + FINE - 1 - MIDDLE).div_euclid(FINE);
                    found.push((column * height + row.clamp(0, height)) as u64);
                }
            }
        });
    }
    found.sort_unstable();
    Ok(found)
}

/// Visits the fine points of a line from one end to the other. They are computed from the end with the smaller coordinate,
/// so that a line has the same points in both directions.
fn line(from: (i64, i64), to: (i64, i64), mut visit: impl FnMut(i64, i64)) {
    let (across, down) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
    let flat = across >= down;
    let steps = across.max(down);
    let backwards = if flat { from.0 > to.0 } else { from.1 > to.1 };
    let (low, high) = if backwards { (to, from) } else { (from, to) };
    let rise = if flat { high.1 - low.1 } else { high.0 - low.0 };
    let slope = if steps == 0 { 0.0 } else { rise as f64 / steps as f64 };
    for step in 0..=steps {
        let along = if backwards { steps - step } else { step };
        let beside = |start: i64| (start as f64 + slope * along as f64 + 0.5) as i64;
        if flat {
            visit(low.0 + along, beside(low.1));
        } else {
            visit(beside(low.0), low.1 + along);
        }
    }
}

/// Returns the runs of pixels inside, for sorted crossings.
pub(super) fn inside(crossings: &[u64], pixels: u64) -> impl Iterator<Item = (u64, u64)> {
    crossings.chunks(2).map(move |pair| (pair[0], pair.get(1).copied().unwrap_or(pixels)))
}
