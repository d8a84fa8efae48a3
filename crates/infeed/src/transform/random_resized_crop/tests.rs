use super::*;
use infeed_core::Rng;
use proptest::prelude::*;

fn transform(scale: (f64, f64), ratio: (f64, f64)) -> RandomResizedCrop {
    let size = Sides::of("RandomResizedCrop", &[224]);
    RandomResizedCrop { size, scale, ratio, filter: Filter::Bilinear, antialias: true }
}

proptest! {
    #[test]
    fn inside_the_image(width in 1u32..2000, height in 1u32..2000, row in any::<u64>()) {
        let crop = transform((0.08, 1.0), (0.75, 4.0 / 3.0)).choose(width, height, &mut Rng::at(0, 0, row, 0));
        prop_assert!(crop.width >= 1 && crop.height >= 1);
        prop_assert!(crop.left + crop.width <= width && crop.top + crop.height <= height);
    }
}

#[test]
fn areas_are_spread_evenly() {
    let rrc = transform((0.2, 0.6), (1.0, 1.0));
    let areas: Vec<f64> = (0..4_000)
        .map(|row| {
            let crop = rrc.choose(1000, 1000, &mut Rng::at(9, 0, row, 0));
            f64::from(crop.width) * f64::from(crop.height) / 1e6
        })
        .collect();
    assert!(areas.iter().all(|a| (0.198..0.602).contains(a)));
    let mean = areas.iter().sum::<f64>() / areas.len() as f64;
    assert!((mean - 0.4).abs() < 0.01, "{mean}");
}

#[test]
fn a_strip_falls_back_to_the_middle() {
    // No crop of at least half the area of a 1000x10 strip has a ratio below 4/3.
    let crop = transform((0.5, 1.0), (0.75, 4.0 / 3.0)).choose(1000, 10, &mut Rng::at(0, 0, 0, 0));
    assert_eq!(crop, Crop { left: 493, top: 0, width: 13, height: 10 });
}
