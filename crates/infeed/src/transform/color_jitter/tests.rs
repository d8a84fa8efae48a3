use super::*;
use crate::transform::golden::check;

#[test]
fn as_pillow() {
    check(include_bytes!("golden/pixels.bin"), 0, |image, case, context| {
        let order = std::array::from_fn(|i| case.at(i) as usize);
        let factors = std::array::from_fn(|i| Some(case.at(4 + i)).filter(|f| !f.is_nan()));
        jitter(image, order, factors, context)
    });
}

#[test]
fn every_order_comes_up() {
    let jitter = ColorJitter { ranges: [Some((0.6, 1.4)), None, Some((0.0, 2.0)), Some((-0.1, 0.1))] };
    let drawn: Vec<_> = (0..2000).map(|row| jitter.choose(&mut Rng::at(1, 0, row, 0))).collect();
    let mut orders: Vec<_> = drawn.iter().map(|(order, _)| *order).collect();
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), 24);
    assert!(drawn.iter().all(|(_, f)| (0.6..1.4).contains(&f[0].unwrap()) && f[1].is_none()));
    let mean = drawn.iter().map(|(_, f)| f[2].unwrap()).sum::<f64>() / 2000.0;
    assert!((mean - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn ranges_as_torchvision() {
    let make = |json: &str| ENTRY.make(&serde_json::from_str(json).unwrap());
    let shown = |json: &str| format!("{:?}", make(json).unwrap());
    assert!(shown(r#"{"brightness": 1.5}"#).contains("Some((0.0, 2.5)), None, None, None"));
    assert!(shown(r#"{"contrast": [1, 1], "hue": 0.2}"#).contains("None, None, None, Some((-0.2, 0.2))"));
    for bad in [
        r#"{"hue": 0.6}"#,
        r#"{"brightness": -1}"#,
        r#"{"contrast": [2, 1]}"#,
        r#"{"saturation": [1, 2, 3]}"#,
    ] {
        assert!(make(bad).is_err(), "{bad}");
    }
}
