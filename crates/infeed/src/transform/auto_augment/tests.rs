use super::*;
use crate::transform::{golden::check_ops, policy::Op};

/// The order of torchvision's table, which has no identity.
fn ops() -> Vec<Op> {
    Op::COMMON[1..].iter().copied().chain([Op::Invert]).collect()
}

#[test]
fn every_operation_and_magnitude_as_pillow() {
    check_ops(include_bytes!("golden/ops.bin"), &ops(), Space::USUAL, BINS);
}

#[test]
fn the_lists_are_torchvisions() {
    let mut text = String::new();
    for (name, pairs) in [("imagenet", IMAGENET), ("cifar10", CIFAR10), ("svhn", SVHN)] {
        text += &format!("{name}\n");
        for [(a, p, m), (b, q, n)] in pairs {
            text += &format!("{a:?} {p:?} {m} {b:?} {q:?} {n}\n");
        }
    }
    assert_eq!(text, include_str!("golden/policies.txt"));
}

#[test]
fn unknown_policies_are_refused() {
    assert!(ENTRY.make(&serde_json::from_str(r#"{"policy": "mnist"}"#).unwrap()).is_err());
}
