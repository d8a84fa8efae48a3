use super::*;

fn parse(text: &str, task: YoloTask) -> Result<YoloImage> {
    YoloImage::parse(text.as_bytes(), task, 3)
}

#[test]
fn lines_are_objects() {
    let image = parse("0 0.5 0.5 0.2 0.4\r\n\n  2.0 0.25 0.25 0.5 0.5  \n", YoloTask::Detect).unwrap();
    assert_eq!(image.classes, [0, 2]);
    assert_eq!(image.boxes, [[0.5, 0.5, 0.2, 0.4], [0.25, 0.25, 0.5, 0.5]]);
    assert_eq!(image.corners[1], [0.0, 0.0, 0.5, 0.5]);
    assert_eq!(parse("", YoloTask::Detect).unwrap(), YoloImage::default());
    let polygon = "1 0.25 0.5 0.75 0.5 0.5 1.0";
    for task in [YoloTask::Detect, YoloTask::Segment] {
        assert_eq!(parse(polygon, task).unwrap().boxes, [[0.5, 0.75, 0.5, 0.5]]);
    }
    assert_eq!(parse(polygon, YoloTask::Segment).unwrap().polygons, [[0.25, 0.5, 0.75, 0.5, 0.5, 1.0]]);
    let pose = parse("1 0.5 0.5 1 1 0.25 0.5 1 0 0 0", YoloTask::Pose { count: 2, width: 3 }).unwrap();
    assert_eq!(pose.keypoints, [0.25, 0.5, 1.0, 0.0, 0.0, 0.0]);
    let flat = parse("1 0.5 0.5 1 1 0.25 0.5 0 0", YoloTask::Pose { count: 2, width: 2 }).unwrap();
    assert_eq!(flat.keypoints, [0.25, 0.5, 2.0, 0.0, 0.0, 0.0]);
}

#[test]
fn wrong_lines_are_named() {
    for (text, task, what) in [
        ("0 0.5 0.5 0.2 0.4\n1 0.5 x 0.1 0.1", YoloTask::Detect, "line 2 of the labels has `x`"),
        ("0 0.5 nan 0.1 0.1", YoloTask::Detect, "has `nan`"),
        ("0 0.5 0.5 0.1", YoloTask::Detect, "has 3 numbers behind the class"),
        ("0", YoloTask::Detect, "has 0 numbers"),
        ("3 0.5 0.5 0.1 0.1", YoloTask::Detect, "has the class 3, but only 3 classes"),
        ("-1 0.5 0.5 0.1 0.1", YoloTask::Detect, "has the class -1"),
        ("0 0.5 0.5 -0.1 0.1", YoloTask::Detect, "of the size -0.1 x 0.1"),
        ("0 0.5 0.5 0.1 0.1", YoloTask::Segment, "at least 3 pairs"),
        ("0 0.5 0.5 0.1 0.1 1", YoloTask::Pose { count: 1, width: 2 }, "have 6"),
    ] {
        let message = parse(text, task).unwrap_err().to_string();
        assert!(message.contains(what), "{text}: {message}");
    }
    assert!(YoloImage::parse(b"\xff", YoloTask::Detect, 0).is_err());
    assert_eq!(YoloImage::parse(b"80 0 0 0 0", YoloTask::Detect, 0).unwrap().classes, [80]);
}

#[test]
fn descriptions_are_read() {
    let text = "path: coco8 # root\ntrain: images/train\nval: [a, b]\nkpt_shape: [17, 3]\nnames:\n  1: cat\n  0: dog\n";
    let data = YoloData::parse("d.yaml", text.as_bytes(), "train").unwrap();
    assert_eq!((data.path.as_deref(), data.keypoints), (Some("coco8"), Some((17, 3))));
    assert_eq!(
        (data.images, data.names),
        (vec!["images/train".to_owned()], vec!["dog".to_owned(), "cat".to_owned()])
    );
    assert_eq!(YoloData::parse("d.yaml", text.as_bytes(), "val").unwrap().images, ["a", "b"]);
    let message = |text: &str| YoloData::parse("d.yaml", text.as_bytes(), "train").unwrap_err().to_string();
    assert!(message("val: a").contains("`d.yaml`: it has no images for the split `train`"));
    assert!(message("train: a\nnames: {0: a, 2: b}").contains("the key `2` where 1 should be"));
    assert!(message("train: a\nkpt_shape: [17, 4]").contains("`kpt_shape` is [17, 4]"));
    assert!(message("train: a\nnames: *x").contains("line 2"));
}
