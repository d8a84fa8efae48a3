//! Every target over its seeds and changed copies of them. The same inputs in every run.
#![allow(clippy::unwrap_used)]

use infeed_fuzz::{Mutator, TARGETS, Target};
use std::{fs, path::Path, time::Instant};

/// Changed copies of every seed; the environment variable `INFEED_MUTATIONS` asks for more.
const MUTATIONS: u64 = 60;

fn seeds(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target.name);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}; seeds/make.py makes them", folder.display()))
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let read = |path: std::path::PathBuf| (path.display().to_string(), fs::read(&path).unwrap());
    files.into_iter().map(read).collect()
}

#[test]
fn seeds_and_their_mutations() {
    let mutations: u64 =
        std::env::var("INFEED_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(MUTATIONS);
    let only = std::env::var("INFEED_TARGET").ok();
    for target in TARGETS.iter().filter(|target| only.as_ref().is_none_or(|only| only == target.name)) {
        let begun = Instant::now();
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for (name, seed) in &seeds {
            (target.run)(seed);
            for round in 0..mutations {
                let mut data = seed.clone();
                Mutator::new(round).change(&mut data);
                let done = std::panic::catch_unwind(|| (target.run)(&data));
                if done.is_err() {
                    let shown: Vec<String> = data.iter().take(4096).map(|b| format!("{b:02x}")).collect();
                    panic!("{} breaks on mutation {round} of {name}: {}", target.name, shown.concat());
                }
            }
        }
        let spent = begun.elapsed();
        assert!(spent.as_secs() < 60 + mutations / 10, "{} takes {spent:?}", target.name);
    }
}

#[test]
fn nothing_and_zeros_and_long_inputs_end() {
    for target in TARGETS {
        for data in [
            vec![],
            vec![0; 100],
            vec![0; 1 << 20],
            vec![b'{'; 1 << 20],
            vec![b'['; 1 << 20],
            vec![0xff; 1 << 20],
        ] {
            let begun = Instant::now();
            (target.run)(&data);
            let spent = begun.elapsed();
            assert!(spent.as_secs() < 20, "{} takes {spent:?} for {} bytes", target.name, data.len());
        }
    }
}

/// Seeds that are refused at once teach nothing.
#[test]
fn seeds_are_good_files() {
    use infeed::{Checkpoint, Recipe, decode::CODECS, recipe::SourceRecipe, store::MemoryStore};
    use infeed_core::{Channels, Opened, Rect, Scratch, Want};
    for target in TARGETS {
        for (name, data) in seeds(target) {
            let text = || std::str::from_utf8(&data).unwrap();
            if let Some(codec) = CODECS.iter().find(|codec| codec.name == target.name) {
                let info = codec.codec.probe(&data).unwrap_or_else(|e| panic!("{name}: {e}"));
                let region = Rect { x: 0, y: 0, width: info.width, height: info.height };
                let want = Want { region, shrink: 1, channels: Channels::Rgb };
                let read = codec.codec.read(&data, &info, &want, &mut Scratch::new(), &mut Vec::new());
                read.unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            match target.name {
                "arrow" | "avro" | "parquet" | "tar" => {
                    let file = format!("mem:good-{}", name.replace(['/', '.'], "-"));
                    MemoryStore::shared().put(&file, data.clone());
                    let source = SourceRecipe::files(vec![file], target.name);
                    let opened = infeed::open_source(&source).unwrap_or_else(|e| panic!("{name}: {e}"));
                    let Opened::Rows(rows) = opened else { panic!("{name} is a stream") };
                    assert!(rows.rows() > 0, "{name}");
                }
                "coco" => assert!(infeed_annotations::Coco::parse(&name, &data, true).unwrap().images() > 0),
                "filter" => drop(infeed_order::filter::Expr::parse(text()).unwrap()),
                "hdf5" => {
                    let source = std::sync::Arc::new(infeed_core::Bytes::from(data.clone()));
                    let file = infeed_hdf5::File::open(source, infeed_hdf5::Limits::small()).unwrap();
                    assert!(file.list().unwrap().len() > 2, "{name}");
                }
                "zarr" => {
                    let store = std::sync::Arc::new(infeed_zarr::unpacked(&data));
                    let tree = infeed_zarr::Tree::open(store, "", infeed_zarr::Limits::small()).unwrap();
                    assert!(tree.list().unwrap().len() > 5, "{name}");
                }
                "ledger" => drop(infeed_order::ledger::Ledger::from_json(text()).unwrap()),
                "masks" => {
                    let masks = infeed_annotations::InstanceMasks::parse(&data).unwrap();
                    masks.draw(&mut vec![0; masks.bytes() as usize]).unwrap();
                }
                "netcdf3" => {
                    let source = std::sync::Arc::new(infeed_core::Bytes::from(data.clone()));
                    let file = infeed_netcdf3::File::open(source, infeed_netcdf3::Limits::small()).unwrap();
                    assert!(file.variables().len() > 3, "{name}");
                }
                "npy" => drop(infeed_records::npy::Layout::read(&data).unwrap()),
                "recipe" => {
                    let either = Recipe::from_json(text()).or_else(|_| Recipe::from_toml(text()));
                    either.unwrap_or_else(|e| panic!("{name}: {e}"));
                }
                "root" => {
                    let file = infeed_core::Bytes::from(data.clone());
                    let contents = infeed_root::Contents::read(&file).unwrap();
                    let tree = contents.tree(&file, contents.choose(&file, None).unwrap()).unwrap();
                    assert!(tree.names().count() > 4, "{name}");
                }
                "voc" => drop(infeed_annotations::VocImage::parse(&data).unwrap()),
                "yaml" => drop(infeed_annotations::YoloData::parse(&name, &data, "train").unwrap()),
                "state" => drop(Checkpoint::from_json(text()).unwrap()),
                _ => {}
            }
        }
    }
}
