use super::*;
use infeed_core::target::{BoxFormat, BoxRule};
use std::sync::Arc;

fn boxes(stored: &[[f64; 4]]) -> Boxes {
    let rule = BoxRule {
        format: BoxFormat::Xyxy,
        relative: false,
        to: BoxFormat::Xyxy,
        to_relative: false,
        min_size: 1.0,
        min_visible: 0.0,
    };
    let mut boxes = Boxes::new(stored.to_vec(), Arc::new(rule)).unwrap();
    boxes.place((200, 100)).unwrap();
    boxes
}

#[test]
fn crops_keep_what_was_asked_for() {
    let args = serde_json::from_str(r#"{"sampler_options": [0.3]}"#).unwrap();
    let transform = ENTRY.make(&args).unwrap();
    let stored = [[10.0, 10.0, 90.0, 80.0], [120.0, 20.0, 190.0, 90.0]];
    let mut cut = 0;
    for row in 0..1000 {
        let moves = transform.moves((200, 100), Some(&boxes(&stored)), &mut Rng::at(1, 0, row, 0)).unwrap();
        let [Move::Crop { left, top, size }] = moves.list.as_slice() else { continue };
        cut += 1;
        let (l, t) = (*left as f64, *top as f64);
        let crop = [l, t, l + f64::from(size.0), t + f64::from(size.1)];
        assert!(crop[2] <= 200.0 && crop[3] <= 100.0);
        let shape = f64::from(size.0) / f64::from(size.1);
        assert!((0.5..=2.0).contains(&shape), "{size:?}");
        let kept = stored.iter().zip(&moves.gone).filter(|(_, gone)| !**gone);
        let best = kept.map(|(b, _)| overlap(*b, crop)).fold(0.0, f64::max);
        assert!(best >= 0.3, "{crop:?}: {best}");
    }
    assert!(cut > 900, "{cut}");
}

#[test]
fn without_boxes_nothing_is_cut() {
    let transform = ENTRY.make(&serde_json::Map::new()).unwrap();
    for row in 0..50 {
        let moves = transform.moves((200, 100), Some(&boxes(&[])), &mut Rng::at(1, 0, row, 0)).unwrap();
        assert_eq!(moves, Moves::default());
    }
}
