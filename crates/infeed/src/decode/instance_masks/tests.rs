use super::super::tests::decode;
use infeed_core::{Scratch, Value};

#[test]
fn masks_are_drawn() {
    let text = br#"{"size":[2,3],"ids":[4,5],"segmentations":[{"size":[2,3],"counts":[1,3,2]},[[0,0,3,0,3,1,0,1]]]}"#;
    let Ok(Value::Masks(masks)) = decode("instance_masks", "{}", text) else { panic!("no masks") };
    assert_eq!((masks.size, masks.images.len()), ((3, 2), 2));
    let mut out = vec![0; 12];
    for (mask, out) in masks.images.iter().zip(out.chunks_exact_mut(6)) {
        mask.render(&mut Scratch::new(), out).unwrap();
    }
    assert_eq!(out, [0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    let one = r#"[[0,0,3,0,3,1,0,1]]"#;
    let text = format!(r#"{{"size":[4000000000,4000000000],"ids":[4,5],"segmentations":[{one},{one}]}}"#);
    let message = decode("instance_masks", "{}", text.as_bytes()).unwrap_err();
    assert!(message.contains("memory="), "{message}");
}

#[test]
fn a_wrong_segmentation_is_named() {
    let text = br#"{"size":[2,3],"ids":[4],"segmentations":[{"size":[2,3],"counts":[1,3]}]}"#;
    let message = decode("instance_masks", "{}", text).unwrap_err();
    assert!(message.contains("annotation 4: its run lengths cover 4 pixels"), "{message}");
}
