//! Parts of the proxy by themselves.

use super::super::{
    Faults, Tail,
    flow::Ambush,
    head::{Framing, Head},
    pace::Pace,
    plan::{Fault, Plan},
    server::elsewhere,
};
use proptest::prelude::*;
use std::time::{Duration, Instant};

#[test]
fn rates_are_met() {
    let mut faults = Faults { tail: Tail { rate: 0.1, ms: 1.0 }, ..Faults::default() };
    (faults.resets, faults.truncated, faults.errors) = (0.01, 0.2, [(503, 0.05)].into());
    let plans: Vec<Plan> = (0..100_000).map(|number| Plan::new(&faults, number)).collect();
    let share = |fault| plans.iter().filter(|plan| plan.fault == fault).count() as f64 / 1e5;
    let near = |found: f64, rate: f64| assert!((found / rate - 1.0).abs() < 0.1, "{found} {rate}");
    near(share(Some(Fault::Reset)), 0.01);
    near(share(Some(Fault::Truncate)), 0.2);
    near(share(Some(Fault::Error(503))), 0.05);
    near(share(None), 0.74);
    near(plans.iter().filter(|plan| plan.slow).count() as f64 / 1e5, 0.1);
    near(plans.iter().map(|plan| plan.place).sum::<f64>() / 1e5, 0.5);
}

proptest! {
    #[test]
    fn heads_survive(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[a-zA-Z :/\r\n.0-9=-]{0,100}") {
        for input in [&bytes[..], text.as_bytes()] {
            if let Ok(head) = Head::parse(input) {
                let again = head.bytes();
                prop_assert_eq!(&Head::parse(&again[..again.len() - 4]).unwrap(), &head);
                let _ = (head.request().is_ok(), head.status().is_ok(), head.range(), head.content_range());
                let _ = (head.for_server().is_ok(), head.for_client(true).is_ok(), head.answer_framing("GET").is_ok());
            }
        }
    }

    #[test]
    fn another_range_is_as_long_and_another(first in 0_u64..1 << 62, length in 1_u64..1 << 61) {
        let range = first..=first + (length - 1);
        let other = elsewhere(&range).unwrap();
        prop_assert_ne!(&other, &range);
        prop_assert_eq!(other.end() - other.start(), range.end() - range.start());
        // Only the range at the beginning of an object may go beyond its end.
        prop_assert!(first == 0 || other.end() < range.end());
    }

    #[test]
    fn any_range_is_taken(first in any::<u64>(), last in any::<u64>()) {
        let _ = elsewhere(&(first.min(last)..=first.max(last)));
    }

    #[test]
    fn faults_lie_within_the_body(length in 1_u64.., place in 0.0_f64..1.0) {
        prop_assert!(Ambush::new(Fault::Reset, Framing::Length(length), place, Duration::ZERO).at < length);
    }

    #[test]
    fn links_are_no_faster_than_their_rate(
        rate in 1e3_f64..1e9,
        sends in prop::collection::vec((0_u64..1 << 20, 0_u64..50_000), 1..100),
    ) {
        let (pace, start) = (Pace::new(rate), Instant::now());
        let (mut now, mut arrival, mut sent) = (start, start, 0);
        for (bytes, micros) in sends {
            now += Duration::from_micros(micros);
            sent += bytes;
            let next = now + pace.send(bytes, now);
            prop_assert!(next >= arrival.min(now), "nothing overtakes");
            arrival = next;
        }
        // It may catch up 20 ms.
        let fastest = sent as f64 / rate - 0.0201;
        prop_assert!((arrival - start).as_secs_f64() >= fastest);
    }
}
