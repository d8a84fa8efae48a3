use crate::{format::entry, store::MemoryStore};
use infeed_core::{OpenRequest, Opened, Result, Source, Store, Value};
use serde_json::{Value as Json, json};
use std::sync::Arc;

fn open(files: &[(&str, String)], format: &str, path: &str, args: Json) -> Result<Arc<dyn Source>> {
    let store: Arc<dyn Store> =
        Arc::new(files.iter().map(|(name, text)| (*name, text.clone())).collect::<MemoryStore>());
    let paths = [path.to_owned()];
    let (entry, given) = (entry(format)?, args.as_object().unwrap());
    let request =
        OpenRequest { entry, store: &store, paths: &paths, found: None, listed: None, given, threads: 2 };
    match entry.open(request)? {
        Opened::Rows(source) => Ok(source),
        Opened::Stream(_) => panic!("a stream"),
    }
}

/// Fields of a row in words: arrays as floats.
fn row(source: &dyn Source, row: u64, field: &str) -> String {
    let record = source.fetch(&[row], &[field.into()]).unwrap().remove(0);
    match &record.fields[0] {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Text(text) | Value::Json(text) => text.clone(),
        Value::Tensor(tensor) => {
            let bytes = &tensor.data;
            let values: Vec<f64> = match tensor.dtype.size() {
                1 => bytes.iter().map(|b| f64::from(*b)).collect(),
                4 => bytes
                    .chunks_exact(4)
                    .map(|b| f64::from(f32::from_ne_bytes(b.try_into().unwrap())))
                    .collect(),
                _ => {
                    bytes.chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap()) as f64).collect()
                }
            };
            format!("{:?}: {values:?}", tensor.shape)
        }
        other => other.what().to_owned(),
    }
}

fn coco() -> Json {
    json!({
        "images": [{"id": 9, "file_name": "b.jpg", "width": 10, "height": 8}, {"id": 4, "file_name": "d/a.jpg"}],
        "annotations": [
            {"id": 1, "image_id": 9, "category_id": 7, "bbox": [1, 2, 3, 4], "area": 5, "iscrowd": 0,
             "segmentation": [[1, 1, 2, 1, 2, 2]], "keypoints": [1, 2, 2]},
            {"id": 2, "image_id": 9, "category_id": 3, "bbox": [0, 0, 10, 8], "area": 80, "iscrowd": 1,
             "segmentation": {"size": [8, 10], "counts": [80]}}],
        "categories": [{"id": 7, "name": "dog"}, {"id": 3, "name": "cat"}],
    })
}

fn open_coco(change: impl FnOnce(&mut Json), args: Json) -> Result<Arc<dyn Source>> {
    let mut notes = coco();
    change(&mut notes);
    let files = [("i/b.jpg", "B".to_owned()), ("i/d/a.jpg", "A".to_owned()), ("n.json", notes.to_string())];
    let mut all = json!({"annotations": "n.json"});
    all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
    open(&files, "coco", "i", all)
}

#[test]
fn coco_has_a_row_per_image() {
    let source = open_coco(|_| {}, json!({})).unwrap();
    let names: Vec<&str> = source.spec().fields.iter().map(|(name, _)| &**name).collect();
    let all = ["image", "file_name", "image_id", "boxes", "labels", "area", "iscrowd", "keypoints", "masks"];
    assert_eq!(names, all);
    assert_eq!((source.rows(), source.key(1), source.shard_of(1)), (2, "d/a.jpg".into(), "i/d/a.jpg".into()));
    assert_eq!((row(&*source, 0, "image"), row(&*source, 1, "image")), ("B".into(), "A".into()));
    assert_eq!(row(&*source, 0, "image_id"), "[]: [9.0]");
    assert_eq!(row(&*source, 0, "boxes"), "[2, 4]: [1.0, 2.0, 4.0, 6.0, 0.0, 0.0, 10.0, 8.0]");
    assert_eq!(row(&*source, 1, "boxes"), "[0, 4]: []");
    assert_eq!(row(&*source, 0, "labels"), "[2]: [7.0, 3.0]");
    assert_eq!(row(&*source, 0, "keypoints"), "[2, 1, 3]: [1.0, 2.0, 2.0, 0.0, 0.0, 0.0]");
    let masks: Json = serde_json::from_str(&row(&*source, 0, "masks")).unwrap();
    assert_eq!(masks["size"], json!([8, 10]));
    assert_eq!(masks["segmentations"][1], json!({"size": [8, 10], "counts": [80]}));
    assert_eq!(source.classes().len(), 8);
    assert_eq!((&*source.classes()[3], &*source.classes()[7], &*source.classes()[0]), ("cat", "dog", ""));
    assert!(source.fetch(&[2], &["boxes".into()]).is_err());
}

#[test]
fn coco_leaves_out_what_is_not_wanted() {
    let source = open_coco(|_| {}, json!({"crowd": false, "labels": "contiguous", "empty": false})).unwrap();
    assert_eq!((source.rows(), row(&*source, 0, "labels")), (1, "[1]: [1.0]".into()));
    assert_eq!(source.classes(), ["cat", "dog"]);
    let source = open_coco(|_| {}, json!({"fields": ["boxes", "image"]})).unwrap();
    assert_eq!(source.spec().fields.len(), 2);
    let message = open_coco(|_| {}, json!({"fields": ["box"]})).unwrap_err().to_string();
    assert!(message.contains("no field `box`; the fields are image, file_name"), "{message}");
    for args in
        [json!({"labels": "x"}), json!({"missing": "x"}), json!({"outside": "x"}), json!({"crowd": 3})]
    {
        assert!(open_coco(|_| {}, args).is_err());
    }
}

#[test]
fn coco_names_what_is_missing() {
    let gone = |notes: &mut Json| notes["images"][1]["file_name"] = json!("x.jpg");
    let message = open_coco(gone, json!({})).unwrap_err().to_string();
    assert!(message.contains("i/x.jpg") && message.contains("`n.json` names a file"), "{message}");
    let source = open_coco(gone, json!({"missing": "skip"})).unwrap();
    assert_eq!((source.rows(), source.damage().len()), (1, 1));
    let stray = |notes: &mut Json| notes["annotations"][1]["image_id"] = json!(5);
    let message = open_coco(stray, json!({})).unwrap_err().to_string();
    assert!(message.contains("images that the file does not list, the first has the id 2"), "{message}");
    assert_eq!(open_coco(stray, json!({"missing": "skip"})).unwrap().damage().len(), 1);
    let outside = |notes: &mut Json| notes["images"][1]["file_name"] = json!("../../secret.jpg");
    let message = open_coco(outside, json!({"missing": "skip"})).unwrap_err().to_string();
    assert!(message.contains("image 4 has the file_name `../../secret.jpg`"), "{message}");
}

#[test]
fn wrong_annotations_are_bad_samples() {
    let outside = |notes: &mut Json| notes["annotations"][0]["bbox"] = json!([8, 2, 30, 4]);
    let source = open_coco(outside, json!({})).unwrap();
    let message = source.fetch(&[0], &["boxes".into()]).unwrap_err().to_string();
    assert!(
        message.contains("annotation 1 of image `b.jpg` in `n.json`: its box [8.0, 2.0, 38.0, 6.0]"),
        "{message}"
    );
    source.fetch(&[0], &["labels".into()]).unwrap();
    let clipped = open_coco(outside, json!({"outside": "clip"})).unwrap();
    assert!(row(&*clipped, 0, "boxes").starts_with("[2, 4]: [8.0, 2.0, 10.0, 6.0,"));
    let boxless = |notes: &mut Json| drop(notes["annotations"][0].as_object_mut().unwrap().remove("bbox"));
    let message =
        open_coco(boxless, json!({})).unwrap().fetch(&[0], &["boxes".into()]).unwrap_err().to_string();
    assert!(
        message.contains("annotation 1 of image `b.jpg`") && message.contains("has no `bbox`"),
        "{message}"
    );
}

fn voc_xml(name: &str, xmax: &str) -> String {
    format!(
        "<annotation><size><width>20</width><height>10</height></size><object><name>{name}</name><difficult>1</difficult>\
         <bndbox><xmin>1</xmin><ymin>2</ymin><xmax>{xmax}</xmax><ymax>9</ymax></bndbox></object></annotation>"
    )
}

fn open_voc(xml: String, args: Json) -> Result<Arc<dyn Source>> {
    let files = [
        ("v/JPEGImages/1.jpg", "one".to_owned()),
        ("v/JPEGImages/2.jpg", "two".to_owned()),
        ("v/Annotations/1.xml", xml),
        ("v/Annotations/2.xml", "<annotation/>".to_owned()),
        ("v/ImageSets/Main/train.txt", "2\n1  1\n\n".to_owned()),
        ("v/ImageSets/Main/val.txt", "2\n3\n".to_owned()),
    ];
    open(&files, "voc", "v", args)
}

#[test]
fn voc_has_the_order_of_its_list() {
    let source = open_voc(voc_xml("dog", "8"), json!({})).unwrap();
    assert_eq!((source.rows(), row(&*source, 1, "file_name")), (2, "1.jpg".into()));
    assert_eq!(row(&*source, 1, "boxes"), "[1, 4]: [1.0, 2.0, 8.0, 9.0]");
    assert_eq!(
        (row(&*source, 1, "labels"), row(&*source, 0, "labels")),
        ("[1]: [11.0]".into(), "[0]: []".into())
    );
    assert_eq!(row(&*source, 1, "difficult"), "[1]: [1.0]");
    let moved = open_voc(voc_xml("dog", "8"), json!({"zero_based": true})).unwrap();
    assert_eq!(row(&*moved, 1, "boxes"), "[1, 4]: [0.0, 1.0, 7.0, 8.0]");
    assert_eq!(open_voc(voc_xml("dog", "8"), json!({"empty": false})).unwrap().rows(), 1);
    let easy = open_voc(voc_xml("dog", "8"), json!({"difficult": false})).unwrap();
    assert_eq!(row(&*easy, 1, "labels"), "[0]: []");
    let own = open_voc(voc_xml("hat", "8"), json!({"classes": ["coat", "hat"]})).unwrap();
    assert_eq!(row(&*own, 1, "labels"), "[1]: [1.0]");
}

#[test]
fn voc_names_what_is_wrong() {
    let message = open_voc(String::new(), json!({"split": "val"})).unwrap_err().to_string();
    assert!(message.contains("v/JPEGImages/3.jpg") && message.contains("2 files"), "{message}");
    assert_eq!(open_voc(String::new(), json!({"split": "val", "missing": "skip"})).unwrap().rows(), 1);
    let message = open_voc(String::new(), json!({"split": "other"})).unwrap_err().to_string();
    assert!(message.contains("ImageSets/Main/other.txt") && message.contains("VOC2012"), "{message}");
    assert!(open_voc(String::new(), json!({"split": "../x"})).is_err());
    for (xml, what) in [
        (voc_xml("hat", "8"), "object 0 (`hat`) of `v/Annotations/1.xml`: its class is unknown"),
        (voc_xml("dog", "80"), "outside the image of 20 x 10"),
        ("<a".to_owned(), "`v/Annotations/1.xml`: the annotation is not XML"),
    ] {
        let source = open_voc(xml, json!({})).unwrap();
        let message = source.fetch(&[1], &["boxes".into(), "labels".into()]).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
}

#[test]
fn yolo_is_found_in_folders_and_descriptions() {
    let labels = "1 0.5 0.5 0.5 0.5\n".to_owned();
    for (image, label, path) in [
        ("y/images/train/b.jpg", "y/labels/train/b.txt", "y"),
        ("y/train/images/b.jpg", "y/train/labels/b.txt", "y"),
        ("y/images/all/b.jpg", "y/labels/all/b.txt", "y/data.yaml"),
    ] {
        let mut files = vec![(image, "B".to_owned()), (label, labels.clone())];
        let second = image.replace("b.jpg", "a.png");
        files.push((&second, "A".to_owned()));
        if path != "y" {
            files.push((
                "y/data.yaml",
                "path: elsewhere\ntrain: ../images/all\nnames: [cat, dog]\n".to_owned(),
            ));
        }
        let source = open(&files, "yolo", path, json!({})).unwrap();
        assert_eq!(
            (source.rows(), row(&*source, 0, "image"), row(&*source, 1, "image")),
            (2, "A".into(), "B".into())
        );
        assert_eq!(
            (row(&*source, 0, "boxes"), row(&*source, 1, "labels")),
            ("[0, 4]: []".into(), "[1]: [1.0]".into())
        );
        assert_eq!(row(&*source, 1, "boxes"), "[1, 4]: [0.5, 0.5, 0.5, 0.5]");
        assert_eq!(open(&files, "yolo", path, json!({"empty": false})).unwrap().rows(), 1);
        assert_eq!((source.key(1), source.shard_of(1)), ("b.jpg".into(), image.into()));
        assert_eq!(source.classes().len(), if path == "y" { 0 } else { 2 });
    }
}

#[test]
fn yolo_names_what_is_wrong() {
    let open_one = |label: &str, args: Json| {
        let files = [("y/images/train/a.jpg", String::new()), ("y/labels/train/a.txt", label.to_owned())];
        open(&files, "yolo", "y", args)
    };
    for (label, what) in [
        ("0 0.9 0.5 0.5 0.5", "object 0 of `y/labels/train/a.txt`: its box"),
        ("0 0.9 0.5", "`y/labels/train/a.txt`: line 1 of the labels has 2 numbers"),
    ] {
        let message =
            open_one(label, json!({})).unwrap().fetch(&[0], &["boxes".into()]).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
    let clipped = open_one("0 0.875 0.5 0.5 0.5", json!({"outside": "clip"})).unwrap();
    assert_eq!(row(&*clipped, 0, "boxes"), "[1, 4]: [0.8125, 0.5, 0.375, 0.5]");
    let pose = open_one("0 0.5 0.5 1 1 0.25 0.5", json!({"task": "pose", "keypoints": [1, 2]})).unwrap();
    assert_eq!(row(&*pose, 0, "keypoints"), "[1, 1, 3]: [0.25, 0.5, 2.0]");
    assert!(open_one("", json!({"task": "pose"})).unwrap_err().to_string().contains("kpt_shape"));
    let segments = open_one("0 0.5 0.5 1 1 0.25 0.5", json!({"task": "segment"})).unwrap();
    assert_eq!(row(&*segments, 0, "segments"), "[[0.5,0.5,1.0,1.0,0.25,0.5]]");
    let bare =
        open(&[("y/images/train/a.jpg", String::new())], "yolo", "y", json!({})).unwrap_err().to_string();
    assert!(bare.contains("y/labels/train/a.txt") && bare.contains("has a label file"), "{bare}");
    let none = open(&[("y/a.jpg", String::new())], "yolo", "y", json!({})).unwrap_err().to_string();
    assert!(none.contains("neither a data.yaml nor images in images/train"), "{none}");
}
