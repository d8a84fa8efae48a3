//! Every parser of infeed as a function of arbitrary bytes, by name.
//!
//! A target must return whatever the bytes are; it panics when two answers differ that should be the same, or when
//! something is accepted that cannot be. `tests/seeds.rs` gives each of them its seeds and changed copies of those, as an
//! ordinary test. `scripts/fuzz.sh` looks for more with libFuzzer.

mod compare;
mod images;
mod mutate;
mod rows;
mod texts;

pub use mutate::Mutator;

/// One parser.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its folder of seeds.
    pub name: &'static str,
    /// Feeds it.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "arrow", run: |data| rows::table("arrow", data) },
    Target { name: "avro", run: |data| rows::table("avro", data) },
    Target { name: "bmp", run: |data| images::image("bmp", data) },
    Target { name: "coco", run: infeed_annotations::fuzz_coco },
    Target { name: "codecs", run: infeed_codecs::fuzz_codecs },
    Target { name: "csv", run: infeed_records::csv::fuzz_csv },
    Target { name: "example", run: infeed_records::tfrecord::fuzz_example },
    Target { name: "exif", run: images::exif },
    Target { name: "filter", run: texts::filter },
    Target { name: "gif", run: |data| images::image("gif", data) },
    Target { name: "hdf5", run: infeed_hdf5::fuzz_hdf5 },
    Target { name: "idx", run: infeed_tokens::fuzz },
    Target { name: "index", run: infeed::format::fuzz_index },
    Target { name: "jpeg", run: compare::jpeg },
    Target { name: "json", run: texts::json },
    Target { name: "jsonl", run: infeed_records::json::fuzz_json },
    Target { name: "ledger", run: texts::ledger },
    Target { name: "lmdb", run: infeed_records::lmdb::fuzz_lmdb },
    Target { name: "masks", run: infeed_annotations::fuzz_masks },
    Target { name: "mds", run: infeed_records::mds::fuzz_mds },
    Target { name: "netcdf3", run: infeed_netcdf3::fuzz_netcdf3 },
    Target { name: "npy", run: images::npy },
    Target { name: "npz", run: infeed_arrays::fuzz_npz },
    Target { name: "parquet", run: |data| rows::table("parquet", data) },
    Target { name: "paths", run: texts::paths },
    Target { name: "pickle", run: infeed_arrays::fuzz_pickle },
    Target { name: "png", run: compare::png },
    Target { name: "pnm", run: |data| images::image("pnm", data) },
    Target { name: "recipe", run: texts::recipe },
    Target { name: "root", run: infeed_root::fuzz_root },
    Target { name: "safetensors", run: infeed_arrays::fuzz_safetensors },
    Target { name: "split", run: infeed_records::split::fuzz_split },
    Target { name: "state", run: texts::state },
    Target { name: "tar", run: rows::tar },
    Target { name: "tfrecord", run: infeed_records::tfrecord::fuzz_tfrecord },
    Target { name: "tiff", run: |data| images::image("tiff", data) },
    Target { name: "voc", run: infeed_annotations::fuzz_voc },
    Target { name: "webp", run: |data| images::image("webp", data) },
    Target { name: "yaml", run: infeed_annotations::fuzz_yolo_data },
    Target { name: "yolo", run: infeed_annotations::fuzz_yolo },
    Target { name: "zarr", run: infeed_zarr::fuzz_zarr },
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
