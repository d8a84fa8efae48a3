//! Stores that are cut, changed, or lie. Nothing may panic, run for ever or use more memory than the limits allow.
#![allow(clippy::unwrap_used)]

mod common;

use bytes::Bytes;
use common::{STORES, golden, objects, open, read, single};
use infeed_zarr::{Error, Limits, Tree, fuzz_zarr};
use std::{collections::BTreeMap, sync::Arc};

/// The error of one array whose metadata was changed.
fn refused(changes: &[(&str, &str)]) -> String {
    match open(single(changes)).and_then(|tree| read(&tree, "/")) {
        Ok(_) => panic!("{changes:?} was read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_not_known_is_named() {
    for (name, value, wanted) in [
        (
            "codecs",
            r#"[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zfp"}]"#,
            "codec `zfp`",
        ),
        ("codecs", r#"[{"name": "vlen-utf8"}]"#, "codec `vlen-utf8`"),
        (
            "codecs",
            r#"[{"name": "bytes", "configuration": {"endian": "little"}}, "numcodecs.lzma"]"#,
            "codec `lzma`",
        ),
        ("data_type", "\"string\"", "data type \"string\""),
        ("data_type", r#"{"name": "float8_e3m4"}"#, "float8_e3m4"),
        ("chunk_grid", r#"{"name": "rectilinear"}"#, "chunk grid `rectilinear`"),
        ("chunk_key_encoding", "\"fanout\"", "chunk key encoding `fanout`"),
        ("storage_transformers", "[1]", "storage transformers"),
        ("surprise", r#"{"must_understand": true}"#, "extension `surprise`"),
        ("fill_value", "\"x\"", "fill value \"x\""),
        ("zarr_format", "4", "version 3"),
        ("node_type", "\"table\"", "table"),
    ] {
        let error = refused(&[(name, value)]);
        assert!(error.contains(wanted), "{error}");
    }
    let harmless = single(&[("surprise", r#"{"must_understand": false}"#)]);
    assert_eq!(read(&open(harmless).unwrap(), "/").unwrap(), 1.5f32.to_ne_bytes().repeat(16));
}

#[test]
fn numbers_that_lie() {
    let grid = |chunk: &str| format!(r#"{{"name": "regular", "configuration": {{"chunk_shape": {chunk}}}}}"#);
    for (shape, chunk, wanted) in [
        ("[4, 4]", "[0, 2]", "chunks of [0, 2]"),
        ("[4, 4]", "[2]", "with chunks of [2]"),
        ("[4, 4]", "[-1, 2]", "no list of lengths"),
        ("[4, 1.5]", "[2, 2]", "no list of lengths"),
        ("[18446744073709551615, 18446744073709551615]", "[1, 1]", "more bytes than can be counted"),
        ("[4, 4]", "[4294967296, 4294967296]", "more bytes than can be counted"),
        ("[4, 4]", "[1048576, 1048576]", "a chunk of 4398046511104 is more than the limit"),
        ("[18446744073709551615]", "[18446744073709551615]", "more bytes than can be counted"),
    ] {
        let error = refused(&[("shape", shape), ("chunk_grid", &grid(chunk))]);
        assert!(error.contains(wanted), "{error}");
    }
    // Many chunks are fine until somebody asks for all of them.
    let many = open(single(&[("shape", "[1000000000, 1000000000]")])).unwrap();
    let reader = many.reader(many.array("/").unwrap(), "").unwrap();
    let all = infeed_zarr::Slab::all(&reader.array().shape);
    assert!(matches!(reader.plan(&all).unwrap_err(), Error::TooLarge { .. }));
    let shard = |inner: &str, index: &str| {
        format!(
            r#"[{{"name": "sharding_indexed", "configuration": {{"chunk_shape": {inner},
            "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}], "index_codecs": {index}}}}}]"#
        )
    };
    let plain = r#"[{"name": "bytes", "configuration": {"endian": "little"}}]"#;
    assert!(refused(&[("codecs", &shard("[3, 2]", plain))]).contains("chunks of [3, 2] in shards of [2, 2]"));
    assert!(
        refused(&[("codecs", &shard("[1, 1]", "[{\"name\": \"gzip\"}]"))])
            .contains("codec `gzip` for the index")
    );
    let wide = [
        ("shape", "[1048576, 1048576]"),
        ("chunk_grid", &*grid("[1048576, 1048576]")),
        ("codecs", &shard("[1, 1]", plain)),
    ];
    assert!(refused(&wide).contains("the index of a shard of 17592186044416 is more than the limit"));
    // Shards in shards without an end.
    let mut deep = plain.to_owned();
    for _ in 0..200 {
        deep = shard("[1, 1]", plain)
            .replace(plain, "PLAIN")
            .replacen("PLAIN", &deep, 1)
            .replace("PLAIN", plain);
    }
    assert!(refused(&[("codecs", &deep)]).contains("too deep"));
    let transpose = r#"[{"name": "transpose", "configuration": {"order": [0, 0]}}, {"name": "bytes", "configuration": {"endian": "big"}}]"#;
    assert!(refused(&[("codecs", transpose)]).contains("transpose"));
}

#[test]
fn indices_that_lie() {
    let mut store = objects("v3.store");
    let key = "deep/er/holes/c/1/0";
    let original = store[key].clone();
    // The index has four entries and a checksum; with a wrong checksum nothing of it counts.
    let mut data = original.to_vec();
    let at = data.len() - 4 - 64;
    data[at..at + 8].copy_from_slice(&(1u64 << 62).to_le_bytes());
    store.insert(key.to_owned(), data.into());
    let error = read(&open(store.clone()).unwrap(), "deep/er/holes").unwrap_err();
    assert!(error.to_string().contains("checksum of a shard's index"), "{error}");
    store.insert(key.to_owned(), original.slice(..40));
    assert!(read(&open(store).unwrap(), "deep/er/holes").is_err());
}

#[test]
fn names_cannot_lead_out_of_the_store() {
    let tree = open(objects("v3.store")).unwrap();
    for path in ["../x", "a/../../x", "a\\b", "."] {
        assert!(matches!(tree.array(path), Err(Error::Damaged(_))), "{path}");
    }
    let text = r#"{"zarr_consolidated_format": 1, "metadata": {"../../x/.zarray": {}}}"#;
    let mut store = objects("v2.store");
    store.insert(".zmetadata".to_owned(), Bytes::from(text));
    assert!(open(store).unwrap_err().to_string().contains("`..` is no name"));
}

#[test]
fn cut_and_missing_objects_are_told() {
    for name in ["v2.store", "v3.store"] {
        let store = objects(name);
        for (key, data) in &store {
            let mut cut = store.clone();
            cut.insert(key.clone(), data.slice(..data.len() / 2));
            let array = key.rsplit_once("/c/").or(key.rsplit_once('/')).map_or("", |(array, _)| array);
            if key.ends_with("zarr.json") || key.ends_with(".zarray") {
                assert!(open(cut).and_then(|tree| read(&tree, array)).is_err(), "{name} {key}");
            } else if !key.contains(".z") {
                let array = if key.contains("slashed") { "deep/er/slashed" } else { array };
                // Of chunks at the edge that are not compressed, only the part inside of the shape is read.
                match open(cut).and_then(|tree| read(&tree, array)) {
                    Ok(found) => assert!(
                        array == "plain" && found == read(&open(store.clone()).unwrap(), array).unwrap()
                    ),
                    Err(error) => assert!(!error.to_string().is_empty(), "{name} {key}"),
                }
            }
        }
    }
    assert!(matches!(open(BTreeMap::new()), Err(Error::NotZarr(_))));
}

#[test]
fn limits_are_kept() {
    let open = |limits| Tree::open(Arc::new(objects("v3.store")), "", limits);
    let mut limits = Limits::small();
    limits.max_metadata = 10;
    assert!(matches!(open(limits).unwrap_err().cause(), Error::TooLarge { what: "metadata", .. }));
    let mut limits = Limits::small();
    limits.max_nodes = 3;
    assert!(matches!(open(limits).unwrap().list().unwrap_err(), Error::TooLarge { .. }));
    let mut limits = Limits::small();
    limits.max_chunk = 50;
    let error = read(&open(limits).unwrap(), "plain").unwrap_err();
    assert!(matches!(error.cause(), Error::TooLarge { what: "a chunk", size: 64, limit: 50 }), "{error}");
}

/// The environment variable `INFEED_MUTATIONS` asks for more; with `RUSTFLAGS="--cfg fuzzing"` checksums do not count.
#[test]
fn ten_thousand_changed_stores() {
    let rounds = std::env::var("INFEED_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize % limit
    };
    let originals = STORES.map(golden);
    let numbers =
        [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX >> 1, u64::MAX];
    let words = ["9", "-", "99999999", "[", "]", "null", "\"", "e9", "zlib", "gzip", "u1", "<c8", "F", "."];
    for round in 0..rounds {
        let mut data = originals[round % 4].clone();
        for _ in 0..1 + below(3) {
            let at = below(data.len());
            match below(3) {
                0 => data[at] = below(256) as u8,
                1 => {
                    let word = words[below(words.len())].as_bytes();
                    let len = word.len().min(data.len() - at);
                    data[at..at + len].copy_from_slice(&word[..len]);
                }
                _ => {
                    let width = [1, 2, 4, 8][below(4)].min(data.len() - at);
                    data[at..at + width]
                        .copy_from_slice(&numbers[below(numbers.len())].to_le_bytes()[..width]);
                }
            }
        }
        if std::panic::catch_unwind(|| fuzz_zarr(&data)).is_err() {
            panic!("round {round} breaks");
        }
    }
}
