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

#[test]
fn structured_types_have_members() {
    let read = |descr: &str| {
        Layout::read(&second(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (4,)}}")))
    };
    let layout = read("[('x', '<f4'), ('', '|V4'), ('y', '>i8', (2, 3)), (('t', 'n'), '<U5')]").unwrap();
    let number = |dtype, big_endian| Element::Number { dtype, big_endian };
    let member = |name: &str, offset, element, shape: &[usize]| Member {
        name: name.to_owned(),
        offset,
        element,
        shape: shape.to_vec(),
    };
    let text = Element::Text { count: 5, wide: true, big_endian: false };
    let all = [
        member("x", 0, number(Dtype::F32, false), &[]),
        member("y", 8, number(Dtype::I64, true), &[2, 3]),
        member("n", 56, text, &[]),
    ];
    assert_eq!((&layout.members[..], layout.item, layout.data_len()), (&all[..], 76, Some(304)));
    let nested = read("[('p', [('a', '|S3'), ('b', '<u2')]), ('q', '|b1')]").unwrap();
    let names: Vec<(&str, usize)> = nested.members.iter().map(|m| (m.name.as_str(), m.offset)).collect();
    assert_eq!((names, nested.item), (vec![("p.a", 0), ("p.b", 3), ("q", 5)], 6));
    assert_eq!(read("'<U7'").unwrap().item, 28);
    let fails = |descr: &str| read(descr).unwrap_err().what;
    assert!(fails("[('x', '|O')]").contains("field `x`: NumPy array of dtype `|O`: Python objects"));
    assert!(fails("'|O'").contains("Python objects"));
    assert!(fails("[]").contains("no bytes"));
    assert!(fails("[('x', [('y', '<f4')], (2,))]").contains("array of records"));
    assert!(fails("[('x', '<f4', (99999999999, 99999999999))]").contains("above"));
    assert!(fails(&format!("{}'<f4'{}", "[('x', ".repeat(20), ")]".repeat(20))).contains("cannot be read"));
}
