//! Annotations of images: COCO, Pascal VOC and YOLO, and the masks that polygons and run lengths describe.
//!
//! Parsers over bytes: no I/O. A file is never trusted. Errors say which annotation of which image is wrong.
//!
//! * [`Coco`]: one JSON file for all images, kept as columns.
//! * [`VocImage`]: one XML file per image.
//! * [`YoloImage`] and [`YoloData`]: one text file per image, and the file that describes the data set.
//! * [`InstanceMasks`]: segmentations of one image as pixels, equal to those of pycocotools.
//! * [`Outside`]: what becomes of boxes that do not lie in their image.
#![forbid(unsafe_code)]

mod bounds;
mod coco;
mod fuzzing;
mod masks;
mod texts;
mod voc;
mod yaml;
mod yolo;

pub use bounds::{Area, Outside};
pub use coco::{Category, Coco, Note};
#[doc(hidden)]
pub use fuzzing::{fuzz_coco, fuzz_masks, fuzz_voc, fuzz_yolo, fuzz_yolo_data};
pub use masks::{InstanceMasks, write_masks};
pub use texts::Texts;
pub use voc::{VOC_CLASSES, VocImage, VocObject};
pub use yolo::{YoloData, YoloImage, YoloTask};
