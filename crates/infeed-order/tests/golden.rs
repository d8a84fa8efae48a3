//! Pins the rows that users get: the same seed gives the same order in every version.
//!
//! `INFEED_GOLDEN=write cargo test -p infeed-order --test golden` rewrites the file after an intended change.
#![allow(clippy::unwrap_used)]

use infeed_core::{Order, OrderExt};
use infeed_order::{
    Below, Blend, BlendLength, Concat, Fold, Global, Interleave, Lengths, Pick, Repeat, Sequential, Slice,
    Split, Stop, fraction,
};
use std::{fmt::Write, path::Path, sync::Arc};

const HEAD: &str = "\
# Rows of orders, one case per line: name, the first 16 rows, and FNV-1a (64 bits) over the whole epoch's rows as
# little-endian u64, or - where the epoch is too long to go through.
# A change here is breaking: the same seed would give users other rows. It belongs into CHANGELOG.md.
";

/// Longer epochs are not hashed.
const HASHED: u64 = 1 << 24;

fn line(name: &str, order: &dyn Order, epoch: u64) -> String {
    let first: Vec<String> = order.rows(epoch, 0..16).iter().map(u64::to_string).collect();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut text = format!("{name} epoch={epoch} places={}: {} ", order.places(), first.join(" "));
    if order.places() > HASHED {
        text.push('-');
        return text;
    }
    for start in (0..order.places()).step_by(1000) {
        for byte in order.rows(epoch, start..start + 1000).iter().flat_map(|row| row.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    write!(text, "{hash:016x}").unwrap();
    text
}

fn rows(n: u64) -> Below {
    Arc::new(Sequential::of(n))
}

fn shuffled(n: u64, seed: u64) -> Below {
    Arc::new(Global::new(rows(n), seed))
}

/// Three shuffled parts whose rows identify the part.
fn parts() -> Vec<Below> {
    let part = |first, n| -> Below { Arc::new(Global::new(Arc::new(Sequential::new(first, [n])), 5)) };
    vec![part(0, 700), part(10_000, 300), part(20_000, 501)]
}

fn golden() -> String {
    let mut lines = vec![];
    for n in [10, 1000, 65_536, 65_537, 1_000_000, 1_000_000_000_000] {
        for (seed, epoch) in [(0, 0), (17, 0), (17, 1), (u64::MAX, 1_000_000)] {
            lines.push(line(&format!("global seed={seed}"), &*shuffled(n, seed), epoch));
        }
    }
    let mut add = |name: &str, order: &dyn Order| {
        for epoch in [0, 3] {
            lines.push(line(name, order, epoch));
        }
    };
    add("concat", &Concat::new(parts()).unwrap());
    add("slice 7:900:3 of global seed=2", &Slice::new(shuffled(1000, 2), 7, 900, 3).unwrap());
    add("slice -2::-3", &Slice::python(rows(1000), Some(-2), None, Some(-3)).unwrap());
    add("fraction 0.1 of global seed=2", &fraction(shuffled(1000, 2), 0.1).unwrap());
    add("pick of global seed=2", &Pick::new(shuffled(1000, 2), vec![999, 0, 5, 5, 42]).unwrap());
    for n in [1000, 100_000] {
        for index in 0..3 {
            let lengths = Lengths::Fractions(vec![0.7, 0.2, 0.1]);
            add(
                &format!("split 0.7,0.2,0.1 part={index} seed=4"),
                &Split::new(rows(n), &lengths, index, 4).unwrap(),
            );
        }
    }
    let counts = Lengths::Counts(vec![10, 20]);
    add("split 10,20 part=1 seed=4", &Split::new(rows(1000), &counts, 1, 4).unwrap());
    for held_out in [true, false] {
        let name = |seed: &str| format!("fold 1 of 3 held_out={held_out} seed={seed}");
        add(&name("none"), &Fold::new(rows(1000), 3, 1, held_out, None).unwrap());
        add(&name("4"), &Fold::new(rows(1000), 3, 1, held_out, Some(4)).unwrap());
    }
    add("repeat 3 of global seed=2", &Repeat::new(shuffled(100, 2), 3).unwrap());
    for (name, stop) in [("first", Stop::First), ("all", Stop::All)] {
        add(&format!("interleave run=1 stop={name}"), &Interleave::new(parts(), 1, stop).unwrap());
        add(&format!("interleave run=4 stop={name}"), &Interleave::new(parts(), 4, stop).unwrap());
    }
    let lengths =
        [("first", BlendLength::First), ("all", BlendLength::All), ("5000", BlendLength::Exactly(5000))];
    for (name, length) in lengths {
        let blend = |weights| Blend::new(parts(), weights, length).unwrap();
        add(&format!("blend 0.5371,0.2914,0.1715 length={name}"), &blend(&[0.5371, 0.2914, 0.1715]));
        add(&format!("blend 1,1,1 length={name}"), &blend(&[1.0, 1.0, 1.0]));
    }
    let nine = (0..9).map(|part| rows(100 + part)).collect();
    let weights: Vec<f64> = (0..9).map(|part| 1.0 / f64::from(part + 3)).collect();
    add(
        "blend 1/3,1/4,...,1/11 length=10^6",
        &Blend::new(nine, &weights, BlendLength::Exactly(1_000_000)).unwrap(),
    );
    format!("{HEAD}{}\n", lines.join("\n"))
}

#[test]
fn orders_are_as_they_were() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/order.txt");
    let now = golden();
    if std::env::var("INFEED_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, &now).unwrap();
    }
    let then = std::fs::read_to_string(&path).unwrap();
    for (now, then) in now.lines().zip(then.lines()) {
        assert_eq!(now, then, "a changed order is breaking; see the head of golden/order.txt");
    }
    assert_eq!(now.lines().count(), then.lines().count(), "cases came or went");
}
