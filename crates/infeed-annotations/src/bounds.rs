//! Boxes and the images they should lie in.

/// What becomes of a box that is not inside its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// The sample is bad.
    Error,
    /// The box is cut at the border.
    Clip,
    /// The box stays as it is.
    Keep,
}

/// The area that boxes must lie in, with corners as `[x1, y1, x2, y2]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// The largest x; zero if the size of the image is not known.
    pub width: f32,
    /// The largest y; zero if the size of the image is not known.
    pub height: f32,
    /// How far a box may lie outside without being wrong. Data sets round in different ways.
    pub slack: f32,
}

impl Area {
    /// The area of an image in pixels.
    pub fn pixels(width: u32, height: u32) -> Area {
        Area { width: width as f32, height: height as f32, slack: 1.0 }
    }

    /// The area in shares of the image's sides.
    pub fn shares() -> Area {
        Area { width: 1.0, height: 1.0, slack: 0.01 }
    }

    /// Checks the corners of a box, or cuts them. The error says what is wrong, but not where.
    pub fn settle(&self, corners: [f32; 4], outside: Outside) -> Result<[f32; 4], String> {
        let [x1, y1, x2, y2] = corners;
        if !corners.iter().all(|value| value.is_finite()) {
            return Err(format!("its box {corners:?} has a value that is not a finite number"));
        }
        if x2 < x1 || y2 < y1 {
            return Err(format!("its box {corners:?} (x1, y1, x2, y2) ends before it begins"));
        }
        if self.width <= 0.0 || self.height <= 0.0 {
            return Ok(corners);
        }
        let (right, bottom) = (self.width + self.slack, self.height + self.slack);
        match outside {
            Outside::Keep => Ok(corners),
            Outside::Clip => Ok([
                x1.clamp(0.0, self.width),
                y1.clamp(0.0, self.height),
                x2.clamp(0.0, self.width),
                y2.clamp(0.0, self.height),
            ]),
            Outside::Error if x1 < -self.slack || y1 < -self.slack || x2 > right || y2 > bottom => {
                Err(format!(
                    "its box {corners:?} (x1, y1, x2, y2) is outside the image of {} x {}; give outside=\"clip\" to cut \
                     such boxes or outside=\"keep\" to keep them",
                    self.width, self.height
                ))
            }
            Outside::Error => Ok(corners),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_checked_or_cut() {
        let area = Area::pixels(10, 20);
        let wide = [-5.0, 2.0, 12.0, 19.0];
        assert_eq!(area.settle([0.0, 0.0, 10.5, 20.0], Outside::Error), Ok([0.0, 0.0, 10.5, 20.0]));
        assert!(area.settle(wide, Outside::Error).unwrap_err().contains("outside the image of 10 x 20"));
        assert_eq!(area.settle(wide, Outside::Clip), Ok([0.0, 2.0, 10.0, 19.0]));
        assert_eq!(area.settle(wide, Outside::Keep), Ok(wide));
        assert_eq!(Area::pixels(0, 0).settle(wide, Outside::Error), Ok(wide));
        for outside in [Outside::Error, Outside::Clip, Outside::Keep] {
            assert!(area.settle([1.0, 1.0, f32::NAN, 2.0], outside).is_err());
            assert!(area.settle([3.0, 1.0, 2.0, 2.0], outside).is_err());
        }
    }
}
