//! Chaos changes when batches come and nothing else.

use super::*;

fn with_chaos(seed: u64, threads: usize) -> Options {
    // Without threads that look beyond the epoch the counts are those of its rows.
    Options { threads: Some(threads), chaos: Some(seed), persistent: false, ..Options::default() }
}

#[test]
fn batches_and_states_are_those_of_a_run_without() {
    let mut calm = loader(Numbers::new(500), RECIPE, threads(2));
    let mut wild = loader(Numbers::new(500), RECIPE, with_chaos(3, 2));
    for _ in 0..2 {
        assert_eq!(epoch(&mut wild).unwrap(), epoch(&mut calm).unwrap());
        assert_eq!(wild.checkpoint(), calm.checkpoint());
    }
    assert_eq!(calm.stats().chaos, None);
    let counts = wild.stats().chaos.unwrap();
    assert!(counts.delays > 0 && counts.faults > 0 && wild.stats().retries > 0, "{counts:?}");
    assert_eq!(wild.stats().bad_samples, 0);
}

#[test]
fn a_seed_gives_the_same_faults_on_any_thread_count() {
    let count = |seed, threads| {
        let mut wild = loader(Numbers::new(500), RECIPE, with_chaos(seed, threads));
        epoch(&mut wild).unwrap();
        wild.stats().chaos.unwrap()
    };
    assert_eq!(count(3, 1), count(3, 4));
    assert_ne!(count(3, 1), count(4, 1));
}

#[test]
fn bad_samples_stay_what_they_are() {
    let bad = || Numbers { bad: [3, 77].into(), ..Numbers::new(100) };
    let skip = Options { on_error: OnError::Skip, ..threads(2) };
    let mut calm = loader(bad(), RECIPE, skip.clone());
    let mut wild = loader(bad(), RECIPE, Options { chaos: Some(1), ..skip });
    assert_eq!(epoch(&mut wild).unwrap(), epoch(&mut calm).unwrap());
    assert_eq!((wild.stats().bad_samples, calm.stats().bad_samples), (2, 2));
}
