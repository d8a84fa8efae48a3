use super::*;
use infeed_core::{Dim, Dtype, Error, FieldKind, Tensor};
use std::sync::atomic::{AtomicUsize, Ordering};

type Item = Vec<(Arc<str>, Value)>;

fn wrap(make: impl Fn() -> Result<Vec<Result<Item>>> + Send + Sync + 'static) -> Result<Wrapped> {
    Wrapped::new("made", Arc::new(move || Ok(Box::new(make()?.into_iter()) as Items)))
}

fn vector(values: &[f64]) -> Value {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    Value::Tensor(Tensor::new(Dtype::F64, vec![values.len()], bytes.into()).unwrap())
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Tensor(t) => i64::from_ne_bytes(t.data[..8].try_into().unwrap()),
        other => panic!("{}", other.what()),
    }
}

#[test]
fn an_iterator_is_a_stream() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let stream = wrap(move || {
        count.fetch_add(1, Ordering::Relaxed);
        let item = |i: i64| {
            let fixed = vector(&[1.0, 2.0]);
            let ragged = vector(&vec![0.5; 1 + i as usize % 3]);
            let note = if i == 0 { Value::Missing } else { Value::Text("t".to_owned()) };
            Ok(vec![
                ("n".into(), Value::Tensor(Tensor::int(i))),
                ("fixed".into(), fixed),
                ("ragged".into(), ragged),
                ("note".into(), note),
            ])
        };
        Ok((0..40).map(item).collect())
    })
    .unwrap();
    let spec: Vec<String> = stream.spec().fields.iter().map(|(name, s)| format!("{name} {s}")).collect();
    assert_eq!(spec.len(), 4);
    assert!(spec[0].starts_with("n "), "{spec:?}");
    assert_eq!(stream.spec().fields[0].1.shape, []);
    assert_eq!(stream.spec().fields[1].1.shape, [Dim::Fixed(2)]);
    assert_eq!(stream.spec().fields[2].1.shape, [Dim::Any]);
    assert_eq!(stream.spec().fields[3].1.kind, FieldKind::Text);
    assert_eq!(stream.parts(), 1);
    for _ in 0..2 {
        let mut flow = stream.start(&[0]).unwrap();
        assert_eq!(flow.skip(3).unwrap(), 3);
        for row in 3..40 {
            let passing = flow.next(&names(&["none", "n", "n"])).unwrap().unwrap();
            assert_eq!((passing.key, &*passing.shard), (row.to_string(), "made"));
            let fields = &passing.record.unwrap().fields;
            assert!(matches!(fields[0], Value::Missing));
            assert_eq!((number(&fields[1]), number(&fields[2])), (row, row));
        }
        assert!(flow.next(&[]).unwrap().is_none());
    }
    // The items made to learn the fields are the start of the first flow.
    assert_eq!(made.load(Ordering::Relaxed), 2);
    assert!(stream.start(&[]).unwrap().next(&[]).unwrap().is_none());
    assert!(stream.start(&[1]).is_err() && stream.start(&[0, 0]).is_err());
}

#[test]
fn faults_come_up_in_their_place() {
    let stream = wrap(|| {
        let good = |n| Ok(vec![("n".into(), Value::Tensor(Tensor::int(n)))]);
        Ok(vec![good(0), Err(Error::sample("item 1 is bad")), good(2)])
    })
    .unwrap();
    let mut flow = stream.start(&[0]).unwrap();
    assert!(flow.next(&[]).unwrap().is_some());
    assert!(flow.next(&[]).unwrap_err().to_string().contains("item 1 is bad"));
    assert_eq!(flow.next(&[]).unwrap().unwrap().key, "2");
    assert!(flow.next(&[]).unwrap().is_none());
    let none = wrap(|| Err(Error::argument("cannot be made"))).unwrap_err();
    assert!(none.to_string().contains("cannot be made"));
    let first = wrap(|| Ok(vec![Err(Error::sample("bad from the start"))])).unwrap_err();
    assert!(first.to_string().contains("bad from the start"));
    assert!(wrap(|| Ok(vec![])).unwrap().spec().fields.is_empty());
}

#[test]
fn items_that_do_not_fit_together_are_refused() {
    let say = |a: fn() -> Value, b: fn() -> Value| {
        wrap(move || Ok(vec![Ok(vec![("f".into(), a())]), Ok(vec![("f".into(), b())])]))
            .unwrap_err()
            .to_string()
    };
    let error = say(|| Value::Text(String::new()), || Value::Tensor(Tensor::int(1)));
    assert!(error.contains("the field `f` is text in one item and"), "{error}");
    assert!(say(|| vector(&[1.0]), || Value::Tensor(Tensor::float(1.0))).contains("in another"));
    let twice = wrap(|| Ok(vec![Ok(vec![("f".into(), Value::Missing), ("f".into(), Value::Missing)])]));
    assert!(twice.unwrap_err().to_string().contains("twice"));
}

#[test]
fn a_panic_is_an_error() {
    let make = || {
        let items = (0..).map(|i| {
            assert!(i < 20, "no more than twenty");
            Ok(vec![("n".into(), Value::Tensor(Tensor::int(i)))])
        });
        Ok(Box::new(items) as Items)
    };
    let stream = Wrapped::new("made", Arc::new(make)).unwrap();
    let mut flow = stream.start(&[0]).unwrap();
    let (found, end) = keys(&mut *flow);
    assert_eq!(found.len(), 20);
    let error = end.unwrap_err().to_string();
    assert!(error.contains("no more than twenty"), "{error}");
    assert_eq!(flow.next(&[]).unwrap_err().to_string(), error);
}
