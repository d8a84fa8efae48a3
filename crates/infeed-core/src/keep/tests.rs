use super::*;
use crate::{
    ImageCodec,
    target::{BoxFormat, BoxRule, Move, Moves, PointRule},
};
use proptest::prelude::*;
use std::sync::Arc;

fn none(_: &[u8]) -> Result<&'static dyn ImageCodec> {
    Err(damaged())
}

fn values() -> Vec<Value> {
    let rule = BoxRule {
        format: BoxFormat::Cxcywh,
        relative: true,
        to: BoxFormat::Xywh,
        to_relative: false,
        min_size: 1.5,
        min_visible: 0.1,
    };
    let mut boxes = Boxes::new(vec![[0.5, 0.5, 0.2, 0.2], [0.1, 0.1, 0.05, 0.05]], Arc::new(rule)).unwrap();
    boxes.place((100, 80)).unwrap();
    let crop = Move::Crop { left: 30, top: 20, size: (50, 50) };
    boxes.follow(&Moves { list: vec![crop], ..Moves::default() });
    let rule = PointRule { relative: false, to_relative: true, pairs: vec![(0, 1)] };
    let points = Points::new(vec![1.0, 2.0, 3.0, 4.0], vec![2, 2], Arc::new(rule)).unwrap();
    let image = Image::raw(2, 2, 3, (0..12).collect()).unwrap();
    vec![
        Value::Missing,
        Value::Bytes(Bytes::from_static(b"abc")),
        Value::Bytes(Bytes::new()),
        Value::Text("Grüße".to_owned()),
        Value::Json("{\"a\": [1, 2.5e-300]}".to_owned()),
        Value::Tensor(Tensor::new(Dtype::F16, vec![2, 3], vec![7; 12].into()).unwrap()),
        Value::Tensor(Tensor::int(-5)),
        Value::Image(Box::new(image.clone())),
        Value::Masks(Box::new(Masks { size: (2, 2), images: vec![image] })),
        Value::Boxes(Box::new(boxes)),
        Value::Points(Box::new(points)),
    ]
}

fn written(values: &[Value]) -> Vec<u8> {
    let mut out = Writer::default();
    values.iter().for_each(|value| out.value(value, &mut Scratch::new()).unwrap());
    out.finish().unwrap()
}

#[test]
fn values_come_back_as_they_were() {
    let bytes = written(&values());
    let mut from = Reader::new(bytes.clone().into());
    let back: Vec<Value> = values().iter().map(|_| from.value(none).unwrap()).collect();
    assert!(from.is_empty());
    // Images come back in memory that is lent, which nothing shows but this text.
    assert_eq!(format!("{:?}", values()), format!("{back:?}"));
    assert_eq!(written(&back), bytes);
}

proptest! {
    #[test]
    fn damage_is_no_crash(at in 0.0f64..1.0, byte in any::<u8>(), cut in 0.0f64..1.0) {
        let mut bytes = written(&values());
        let (at, cut) = ((at * bytes.len() as f64) as usize, (cut * bytes.len() as f64) as usize);
        bytes[at] = byte;
        for len in [bytes.len(), cut] {
            let mut from = Reader::new(Bytes::copy_from_slice(&bytes[..len]));
            while !from.is_empty() && from.value(none).is_ok() {}
        }
    }
}
