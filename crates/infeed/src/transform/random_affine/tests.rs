use super::*;
use crate::transform::golden::check;

#[test]
fn as_pillow() {
    check(include_bytes!("golden/pixels.bin"), 0, |image, case, context| {
        let transform = RandomAffine {
            degrees: (0.0, 0.0),
            translate: None,
            scale: None,
            shear: vec![],
            sampling: if case.at(8) == 1.0 { Sampling::Bilinear } else { Sampling::Nearest },
            fill: [case.at(9) as u8; 4],
            center: case.pair(6),
        };
        let choice = Choice {
            angle: case.at(0),
            translate: (case.at(1), case.at(2)),
            scale: case.at(3),
            shear: (case.at(4), case.at(5)),
        };
        transform.warp(image, &choice, context)
    });
}

#[test]
fn choices_stay_in_range() {
    let transform = RandomAffine {
        degrees: (-10.0, 20.0),
        translate: Some((0.1, 0.5)),
        scale: Some((0.5, 2.0)),
        shear: vec![-1.0, 1.0, 5.0, 6.0],
        sampling: Sampling::Nearest,
        fill: [0; 4],
        center: None,
    };
    let drawn: Vec<Choice> = (0..500).map(|r| transform.choose(100, 40, &mut Rng::at(0, 0, r, 0))).collect();
    for c in &drawn {
        assert!((-10.0..20.0).contains(&c.angle) && (0.5..2.0).contains(&c.scale));
        assert!(c.translate.0.abs() <= 10.0 && c.translate.1.abs() <= 20.0);
        assert!(c.translate.0.fract() == 0.0 && c.translate.1.fract() == 0.0);
        assert!((-1.0..1.0).contains(&c.shear.0) && (5.0..6.0).contains(&c.shear.1));
    }
    assert!(drawn.iter().any(|c| c.translate.0 == 10.0) && drawn.iter().any(|c| c.translate.1 < -18.0));
}
