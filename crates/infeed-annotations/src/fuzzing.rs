//! Every parser of this crate as a function of arbitrary bytes.

use crate::{Area, Coco, InstanceMasks, Outside, VocImage, YoloData, YoloImage, YoloTask, write_masks};

/// Pixels of masks that are drawn.
const MOST_PIXELS: u64 = 1 << 22;

/// What a file has can be asked for, and segmentations lie where they are said to.
pub fn fuzz_coco(data: &[u8]) {
    for crowd in [true, false] {
        let Ok(coco) = Coco::parse("fuzz", data, crowd) else { return };
        for image in 0..coco.images() {
            let [height, width] = coco.image_size(image);
            assert_eq!(coco.notes(image).count(), coco.count(image));
            for note in coco.notes(image) {
                assert!(crowd || !note.crowd);
                assert!(note.keypoints.len() <= coco.keypoints() * 3);
                if let Some(corners) = note.corners {
                    let _ = Area::pixels(width, height).settle(corners, Outside::Error);
                }
                let Some(place) = note.segmentation else { continue };
                let text = &data[place.start as usize..place.end as usize];
                assert!(!text.is_empty() && !text[0].is_ascii_whitespace());
                if let Ok(masks) = write_masks("fuzz", height, width, &[(note.id, text)]) {
                    draw(&masks);
                }
            }
        }
    }
}

/// Masks are zeros and ones.
pub fn fuzz_masks(data: &[u8]) {
    draw(data);
}

fn draw(data: &[u8]) {
    let Ok(masks) = InstanceMasks::parse(data) else { return };
    if masks.bytes() > MOST_PIXELS {
        return;
    }
    let mut out = vec![0; masks.bytes() as usize];
    if masks.draw(&mut out).is_ok() {
        assert!(out.iter().all(|value| *value <= 1));
    }
}

/// Objects have finite boxes.
pub fn fuzz_voc(data: &[u8]) {
    let Ok(image) = VocImage::parse(data) else { return };
    let area = Area::pixels(image.width, image.height);
    for object in &image.objects {
        assert!(!object.name.is_empty() && object.corners.iter().all(|value| value.is_finite()));
        let _ = area.settle(object.corners, Outside::Clip);
    }
}

/// All columns have one entry per object.
pub fn fuzz_yolo(data: &[u8]) {
    for task in [YoloTask::Detect, YoloTask::Segment, YoloTask::Pose { count: 2, width: 3 }] {
        let Ok(image) = YoloImage::parse(data, task, 80) else { continue };
        let count = image.classes.len();
        assert_eq!((image.boxes.len(), image.corners.len()), (count, count));
        match task {
            YoloTask::Detect => {}
            YoloTask::Segment => assert_eq!(image.polygons.len(), count),
            YoloTask::Pose { .. } => assert_eq!(image.keypoints.len(), count * 6),
        }
        for corners in &image.corners {
            let _ = Area::shares().settle(*corners, Outside::Error);
        }
    }
}

/// Descriptions of data sets name images.
pub fn fuzz_yolo_data(data: &[u8]) {
    if let Ok(found) = YoloData::parse("fuzz", data, "train") {
        assert!(!found.images.is_empty());
    }
}
