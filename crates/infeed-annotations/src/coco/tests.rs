use super::*;

const GOOD: &str = r#"{
  "info": {"year": 2017, "more": [1, {"a": null}]},
  "annotations": [
    {"id": 10, "image_id": 2, "category_id": 7, "bbox": [1, 2, 3.5, 4], "area": 9.5, "iscrowd": 0,
     "segmentation": [[1, 2, 3, 4, 5, 6]], "keypoints": [1, 2, 2, 0, 0, 0], "num_keypoints": 1},
    {"id": 11, "image_id": 1, "category_id": 3.0, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 1},
    {"id": 12, "image_id": 2, "category_id": 3, "bbox": [0, 0, 0, 0], "area": 0, "iscrowd": false}
  ],
  "images": [
    {"id": 2, "file_name": "b.jpg", "width": 8, "height": 6},
    {"id": 1, "file_name": "caf\u00e9.jpg", "width": 4, "height": 5},
    {"id": 5, "file_name": "c.jpg"}
  ],
  "categories": [{"id": 7, "name": "dog"}, {"id": 3, "name": "cat", "supercategory": "animal"}]
}"#;

fn parse(text: &str) -> Result<Coco> {
    Coco::parse("a.json", text.as_bytes(), true)
}

#[test]
fn lists_become_columns() {
    let coco = parse(GOOD).unwrap();
    assert_eq!((coco.images(), coco.image_id(0), coco.image_name(1)), (3, 2, "café.jpg"));
    assert_eq!((coco.image_size(0), coco.image_size(2)), ([6, 8], [0, 0]));
    assert_eq!(coco.categories().iter().map(|c| &*c.name).collect::<Vec<_>>(), ["cat", "dog"]);
    assert_eq!((coco.place_of_category(7), coco.place_of_category(4)), (Some(1), None));
    let notes: Vec<Note<'_>> = coco.notes(0).collect();
    assert_eq!(notes.iter().map(|note| note.id).collect::<Vec<_>>(), [10, 12]);
    let first = &notes[0];
    assert_eq!((first.category, first.area, first.crowd), (Some(7), Some(9.5), false));
    assert_eq!(
        (first.corners, first.keypoints),
        (Some([1.0, 2.0, 4.5, 6.0]), &[1.0, 2.0, 2.0, 0.0, 0.0, 0.0][..])
    );
    let place = first.segmentation.clone().unwrap();
    assert_eq!(&GOOD[place.start as usize..place.end as usize], "[[1, 2, 3, 4, 5, 6]]");
    assert_eq!((notes[1].segmentation.clone(), notes[1].keypoints), (None, &[][..]));
    assert_eq!((coco.count(1), coco.count(2), coco.count(usize::MAX), coco.keypoints()), (1, 0, 0, 2));
    assert!(coco.has_boxes() && coco.has_segmentations() && !coco.has_captions());
    assert_eq!(Coco::parse("a.json", GOOD.as_bytes(), false).unwrap().count(1), 0);
}

#[test]
fn a_byte_order_mark_moves_segmentations() {
    let marked = format!("\u{feff}{GOOD}");
    let coco = parse(&marked).unwrap();
    let place = coco.notes(0).next().unwrap().segmentation.unwrap();
    assert_eq!(&marked[place.start as usize..place.end as usize], "[[1, 2, 3, 4, 5, 6]]");
}

#[test]
fn captions_are_kept() {
    let text = r#"{"images": [{"id": 1, "file_name": "a"}], "annotations": [
        {"id": 1, "image_id": 1, "caption": "a \"cat\""}, {"id": 2, "image_id": 1, "caption": ""}]}"#;
    let coco = parse(text).unwrap();
    assert!(coco.has_captions() && !coco.has_boxes() && !coco.has_categories());
    assert_eq!(coco.notes(0).map(|note| note.caption).collect::<Vec<_>>(), ["a \"cat\"", ""]);
}

#[test]
fn what_is_wrong_is_named() {
    for (from, to, what) in [
        ("\"id\": 11", "\"id\": 10", "annotations[0] and annotations[1] have the same id 10"),
        ("\"id\": 5", "\"id\": 2", "images[0] and images[2] have the same id 2"),
        ("{\"id\": 7", "{\"id\": 3", "two categories have the id 3"),
        ("\"category_id\": 7", "\"category_id\": 8", "annotations[0] (id 10, image 2) has the category 8"),
        ("[1, 2, 3.5, 4]", "[1, 2, 3.5]", "annotations[0]: the bbox of annotation 10 has 3 numbers"),
        ("[1, 2, 3.5, 4]", "[1, 2, 3.5, NaN]", "annotations[0]: expected value"),
        ("[1, 2, 3.5, 4]", "[1, 2, 3.5, NaN]", "NaN and Infinity are not JSON"),
        ("[1, 2, 3.5, 4]", "[1, 2, 3.5, 1e999]", "annotations[0]: number out of range"),
        ("[1, 2, 2, 0, 0, 0]", "[1, 2, 2, 0]", "annotation 10 has 4 numbers for keypoints"),
        ("\"image_id\": 1", "\"image\": 1", "annotations[1]: annotation 11 has no `image_id`"),
        ("\"category_id\": 3.0", "\"category_id\": 3.5", "expected a whole number"),
        ("\"iscrowd\": 1", "\"iscrowd\": 2", "annotation 11 has iscrowd 2"),
        ("\"file_name\": \"b.jpg\", ", "", "images[0]: image 2 has no `file_name`"),
        ("\"width\": 8", "\"width\": -8", "image 2 has the width -8"),
        ("\"images\"", "\"pictures\"", "there is no list `images`"),
        ("\"info\"", "\"images\"", "images"),
        ("{\"year\": 2017", "{\"year\": 2017,,", "key must be a string"),
    ] {
        let message = parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(message.contains(what) && message.contains("a.json"), "{what}: {message}");
    }
    let list = parse("[]").unwrap_err().to_string();
    assert!(list.contains("an object with the lists"), "{list}");
    for length in 1..GOOD.len() {
        let error = parse(GOOD.get(..length).unwrap_or("{")).unwrap_err();
        assert!(
            matches!(&error, Error::Format { what, .. } if what.contains("ends early")),
            "{length}: {error}"
        );
    }
}

#[test]
fn annotations_of_unknown_images_are_strays() {
    let coco = parse(&GOOD.replacen("\"image_id\": 1", "\"image_id\": 99", 1)).unwrap();
    assert_eq!((coco.strays(), coco.count(1)), (&[11][..], 0));
}
