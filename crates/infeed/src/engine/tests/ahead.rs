//! Batches that are taken before they are received, and rows that are given from outside.

use super::*;

fn taken(run: &mut Run) -> Option<Batch> {
    match run.take(None).unwrap() {
        Next::Batch(batch) => Some(batch),
        Next::End => None,
        Next::Waiting => panic!("waited without patience"),
    }
}

fn received(run: &mut Run) {
    run.received(Duration::ZERO, Changes::default()).unwrap();
}

#[test]
fn a_state_lies_behind_what_was_received() {
    let mut whole = loader(Numbers::new(50), RECIPE, threads(2));
    let all = epoch(&mut whole).unwrap();
    for ahead in [1, 3, 7] {
        let mut first = loader(Numbers::new(50), RECIPE, threads(2));
        let mut run = first.start().unwrap();
        let mut seen = vec![];
        for _ in 0..ahead {
            seen.push(numbers(&taken(&mut run).unwrap()));
        }
        received(&mut run);
        let mut second = loader(Numbers::new(50), RECIPE, threads(2));
        second.restore(&first.checkpoint(), true).unwrap();
        assert_eq!(epoch(&mut second).unwrap(), all[1..]);
        assert_eq!(seen, all[..ahead]);
    }
}

#[test]
fn the_epoch_ends_with_the_last_received() {
    let mut first = loader(Numbers::new(20), RECIPE, threads(1));
    let mut run = first.start().unwrap();
    let mut count = 0;
    while taken(&mut run).is_some() {
        count += 1;
    }
    assert_eq!((count, first.checkpoint().step), (3, 0));
    for step in 1..3 {
        received(&mut run);
        assert_eq!((first.checkpoint().epoch, first.checkpoint().step), (0, step));
    }
    received(&mut run);
    assert_eq!((first.checkpoint().epoch, first.checkpoint().step), (1, 0));
    // Nothing is left to receive.
    received(&mut run);
    assert_eq!(first.checkpoint().epoch, 1);
}

#[test]
fn the_ledger_hears_of_later_changes() {
    let mut one = loader(Numbers::new(20), RECIPE, threads(1));
    let mut run = one.start().unwrap();
    let mut left_out = vec![];
    while let Some(batch) = taken(&mut run) {
        let (filtered, bad) = (batch.rows[0], batch.rows[1]);
        left_out.push(bad);
        let bad = vec![(bad, Error::sample("not good"))];
        run.received(Duration::ZERO, Changes { filtered: vec![filtered], bad }).unwrap();
    }
    let verdicts = one.plan().verify(&[one.ledger()], None).unwrap();
    assert!(verdicts.iter().all(|v| v.is_exact()), "{}", verdicts[0]);
    assert_eq!(one.stats().bad_samples, left_out.len() as u64);
    let delivered: u64 = one.ledger().segments().iter().map(|segment| segment.rows).sum();
    assert_eq!(delivered, 20 - 2 * left_out.len() as u64);
}

#[test]
fn a_repeat_that_is_left_out_is_no_row() {
    let recipe = r#"{"source": {"paths": ["x"]}, "stage": [{"op": "batch", "size": 8, "last": "pad"}]}"#;
    let mut one = loader(Numbers::new(20), recipe, threads(1));
    let mut run = one.start().unwrap();
    while let Some(batch) = taken(&mut run) {
        let filtered = if batch.pads > 0 { vec![batch.rows[7], 99] } else { vec![] };
        assert_eq!(batch.pads, if filtered.is_empty() { 0 } else { 4 });
        run.received(Duration::ZERO, Changes { filtered, bad: vec![] }).unwrap();
    }
    let ledger = one.ledger();
    let (rows, pads) =
        ledger.segments().iter().fold((0, 0), |(rows, pads), s| (rows + s.rows, pads + s.pads));
    assert_eq!((rows, pads), (20, 3));
    assert!(one.plan().verify(&[one.ledger()], None).unwrap().iter().all(|v| v.is_exact()));
}

#[test]
fn too_many_bad_samples_are_an_error() {
    let options = Options { error_limit: 1, ..threads(1) };
    let mut one = loader(Numbers::new(20), RECIPE, options);
    let mut run = one.start().unwrap();
    let batch = taken(&mut run).unwrap();
    let bad = batch.rows[..3].iter().map(|row| (*row, Error::sample("not good"))).collect();
    assert!(run.received(Duration::ZERO, Changes { filtered: vec![], bad }).is_err());
}

#[test]
fn rows_can_be_given() {
    let mut one = loader(Numbers::new(50), RECIPE, threads(2));
    let before = one.checkpoint();
    let mut run = one.start_given(3).unwrap();
    assert!(matches!(run.take(None).unwrap(), Next::End));
    let batches = vec![vec![4, 4, 0], vec![49], vec![7, 3, 9, 11]];
    run.give(batches.clone()).unwrap();
    for rows in &batches {
        let batch = taken(&mut run).unwrap();
        assert_eq!((&batch.rows, batch.epoch), (rows, 3));
        assert_eq!(numbers(&batch), rows.iter().map(|r| *r as i64).collect::<Vec<_>>());
    }
    // More can be given after all were taken.
    run.give((0..100).map(|n| vec![n % 50]).collect()).unwrap();
    for n in 0..100 {
        assert_eq!(taken(&mut run).unwrap().rows, [n % 50]);
    }
    assert!(taken(&mut run).is_none());
    let error = run.give(vec![vec![1], vec![50]]).unwrap_err().to_string();
    assert!(error.contains("no row 50"), "{error}");
    assert_eq!(one.checkpoint(), before);
    let mut ordered = one.start().unwrap();
    assert!(ordered.give(vec![vec![1]]).is_err());
}

#[test]
fn a_pause_stops_everybody_and_loses_nothing() {
    let mut whole = loader(Numbers::new(50), RECIPE, threads(2));
    let all = epoch(&mut whole).unwrap();
    let source = Numbers::new(50);
    let plan = Arc::new(Plan::new(Recipe::from_json(RECIPE).unwrap(), Arc::new(source)).unwrap());
    let mut one = Loader::new(plan, Options { prefetch: Some(1), ..threads(2) }).unwrap();
    let mut run = one.start().unwrap();
    let mut seen = vec![];
    loop {
        one.pause(Duration::from_secs(60));
        // What is finished can be taken; nothing new is begun, however long one waits.
        while let Next::Batch(batch) = run.next(Some(Duration::from_millis(1))).unwrap() {
            seen.push(numbers(&batch));
        }
        assert!(seen.len() == all.len() || matches!(run.next(Some(Duration::ZERO)).unwrap(), Next::Waiting));
        one.go_on();
        match run.next(None).unwrap() {
            Next::Batch(batch) => seen.push(numbers(&batch)),
            _ => break,
        }
    }
    assert_eq!(seen, all);
}
