//! The loader can read what the testkit generates.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers as tests

use infeed::{Column, Loader, Next, Options, Recipe, decode::codec_of, open};
use infeed_core::{Bytes, Channels, Rect, Scratch, Value, Want};
use infeed_testkit::{
    FolderSpec, JpegOptions, PngKind, ShardSpec, Subsampling, faults, folder, jpeg, photo, png, shards,
};
use std::{ops::ControlFlow, path::PathBuf};

fn read(file: &[u8], channels: Channels) -> (String, (u32, u32), Vec<u8>) {
    let codec = codec_of(file).unwrap();
    let info = codec.codec.probe(file).unwrap();
    let region = Rect { x: 0, y: 0, width: info.width, height: info.height };
    let want = Want { region, shrink: 1, channels };
    let mut pixels = Vec::new();
    codec.codec.read(file, &info, &want, &mut Scratch::new(), &mut pixels).unwrap();
    (codec.name.to_owned(), (info.width, info.height), pixels)
}

fn difference(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| f64::from(x.abs_diff(*y))).sum::<f64>() / a.len() as f64
}

#[test]
fn jpegs_of_every_kind_decode_to_what_went_in() {
    let (w, h) = (75, 50);
    let pixels = photo(w, h, 9);
    for subsampling in Subsampling::ALL {
        for (progressive, restart_rows) in [(false, 0), (false, 1), (true, 0)] {
            let options =
                JpegOptions { quality: 95, subsampling, progressive, restart_rows, optimize: false };
            let file = jpeg(&pixels, w, h, &options).unwrap();
            let (name, size, back) = read(&file, Channels::Rgb);
            assert_eq!((name.as_str(), size), ("jpeg", (w, h)));
            if subsampling == Subsampling::Gray {
                assert_eq!(read(&file, Channels::Stored).2.len(), (w * h) as usize);
            } else {
                assert!(difference(&pixels, &back) < 8.0, "{options:?}: {}", difference(&pixels, &back));
            }
        }
    }
}

#[test]
fn pngs_decode_to_exactly_what_went_in() {
    let (w, h) = (33, 21);
    let pixels = photo(w, h, 2);
    let kinds = [
        (PngKind::Gray, 1),
        (PngKind::GrayAlpha, 2),
        (PngKind::Rgb, 3),
        (PngKind::Rgba, 4),
        (PngKind::Rgb16, 6),
    ];
    for (kind, bytes) in kinds {
        let data: Vec<u8> = pixels.iter().cycle().take((w * h) as usize * bytes).copied().collect();
        let file = png(&data, w, h, kind).unwrap();
        let (name, size, back) = read(&file, Channels::Stored);
        assert_eq!((name.as_str(), size), ("png", (w, h)));
        // Gray with opacity is decoded as RGBA.
        let wanted: Vec<u8> = match kind {
            PngKind::GrayAlpha => data.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect(),
            PngKind::Rgb16 => {
                data.chunks_exact(2).flat_map(|p| u16::from_be_bytes([p[0], p[1]]).to_ne_bytes()).collect()
            }
            _ => data,
        };
        assert!(back == wanted, "{kind:?}: {} bytes of {}", back.len(), wanted.len());
    }
}

#[test]
fn wrong_sizes_are_refused() {
    assert!(jpeg(&[0; 10], 2, 2, &JpegOptions::default()).is_err());
    assert!(jpeg(&[], 0, 0, &JpegOptions::default()).is_err());
    assert!(png(&[0; 10], 2, 2, PngKind::Rgb).is_err());
}

#[test]
fn a_photo_has_the_size_of_a_photo() {
    let bytes: usize = (0..10)
        .map(|seed| jpeg(&photo(450, 450, seed), 450, 450, &JpegOptions::quality(95)).unwrap().len())
        .sum::<usize>()
        / 10;
    assert!((80_000..130_000).contains(&bytes), "{bytes}");
}

#[test]
fn shards_load_and_hold_what_the_spec_says() {
    let dir = tempfile::tempdir().unwrap();
    let spec = ShardSpec { samples: 23, json: true, ..ShardSpec::default() };
    let paths = shards(dir.path(), &spec).unwrap();
    assert_eq!(paths.len(), 3);
    let mut recipe = Recipe::new(text(&paths), "auto");
    recipe.stages = serde_json::from_str(
        r#"[{"op": "decode", "fields": {"jpg": {"name": "rgb"}, "cls": {"name": "int"}, "json": {"name": "json"}}},
            {"op": "batch", "size": 23}]"#,
    )
    .unwrap();
    let mut loader = Loader::new(open(recipe).unwrap(), Options::default()).unwrap();
    let Next::Batch(batch) = loader.start().unwrap().next(None).unwrap() else { panic!("no batch") };
    let classes: Vec<i64> = batch
        .column("cls")
        .and_then(Column::bytes)
        .unwrap()
        .chunks_exact(8)
        .map(|b| i64::from_ne_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(classes, (0..23).map(|n| n % 10).collect::<Vec<i64>>());
    let Some(Column::List(notes)) = batch.column("json") else { panic!("no list") };
    assert!(matches!(&notes[22], Value::Json(j) if j.contains("\"number\": 22")), "{:?}", notes[22]);
}

#[test]
fn the_same_spec_makes_the_same_bytes() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let spec = ShardSpec { samples: 5, ..ShardSpec::default() };
    let bytes = |dir: &tempfile::TempDir| -> Vec<Vec<u8>> {
        shards(dir.path(), &spec).unwrap().iter().map(|p| std::fs::read(p).unwrap()).collect()
    };
    assert_eq!(bytes(&a), bytes(&b));
}

#[test]
fn breaking_off_leaves_only_whole_shards() {
    let dir = tempfile::tempdir().unwrap();
    let paths = infeed_testkit::shards_watched(dir.path(), &ShardSpec::default(), &|| ControlFlow::Break(()))
        .unwrap();
    assert!(paths.is_empty());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn folders_have_classes() {
    let dir = tempfile::tempdir().unwrap();
    let paths = folder(dir.path(), &FolderSpec::default()).unwrap();
    assert_eq!(paths.len(), 10);
    let plan = open(Recipe::new(vec![dir.path().to_string_lossy().into_owned()], "auto")).unwrap();
    assert_eq!((plan.source.rows(), plan.source.classes().len()), (10, 2));
}

#[test]
fn damage_is_done_and_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let paths = shards(dir.path(), &ShardSpec { samples: 4, per_shard: 4, ..ShardSpec::default() }).unwrap();
    let whole = std::fs::read(&paths[0]).unwrap();
    faults::flip(&paths[0], 600, 3).unwrap();
    assert_eq!(std::fs::read(&paths[0]).unwrap()[600], whole[600] ^ 8);
    faults::overwrite(&paths[0], 600, &whole[600..601]).unwrap();
    assert_eq!(std::fs::read(&paths[0]).unwrap(), whole);
    faults::zero(&paths[0], 0..512).unwrap();
    assert!(open(Recipe::new(text(&paths), "tar")).is_err());
    faults::overwrite(&paths[0], 0, &whole[..512]).unwrap();
    faults::truncate(&paths[0], whole.len() as u64 / 2).unwrap();
    assert!(open(Recipe::new(text(&paths), "tar")).is_err());
    assert!(faults::truncate(dir.path().join("nothing"), 0).is_err());
}

#[test]
fn decoders_take_bytes_from_the_testkit() {
    let file = Bytes::from(jpeg(&photo(16, 16, 0), 16, 16, &JpegOptions::quality(50)).unwrap());
    let rgb = infeed::decode::DECODERS.iter().find(|e| e.name == "rgb").unwrap();
    let value = rgb.make(&Default::default()).unwrap().decode(&file, &mut Scratch::new()).unwrap();
    assert!(matches!(value, Value::Image(_)));
}

fn text(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|p| p.to_string_lossy().into_owned()).collect()
}
