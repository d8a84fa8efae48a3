//! Every batch transform against plain arithmetic on a rolled copy of the batch.

use super::*;
use half::{bf16, f16};
use infeed_core::{
    BatchBlock, BatchMut, Context, Dim, Dtype, FieldKind, FieldSpec, PixelLayout, Rng, Scratch, Spec,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

const CLASSES: usize = 5;

/// A field of images and a field of class numbers.
fn spec(dtype: Dtype, layout: PixelLayout, height: usize, width: usize) -> Spec {
    let (h, w, c) = (Dim::Fixed(height), Dim::Fixed(width), Dim::Fixed(3));
    let shape = if layout == PixelLayout::Hwc { vec![h, w, c] } else { vec![c, h, w] };
    let image = FieldSpec { kind: FieldKind::Image(layout), dtype, shape };
    Spec { fields: vec![("jpg".into(), image), ("cls".into(), FieldSpec::scalar(Dtype::I64))] }
}

fn make(name: &str, args: &Json) -> Box<dyn BatchTransform> {
    let entry = ENTRIES.iter().find(|e| e.name == name).unwrap();
    entry.make(args.as_object().unwrap()).unwrap()
}

fn widen(dtype: Dtype, data: &[u8]) -> Vec<f32> {
    data.chunks_exact(dtype.size())
        .map(|b| match dtype {
            Dtype::U8 => f32::from(b[0]),
            Dtype::F16 => f16::from_ne_bytes([b[0], b[1]]).to_f32(),
            Dtype::Bf16 => bf16::from_ne_bytes([b[0], b[1]]).to_f32(),
            _ => f32::from_ne_bytes([b[0], b[1], b[2], b[3]]),
        })
        .collect()
}

fn pixels(dtype: Dtype, count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|i| {
            let x = (i * 37 % 251) as f32;
            match dtype {
                Dtype::U8 => vec![x as u8],
                Dtype::F16 => f16::from_f32(x / 16.0 - 4.0).to_ne_bytes().to_vec(),
                Dtype::Bf16 => bf16::from_f32(x / 16.0 - 4.0).to_ne_bytes().to_vec(),
                _ => (x / 16.0 - 4.0).to_ne_bytes().to_vec(),
            }
        })
        .collect()
}

/// Images and shares of classes after the transform, and the images before it.
fn run(
    transform: &dyn BatchTransform,
    spec: &Spec,
    labels: &[i64],
    rng: Rng,
) -> infeed_core::Result<(Vec<u8>, Vec<f32>, Vec<u8>)> {
    let image = &spec.fields[0].1;
    let before = pixels(image.dtype, labels.len() * image.fixed_shape().unwrap().iter().product::<usize>());
    let mut after = before.clone();
    let mut numbers: Vec<u8> = labels.iter().flat_map(|l| l.to_ne_bytes()).collect();
    // Stale content from another batch.
    let mut shares = vec![7u8; labels.len() * CLASSES * 4];
    let promised = transform.spec(spec, &[0])?;
    assert_eq!(promised.fields[1].1, FieldSpec::array(Dtype::F32, vec![Dim::Fixed(CLASSES)]));
    let blocks = vec![
        BatchBlock { data: &mut after, out: None },
        BatchBlock { data: &mut numbers, out: Some(&mut shares) },
    ];
    let mut batch = BatchMut { spec, on: &[0], samples: labels.len(), blocks };
    transform.apply(&mut batch, &mut Context { rng, scratch: &mut Scratch::new() })?;
    Ok((after, widen(Dtype::F32, &shares), before))
}

/// The share of its own class in the labels; neighbours have different classes in these tests.
fn lambda(labels: &[i64], shares: &[f32]) -> f32 {
    shares[labels[0] as usize]
}

fn classes(samples: usize) -> Vec<i64> {
    (0..samples).map(|i| if i + 1 == samples && samples > 1 { 4 } else { (i % 3) as i64 }).collect()
}

fn check_labels(labels: &[i64], shares: &[f32]) {
    let n = labels.len();
    let l = lambda(labels, shares);
    for (i, row) in shares.chunks_exact(CLASSES).enumerate() {
        let mut wanted = [0.0; CLASSES];
        wanted[labels[(i + n - 1) % n] as usize] += (1.0 - f64::from(l)) as f32;
        wanted[labels[i] as usize] += l;
        assert_eq!(row, wanted, "sample {i}");
    }
}

fn any_kind() -> impl Strategy<Value = (Dtype, PixelLayout)> {
    (
        prop::sample::select(vec![Dtype::U8, Dtype::F16, Dtype::Bf16, Dtype::F32]),
        prop::sample::select(vec![PixelLayout::Hwc, PixelLayout::Chw]),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mixup_is_a_weighted_sum((dtype, layout) in any_kind(), samples in 2usize..7, height in 1usize..20,
                               width in 1usize..20, alpha in 0.1f64..4.0, row in any::<u64>()) {
        let transform = make("MixUp", &json!({"alpha": alpha, "num_classes": CLASSES}));
        let labels = classes(samples);
        let spec = spec(dtype, layout, height, width);
        let (after, shares, before) = run(&*transform, &spec, &labels, Rng::at(1, 2, row, 3)).unwrap();
        check_labels(&labels, &shares);
        let (l, each) = (lambda(&labels, &shares), height * width * 3);
        let (after, before) = (widen(dtype, &after), widen(dtype, &before));
        for i in 0..after.len() {
            let other = before[(i + before.len() - each) % before.len()];
            let exact = other * ((1.0 - f64::from(l)) as f32) + before[i] * l;
            let wanted = match dtype {
                Dtype::U8 => (exact + 0.5).floor(),
                Dtype::F16 => f16::from_f32(exact).to_f32(),
                Dtype::Bf16 => bf16::from_f32(exact).to_f32(),
                _ => exact,
            };
            prop_assert_eq!(after[i], wanted, "element {}", i);
        }
    }

    #[test]
    fn cutmix_pastes_one_rectangle((dtype, layout) in any_kind(), samples in 2usize..7, height in 1usize..20,
                                   width in 1usize..20, alpha in 0.1f64..4.0, row in any::<u64>()) {
        let transform = make("CutMix", &json!({"alpha": alpha, "num_classes": CLASSES}));
        let labels = classes(samples);
        let spec = spec(dtype, layout, height, width);
        let (after, shares, before) = run(&*transform, &spec, &labels, Rng::at(1, 2, row, 3)).unwrap();
        check_labels(&labels, &shares);
        // The same draws as in torchvision: lambda, column, row.
        let mut rng = Rng::at(1, 2, row, 3);
        let l = beta::draw(alpha, &mut rng);
        let (cx, cy) = (rng.below(width as u64) as i64, rng.below(height as u64) as i64);
        let r = 0.5 * (1.0 - f64::from(l)).sqrt();
        let (rw, rh) = ((r * width as f64) as i64, (r * height as f64) as i64);
        let (x, y) = ((cx - rw).max(0)..(cx + rw).min(width as i64), (cy - rh).max(0)..(cy + rh).min(height as i64));
        let area = (x.end - x.start) * (y.end - y.start);
        prop_assert_eq!(lambda(&labels, &shares), (1.0 - area as f64 / (width * height) as f64) as f32);
        let (size, each) = (dtype.size(), height * width * 3);
        for i in 0..samples * each {
            let at = i % each;
            let (py, px) = match layout {
                PixelLayout::Hwc => (at / (width * 3), at / 3 % width),
                PixelLayout::Chw => (at / width % height, at % width),
            };
            let inside = x.contains(&(px as i64)) && y.contains(&(py as i64));
            let from = if inside { (i + samples * each - each) % (samples * each) } else { i };
            prop_assert_eq!(&after[i * size..(i + 1) * size], &before[from * size..(from + 1) * size], "element {}", i);
        }
    }

    #[test]
    fn one_sample_or_none_is_left_alone(name in prop::sample::select(vec!["MixUp", "CutMix", "RandomMix"]),
                                        samples in 0usize..2, row in any::<u64>()) {
        let labels = classes(samples);
        let spec = spec(Dtype::F32, PixelLayout::Chw, 4, 5);
        let transform = make(name, &json!({"num_classes": CLASSES}));
        let (after, shares, before) = run(&*transform, &spec, &labels, Rng::at(0, 0, row, 0)).unwrap();
        prop_assert_eq!(after, before);
        let wanted: Vec<f32> = if samples == 1 { vec![1.0, 0.0, 0.0, 0.0, 0.0] } else { vec![] };
        prop_assert_eq!(shares, wanted);
    }
}

#[test]
fn random_mix_does_both_by_turns() {
    let spec = spec(Dtype::F32, PixelLayout::Chw, 16, 16);
    let labels = classes(4);
    let count = |args: Json| {
        let transform = make("RandomMix", &args);
        let (mut sums, mut rectangles, mut nothing) = (0, 0, 0);
        for row in 0..1000 {
            let (after, shares, before) = run(&*transform, &spec, &labels, Rng::at(9, 0, row, 0)).unwrap();
            let (after, before) = (widen(Dtype::F32, &after), widen(Dtype::F32, &before));
            let kept = after.iter().zip(&before).filter(|(a, b)| a == b).count();
            match () {
                () if lambda(&labels, &shares) == 1.0 && kept == after.len() => nothing += 1,
                () if after.iter().all(|x| before.contains(x)) => rectangles += 1,
                () => sums += 1,
            }
        }
        (sums, rectangles, nothing)
    };
    let (sums, rectangles, nothing) = count(json!({"num_classes": CLASSES, "switch": 0.3}));
    assert!((640..760).contains(&sums), "{sums}");
    assert!(nothing < 30 && rectangles > 240, "{rectangles} {nothing}");
    assert_eq!(count(json!({"num_classes": CLASSES, "cutmix_alpha": 0})).1, 0);
    assert_eq!(count(json!({"num_classes": CLASSES, "mixup_alpha": 0})).0, 0);
    let (_, _, nothing) = count(json!({"num_classes": CLASSES, "p": 0.25, "cutmix_alpha": 0}));
    assert!((700..800).contains(&nothing), "{nothing}");
}

#[test]
fn mixed_labels_can_be_mixed_again() {
    let spec = spec(Dtype::F32, PixelLayout::Chw, 4, 4);
    let again = make("CutMix", &json!({}));
    let first = make("MixUp", &json!({"num_classes": CLASSES})).spec(&spec, &[0]).unwrap();
    assert_eq!(again.spec(&first, &[0]).unwrap(), first);
    let mut images = pixels(Dtype::F32, 2 * 48);
    let mut shares: Vec<u8> =
        [1.0f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
    let blocks =
        vec![BatchBlock { data: &mut images, out: None }, BatchBlock { data: &mut shares, out: None }];
    let rng = (0..).map(|row| Rng::at(0, 0, row, 0)).find(|r| beta::draw(1.0, &mut r.clone()) < 0.3).unwrap();
    let mut batch = BatchMut { spec: &first, on: &[0], samples: 2, blocks };
    again.apply(&mut batch, &mut Context { rng, scratch: &mut Scratch::new() }).unwrap();
    let shares = widen(Dtype::F32, &shares);
    let l = shares[0];
    assert!(l < 1.0);
    assert_eq!(shares[..3], [l, (1.0 - l) * 0.5, (1.0 - l) * 0.5]);
    assert_eq!(shares[5..8], [1.0 - l, l * 0.5, l * 0.5]);
}

#[test]
fn what_cannot_be_mixed_is_refused() {
    let good = spec(Dtype::F32, PixelLayout::Chw, 4, 4);
    let refuse = |args: Json, spec: &Spec, on: &[usize], wanted: &str| {
        for name in ["MixUp", "CutMix"] {
            let error = make(name, &args).spec(spec, on).unwrap_err().to_string();
            assert!(error.starts_with(name) && error.contains(wanted), "{name}: {error}");
        }
    };
    let with = |field: usize, spec: FieldSpec| {
        let mut out = good.clone();
        out.fields[field].1 = spec;
        out
    };
    let some = json!({"num_classes": CLASSES});
    refuse(json!({}), &good, &[0], "needs num_classes");
    refuse(json!({"num_classes": 5, "label": "nope"}), &good, &[0], "there is no field `nope`");
    refuse(some.clone(), &with(1, FieldSpec::encoded()), &[0], "finds no labels");
    refuse(
        json!({"num_classes": 5, "label": "cls"}),
        &with(1, FieldSpec::encoded()),
        &[0],
        ".decode(cls=\"int\")",
    );
    refuse(
        json!({"num_classes": 5, "label": "cls"}),
        &with(1, FieldSpec::scalar(Dtype::F32)),
        &[0],
        "whole numbers",
    );
    refuse(some.clone(), &with(0, FieldSpec::image(Dim::Fixed(3))), &[0], "one size");
    refuse(some.clone(), &with(0, FieldSpec::encoded()), &[0], "decode it first");
    refuse(some.clone(), &spec(Dtype::F64, PixelLayout::Chw, 4, 4), &[0], "only u8");
    refuse(some.clone(), &good, &[1], "holds the labels");
    let shares = FieldSpec::array(Dtype::F32, vec![Dim::Fixed(7)]);
    refuse(json!({"num_classes": 5, "label": "cls"}), &with(1, shares), &[0], "have 7 classes");
    let mut two = good.clone();
    two.fields.push(("id".into(), FieldSpec::scalar(Dtype::I32)));
    refuse(some.clone(), &two, &[0], "several fields could be the labels (cls, id)");
    let mut sizes = good.clone();
    sizes.fields.push(("small".into(), spec(Dtype::F32, PixelLayout::Chw, 2, 2).fields[0].1.clone()));
    make("MixUp", &some).spec(&sizes, &[0, 2]).unwrap();
    let error = make("CutMix", &some).spec(&sizes, &[0, 2]).unwrap_err().to_string();
    assert!(error.contains("4x4") && error.contains("2x2"), "{error}");
}

#[test]
fn arguments_are_checked() {
    for (name, args) in [
        ("MixUp", json!({"alpha": 0})),
        ("CutMix", json!({"alpha": -1.0})),
        ("MixUp", json!({"num_classes": 0})),
        ("MixUp", json!({"label": 3})),
        ("RandomMix", json!({"mixup_alpha": 0, "cutmix_alpha": 0})),
        ("RandomMix", json!({"switch": 1.5})),
    ] {
        let entry = ENTRIES.iter().find(|e| e.name == name).unwrap();
        assert!(entry.make(args.as_object().unwrap()).is_err(), "{name} {args}");
    }
}

#[test]
fn labels_that_are_no_class_are_refused_one_by_one() {
    let spec = spec(Dtype::F32, PixelLayout::Chw, 4, 4);
    let transform = make("MixUp", &json!({"num_classes": CLASSES}));
    let (field, check) = transform.check(&spec).unwrap().unwrap();
    assert_eq!(field, 1);
    for (label, fine) in [(0, true), (4, true), (5, false), (-1, false)] {
        let mut value = infeed_core::Value::Tensor(infeed_core::Tensor::int(label));
        let mut scratch = Scratch::new();
        let done = check.apply(&mut value, &mut Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch });
        assert_eq!(done.is_ok(), fine, "{label}");
        assert_eq!(run(&*transform, &spec, &[0, label], Rng::at(0, 0, 0, 0)).is_ok(), fine, "{label}");
    }
}
