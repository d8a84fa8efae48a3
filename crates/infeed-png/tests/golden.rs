//! Compares with Pillow's results for the files under `golden/`, byte for byte.
#![allow(clippy::unwrap_used)]

mod common;

use infeed_png::Output;
use std::path::Path;

#[test]
fn every_conversion_equals_pillow() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "png") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for (output, extension) in [(Output::Rgb, "rgb"), (Output::Gray, "l"), (Output::Rgba, "rgba")] {
            let want = std::fs::read(path.with_extension(extension)).unwrap();
            let got = common::decode(&bytes, output).unwrap();
            assert!(got == want, "{} as {output:?}:\n got {got:?}\nwant {want:?}", path.display());
        }
        seen += 1;
    }
    assert_eq!(seen, 36, "a fixture is missing");
}
