//! Several views of one image.

use super::*;
use infeed_core::{Channels, Image, ImageCodec, ImageInfo, Patch, Rect, Scratch, Want};
use std::collections::BTreeMap;

const WIDTH: u32 = 40;
const HEIGHT: u32 = 30;

/// A codec that counts decodes. Its one-byte files are images of 40x30 in which every pixel differs.
#[derive(Debug)]
struct Counting {
    decodes: AtomicU64,
    regions: AtomicU64,
}

impl Counting {
    fn leaked() -> &'static Self {
        Box::leak(Box::new(Counting { decodes: AtomicU64::new(0), regions: AtomicU64::new(0) }))
    }
}

impl ImageCodec for Counting {
    fn sniff(&self, _: &[u8]) -> bool {
        true
    }

    fn probe(&self, _: &[u8]) -> Result<ImageInfo> {
        Ok(ImageInfo { width: WIDTH, height: HEIGHT, channels: 3, depth: 8, orientation: 1, shrinks: 8 })
    }

    fn read(
        &self,
        bytes: &[u8],
        _: &ImageInfo,
        want: &Want,
        _: &mut Scratch,
        into: &mut Vec<u8>,
    ) -> Result<Patch> {
        self.decodes.fetch_add(1, Relaxed);
        let Rect { x, y, width, height } = want.region;
        if (width, height) != (WIDTH, HEIGHT) {
            self.regions.fetch_add(1, Relaxed);
        }
        into.clear();
        for (row, column) in (y..y + height).flat_map(|row| (x..x + width).map(move |column| (row, column))) {
            into.extend([row as u8, column as u8, bytes[0]]);
        }
        Ok(Patch { shrink: 1, area: want.region, channels: 3 })
    }
}

/// Rows with one image and its number.
#[derive(Debug)]
struct Pictures {
    spec: Spec,
    codec: &'static Counting,
}

impl Pictures {
    fn new(codec: &'static Counting) -> Self {
        let fields = vec![
            ("img".into(), FieldSpec::image(infeed_core::Dim::Fixed(3))),
            ("n".into(), FieldSpec::scalar(infeed_core::Dtype::I64)),
            ("jpg".into(), FieldSpec::encoded()),
        ];
        Pictures { spec: Spec { fields }, codec }
    }
}

impl Source for Pictures {
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn shard_rows(&self) -> &[u64] {
        &[20]
    }
    fn shard_of(&self, _: u64) -> String {
        "pictures".to_owned()
    }
    fn key(&self, row: u64) -> String {
        row.to_string()
    }
    fn row_bytes(&self, _: u64, _: &[Arc<str>]) -> u64 {
        100
    }
    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let value = |row: u64, name: &str| match name {
            "img" => {
                let info = self.codec.probe(&[]).unwrap();
                let bytes = vec![row as u8].into();
                Value::Image(Box::new(Image::encoded(bytes, self.codec, info, Channels::Rgb, true)))
            }
            "n" => Value::Tensor(infeed_core::Tensor::int(row as i64)),
            other => panic!("nobody needs {other}"),
        };
        Ok(rows
            .iter()
            .map(|row| Record { fields: fields.iter().map(|name| value(*row, name)).collect() })
            .collect())
    }
    fn describe(&self) -> String {
        "pictures".to_owned()
    }
}

fn plan(stages: &str, codec: &'static Counting) -> Result<Arc<Plan>> {
    let recipe = format!(r#"{{"source": {{"paths": ["x"]}}, "stage": [{stages}]}}"#);
    Plan::new(Recipe::from_json(&recipe).unwrap(), Arc::new(Pictures::new(codec))).map(Arc::new)
}

/// Every field's bytes over one epoch, without prefetching the next.
fn columns(stages: &str, codec: &'static Counting) -> BTreeMap<String, Vec<u8>> {
    let mut loader =
        Loader::new(plan(stages, codec).unwrap(), Options { persistent: false, ..threads(2) }).unwrap();
    let mut run = loader.start().unwrap();
    let mut out: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    while let Next::Batch(batch) = run.next(None).unwrap() {
        for (name, column) in &batch.columns {
            out.entry(name.to_string()).or_default().extend_from_slice(column.bytes().unwrap());
        }
    }
    out
}

fn decodes(codec: &Counting) -> (u64, u64) {
    (codec.decodes.load(Relaxed), codec.regions.load(Relaxed))
}

const SELECT: &str = r#"{"op": "select", "fields": ["img", "n"]}, {"op": "seed", "seed": 3}"#;
const BATCH: &str = r#"{"op": "batch", "size": 5}"#;

fn crop(size: u32, on: &str) -> String {
    format!(r#"{{"op": "map", "name": "RandomResizedCrop", "on": ["{on}"], "args": {{"size": {size}}}}}"#)
}

#[test]
fn many_views_are_decoded_once() {
    let codec = Counting::leaked();
    let stages = [
        SELECT,
        r#"{"op": "copy", "field": "img", "to": ["a", "b"]}"#,
        &crop(16, "a"),
        &crop(16, "b"),
        r#"{"op": "copy", "field": "img", "to": ["c"]}"#,
        &crop(8, "c"),
        BATCH,
    ]
    .join(",");
    let found = columns(&stages, codec);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b", "c", "n"]);
    assert_eq!(decodes(codec), (20, 0), "one whole decode per row");
    assert_ne!(found["a"], found["b"], "every view makes its own choices");

    // The same crops without sharing: the stage numbers match those of the maps.
    let alone = columns(&[SELECT, &crop(16, "img"), BATCH].join(","), Counting::leaked());
    assert_eq!(alone["img"], found["a"]);
}

#[test]
fn one_view_decodes_what_it_shows() {
    let codec = Counting::leaked();
    let stages =
        [SELECT, r#"{"op": "copy", "field": "img", "to": ["only"]}"#, &crop(8, "only"), BATCH].join(",");
    let found = columns(&stages, codec);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["n", "only"]);
    let (all, regions) = decodes(codec);
    assert!(all == 20 && regions > 10, "{all} {regions}");
}

#[test]
fn masks_of_patches_decode_nothing() {
    let mask = |on: &str| {
        format!(r#"{{"op": "map", "name": "BlockMask", "on": ["{on}"], "args": {{"patches": [4, 5]}}}}"#)
    };
    let copy = |to: &str, keep| format!(r#"{{"op": "copy", "field": "img", "to": [{to}], "keep": {keep}}}"#);
    let codec = Counting::leaked();
    let found = columns(&[SELECT, &copy(r#""m""#, false), &mask("m"), BATCH].join(","), codec);
    assert_eq!(found["m"].len(), 20 * 20);
    assert!(found["m"].chunks(20).all(|m| m.iter().map(|v| usize::from(*v)).sum::<usize>() == 8));
    assert_eq!(decodes(codec).0, 0);

    // One view beside a mask still decodes what it shows, and has the pixels that it has without the mask.
    let alone =
        columns(&[SELECT, &copy(r#""a""#, false), &crop(8, "a"), BATCH].join(","), Counting::leaked());
    for stages in [
        [copy(r#""a", "m""#, false), crop(8, "a"), mask("m")],
        [copy(r#""a""#, true), crop(8, "a"), mask("img")],
    ] {
        let codec = Counting::leaked();
        assert_eq!(columns(&[SELECT, &stages.join(","), BATCH].join(","), codec)["a"], alone["a"]);
        let (all, regions) = decodes(codec);
        assert!(all == 20 && regions > 10, "{all} {regions}");
    }

    // Views of what becomes a mask are views of the image.
    let codec = Counting::leaked();
    let more = r#"{"op": "copy", "field": "m", "to": ["b"], "keep": true}"#;
    let stages =
        [copy(r#""a", "m""#, false), crop(8, "a"), more.to_owned(), mask("m"), crop(8, "b")].join(",");
    assert_eq!(columns(&[SELECT, &stages, BATCH].join(","), codec)["b"].len(), 20 * 192);
    assert_eq!(decodes(codec), (20, 0));
}

#[test]
fn kept_fields_go_on_by_themselves() {
    let codec = Counting::leaked();
    let center = |size, on: &str| {
        format!(r#"{{"op": "map", "name": "CenterCrop", "on": ["{on}"], "args": {{"size": {size}}}}}"#)
    };
    let stages = [
        SELECT,
        &center(20, "img"),
        r#"{"op": "copy", "field": "img", "to": ["a"], "keep": true}"#,
        &center(10, "img"),
        r#"{"op": "copy", "field": "img", "to": ["b"]}"#,
        &center(6, "img"),
        r#"{"op": "copy", "field": "b", "to": ["c", "d"], "keep": true}"#,
        &center(4, "d"),
        BATCH,
    ]
    .join(",");
    let found = columns(&stages, codec);
    let sizes: Vec<(&str, usize)> = found.iter().map(|(name, bytes)| (&**name, bytes.len())).collect();
    assert_eq!(
        sizes,
        [("a", 20 * 1200), ("b", 20 * 300), ("c", 20 * 300), ("d", 20 * 48), ("img", 20 * 108), ("n", 160)]
    );
    assert_eq!(found["b"], found["c"]);
    assert_eq!(decodes(codec).0, 20);
    // A centre crop of a centre crop is a centre crop.
    for (name, size) in [("a", 20), ("b", 10), ("d", 4), ("img", 6)] {
        let alone = columns(&[SELECT, &center(size, "img"), BATCH].join(","), Counting::leaked());
        assert_eq!(alone["img"], found[name], "{name}");
    }
}

#[test]
fn filters_work_before_and_after() {
    let codec = Counting::leaked();
    let stages = [
        SELECT,
        r#"{"op": "filter", "expr": "img.width > 30 and n >= 5"}"#,
        r#"{"op": "copy", "field": "img", "to": ["a", "b"]}"#,
        &crop(8, "a"),
        &crop(8, "b"),
        r#"{"op": "filter", "expr": "a.width == 8 and n < 8"}"#,
        BATCH,
    ]
    .join(",");
    let found = columns(&stages, codec);
    let n: Vec<i64> = found["n"].chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect();
    assert_eq!(n, [5, 6, 7]);
    assert_eq!(found["a"].len(), 3 * 192);
    assert_eq!(decodes(codec).0, 3, "rows that are left out are not decoded");
}

#[test]
fn views_that_nobody_wants_cost_nothing() {
    let codec = Counting::leaked();
    let stages = [
        SELECT,
        r#"{"op": "copy", "field": "img", "to": ["a", "b"]}"#,
        &crop(8, "a"),
        &crop(8, "b"),
        BATCH,
        r#"{"op": "tuple", "fields": ["n"]}"#,
    ]
    .join(",");
    let plan = plan(&stages, codec).unwrap();
    assert_eq!(plan.fields.iter().map(|f| &**f).collect::<Vec<_>>(), ["n"]);
    assert_eq!(columns(&stages, codec).keys().collect::<Vec<_>>(), ["n"]);
    assert_eq!(decodes(codec).0, 0);
}

#[test]
fn what_cannot_be_viewed_is_refused() {
    let refuse = |stages: &str, wanted: &str| {
        let error = plan(&[SELECT, stages].join(","), Counting::leaked()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    let copy = |field: &str, to: &str| format!(r#"{{"op": "copy", "field": "{field}", "to": [{to}]}}"#);
    refuse(&copy("nope", r#""a""#), "there is no field `nope`");
    refuse(&copy("img", r#""n""#), "cannot be called `n`");
    refuse(&copy("img", r#""img""#), "cannot be called `img`");
    refuse(&copy("img", r#""a", "a""#), "cannot be called `a`");
    refuse(&copy("img", ""), "at least one name");
    refuse(&[copy("img", r#""a""#), crop(8, "img")].join(","), "views were made of it");
    refuse(
        &[copy("img", r#""a""#), r#"{"op": "select", "fields": ["img"]}"#.to_owned()].join(","),
        "views were made",
    );
    refuse(
        &[copy("img", r#""a""#), r#"{"op": "filter", "expr": "img.width > 3"}"#.to_owned()].join(","),
        "views were made",
    );
    refuse(&[copy("img", r#""a""#), copy("n", r#""img""#)].join(","), "cannot be called `img`");
}

#[test]
fn explain_shows_where_views_come_from() {
    let stages =
        [SELECT, r#"{"op": "copy", "field": "img", "to": ["a", "b"]}"#, &crop(8, "a"), &crop(9, "b"), BATCH]
            .join(",");
    let text = plan(&stages, Counting::leaked()).unwrap().explain();
    for line in
        ["only for its views", "view of img", "a: array u8[batch, 8, 8, 3]", "b: array u8[batch, 9, 9, 3]"]
    {
        assert!(text.contains(line), "{text}");
    }
}
