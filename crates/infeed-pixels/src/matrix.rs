//! The coefficients of warps, computed as in Pillow and torchvision. All map from the result back to the source.

/// x = m0 X + m1 Y + m2 and y = m3 X + m4 Y + m5 for a pixel whose centre is at (X, Y).
pub type Affine = [f64; 6];

/// x = (p0 X + p1 Y + p2) / (p6 X + p7 Y + 1), y = (p3 X + p4 Y + p5) / the same.
pub type Perspective = [f64; 8];

/// A rotation with the size of its result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rotation {
    /// Maps back to the source.
    pub matrix: Affine,
    /// Width of the result.
    pub width: usize,
    /// Height of the result.
    pub height: usize,
}

/// Rotation by `angle` degrees counterclockwise, as in Pillow's `Image.rotate`. `expand` makes the result large enough
/// for the whole picture.
pub fn rotation(
    width: usize,
    height: usize,
    angle: f64,
    expand: bool,
    center: Option<(f64, f64)>,
) -> Rotation {
    let (w, h) = (width as f64, height as f64);
    let (x, y) = center.unwrap_or((w / 2.0, h / 2.0));
    let angle = -angle.rem_euclid(360.0).to_radians();
    let (cos, sin) = (rounded(angle.cos()), rounded(angle.sin()));
    let minus_sin = rounded(-angle.sin());
    let mut m = [cos, sin, 0.0, minus_sin, cos, 0.0];
    (m[2], m[5]) = at(&m, -x, -y);
    m[2] += x;
    m[5] += y;
    if !expand {
        return Rotation { matrix: m, width, height };
    }
    let corners = [(0.0, 0.0), (w, 0.0), (w, h), (0.0, h)].map(|(x, y)| at(&m, x, y));
    let side = |values: [f64; 4]| {
        let high = values.into_iter().fold(f64::MIN, f64::max).ceil();
        let low = values.into_iter().fold(f64::MAX, f64::min).floor();
        high - low
    };
    let (new_w, new_h) = (side(corners.map(|p| p.0)), side(corners.map(|p| p.1)));
    (m[2], m[5]) = at(&m, -(new_w - w) / 2.0, -(new_h - h) / 2.0);
    Rotation { matrix: m, width: new_w.max(1.0) as usize, height: new_h.max(1.0) as usize }
}

fn at(m: &Affine, x: f64, y: f64) -> (f64, f64) {
    (m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5])
}

/// Rounds to fifteen decimal places, like Python's `round(x, 15)`.
fn rounded(x: f64) -> f64 {
    format!("{x:.15}").parse().unwrap_or(x)
}

/// Rotation by `angle` degrees clockwise, translation, scale and shear (degrees) about `center`: torchvision's
/// `affine`.
pub fn affine(
    center: (f64, f64),
    angle: f64,
    translate: (f64, f64),
    scale: f64,
    shear: (f64, f64),
) -> Affine {
    let (turn, shear_x, shear_y) = (angle.to_radians(), shear.0.to_radians(), shear.1.to_radians());
    let (tan_x, cos_y) = (shear_x.tan(), shear_y.cos());
    let a = (turn - shear_y).cos() / cos_y;
    let b = -(a * tan_x + turn.sin());
    let c = (turn - shear_y).sin() / cos_y;
    let d = turn.cos() - c * tan_x;
    let (x, y) = (center.0 + translate.0, center.1 + translate.1);
    let mut m = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0];
    m[2] += center.0 - m[0] * x - m[1] * y;
    m[5] += center.1 - m[3] * x - m[4] * y;
    m
}

/// The perspective that moves the corners `from` of a picture to `to`, rounded to 32-bit floats as in torchvision. `None`
/// if there is none, for example with three corners on a line.
pub fn perspective(from: [(f64, f64); 4], to: [(f64, f64); 4]) -> Option<Perspective> {
    // Two equations per corner, the right side as a ninth column.
    let mut rows = [[0.0; 9]; 8];
    for (i, ((sx, sy), (x, y))) in from.into_iter().zip(to).enumerate() {
        rows[2 * i] = [x, y, 1.0, 0.0, 0.0, 0.0, -sx * x, -sx * y, sx];
        rows[2 * i + 1] = [0.0, 0.0, 0.0, x, y, 1.0, -sy * x, -sy * y, sy];
    }
    for column in 0..8 {
        let best = (column..8).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, best);
        let pivot = rows[column];
        if pivot[column].abs() < 1e-9 {
            return None;
        }
        for (i, row) in rows.iter_mut().enumerate() {
            if i != column {
                let factor = row[column] / pivot[column];
                row.iter_mut().zip(pivot).for_each(|(v, p)| *v -= factor * p);
            }
        }
    }
    let solved: [f64; 8] = std::array::from_fn(|i| f64::from((rows[i][8] / rows[i][i]) as f32));
    solved.iter().all(|v| v.is_finite()).then_some(solved)
}
