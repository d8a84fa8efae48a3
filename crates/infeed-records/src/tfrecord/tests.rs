use super::*;
use crate::{Guess, split::in_pieces};
use infeed_core::{Bytes, Value};
use proptest::prelude::*;

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = vec![];
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

fn part(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn example(features: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entries: Vec<u8> = features
        .iter()
        .flat_map(|(name, f)| part(1, &[part(1, name.as_bytes()), part(2, f)].concat()))
        .collect();
    part(1, &entries)
}

fn packed_ints(all: &[i64]) -> Vec<u8> {
    part(3, &part(1, &all.iter().flat_map(|n| varint(*n as u64)).collect::<Vec<_>>()))
}

fn loose_ints(all: &[i64]) -> Vec<u8> {
    part(3, &all.iter().flat_map(|n| [varint(1 << 3), varint(*n as u64)].concat()).collect::<Vec<_>>())
}

fn floats(all: &[f32], packed: bool) -> Vec<u8> {
    let list = if packed {
        part(1, &all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())
    } else {
        all.iter().flat_map(|x| [vec![1 << 3 | 5], x.to_le_bytes().to_vec()].concat()).collect()
    };
    part(2, &list)
}

fn read(record: &[u8], name: &str, kind: &str) -> Result<Value> {
    let (record, mut out) = (Bytes::copy_from_slice(record), Value::Missing);
    let kind = FeatureKind::parse(kind).unwrap();
    features(&record, |found, values| {
        if found == name.as_bytes() {
            out = value(values()?, &kind, &record)?;
        }
        Ok(())
    })?;
    Ok(out)
}

fn tensor(value: Value) -> (Vec<usize>, Vec<u8>) {
    match value {
        Value::Tensor(t) => (t.shape, t.data.to_vec()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn checksums_are_those_of_the_format() {
    // The checksum of the length 3.
    let framed = framed(b"abc");
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(length(&framed), Some(3));
    assert_eq!(record(&framed, true).unwrap(), 12..15);
    assert_eq!(framed.len(), 12 + 3 + 4);
    let mut bad = framed.clone();
    bad[13] ^= 1;
    assert!(record(&bad, true).unwrap_err().to_string().contains("checksum of the record"));
    assert!(record(&bad, false).is_ok());
    bad[8] ^= 1;
    assert!(record(&bad, false).unwrap_err().to_string().contains("checksum of the record's length"));
    assert!(record(&framed[..18], true).is_err());
}

#[test]
fn features_packed_or_not() {
    let bytes = example(&[
        ("image", part(1, &part(1, b"jpeg"))),
        ("label", packed_ints(&[7])),
        ("ids", loose_ints(&[-1, 300])),
        ("x", floats(&[0.5, -2.0, 3.0], true)),
        ("y", floats(&[0.5, -2.0], false)),
        ("none", vec![]),
        ("two", part(1, &[part(1, b"a"), part(1, b"b")].concat())),
    ]);
    assert!(matches!(read(&bytes, "image", "bytes").unwrap(), Value::Bytes(b) if &*b == b"jpeg"));
    assert!(matches!(read(&bytes, "image", "text").unwrap(), Value::Text(t) if t == "jpeg"));
    assert_eq!(tensor(read(&bytes, "label", "int64").unwrap()), (vec![], 7i64.to_ne_bytes().to_vec()));
    assert_eq!(tensor(read(&bytes, "label", "uint8").unwrap()), (vec![], vec![7]));
    let both = [(-1i64).to_ne_bytes(), 300i64.to_ne_bytes()].concat();
    assert_eq!(tensor(read(&bytes, "ids", "int64[]").unwrap()), (vec![2], both));
    assert_eq!(tensor(read(&bytes, "x", "float32[3]").unwrap()).0, [3]);
    assert_eq!(tensor(read(&bytes, "y", "float64[1,?]").unwrap()).0, [1, 2]);
    assert!(matches!(read(&bytes, "none", "int64").unwrap(), Value::Missing));
    for (name, kind) in [
        ("ids", "int64"),
        ("x", "int64[3]"),
        ("x", "float32[4]"),
        ("two", "bytes"),
        ("ids", "uint8[]"),
        ("label", "bytes"),
    ] {
        let error = read(&bytes, name, kind).unwrap_err().to_string();
        assert!(error.contains("expected"), "{error}");
    }
    let mut kinds = vec![];
    features(&bytes, |_, values| {
        kinds.push(guess(&values()?));
        Ok(())
    })
    .unwrap();
    use Guess::{Bytes as B, Int, Ints, Singles, Unknown};
    assert_eq!(kinds, [Some(B), Some(Int), Some(Ints), Some(Singles), Some(Singles), Some(Unknown), None]);
    for end in 0..bytes.len() {
        let _ = features(&bytes[..end], |_, values| values().map(drop));
    }
    for wrong in ["int65", "float32[a]", "float32[?,?]", "bytes[3]", "int64[2"] {
        assert!(FeatureKind::parse(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn index_files_must_fit() {
    assert_eq!(index("0 20\n20 30\n", 50), Some(vec![20, 30]));
    for wrong in ["0 20\n21 29\n", "0 20\n", "0 20\n20 40\n", "0\n", "a b", "0 10\n10 40", "0 50 1"] {
        assert_eq!(index(wrong, 50), None, "{wrong}");
    }
    assert_eq!(index("", 0), Some(vec![]));
}

#[test]
fn cut_and_damaged_files() {
    let data = [framed(b"one"), framed(b"")].concat();
    assert_eq!(in_pieces(Box::new(Records::new(100)), &data, &[]).unwrap().len(), 2);
    let cut = in_pieces(Box::new(Records::new(100)), &data[..25], &[]).unwrap_err().to_string();
    assert!(cut.contains("cut off inside a record: 6 bytes"), "{cut}");
    assert!(in_pieces(Box::new(Records::new(2)), &data, &[]).unwrap_err().to_string().contains("max_row=2"));
    assert!(in_pieces(Box::new(Records::new(100)), b"no records in here", &[]).is_err());
}

proptest! {
    #[test]
    fn records_come_back(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6), cuts in prop::collection::vec(any::<usize>(), 0..4)) {
        let data: Vec<u8> = records.iter().flat_map(|r| framed(r)).collect();
        let rows = in_pieces(Box::new(Records::new(100)), &data, &cuts).unwrap();
        let found: Vec<Vec<u8>> = rows.iter().map(|row| row[record(row, true).unwrap()].to_vec()).collect();
        prop_assert_eq!(found, records);
        fuzz_tfrecord(&data);
    }

    #[test]
    fn numbers_come_back(all in prop::collection::vec(any::<i64>(), 2..9), packed in any::<bool>(), noise in prop::collection::vec(any::<u8>(), 0..60)) {
        let bytes = example(&[("n", if packed { packed_ints(&all) } else { loose_ints(&all) })]);
        let want: Vec<u8> = all.iter().flat_map(|n| n.to_ne_bytes()).collect();
        prop_assert_eq!(tensor(read(&bytes, "n", "int64[]").unwrap()), (vec![all.len()], want));
        fuzz_example(&noise);
        let mut damaged = bytes.clone();
        for (i, b) in noise.iter().enumerate() {
            let at = (i * 7) % damaged.len();
            damaged[at] ^= b;
            fuzz_example(&damaged);
        }
    }
}
