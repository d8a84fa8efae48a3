use super::*;
use crate::transform::golden::check;

#[test]
fn as_pillow() {
    check(include_bytes!("golden/pixels.bin"), 0, |image, case, context| {
        let transform = RandomPerspective {
            distortion: 0.5,
            p: 1.0,
            sampling: if case.at(8) == 1.0 { Sampling::Bilinear } else { Sampling::Nearest },
            fill: [case.at(9) as u8; 4],
        };
        let to = std::array::from_fn(|i| (case.at(2 * i), case.at(2 * i + 1)));
        transform.warp(image, to, context)
    });
}

#[test]
fn corners_stay_in_their_quarter() {
    let transform = RandomPerspective { distortion: 0.5, p: 1.0, sampling: Sampling::Nearest, fill: [0; 4] };
    let drawn: Vec<Corners> = (0..500).map(|r| transform.choose(41, 20, &mut Rng::at(0, 0, r, 0))).collect();
    // Half of 41 // 2 and of 20 // 2, and zero.
    let reach = |of: fn(&Corners) -> f64| {
        let values = drawn.iter().map(of);
        (values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max))
    };
    assert_eq!(reach(|c| c[0].0), (0.0, 10.0));
    assert_eq!(reach(|c| c[0].1), (0.0, 5.0));
    assert_eq!(reach(|c| c[2].0), (30.0, 40.0));
    assert_eq!(reach(|c| c[2].1), (14.0, 19.0));
}
