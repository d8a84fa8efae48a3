//! Resuming is the same as continuing: from every step, at every world size, over random pipelines.

use super::*;
use crate::order::{Last, World};
use proptest::prelude::*;

fn plan(rows: u64, stages: &str) -> Arc<Plan> {
    let recipe = format!(r#"{{"source": {{"paths": ["x"]}}, "stage": [{stages}]}}"#);
    let mut source = Numbers::new(rows);
    // Uneven shards, and an empty one.
    source.shards = if rows > 5 { vec![rows - 5, 0, 4, 1] } else { vec![rows] };
    Arc::new(Plan::new(Recipe::from_json(&recipe).unwrap(), Arc::new(source)).unwrap())
}

fn ranks(plan: &Arc<Plan>, size: u64, change: impl Fn(&mut Options)) -> Vec<Loader> {
    (0..size)
        .map(|rank| {
            let world = World::new(rank, size).unwrap();
            let mut options = Options { world, io_threads: Some(1), ..threads(1) };
            change(&mut options);
            Loader::new(Arc::clone(plan), options).unwrap()
        })
        .collect()
}

/// The global batches from here on: what all ranks receive in one epoch, without the rows that pad.
fn global(loaders: &mut [Loader], most: usize) -> Vec<Vec<u64>> {
    let mut out: Vec<Vec<u64>> = vec![];
    let mut steps = None;
    for loader in loaders {
        let mut run = loader.start().unwrap();
        let mut step = 0;
        while step < most
            && let Next::Batch(batch) = run.next(None).unwrap()
        {
            assert!(!batch.is_empty(), "every rank has something in every step");
            if out.len() == step {
                out.push(vec![]);
            }
            out[step].extend(&batch.rows[..batch.rows.len() - batch.pads]);
            step += 1;
        }
        assert_eq!(*steps.get_or_insert(step), step, "equal numbers of steps");
    }
    out
}

fn stages() -> impl Strategy<Value = String> {
    let order = prop_oneof![
        Just(String::new()),
        (0u64..9).prop_map(|s| format!(r#"{{"op": "shuffle", "seed": {s}}},"#)),
        (0u64..9, 1u64..4).prop_map(|(s, w)| format!(r#"{{"op": "shuffle", "seed": {s}, "window": {w}, "block": 3}},"#)),
        (0u64..9).prop_map(|s| format!(r#"{{"op": "shuffle", "seed": {s}, "buffer": 7, "initial": 3}},"#)),
        (1u64..4).prop_map(|n| format!(r#"{{"op": "shuffle", "seed": 1}}, {{"op": "repeat", "times": {n}}},"#)),
        Just(r#"{"op": "split", "lengths": {"fractions": [0.7, 0.3]}, "index": 0, "seed": 3}, {"op": "shuffle"},"#.to_owned()),
        Just(r#"{"op": "shuffle"}, {"op": "by_length", "by": "n", "window": 12, "group": 4},"#.to_owned()),
        Just(r#"{"op": "fold", "folds": 3, "fold": 1, "held_out": false}, {"op": "shuffle", "seed": 4},"#.to_owned()),
    ];
    order.prop_map(|order| format!(r#"{order} {{"op": "decode", "fields": {{"n": {{"name": "int"}}}}}},"#))
}

fn last() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("short"), Just("drop"), Just("pad")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn resume_is_continue(
        stages in stages(), rows in 48u64..90, last in last(),
        sizes in (1u64..17, 1u64..17), global_size in 16u64..24, at in 0usize..8,
    ) {
        let make = |g: u64| plan(rows, &format!(r#"{stages} {{"op": "batch", "global_size": {g}, "last": "{last}"}}"#));
        let here = make(global_size);
        let whole = global(&mut ranks(&here, 1, |_| {}), usize::MAX);
        let next = {
            let mut one = ranks(&here, 1, |o| o.epoch = 1);
            global(&mut one, usize::MAX)
        };
        let mut before = ranks(&here, sizes.0, |_| {});
        let at = at.min(whole.len());
        let first = global(&mut before, at);
        prop_assert_eq!(&first, &whole[..at], "the world size does not matter");
        let states: Vec<String> = before.iter().map(|l| l.checkpoint().to_json()).collect();
        prop_assert!(states.iter().all(|s| *s == states[0] && s.len() < 500), "{:?}", states);
        let state = Checkpoint::from_json(&states[0]).unwrap();

        // Another world: the rest of the epoch, and the whole next one.
        let mut after = ranks(&here, sizes.1, |_| {});
        after.iter_mut().for_each(|l| l.restore(&state, true).unwrap());
        prop_assert_eq!(global(&mut after, usize::MAX), &whole[at..]);
        prop_assert_eq!(global(&mut after, usize::MAX), next);

        // Another batch size: the same rows in the same order, cut differently.
        let other = make(17);
        let mut cut = ranks(&other, sizes.1.min(4), |_| {});
        cut.iter_mut().for_each(|l| l.restore(&state, true).unwrap());
        let (rest, wanted) = (global(&mut cut, usize::MAX).concat(), whole[at..].concat());
        let common = rest.len().min(wanted.len());
        prop_assert_eq!(&rest[..common], &wanted[..common]);
        if here.last != Last::Drop {
            prop_assert_eq!(rest.len(), wanted.len());
        }
    }
}

const SHUFFLED: &str = r#"{"op": "shuffle", "seed": 5}, {"op": "decode", "fields": {"n": {"name": "int"}}},"#;

#[test]
fn every_step_of_a_small_epoch() {
    let plan = plan(41, &format!(r#"{SHUFFLED} {{"op": "batch", "size": 4}}"#));
    let endless = |options: &mut Options| options.endless = true;
    let straight = global(&mut ranks(&plan, 1, endless), 30);
    for step in 0..22 {
        let mut one = ranks(&plan, 1, endless);
        global(&mut one, step);
        let state = one[0].checkpoint();
        let mut other = ranks(&plan, 1, endless);
        other[0].restore(&state, true).unwrap();
        assert_eq!(global(&mut other, 30 - step), straight[step..], "step {step}");
    }
}

#[test]
fn a_state_means_what_was_received() {
    let plan = plan(41, &format!(r#"{SHUFFLED} {{"op": "batch", "size": 4}}"#));
    let mut loader = ranks(&plan, 1, |_| {}).remove(0);
    let place = |l: &Loader| (l.checkpoint().epoch, l.checkpoint().step, l.checkpoint().place);
    assert_eq!(place(&loader), (0, 0, 0));
    let mut run = loader.start().unwrap();
    assert_eq!(place(&loader), (0, 0, 0), "nothing received yet");
    for step in 1..=11 {
        assert!(matches!(run.next(None).unwrap(), Next::Batch(_)));
        assert_eq!(place(&loader), (0, step, (4 * step).min(41)));
    }
    assert!(matches!(run.next(None).unwrap(), Next::End));
    assert_eq!(place(&loader), (1, 0, 0), "the end was seen");
    // Stopping in mid-epoch: the state is the consumer's position, and the next iteration runs the next epoch.
    let mut run = loader.start().unwrap();
    run.next(None).unwrap();
    drop(run);
    assert_eq!(place(&loader), (1, 1, 4));
    assert_eq!(loader.epoch(), 2);
}

#[test]
fn set_epoch_keeps_the_place_of_a_loaded_state() {
    let plan = plan(41, &format!(r#"{SHUFFLED} {{"op": "batch", "size": 4}}"#));
    let mut one = ranks(&plan, 1, |o| o.epoch = 3);
    let whole = global(&mut ranks(&plan, 1, |o| o.epoch = 3), 99);
    global(&mut one, 5);
    let state = one[0].checkpoint();
    let mut two = ranks(&plan, 1, |_| {});
    two[0].restore(&state, true).unwrap();
    two[0].set_epoch(3);
    assert_eq!(global(&mut two, 99), whole[5..]);
    two[0].set_epoch(3);
    assert_eq!(global(&mut two, 99), whole, "another epoch starts at its beginning");
}

#[test]
fn steps_per_epoch_go_on_through_the_data() {
    let plan = plan(41, &format!(r#"{SHUFFLED} {{"op": "batch", "size": 4}}"#));
    let straight = global(&mut ranks(&plan, 1, |o| o.endless = true), 21);
    let laps = |o: &mut Options| o.steps_per_epoch = Some(7);
    let mut loader = ranks(&plan, 1, laps);
    for lap in 0..3 {
        assert_eq!(loader[0].epoch(), lap);
        assert_eq!(global(&mut loader, 99), straight[lap as usize * 7..][..7]);
    }
    // A state in mid-lap, and a jump to a lap.
    let mut one = ranks(&plan, 1, laps);
    global(&mut one, 99);
    global(&mut one, 3);
    let state = one[0].checkpoint();
    assert_eq!((state.epoch, state.step), (1, 3));
    let mut two = ranks(&plan, 1, laps);
    two[0].restore(&state, true).unwrap();
    assert_eq!(global(&mut two, 99), straight[10..14]);
    assert_eq!(global(&mut two, 99), straight[14..21]);
    two[0].set_epoch(1);
    assert_eq!(global(&mut two, 99), straight[7..14]);
    assert_eq!(two[0].steps(), Some(7));
}

#[test]
fn threads_wait_for_the_next_epoch_only_when_wanted() {
    let plan = plan(41, &format!(r#"{SHUFFLED} {{"op": "batch", "size": 4}}"#));
    for persistent in [true, false] {
        let mut loader = ranks(&plan, 1, |o| o.persistent = persistent);
        let first = global(&mut loader, 99);
        assert_eq!(loader[0].is_warm(), persistent);
        let mut fresh = ranks(&plan, 1, |o| o.epoch = 1);
        assert_eq!(global(&mut loader, 99), global(&mut fresh, 99), "the next epoch is the same either way");
        loader[0].set_epoch(0);
        assert_eq!(global(&mut loader, 99), first, "going back is no problem");
        loader[0].rest();
        assert!(!loader[0].is_warm());
    }
}

#[test]
fn states_that_do_not_fit_say_what_differs() {
    let batch = r#"{"op": "batch", "size": 4}"#;
    let base = plan(41, &format!("{SHUFFLED} {batch}"));
    let mut loader = ranks(&base, 1, |_| {}).remove(0);
    let cases = [
        (plan(42, &format!("{SHUFFLED} {batch}")), "42 rows in 4 shards, and this one has 41"),
        (plan(41, &format!("{} {batch}", SHUFFLED.replace('5', "6"))), "seed 6)`, and this one is"),
        (
            plan(41, &format!(r#"{SHUFFLED} {{"op": "seed", "seed": 9}}, {batch}"#)),
            "transforms was 9, and this one is 5",
        ),
        (plan(41, &format!(r#"{SHUFFLED} {{"op": "slice", "stop": 40}}, {batch}"#)), "its order was"),
        (plan(41, &format!(r#"{{"op": "shuffle", "seed": 5}}, {batch}"#)), "decoders, transforms or filters"),
    ];
    for (other, wanted) in cases {
        let state = Loader::new(other, Options::default()).unwrap().checkpoint();
        let error = loader.restore(&state, true).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let undecoded = plan(41, &format!(r#"{{"op": "shuffle", "seed": 5}}, {batch}"#));
    let state = Loader::new(undecoded, Options::default()).unwrap().checkpoint();
    loader.restore(&state, false).unwrap();
    assert!(Checkpoint::from_json("{}").unwrap_err().to_string().contains("not a state"));
}

#[test]
fn worlds_that_cannot_work_are_refused() {
    let plan = plan(10, r#"{"op": "batch", "size": 4, "drop_last": true}"#);
    let fails = |world: World| {
        let options = Options { world, ..Options::default() };
        Loader::new(Arc::clone(&plan), options).unwrap_err().to_string()
    };
    assert!(fails(World { size: 0, ..World::alone() }).contains("size of 0"));
    assert!(fails(World { rank: 3, size: 3, ..World::alone() }).contains("no rank 3 in a world of size 3"));
    assert!(
        fails(World::new(0, 11).unwrap()).contains("more ranks than rows: there are 10 rows for 11 ranks")
    );
    assert!(fails(World::new(0, 3).unwrap()).contains("drop_last leaves nothing"));
}

#[test]
fn states_of_other_versions_and_places_beyond_the_epoch_are_refused() {
    let plan = plan(10, r#"{"op": "batch", "size": 4}"#);
    let loader = || Loader::new(Arc::clone(&plan), Options::default()).unwrap();
    let restored = |from: &str, to: &str| {
        let text = loader().checkpoint().to_json();
        assert!(text.contains(from), "{text}");
        let state = Checkpoint::from_json(&text.replace(from, to)).unwrap();
        let mut loader = loader();
        loader.restore(&state, true).map(|()| loader.checkpoint().place).map_err(|e| e.to_string())
    };
    assert_eq!(restored(r#""version":1"#, r#""version":1"#), Ok(0));
    assert_eq!(restored(r#""version":1"#, r#""version":0"#), Ok(0), "older states are read");
    assert!(restored(r#""version":1"#, r#""version":2"#).unwrap_err().contains("newer infeed (version 2"));
    assert_eq!(restored(r#""place":0"#, r#""place":8"#), Ok(8));
    assert_eq!(restored(r#""place":0"#, r#""place":10"#), Ok(10), "the end of an epoch");
    assert!(restored(r#""place":0"#, r#""place":11"#).unwrap_err().contains("beyond the 10 places"));
}
