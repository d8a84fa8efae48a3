//! Runs that are killed and restarted in other worlds, and wrong ledgers.

use super::{
    simulate::{EPOCH, Life, brute, identity, order, simulate},
    *,
};
use crate::Last;
use infeed_core::{Order, OrderExt};
use proptest::prelude::*;
use std::ops::Range;

fn flat(ranges: &[Range<u64>]) -> Vec<u64> {
    ranges.iter().cloned().flatten().collect()
}

/// For every place, the verdict agrees with brute-force counting.
fn agrees(verdict: &Verdict, ledgers: &[Ledger], order: &dyn Order) {
    let seen = brute(ledgers, order.places());
    let missing: Vec<u64> = (0..verdict.places).filter(|p| seen[*p as usize] == 0).collect();
    let double: Vec<u64> = (0..verdict.places).filter(|p| seen[*p as usize] > 1).collect();
    for (found, want) in [(&verdict.missing, missing), (&verdict.double, double)] {
        assert_eq!(flat(&found.ranges), want);
        assert_eq!(found.count, want.len() as u64);
        let rows: Vec<u64> = want.iter().map(|p| order.rows(EPOCH, *p..p + 1)[0]).collect();
        assert_eq!(found.rows, rows);
    }
    for double in &verdict.doubles {
        assert!(double.places.clone().all(|p| seen[p as usize] as u64 == double.times));
        assert!(double.by.len() >= 2.min(ledgers.len()), "{double:?}");
    }
}

fn last() -> impl Strategy<Value = Last> {
    prop_oneof![Just(Last::Short), Just(Last::Drop), Just(Last::Pad)]
}

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let life = (1u64..17, 0u64..40, 0u64..6).prop_map(|(size, more, steps)| Life {
        size,
        global: size + more,
        steps,
    });
    proptest::collection::vec(life, 1..5)
}

/// An epoch, and the index of a non-empty ledger in it.
fn epochs() -> impl Strategy<Value = (u64, Vec<Life>, Last, bool, prop::sample::Index)> {
    (1u64..400, lives(), last(), any::<bool>(), any::<prop::sample::Index>())
}

/// Picks a non-empty ledger, if there is one.
fn pick(ledgers: &[Ledger], index: prop::sample::Index) -> Option<usize> {
    let some: Vec<usize> = (0..ledgers.len()).filter(|n| !ledgers[*n].segments().is_empty()).collect();
    (!some.is_empty()).then(|| *index.get(&some))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn honest_runs_are_exact((places, lives, last, keep, _) in epochs()) {
        let order = order(places);
        let ledgers = simulate(&order, &lives, last, keep);
        let verdict = verify(&ledgers, EPOCH, &order, Promise::Whole).unwrap();
        let nothing = ledgers.iter().all(|l| l.segments().is_empty());
        prop_assert!(verdict.is_exact() || nothing, "{}", verdict);
        agrees(&verdict, &ledgers, &order);
        if !nothing {
            prop_assert_eq!(verdict.rows + verdict.bad + verdict.filtered + verdict.dropped, places);
        }
        // Merged into one ledger, they give the same result.
        let mut one = Ledger::new(Identity::default());
        for ledger in ledgers {
            one.merge(ledger).unwrap();
        }
        prop_assert_eq!(verify(&[one], EPOCH, &order, Promise::Whole).unwrap().is_exact(), verdict.is_exact());
    }

    #[test]
    fn a_lost_ledger_is_missing((places, lives, last, keep, index) in epochs()) {
        let order = order(places);
        let mut ledgers = simulate(&order, &lives, last, keep);
        let whole = verify(&ledgers, EPOCH, &order, Promise::Whole).unwrap();
        let Some(at) = pick(&ledgers, index) else { return Ok(()) };
        let lost = ledgers.remove(at);
        let verdict = verify(&ledgers, EPOCH, &order, Promise::Whole).unwrap();
        agrees(&verdict, &ledgers, &order);
        // If a whole run at the end is lost, it is unknown how much of the end it would have dropped.
        if verdict.places == whole.places {
            let s = &lost.segments()[0];
            let want: Vec<u64> = (0..s.steps).flat_map(|step| s.cut(places).share(step).places).collect();
            prop_assert_eq!(flat(&verdict.missing.ranges), want);
            prop_assert_eq!(verdict.double.count, 0);
            if s.size > 1 && verdict.missing.count > 0 {
                prop_assert!(verdict.absent.iter().any(|a| a.ranks.contains(&s.rank) && a.size == s.size));
            }
        }
    }

    #[test]
    fn a_ledger_that_counts_twice_is_double((places, lives, last, keep, index) in epochs()) {
        let order = order(places);
        let mut ledgers = simulate(&order, &lives, last, keep);
        let Some(at) = pick(&ledgers, index) else { return Ok(()) };
        let twice = ledgers[at].clone().named("again.json");
        ledgers.push(twice.clone());
        let verdict = verify(&ledgers, EPOCH, &order, Promise::Whole).unwrap();
        agrees(&verdict, &ledgers, &order);
        let s = &twice.segments()[0];
        let want: Vec<u64> = (0..s.steps).flat_map(|step| s.cut(places).share(step).places).collect();
        prop_assert_eq!(flat(&verdict.double.ranges), want);
        prop_assert_eq!(verdict.missing.count, 0);
        let named = |name: &str| verdict.doubles.iter().all(|d| d.by.iter().any(|g| g.ledger == name));
        prop_assert!(named("again.json") && named(ledgers[at].name()));
    }

    #[test]
    fn a_shifted_ledger_is_found((places, lives, last, keep, index) in epochs(), by in 1u64..60, back: bool) {
        let order = order(places);
        let mut ledgers = simulate(&order, &lives, last, keep);
        let Some(at) = pick(&ledgers, index) else { return Ok(()) };
        let s = &mut ledgers[at].segments[0];
        let move_by = |place: u64| if back { place.checked_sub(by) } else { Some(place + by) };
        let (Some(from), Some(to)) = (move_by(s.from), move_by(s.to)) else { return Ok(()) };
        (s.from, s.to) = (from, to);
        match verify(&ledgers, EPOCH, &order, Promise::Whole) {
            Err(_) => prop_assert!(ledgers[at].segments[0].fits(places).is_err()),
            Ok(verdict) => {
                agrees(&verdict, &ledgers, &order);
                let s = &ledgers[at].segments[0];
                let shares = (0..s.steps).map(|step| s.cut(places).share(step).places);
                if shares.clone().any(|places| !places.is_empty()) {
                    prop_assert!(verdict.wrong.iter().any(|w| w.by.ledger == ledgers[at].name()));
                }
            }
        }
    }

    #[test]
    fn a_wrong_row_is_named((places, lives, last, keep, index) in epochs(), other in 0u64..400) {
        let order = order(places);
        let mut ledgers = simulate(&order, &lives, last, true);
        let Some(at) = pick(&ledgers, index) else { return Ok(()) };
        let s = &mut ledgers[at].segments[0];
        let Some(row) = s.given.as_ref().and_then(|g| g.first().copied()) else { return Ok(()) };
        prop_assume!(row != other);
        s.hash = s.hash.minus(RowHash::of(&[row])).plus(RowHash::of(&[other]));
        s.given.as_mut().unwrap()[0] = other;
        if !keep {
            s.given = None;
        }
        let name = ledgers[at].name().to_owned();
        let verdict = verify(&ledgers, EPOCH, &order, Promise::Whole).unwrap();
        prop_assert_eq!((verdict.missing.count, verdict.double.count, verdict.wrong.len()), (0, 0, 1));
        let wrong = &verdict.wrong[0];
        prop_assert_eq!(&wrong.by.ledger, &name);
        if keep {
            prop_assert_eq!((&wrong.given[..], &wrong.lacking[..]), (&[other][..], &[row][..]));
        }
    }

    /// Ledgers come from files: inconsistent numbers are an error, not a panic.
    #[test]
    fn any_numbers_are_survived(numbers in proptest::collection::vec(prop_oneof![0u64..50, any::<u64>()], 8)) {
        let order = order(40);
        let life = Life { size: 2, global: 4, steps: 5 };
        let mut ledgers = simulate(&order, &[life], Last::Short, false);
        let s = &mut ledgers[0].segments[0];
        (s.from, s.to, s.global, s.rank) = (numbers[0], numbers[1], numbers[2], numbers[3]);
        (s.size, s.steps, s.rows, s.left_out.bad) = (numbers[4], numbers[5], numbers[6], numbers[7]);
        if let Ok(verdict) = verify(&ledgers, EPOCH, &order, Promise::Whole) {
            prop_assert!(!verdict.to_string().is_empty());
        }
    }
}

#[test]
fn it_says_so_in_words() {
    let order = order(1000);
    let lives = [Life { size: 4, global: 32, steps: 10 }, Life { size: 2, global: 32, steps: 0 }];
    let plain = |last| {
        let mut ledgers = simulate(&order, &lives, last, false);
        // Undo what the simulation leaves out.
        for s in ledgers.iter_mut().flat_map(|l| &mut l.segments) {
            s.rows += s.left_out.count();
            s.hash = s.hash.plus(s.left_out.hash);
            (s.left_out, s.stand_ins) = (LeftOut::default(), 0);
        }
        ledgers
    };
    let say = |ledgers: &[Ledger]| verify(ledgers, EPOCH, &order, Promise::Whole).unwrap().to_string();
    assert_eq!(
        say(&plain(Last::Short)),
        "epoch 3: 1,000 rows, each exactly once, over 4 then 2 ranks and 2 runs"
    );
    assert!(say(&plain(Last::Drop)).ends_with("; 8 dropped at the end"));
    let mut ledgers = plain(Last::Short);
    ledgers.remove(2);
    let said = say(&ledgers);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        "epoch 3: NOT EXACT: 920 rows were given, 1,000 promised, over 4 then 2 ranks and 2 runs"
    );
    assert!(lines[1].starts_with("  missing: 80 rows at places 16..24, 48..56, "), "{said}");
    assert_eq!(lines[2], "    nothing from rank 2 of 4 in the steps of places 0..320");
    // An epoch in progress is exact up to its current place.
    ledgers.truncate(3);
    ledgers.push(plain(Last::Short).remove(2));
    assert!(verify(&ledgers, EPOCH, &order, Promise::Until(320)).unwrap().is_exact());
    assert!(!verify(&ledgers, EPOCH, &order, Promise::Until(321)).unwrap().is_exact());
}

#[test]
fn ledgers_of_other_recipes_are_refused() {
    let order = order(10);
    let a = Ledger::new(identity()).named("a.json");
    let b = Ledger::new(Identity { data: "3d".into(), ..identity() }).named("b.json");
    let error = verify(&[a.clone(), b.clone()], 0, &order, Promise::Whole).unwrap_err().to_string();
    assert_eq!(error, "a.json and b.json do not belong together: the data differs: `2e` and `3d`");
    assert!(a.clone().merge(b).is_err());
    let newer = a.to_json().replace("\"version\":1", "\"version\":2");
    assert!(Ledger::from_json(&newer).unwrap_err().to_string().contains("version 2"));
    assert!(Ledger::from_json("{}").is_err());
}

#[test]
fn ledgers_stay_small_and_steps_cost_nothing() {
    // A billion rows, a million steps, 512 ranks: only missing stretches are examined step by step.
    let places = 1 << 30;
    let of = |rank| Segment {
        epoch: 0,
        from: 0,
        to: places,
        global: 1024,
        last: Last::Short,
        rank,
        size: 512,
        steps: 1 << 20,
        rows: 0,
        hash: RowHash::default(),
        pads: 0,
        stand_ins: 0,
        left_out: LeftOut::default(),
        given: None,
    };
    let segments: Vec<Segment> = (0..512).map(of).collect();
    assert_eq!(cover::cover(&segments, places).bands.len(), 1);
    let some = cover::cover(segments.iter().filter(|s| s.rank != 100), places);
    assert_eq!(some.bands.len(), 2);
    let (mut holes, mut missing) = (0, 0);
    sweep::sweep(some.bands, places, |found, times| {
        if times == 0 {
            (holes, missing) = (holes + 1, missing + found.end - found.start);
        }
    });
    assert_eq!((holes, missing), (1u64 << 20, 2 << 20));
    let order = order(100_000);
    let ledgers = simulate(&order, &[Life { size: 1, global: 64, steps: 0 }], Last::Short, true);
    let json = ledgers[0].to_json();
    assert_eq!(Ledger::from_json(&json).unwrap().segments(), ledgers[0].segments());
    assert_eq!(ledgers[0].segments().len(), 1);
}
