//! What lies in an image and must follow it: boxes and points.
//!
//! Masks are images of their own and take part in every transform. Boxes and points are numbers: a transform that moves pixels
//! tells its [`Moves`], and they follow.

mod boxes;
mod moves;
mod points;

pub use boxes::{BoxFormat, BoxRule, Boxes};
pub use moves::{Canvas, Move, Moves};
pub use points::{PointRule, Points};

use crate::Image;

/// How a transform treats what lies in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It changes values, not places: masks, boxes and points stay as they are.
    Values,
    /// It moves pixels: what lies in the image must follow.
    Places,
    /// It moves pixels by what lies in the image, so it needs boxes.
    Scene,
    /// It moves pixels in a way that nothing can follow.
    Alone,
}

/// One mask per instance, all of the size of their image.
#[derive(Debug, Clone)]
pub struct Masks {
    /// Width and height, for when there are none.
    pub size: Canvas,
    /// One image each.
    pub images: Vec<Image>,
}

/// What a decoder says about a field that lies in an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetRule {
    /// The field of the image; `None` if there is only one.
    pub image: Option<String>,
    /// The fields with an element per box, which leave together with it; `None` if that was not said.
    pub along: Option<Vec<String>>,
}
