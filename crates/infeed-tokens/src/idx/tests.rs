use super::*;

/// Writes an index number by number, following the format description.
fn golden() -> Vec<u8> {
    let mut out = b"MMIDIDX\0\0".to_vec();
    out.extend(1u64.to_le_bytes());
    out.push(8);
    out.extend(3u64.to_le_bytes());
    out.extend(3u64.to_le_bytes());
    [3i32, 0, 2].iter().for_each(|n| out.extend(n.to_le_bytes()));
    [0i64, 6, 6].iter().for_each(|n| out.extend(n.to_le_bytes()));
    [0i64, 2, 3].iter().for_each(|n| out.extend(n.to_le_bytes()));
    out
}

fn open(bytes: Vec<u8>, bin: u64, drift: Drift) -> Result<Index> {
    Index::from_bytes(bytes, "data/x.idx", bin, drift)
}

fn fails(bytes: Vec<u8>, bin: u64, drift: Drift) -> String {
    open(bytes, bin, drift).unwrap_err().to_string()
}

#[test]
fn golden_bytes_are_read_and_written() {
    let index = open(golden(), 10, Drift::Error).unwrap();
    assert_eq!((index.dtype(), index.sequences(), index.documents(), index.tokens()), (Dtype::U16, 3, 2, 5));
    assert_eq!((0..3).map(|i| (index.size(i), index.byte(i))).collect::<Vec<_>>(), [(3, 0), (0, 6), (2, 6)]);
    assert_eq!((index.document(0), index.document(1)), (0..2, 2..3));
    assert_eq!((index.sequence_of(2), index.sequence_of(3), index.document_after(0)), (0, 2, 1));
    assert!(index.is_straight() && !index.is_legacy() && index.surplus().is_none());
    assert_eq!(index.sizes(), [3, 0, 2]);
    let arrays = Arrays { dtype: Dtype::U16, sizes: &[3, 0, 2], documents: Some(&[0, 2, 3]) };
    assert_eq!(mmid_bytes(arrays).unwrap(), golden());
    // Followed by the modes of a multimodal corpus.
    let modes = [golden(), vec![0, 1, 2]].concat();
    assert_eq!(open(modes, 10, Drift::Error).unwrap().tokens(), 5);
    assert!(mmid_bytes(Arrays { dtype: Dtype::U32, sizes: &[], documents: None }).is_err());
}

#[test]
fn every_type_has_its_size() {
    for (code, dtype) in (1u8..).zip([
        Dtype::U8,
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::F64,
        Dtype::F32,
        Dtype::U16,
    ]) {
        let arrays = Arrays { dtype, sizes: &[2, 1], documents: None };
        for bytes in [mmid_bytes(arrays).unwrap(), legacy_bytes(arrays).unwrap()] {
            assert_eq!(if bytes[0] == b'M' { bytes[17] } else { bytes[16] }, code);
            let index = open(bytes, 3 * dtype.size() as u64, Drift::Error).unwrap();
            assert_eq!(
                (index.dtype(), index.byte(1), index.documents()),
                (dtype, 2 * dtype.size() as u64, 2)
            );
        }
    }
}

#[test]
fn the_older_kind_is_read() {
    let mut out = b"TNTIDX\0\0".to_vec();
    let numbers: [u64; 19] = [1, 4, 4, 2, 2, 3, 0, 1, 2, 0, 3, 4, 3, 1, 0, 1, 2, 0, 0];
    numbers[..17].iter().for_each(|n| out.extend(n.to_le_bytes()));
    let index = open(out.clone(), 16, Drift::Error).unwrap();
    assert!(index.is_legacy());
    assert_eq!((index.dtype(), index.tokens(), index.byte(1), index.size(1)), (Dtype::I32, 4, 12, 1));
    let arrays = Arrays { dtype: Dtype::I32, sizes: &[3, 1], documents: None };
    assert_eq!(legacy_bytes(arrays).unwrap(), out);
    let set = |place: usize, n: u64| {
        let mut out = out.clone();
        out[8 + 8 * place..16 + 8 * place].copy_from_slice(&n.to_le_bytes());
        out
    };
    assert!(fails(set(2, 2), 16, Drift::Error).contains("elements of 2 bytes"));
    assert!(fails(set(7, 3), 16, Drift::Error).contains("one dimension"));
    assert!(fails(set(3, u64::MAX), 16, Drift::Error).contains("cut short"));
    assert!(fails(set(11, 5), 16, Drift::Error).contains("last offset"));
    assert!(fails(set(10, 1 << 62), 16, Drift::Error).contains("longer than its bin"));
}

#[test]
fn damage_is_named_by_entry() {
    let with = |at: usize, bytes: &[u8]| {
        let mut out = golden();
        out[at..at + bytes.len()].copy_from_slice(bytes);
        out
    };
    let error = |bytes| fails(bytes, 10, Drift::Ignore);
    assert!(error(b"PK\x03\x04".to_vec()).contains("does not begin like an index"));
    assert!(error(golden()[..12].to_vec()).contains("ends before its version"));
    assert!(error(golden()[..60].to_vec()).contains("cut short"));
    assert!(error(with(9, &[2])).contains("version 2"));
    assert!(error(with(17, &[9])).contains("element type 9"));
    assert!(error(with(18, &[0xff; 8])).contains("more than any file has"));
    assert!(error(with(18, &[4])).contains("takes"));
    assert!(error(with(34, &(-1i32).to_le_bytes())).contains("sequence 0 has a length of -1"));
    assert!(error(with(62, &7i64.to_le_bytes())).contains("not a multiple of 2"));
    assert!(error(with(62, &(-2i64).to_le_bytes())).contains("at byte -2"));
    assert!(error(with(70, &1i64.to_le_bytes())).contains("not 0"));
    assert!(error(with(78, &4i64.to_le_bytes())).contains("before the one before it"));
    assert!(error(with(86, &2i64.to_le_bytes())).contains("and there are 3"));
    let short = fails(golden(), 8, Drift::Ignore);
    let named = short.contains("sequence 2 has 2 tokens at byte 6")
        && short.contains("`data/x.bin` has only 8 bytes");
    assert!(named && short.contains("damaged at byte 62"), "{short}");
    // Overlapping sequences: more tokens than bytes.
    assert!(fails(with(62, &0i64.to_le_bytes()), 8, Drift::Ignore).contains("overlap"));
    let none = [&golden()[..26], &[0; 8], &golden()[34..70]].concat();
    assert!(error(none).contains("not even a 0"));
}

#[test]
fn drift_is_told_and_repaired() {
    // One token for each of two documents.
    let error = fails(golden(), 14, Drift::Error);
    assert!(error.contains("2 tokens more") && error.contains("drift=\"repair\""), "{error}");
    let index = open(golden(), 14, Drift::Repair).unwrap();
    assert!(index.is_repaired() && index.is_straight());
    assert_eq!((0..3).map(|i| (index.size(i), index.byte(i))).collect::<Vec<_>>(), [(3, 0), (1, 6), (3, 8)]);
    assert_eq!((index.tokens(), index.document_start(1), index.first_token(3)), (7, 4, 7));
    let index = open(golden(), 14, Drift::Ignore).unwrap();
    assert_eq!((index.tokens(), index.surplus().unwrap().bytes), (5, 4));
    let error = fails(golden(), 16, Drift::Error);
    assert!(error.contains("6 bytes more") && error.contains("drift=\"ignore\""), "{error}");
    assert!(fails(golden(), 16, Drift::Repair).contains("cannot be repaired"));
    // Each sequence is a document: no table is needed.
    let each = mmid_bytes(Arrays { dtype: Dtype::U8, sizes: &[2, 0, 1], documents: None }).unwrap();
    let index = open(each, 6, Drift::Repair).unwrap();
    assert_eq!((0..3).map(|i| (index.size(i), index.byte(i))).collect::<Vec<_>>(), [(3, 0), (1, 3), (2, 4)]);
    assert_eq!((index.tokens(), index.sequence_of(3), index.sequence_of(5)), (6, 1, 2));
    // Empty documents have no token of their own.
    let empty = Arrays { dtype: Dtype::U8, sizes: &[2, 1], documents: Some(&[0, 1, 1, 2]) };
    let index = open(mmid_bytes(empty).unwrap(), 5, Drift::Repair).unwrap();
    assert_eq!((index.size(0), index.size(1), index.byte(1)), (3, 2, 3));
}

#[test]
fn gaps_and_other_orders_are_followed() {
    let mut bytes = mmid_bytes(Arrays { dtype: Dtype::U8, sizes: &[2, 3], documents: None }).unwrap();
    bytes[42..50].copy_from_slice(&3i64.to_le_bytes());
    bytes[50..58].copy_from_slice(&0i64.to_le_bytes());
    let index = open(bytes, 5, Drift::Error).unwrap();
    assert!(!index.is_straight());
    assert_eq!((index.byte(0), index.byte(1), index.first_token(1)), (3, 0, 2));
    assert_eq!((index.sequence_of(1), index.sequence_of(2), index.document_start(2)), (0, 1, 5));
}
