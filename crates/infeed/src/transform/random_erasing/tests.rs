use super::*;
use infeed_core::{PixelLayout, Scratch};

fn erasing(json: &str) -> Box<dyn Transform> {
    ENTRY.make(&serde_json::from_str(json).unwrap()).unwrap()
}

/// An image of 200s after `change` and erasing.
fn run(json: &str, row: u64, change: impl Fn(&mut Image)) -> (Image, Vec<u8>) {
    let mut scratch = Scratch::new();
    let mut image = Image::raw(30, 20, 3, vec![200; 1800]).unwrap();
    change(&mut image);
    let mut value = Value::Image(Box::new(image));
    let mut context = Context { rng: Rng::at(2, 0, row, 0), scratch: &mut scratch };
    erasing(json).apply(&mut value, &mut context).unwrap();
    let image = value.image_mut().unwrap().clone();
    let mut out = vec![0; image.bytes()];
    image.render(&mut scratch, &mut out).unwrap();
    (image, out)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect()
}

fn normalized(image: &mut Image) {
    image.finish.dtype = Dtype::F32;
    image.finish.layout = PixelLayout::Chw;
    (0..3).for_each(|c| image.normalize(c, 100.0, 50.0));
}

#[test]
fn rectangles_as_torchvision() {
    let all: Vec<Area> = (0..500)
        .filter_map(|row| {
            let transform = RandomErasing { p: 1.0, scale: (0.02, 0.33), ratio: (0.3, 3.3), value: None };
            transform.choose(100, 60, &mut Rng::at(0, 0, row, 0))
        })
        .collect();
    assert!(all.len() > 490);
    for a in &all {
        assert!(a.left + a.width <= 100 && a.top + a.height <= 60 && a.width < 100 && a.height < 60, "{a:?}");
        let (share, ratio) =
            (f64::from(a.width * a.height) / 6000.0, f64::from(a.height) / f64::from(a.width));
        assert!((0.015..0.35).contains(&share) && (0.25..3.9).contains(&ratio), "{a:?}");
    }
    let mean = all.iter().map(|a| f64::from(a.width * a.height) / 6000.0).sum::<f64>() / all.len() as f64;
    assert!((0.14..0.19).contains(&mean), "{mean}");
}

#[test]
fn pixels_and_finished_values_are_covered_alike() {
    for row in 0..20 {
        let (_, plain) = run(r#"{"p": 1, "value": [7, 8, 9]}"#, row, |_| {});
        let (_, finished) = run(r#"{"p": 1, "value": [7, 8, 9]}"#, row, normalized);
        let finished = floats(&finished);
        assert!(plain.contains(&7) && plain.contains(&200));
        for (i, pixel) in plain.as_chunks::<3>().0.iter().enumerate() {
            for c in 0..3 {
                let expected = if pixel[c] == 200 { 2.0 } else { f32::from(pixel[c]) };
                assert_eq!(finished[c * 600 + i], expected);
            }
        }
    }
}

#[test]
fn noise_is_normal_and_repeats() {
    let values = |row| {
        let noise: Vec<f32> = floats(&run(r#"{"p": 1, "value": "random"}"#, row, normalized).1);
        noise.into_iter().filter(|v| *v != 2.0).map(f64::from).collect::<Vec<f64>>()
    };
    let all: Vec<f64> = (0..200).flat_map(values).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let square = all.iter().map(|v| v * v).sum::<f64>() / all.len() as f64;
    assert!(mean.abs() < 0.02 && (square - 1.0).abs() < 0.03, "{mean} {square}");
    assert_eq!(values(3), values(3));
    assert_ne!(values(3), values(4));
}

#[test]
fn covers_follow_the_image() {
    let mut scratch = Scratch::new();
    let render = |image: &Image, scratch: &mut Scratch| {
        let mut out = vec![0; image.bytes()];
        image.render(scratch, &mut out).unwrap();
        floats(&out)
    };
    for value in ["9", "\"random\""] {
        let (mut image, before) = run(&format!(r#"{{"p": 1, "value": {value}}}"#), 5, normalized);
        let before = floats(&before);
        image.flip_horizontal();
        image.crop(3, 2, 20, 15, [0; 4], &mut scratch).unwrap();
        image.flip_vertical();
        let after = render(&image, &mut scratch);
        for c in 0..3 {
            for y in 0..15 {
                for x in 0..20 {
                    let (sx, sy) = (29 - (x + 3), 14 - y + 2);
                    assert_eq!(after[(c * 15 + y) * 20 + x], before[(c * 20 + sy) * 30 + sx], "{c} {y} {x}");
                }
            }
        }
        // A later normalisation applies to the cover, too.
        (0..3).for_each(|c| image.normalize(c, 1.0, 2.0));
        assert!(
            render(&image, &mut scratch).iter().zip(&after).all(|(a, b)| (a - (b - 1.0) / 2.0).abs() < 1e-5)
        );
        let error = image.resize(5, 5, infeed_resample::Filter::Bilinear, true, &mut scratch).unwrap_err();
        assert!(error.to_string().contains("put RandomErasing later"), "{error}");
        assert!(image.pixels_mut(&mut scratch).is_err());
    }
}

#[test]
fn slips_are_named() {
    let make = |json: &str| ENTRY.make(&serde_json::from_str(json).unwrap());
    for bad in
        [r#"{"value": "noise"}"#, r#"{"scale": [0.5, 0.1]}"#, r#"{"ratio": [0, 1]}"#, r#"{"value": []}"#]
    {
        assert!(make(bad).is_err(), "{bad}");
    }
    let two = make(r#"{"value": [1, 2]}"#).unwrap();
    assert!(two.spec(&FieldSpec::image(Dim::Fixed(3))).unwrap_err().to_string().contains("2 values"));
}
