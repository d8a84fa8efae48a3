//! Tests of moving, cutting and resampling, against the plainest way of doing it.

use super::{
    check::{apply, counting, floats, values},
    element::cast,
    strided::Strided,
    window::{Mode, Window},
};
use infeed_core::{Context, Dtype, Rng, Scratch, Tensor};
use proptest::prelude::*;

fn with_context<T>(work: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let mut scratch = Scratch::new();
    work(&mut Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch })
}

/// The element at these indices.
fn at(tensor: &Tensor, index: &[usize]) -> f64 {
    let flat = index.iter().zip(&tensor.shape).fold(0, |flat, (i, n)| flat * n + i);
    values(tensor)[flat]
}

/// All indices of a shape.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let all: usize = shape.iter().product();
    (0..all).map(|i| super::place(i, shape)).collect()
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..6, 1..6)
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    prop::sample::select(Dtype::ALL.to_vec())
}

proptest! {
    #[test]
    fn views_are_what_indices_say(shape in shapes(), dtype in dtypes(), keys in prop::collection::vec(any::<u8>(), 5), flips in any::<u8>()) {
        let tensor = counting(dtype, &shape);
        let mut order: Vec<usize> = (0..shape.len()).collect();
        order.sort_by_key(|i| keys[*i]);
        let mut view = Strided::of(&shape);
        view.permute(&order);
        (0..shape.len()).filter(|i| flips >> i & 1 == 1).for_each(|i| view.flip(i));
        let mut out = tensor.clone();
        with_context(|c| view.apply(&mut out, c)).unwrap();
        for index in indices(&out.shape) {
            let mut source = vec![0; shape.len()];
            for (i, from) in order.iter().enumerate() {
                source[*from] = if flips >> i & 1 == 1 { out.shape[i] - 1 - index[i] } else { index[i] };
            }
            prop_assert_eq!(at(&out, &index), at(&tensor, &source));
        }
    }

    #[test]
    fn windows_are_what_indices_say(
        shape in shapes(),
        dtype in prop::sample::select(vec![Dtype::U8, Dtype::I16, Dtype::F32, Dtype::F64]),
        corners in prop::collection::vec((-6i64..6, 1usize..9), 5),
        mode in prop::sample::select(vec![Mode::Constant, Mode::Edge, Mode::Reflect, Mode::Symmetric]),
        axes in 1usize..6,
    ) {
        let axes = axes.min(shape.len());
        let outer = shape.len() - axes;
        let (starts, sizes): (Vec<i64>, Vec<usize>) = corners[..axes].iter().copied().unzip();
        let tensor = counting(dtype, &shape);
        let window = Window { name: "Test", starts: starts.clone(), sizes: sizes.clone(), mode, fill: 7.0 };
        let mut out = tensor.clone();
        let done = with_context(|c| window.apply(&mut out, c));
        let reach = |i: usize| {
            let len = shape[outer + i] as i64;
            (-starts[i]).max(starts[i] + sizes[i] as i64 - len)
        };
        let fits = (0..axes).all(|i| reach(i) <= mode.most(shape[outer + i] as i64));
        prop_assert_eq!(done.is_ok(), fits);
        // Mirrors that start beyond the array would need a second reflection, and are refused before.
        if !fits { return Ok(()); }
        prop_assert_eq!(&out.shape[outer..], &sizes[..]);
        for index in indices(&out.shape) {
            let mut source = index.clone();
            let mut filled = false;
            for i in 0..axes {
                let (place, len) = (starts[i] + index[outer + i] as i64, shape[outer + i] as i64);
                filled |= mode == Mode::Constant && !(0..len).contains(&place);
                source[outer + i] = mode.source(place, len).clamp(0, len - 1) as usize;
            }
            prop_assert_eq!(at(&out, &index), if filled { 7.0 } else { at(&tensor, &source) });
        }
    }

    #[test]
    fn casts_there_and_back(values_ in prop::collection::vec(0f32..100.0, 1..40), dtype in dtypes()) {
        let whole: Vec<f32> = values_.iter().map(|x| x.floor()).collect();
        let mut tensor = floats(&[whole.len()], &whole);
        with_context(|c| cast(&mut tensor, dtype, c)).unwrap();
        let wanted: Vec<f64> =
            whole.iter().map(|x| if dtype == Dtype::Bool { f64::from(u8::from(*x != 0.0)) } else { f64::from(*x) }).collect();
        prop_assert_eq!(values(&tensor), wanted);
    }

    #[test]
    fn resampling_keeps_constants_and_sizes(shape in shapes(), size in prop::collection::vec(1usize..9, 1..4), antialias in any::<bool>()) {
        let size = &size[..size.len().min(shape.len())];
        let n: usize = shape.iter().product();
        let args = format!(r#"{{"size": {size:?}, "antialias": {antialias}}}"#);
        let out = apply("Resize", &args, &floats(&shape, &vec![2.5; n]), 0).unwrap();
        prop_assert!(values(&out).iter().all(|x| (x - 2.5).abs() < 1e-5));
    }
}

#[test]
fn saturation_and_wrapping() {
    let mut tensor = floats(&[5], &[-1.9, 300.0, f32::NAN, f32::INFINITY, 2.9]);
    with_context(|c| cast(&mut tensor, Dtype::U8, c)).unwrap();
    assert_eq!(values(&tensor), [0.0, 255.0, 0.0, 255.0, 2.0]);
    let mut wide = counting(Dtype::I64, &[3]);
    wide.data = [256i64, -1, 511].iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>().into();
    with_context(|c| cast(&mut wide, Dtype::U8, c)).unwrap();
    assert_eq!(values(&wide), [0.0, 255.0, 255.0]);
}

#[test]
fn linear_as_torch_does_it() {
    // torch.nn.functional.interpolate(x, 5, mode="linear", align_corners=False) of [0, 1, 2].
    let line = floats(&[3], &[0.0, 1.0, 2.0]);
    let near = |out: &Tensor, wanted: &[f64]| {
        assert!(values(out).iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", values(out));
    };
    near(&apply("Resize", r#"{"size": [5]}"#, &line, 0).unwrap(), &[0.0, 0.4, 1.0, 1.6, 2.0]);
    let long = floats(&[6], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    near(&apply("Resize", r#"{"size": [2], "antialias": false}"#, &long, 0).unwrap(), &[1.0, 4.0]);
    near(
        &apply("Resize", r#"{"size": [3], "interpolation": "nearest"}"#, &long, 0).unwrap(),
        &[1.0, 3.0, 5.0],
    );
    // Classes are never mixed.
    let classes = counting(Dtype::U8, &[2]);
    assert_eq!(values(&apply("Resize", r#"{"size": [4]}"#, &classes, 0).unwrap()), [0.0, 0.0, 1.0, 1.0]);
}
