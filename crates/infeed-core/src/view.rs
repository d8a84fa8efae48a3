//! The geometry of an image that has not been decoded yet.
//!
//! Crops, resizes, flips and pads only change numbers here. One rule keeps it simple: per axis there is one crop of
//! the source, then at most one resize, then one window on the result, which may be flipped and may reach outside
//! (where the fill colour is visible). An operation that does not fit that form renders the image first
//! ([`crate::Image::settle`]).

use std::ops::Range;

/// One axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// First source pixel of the crop.
    pub start: u32,
    /// Source pixels in the crop.
    pub len: u32,
    /// The size that the crop is resized to.
    pub full: u32,
    /// First pixel of the window in the resized crop; negative where there is padding.
    pub at: i64,
    /// Length of the window, which is the output size.
    pub out: u32,
    /// Whether the window is mirrored.
    pub flip: bool,
}

impl Track {
    /// The whole axis.
    pub fn new(len: u32) -> Self {
        Track { start: 0, len, full: len, at: 0, out: len, flip: false }
    }

    /// Takes `out` pixels from `at`, relative to the visible part.
    pub fn crop(&mut self, at: i64, out: u32) {
        let at = if self.flip { i64::from(self.out) - at - i64::from(out) } else { at };
        self.at += at;
        self.out = out;
    }

    /// Mirrors the visible part.
    pub fn mirror(&mut self) {
        self.flip = !self.flip;
    }

    /// Whether a resize is still possible: none was done, and no padding is visible.
    pub fn can_resize(&self) -> bool {
        self.full == self.len && !self.padded()
    }

    /// Resizes the visible part. The caller has checked [`Track::can_resize`].
    pub fn resize(&mut self, full: u32) {
        // A resize after a crop must not see the pixels that were cut off.
        self.start += u32::try_from(self.at).unwrap_or(0);
        self.len = self.out;
        self.full = full;
        self.at = 0;
        self.out = full;
    }

    /// Whether the window reaches outside.
    pub fn padded(&self) -> bool {
        self.at < 0 || self.at + i64::from(self.out) > i64::from(self.full)
    }

    /// Returns the part of the window inside the image, in pixels of the resized crop.
    pub fn inside(&self) -> Range<u32> {
        let low = self.at.clamp(0, i64::from(self.full));
        let high = (self.at + i64::from(self.out)).clamp(low, i64::from(self.full));
        low as u32..high as u32
    }

    /// Returns where [`Track::inside`] starts in the output.
    pub fn lead(&self) -> u32 {
        let inside = self.inside();
        let before = (i64::from(inside.start) - self.at).clamp(0, i64::from(self.out)) as u32;
        let after = self.out - before - (inside.end - inside.start);
        if self.flip { after } else { before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The effect of the operations on a list of pixels; `None` is padding.
    fn show(track: &Track) -> Vec<Option<u32>> {
        assert_eq!(track.full, track.len, "the model has no resize");
        let mut out: Vec<Option<u32>> = (track.at..track.at + i64::from(track.out))
            .map(|i| (0..i64::from(track.len)).contains(&i).then(|| track.start + i as u32))
            .collect();
        if track.flip {
            out.reverse();
        }
        out
    }

    proptest! {
        #[test]
        fn like_a_list(len in 1u32..40, steps in prop::collection::vec((any::<bool>(), -5i64..30, 1u32..30), 0..6)) {
            let mut track = Track::new(len);
            let mut list: Vec<Option<u32>> = (0..len).map(Some).collect();
            for (flip, at, out) in steps {
                if flip {
                    track.mirror();
                    list.reverse();
                } else {
                    track.crop(at, out);
                    list = (at..at + i64::from(out))
                        .map(|i| usize::try_from(i).ok().and_then(|i| list.get(i).copied().flatten()))
                        .collect();
                }
            }
            // A crop may move the window outside and a later one back in: cut pixels stay cut in the list, but are
            // visible again in the track. Callers settle a padded image before cropping back, so only the other cases
            // are compared.
            if !list.contains(&None) {
                prop_assert_eq!(show(&track), list);
            }
            let inside = track.inside();
            prop_assert!(track.lead() + (inside.end - inside.start) <= track.out);
        }
    }
}
