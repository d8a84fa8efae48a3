//! What must hold in every schedule. A schedule in which no thread can run fails the test: a wake-up is missing.

use crate::{board::Rules, toy::Engine};
use shuttle::{
    rand::{Rng, thread_rng},
    thread::{self, JoinHandle},
};
use std::{sync::atomic::Ordering::SeqCst, time::Duration};

/// Number of schedules: some choose at random at every step, some hold single threads back for long.
const RANDOM: usize = 1500;
const BIASED: usize = 800;
/// How often a biased schedule lets another thread overtake.
const OVERTAKES: usize = 3;

fn check(scenario: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(scenario.clone(), RANDOM);
    shuttle::check_pct(scenario, BIASED, OVERTAKES);
}

/// Takes every batch, in order, and stops the threads.
fn take_all(rules: Rules, readers: usize, workers: usize) {
    let limit = rules.limit;
    let (engine, threads) = Engine::start(rules, readers, workers);
    for number in 0..limit {
        assert_eq!(engine.take(), Some(number));
    }
    end(&engine, threads);
}

fn end(engine: &Engine, threads: Vec<JoinHandle<()>>) {
    engine.sleep.stop();
    threads.into_iter().for_each(|thread| assert!(thread.join().is_ok()));
}

#[test]
fn every_batch_arrives() {
    check(|| take_all(Rules::default(), 1, 2));
}

#[test]
fn every_batch_arrives_when_workers_read_alone() {
    check(|| take_all(Rules { slow: Some(false), ..Rules::default() }, 1, 2));
}

#[test]
fn every_batch_arrives_when_readers_read_alone() {
    let rules = Rules { workers_read: false, slow: Some(true), ..Rules::default() };
    check(move || take_all(rules.clone(), 2, 1));
}

#[test]
fn every_batch_of_a_stream_arrives() {
    let rules = Rules { stream: true, ..Rules::default() };
    check(move || take_all(rules.clone(), 1, 2));
}

#[test]
fn ends_of_a_stream_arrive_though_nobody_works_on_them() {
    let rules = Rules { stream: true, pieces: 0, ..Rules::default() };
    check(move || take_all(rules.clone(), 1, 1));
}

/// A worker that finds a piece wakes the next one while there are pieces: one event wakes both.
#[test]
fn two_workers_share_a_batch() {
    check(|| {
        let rules = Rules { limit: 0, slow: Some(false), ..Rules::default() };
        let (engine, threads) = Engine::start(Rules { work_meets: Some([(0, 0), (0, 1)]), ..rules }, 1, 2);
        engine.give(1);
        assert_eq!(engine.take(), Some(0));
        end(&engine, threads);
    });
}

/// An I/O thread that plans a batch wakes another one to share its pieces.
#[test]
fn two_readers_share_a_batch() {
    let rules = Rules { limit: 3, workers_read: false, slow: Some(true), ..Rules::default() };
    let rules = Rules { prefetch: 1, ahead: 0, reads_meet: Some([(2, 0), (2, 1)]), ..rules };
    check(move || take_all(rules.clone(), 2, 1));
}

/// A worker that finishes a piece makes room for another to be read, before its batch is done.
#[test]
fn reading_goes_on_while_a_batch_is_finished() {
    let rules = Rules { limit: 2, workers_read: false, slow: Some(true), ..Rules::default() };
    let rules = Rules { work_needs_read: Some(((0, 1), (1, 0))), ..rules };
    check(move || take_all(rules.clone(), 1, 1));
}

/// A batch that is done makes room for another to be read, before the consumer takes it.
#[test]
fn reading_goes_on_while_a_batch_waits_for_the_consumer() {
    check(|| {
        let rules = Rules { limit: 2, pieces: 1, ahead: 1, slow: Some(true), ..Rules::default() };
        let (engine, threads) = Engine::start(Rules { workers_read: false, ..rules }, 1, 1);
        engine.reads.wait_for((1, 0));
        assert_eq!((engine.take(), engine.take()), (Some(0), Some(1)));
        end(&engine, threads);
    });
}

#[test]
fn batches_that_are_given_arrive() {
    for workers_read in [true, false] {
        check(move || {
            let rules = Rules { limit: 0, workers_read, slow: Some(!workers_read), ..Rules::default() };
            let (engine, threads) = Engine::start(rules, 1, 1);
            for number in 0..3 {
                engine.give(1);
                assert_eq!(engine.take(), Some(number));
            }
            end(&engine, threads);
        });
    }
}

/// A batch that is given while the only worker is busy is planned and read by an I/O thread.
#[test]
fn batches_that_are_given_late_are_read_at_once() {
    check(|| {
        let rules = Rules { limit: 0, pieces: 1, workers_read: false, slow: Some(true), ..Rules::default() };
        let (engine, threads) =
            Engine::start(Rules { work_needs_read: Some(((0, 0), (1, 0))), ..rules }, 1, 1);
        engine.give(1);
        for _ in 0..thread_rng().gen_range(0..60) {
            thread::yield_now();
        }
        engine.give(1);
        assert_eq!((engine.take(), engine.take()), (Some(0), Some(1)));
        end(&engine, threads);
    });
}

#[test]
fn nobody_works_in_a_pause_and_everybody_goes_on_after_it() {
    check(|| fork_meanwhile(Rules { limit: 3, ..Rules::default() }));
    check(|| fork_meanwhile(Rules { limit: 3, workers_read: false, slow: Some(true), ..Rules::default() }));
}

fn fork_meanwhile(rules: Rules) {
    let (engine, threads) = Engine::start(rules, 1, 2);
    let forks = {
        let engine = engine.clone();
        thread::spawn(move || {
            for _ in 0..2 {
                engine.sleep.pause(Duration::MAX);
                for _ in 0..3 {
                    assert_eq!(engine.at_work.load(SeqCst), 0, "at work in a pause");
                    thread::yield_now();
                }
                engine.sleep.go_on();
            }
        })
    };
    for number in 0..3 {
        assert_eq!(engine.take(), Some(number));
    }
    assert!(forks.join().is_ok());
    end(&engine, threads);
}

#[test]
fn everybody_leaves_when_it_stops() {
    check(|| {
        let (engine, threads) = Engine::start(Rules::default(), 1, 2);
        let consumer = {
            let engine = engine.clone();
            // Until the engine is stopped, while it works or waits.
            thread::spawn(move || while engine.take().is_some() {})
        };
        thread::yield_now();
        engine.sleep.stop();
        consumer.join().unwrap();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_lost_thread_is_told_to_whoever_waits() {
    check(|| {
        let (engine, threads) = Engine::start(Rules { limit: 0, ..Rules::default() }, 1, 1);
        let lost = {
            let engine = engine.clone();
            thread::spawn(move || engine.lose_thread())
        };
        assert_eq!(engine.take(), Some(0));
        lost.join().unwrap();
        end(&engine, threads);
    });
}
