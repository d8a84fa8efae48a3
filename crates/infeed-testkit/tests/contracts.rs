//! Every entry of the registry holds to the contract of its table. One test for each table: they run side by side.

use infeed_testkit::suites;

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn tables() {
    none(&suites::tables());
}

#[test]
fn stores() {
    none(&suites::stores());
}

#[test]
fn codecs() {
    none(&suites::codecs());
}

#[test]
fn decoders() {
    none(&suites::decoders());
}

#[test]
fn transforms() {
    none(&suites::transforms());
}

#[test]
fn batch_transforms() {
    none(&suites::batch_transforms());
}
