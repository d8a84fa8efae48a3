use super::*;

fn masks(height: u32, width: u32, texts: &[&str]) -> Result<Vec<u8>> {
    let items: Vec<(i64, &[u8])> = (7..).zip(texts.iter().map(|text| text.as_bytes())).collect();
    let masks = InstanceMasks::parse(&write_masks("n.json", height, width, &items).unwrap())?;
    assert_eq!(masks.shape(), [texts.len(), height as usize, width as usize]);
    let mut out = vec![0; masks.bytes() as usize];
    masks.draw(&mut out)?;
    Ok(out)
}

/// Values that pycocotools 2.0.11 gives.
#[test]
fn polygons_cover_what_pycocotools_covers() {
    let square = masks(4, 5, &["[[1, 1, 4, 1, 4, 3, 1, 3]]"]).unwrap();
    #[rustfmt::skip]
    assert_eq!(square, [
        0, 0, 0, 0, 0,
        0, 1, 1, 1, 0,
        0, 1, 1, 1, 0,
        0, 0, 0, 0, 0,
    ]);
    // Two polygons of one annotation are one mask.
    let both = masks(2, 4, &["[[0,0,1,0,1,2,0,2],[2,0,4,0,4,2,2,2]]"]).unwrap();
    assert_eq!(both, [1, 0, 1, 1, 1, 0, 1, 1]);
}

#[test]
fn run_lengths_go_down_columns() {
    let plain = masks(2, 3, &[r#"{"size":[2,3],"counts":[1,3,2]}"#]).unwrap();
    assert_eq!(plain, [0, 1, 0, 1, 1, 0]);
    let packed = masks(2, 3, &[r#"{"size":[2,3],"counts":"132"}"#]).unwrap();
    assert_eq!(packed, plain);
    assert_eq!(masks(2, 3, &[]).unwrap(), [0; 0]);
}

#[test]
fn wrong_segmentations_name_their_annotation() {
    let message =
        |text: &str| masks(2, 3, &[r#"{"size":[2,3],"counts":[6]}"#, text]).unwrap_err().to_string();
    for (text, what) in [
        ("[]", "the list of polygons is empty"),
        ("", "there is none"),
        ("[[1,2,3,4]]", "fewer than 3 points"),
        ("[[1,2,3,4,5,6,7]]", "no pairs of x and y"),
        ("[[1,2,3,4,5,1e7]]", "10000000, which is no place"),
        ("[[1,2,3,4,5,null]]", "neither a list of polygons nor run lengths"),
        ("5", "neither a list of polygons nor run lengths"),
        (r#"{"size":[3,2],"counts":[6]}"#, "it is for an image of 3 x 2"),
        (r#"{"size":[2,3],"counts":[1,2]}"#, "cover 3 pixels, the image has 6"),
        (r#"{"size":[2,3],"counts":[18446744073709551615,7]}"#, "more than 2^64"),
        (r#"{"size":[2,3],"counts":[7,-1]}"#, "neither a list"),
        (r#"{"size":[2,3],"counts":"1\n"}"#, "character 1 of its compressed counts"),
        (r#"{"size":[2,3],"counts":"1o"}"#, "end in the middle of a number"),
        (r#"{"size":[2,3],"counts":"oooooooooooo"}"#, "too large"),
        (r#"{"size":[2,3],"counts":"O"}"#, "negative count"),
    ] {
        let message = message(text);
        assert!(
            message.contains("annotation 8 in `n.json`: ") && message.contains(what),
            "{text}: {message}"
        );
    }
    let unsized_image = masks(0, 0, &["[[1,1,2,1,2,2]]"]).unwrap_err().to_string();
    assert!(unsized_image.contains("must have `height` and `width`"), "{unsized_image}");
}

#[test]
fn endless_outlines_are_refused() {
    let points: Vec<String> =
        (0..100).map(|n| format!("{0},{0}", if n % 2 == 0 { -1e6 } else { 1e6 })).collect();
    let message = masks(2, 3, &[&format!("[[{}]]", points.join(","))]).unwrap_err().to_string();
    assert!(message.contains("an outline of"), "{message}");
}
