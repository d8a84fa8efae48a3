//! Footers made by hand.

use super::*;

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = vec![];
    while n > 127 {
        out.push(n as u8 & 127 | 128);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

/// A footer whose schema has elements with so many columns inside each; none for a number.
fn footer(columns: &[Option<u64>]) -> Vec<u8> {
    // Version 1, then the list of the schema.
    let mut out = vec![0x15, 2, 0x19, 0xfc];
    out.extend(varint(columns.len() as u64));
    for children in columns {
        match children {
            // Repetition, name and number of columns.
            Some(count) => {
                out.extend([&[0x35, 0, 0x18, 1, b'k', 0x15][..], &varint(count << 1), &[0]].concat())
            }
            // Type, repetition and name.
            None => out.extend([0x15, 2, 0x25, 0, 0x18, 1, b'k', 0]),
        }
    }
    // No rows, no row groups.
    out.extend([0x16, 0, 0x19, 0x0c, 0]);
    out
}

fn nested(depth: usize) -> Vec<u8> {
    let mut columns = vec![Some(1); depth + 1];
    columns.push(None);
    footer(&columns)
}

#[test]
fn depth_is_limited() {
    check_schema(&nested(0)).unwrap();
    check_schema(&nested(GROUPS)).unwrap();
    for depth in [GROUPS + 1, 10_000, 1_000_000] {
        let error = check_schema(&nested(depth)).unwrap_err();
        assert!(error.contains("more than 100 levels"), "{error}");
    }
    // Many groups beside each other are no depth.
    let mut wide = vec![Some(1000)];
    (0..1000).for_each(|_| wide.extend([Some(1), None]));
    check_schema(&footer(&wide)).unwrap();
}

#[test]
fn claims_are_checked() {
    let error = check_schema(&footer(&[Some(1 << 30), None])).unwrap_err();
    assert!(error.contains("claims 1073741824 columns"), "{error}");
    let error = check_schema(&[0x19, 0xfc, 255, 255, 255, 255, 7]).unwrap_err();
    assert!(error.contains("elements"), "{error}");
    for len in 0..30 {
        let _ = check_schema(&nested(3)[..len]);
    }
    // Nothing but structs inside each other.
    assert!(check_schema(&[0x1c; 100_000]).is_err());
}

#[test]
fn encryption_is_seen() {
    let plain = footer(&[Some(1), None]);
    assert!(!has_encryption(&plain));
    // Field 8, behind field 4: an empty struct.
    let mut secret = plain.clone();
    secret.pop();
    secret.extend([0x4c, 0, 0]);
    assert!(has_encryption(&secret));
    assert!(!has_encryption(&[0xff; 100]));
}
