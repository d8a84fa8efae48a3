use super::*;
use proptest::prelude::*;

/// The first bytes of `np.save` of `np.arange(3, dtype=np.uint16)`, from NumPy 2.4.
fn saved() -> Vec<u8> {
    let text = "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }";
    [b"\x93NUMPY\x01\x00v\x00", text.as_bytes(), &[b' '; 60], b"\n"].concat()
}

/// A header of version 2 with this dictionary.
fn second(dict: &str) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x02\x00".to_vec();
    out.extend((dict.len() as u32).to_le_bytes());
    out.extend(dict.bytes());
    out
}

fn swapped(from: &str, to: &str) -> Vec<u8> {
    let saved = saved();
    let text = String::from_utf8_lossy(&saved[10..]).replace(from, to);
    [&saved[..10], text.as_bytes()].concat()
}

#[test]
fn headers_are_those_of_numpy() {
    assert_eq!(Header::write(Dtype::U16, &[3]), saved());
    let header = Header::read(&saved()).unwrap();
    let same = Header { dtype: Dtype::U16, big_endian: false, fortran: false, shape: vec![3], data_at: 128 };
    assert_eq!((header.data_len(), header), (Some(6), same));
    for dtype in Dtype::ALL {
        for shape in [&[][..], &[0], &[5, 2], &[64, 64, 64]] {
            let header = Header::read(&Header::write(dtype, shape)).unwrap();
            assert_eq!((header.dtype, &header.shape[..]), (dtype, shape));
        }
    }
}

#[test]
fn orders_and_versions() {
    let two = second("{\"descr\": \"|u1\", 'fortran_order': True, 'shape': (2L, 1L)}");
    let header = Header::read(&two).unwrap();
    assert_eq!((header.dtype, header.shape, header.fortran), (Dtype::U8, vec![2, 1], true));
    let big = Header::read(&swapped("<u2", ">u2")).unwrap();
    assert!(big.big_endian && big.is_swapped() != cfg!(target_endian = "big"));
    // A single byte has no byte order.
    assert!(!Header::read(&swapped("<u2", ">u1")).unwrap().big_endian);
}

#[test]
fn faults_say_where() {
    let fails = |bytes: &[u8]| {
        let fault = Header::read(bytes).unwrap_err();
        (fault.at, fault.what)
    };
    assert_eq!(fails(&saved()[..60]).0, 60);
    assert!(fails(&saved()[..60]).1.contains("truncated in its header"));
    assert_eq!(fails(b"\x93NUMPY\x04\x00"), (6, "NumPy array of the unknown version 4".to_owned()));
    assert!(fails(b"NUMPY").1.contains("`NUMPY`"));
    assert!(fails(&swapped("(3,)", "(-3)")).1.contains("cannot be read"));
    assert!(fails(&swapped("'<u2'", "[('a', '<f4')]")).1.contains("structured dtype"));
    assert!(fails(&swapped("'<u2'", "12345")).1.contains("cannot be read"));
    let huge =
        Header::read(&second("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 999999999)}"));
    assert_eq!(huge.unwrap().data_len(), None);
}

#[test]
fn shapes_beyond_all_memory_are_refused() {
    let len = |shape: &str| {
        let dict = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}");
        Header::read(&second(&dict)).map(|header| header.data_len())
    };
    assert_eq!(len("(0, 5)"), Ok(Some(0)));
    assert_eq!(len("(1099511627776, 0)"), Ok(Some(0)));
    // A zero somewhere does not make the other sides harmless.
    assert_eq!(len("(0, 4294967296, 4294967296)"), Ok(None));
    assert_eq!(len("(9223372036854775807, 0)"), Ok(None));
    assert_eq!(len("(1152921504606846976,)"), Ok(None));
    assert_eq!(len(&format!("({})", "1, ".repeat(32))), Ok(Some(8)));
    let many = len(&format!("({})", "1, ".repeat(33))).unwrap_err().what;
    assert!(many.contains("33 dimensions"), "{many}");
}

#[test]
fn arrays_are_described() {
    let said = |dtype, shape: &[usize]| describe(&Header::write(dtype, shape)).unwrap();
    assert_eq!(said(Dtype::F32, &[64, 64, 64]), "a NumPy array of float32 64x64x64");
    assert_eq!(said(Dtype::U16, &[100]), "a NumPy array of uint16 100");
    assert_eq!(said(Dtype::Bf16, &[]), "a NumPy array of a single bfloat16");
    assert_eq!(said(Dtype::Bool, &[2, 0]), "a NumPy array of bool 2x0");
    assert_eq!(describe(b"\x93NUMPY"), None);
}

proptest! {
    /// Valid headers with bytes changed, cut and added.
    #[test]
    fn damage_does_no_harm(
        dtype in prop::sample::select(&Dtype::ALL[..]),
        shape in prop::collection::vec(0usize..1000, 0..5),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut data = Header::write(dtype, &shape);
        for (at, byte) in changes {
            let at = at.index(data.len());
            data[at] = byte;
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len()));
        }
        fuzz_npy(&data);
    }

    #[test]
    fn nonsense_does_no_harm(data in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_npy(&data);
        fuzz_npy(&[&b"\x93NUMPY\x01\x00"[..], &data].concat());
    }
}
