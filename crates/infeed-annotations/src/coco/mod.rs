//! COCO's JSON: images, annotations and categories in one file, kept as columns.
//!
//! Files of half a gigabyte are common, so nothing is kept as a tree: an annotation takes about 75 bytes and its
//! keypoints and caption. Segmentations, most of the text, stay in the file: [`Note::segmentation`] says where.

mod check;
mod parse;
mod raw;

use crate::Texts;
use infeed_core::{Error, Result};
use std::ops::Range;

/// One category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Its id, which annotations refer to.
    pub id: i64,
    /// Its name.
    pub name: String,
}

/// The content of an annotation file.
#[derive(Debug, Default)]
pub struct Coco {
    image_ids: Vec<i64>,
    image_names: Texts,
    /// Height and width; zero if the file does not say.
    image_sizes: Vec<[u32; 2]>,
    /// Sorted by id; `None` if the file has no list of them.
    categories: Option<Vec<Category>>,
    notes: Columns,
    /// Numbers of the annotations, image after image, and where those of each image begin.
    order: Vec<u32>,
    starts: Vec<u32>,
    /// Annotations of images that the file does not list.
    strays: Vec<i64>,
}

/// Annotations in the order of the file, one column per key. Columns that no annotation has are empty.
#[derive(Debug, Default)]
struct Columns {
    ids: Vec<i64>,
    images: Vec<i64>,
    /// [`NO_CATEGORY`] where there is none.
    categories: Vec<i64>,
    /// Corners; NaN where there is no box.
    boxes: Vec<[f32; 4]>,
    /// NaN where there is none.
    areas: Vec<f32>,
    crowd: Vec<bool>,
    /// Where the segmentation lies in the file: start and length, zero where there is none.
    segmentations: Vec<(u64, u32)>,
    keypoints: Vec<f32>,
    /// Where the keypoints of each annotation end.
    keypoint_ends: Vec<u64>,
    captions: Texts,
    has: Has,
}

/// What at least one annotation has.
#[derive(Debug, Default, Clone, Copy)]
struct Has {
    category: bool,
    boxes: bool,
    area: bool,
    crowd: bool,
    segmentation: bool,
    keypoints: bool,
    caption: bool,
}

const NO_CATEGORY: i64 = i64::MIN;

/// One annotation. What it lacks is `None`, or empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Note<'a> {
    /// Its id.
    pub id: i64,
    /// The id of its category.
    pub category: Option<i64>,
    /// Corners of its box: x1, y1, x2, y2.
    pub corners: Option<[f32; 4]>,
    /// Its area as the file states it.
    pub area: Option<f32>,
    /// Whether it stands for a crowd.
    pub crowd: bool,
    /// x, y and visibility of each keypoint.
    pub keypoints: &'a [f32],
    /// Its caption.
    pub caption: &'a str,
    /// Where its segmentation lies in the file.
    pub segmentation: Option<Range<u64>>,
}

impl Coco {
    /// Reads an annotation file; `name` is for messages. Annotations of crowds are left out unless `crowd` is set.
    pub fn parse(name: &str, bytes: &[u8], crowd: bool) -> Result<Coco> {
        let mut coco = parse::parse(name, bytes)?;
        check::categories(name, &mut coco)?;
        check::group(name, &mut coco, crowd)?;
        coco.notes.shrink();
        Ok(coco)
    }

    /// Returns how many images the file lists.
    pub fn images(&self) -> usize {
        self.image_ids.len()
    }

    /// Returns the id of an image.
    pub fn image_id(&self, image: usize) -> i64 {
        self.image_ids.get(image).copied().unwrap_or_default()
    }

    /// Returns the name of an image's file.
    pub fn image_name(&self, image: usize) -> &str {
        self.image_names.get(image)
    }

    /// Returns height and width of an image, zero if the file does not say.
    pub fn image_size(&self, image: usize) -> [u32; 2] {
        self.image_sizes.get(image).copied().unwrap_or_default()
    }

    /// Returns the categories by id; empty if the file lists none.
    pub fn categories(&self) -> &[Category] {
        self.categories.as_deref().unwrap_or_default()
    }

    /// Returns the place of a category among the sorted ids.
    pub fn place_of_category(&self, id: i64) -> Option<usize> {
        self.categories().binary_search_by_key(&id, |category| category.id).ok()
    }

    /// Returns how many annotations an image has.
    pub fn count(&self, image: usize) -> usize {
        self.numbers(image).len()
    }

    /// Returns the annotations of an image, in the order of the file.
    pub fn notes(&self, image: usize) -> impl Iterator<Item = Note<'_>> {
        self.numbers(image).iter().map(|number| self.notes.note(*number as usize))
    }

    /// Returns the ids of annotations whose image the file does not list.
    pub fn strays(&self) -> &[i64] {
        &self.strays
    }

    /// Returns the largest number of keypoints of an annotation.
    pub fn keypoints(&self) -> usize {
        let ends = &self.notes.keypoint_ends;
        let before = std::iter::once(&0).chain(ends);
        ends.iter().zip(before).map(|(end, start)| (end - start) as usize / 3).max().unwrap_or(0)
    }

    /// Whether annotations have categories.
    pub fn has_categories(&self) -> bool {
        self.notes.has.category
    }

    /// Whether annotations have boxes.
    pub fn has_boxes(&self) -> bool {
        self.notes.has.boxes
    }

    /// Whether annotations have areas.
    pub fn has_areas(&self) -> bool {
        self.notes.has.area
    }

    /// Whether annotations say if they stand for a crowd.
    pub fn has_crowds(&self) -> bool {
        self.notes.has.crowd
    }

    /// Whether annotations have segmentations.
    pub fn has_segmentations(&self) -> bool {
        self.notes.has.segmentation
    }

    /// Whether annotations have captions.
    pub fn has_captions(&self) -> bool {
        self.notes.has.caption
    }

    fn numbers(&self, image: usize) -> &[u32] {
        match image.checked_add(2).and_then(|end| self.starts.get(image..end)) {
            Some([start, end]) => &self.order[*start as usize..*end as usize],
            _ => &[],
        }
    }
}

impl Columns {
    /// Gives back memory: columns have grown by doubling, and which image an annotation belongs to is in the order now.
    fn shrink(&mut self) {
        self.images = Vec::new();
        self.ids.shrink_to_fit();
        self.categories.shrink_to_fit();
        self.boxes.shrink_to_fit();
        self.areas.shrink_to_fit();
        self.crowd.shrink_to_fit();
        self.segmentations.shrink_to_fit();
        self.keypoints.shrink_to_fit();
        self.keypoint_ends.shrink_to_fit();
    }

    fn note(&self, at: usize) -> Note<'_> {
        let (start, length) = self.segmentations[at];
        let from = at.checked_sub(1).map_or(0, |before| self.keypoint_ends[before]) as usize;
        Note {
            id: self.ids[at],
            category: Some(self.categories[at]).filter(|id| *id != NO_CATEGORY),
            corners: Some(self.boxes[at]).filter(|corners| !corners[0].is_nan()),
            area: Some(self.areas[at]).filter(|area| !area.is_nan()),
            crowd: self.crowd[at],
            keypoints: &self.keypoints[from..self.keypoint_ends[at] as usize],
            caption: self.captions.get(at),
            segmentation: (length > 0).then(|| start..start + u64::from(length)),
        }
    }
}

/// An error about the content of an annotation file.
fn wrong(name: &str, what: impl std::fmt::Display) -> Error {
    Error::argument(format!("annotations `{name}`: {what}"))
}

#[cfg(test)]
mod tests;
