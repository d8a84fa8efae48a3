//! `.npy` files, written here as NumPy writes them.

use super::super::tests::{decode, decoder};
use super::*;

/// A file of version 1 with this dictionary.
fn npy(dict: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((dict.len() as u16).to_le_bytes());
    out.extend(dict.as_bytes());
    out.extend(data);
    out
}

fn plain(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    npy(&format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n"), data)
}

fn tensor(bytes: &[u8]) -> Result<Tensor, String> {
    match decode("npy", "{}", bytes)? {
        Value::Tensor(tensor) => Ok(tensor),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_element_type() {
    for (descr, dtype) in [
        ("|b1", Dtype::Bool),
        ("|u1", Dtype::U8),
        ("|i1", Dtype::I8),
        ("<u2", Dtype::U16),
        ("<i2", Dtype::I16),
        ("<u4", Dtype::U32),
        ("<i4", Dtype::I32),
        ("<u8", Dtype::U64),
        ("<i8", Dtype::I64),
        ("<f2", Dtype::F16),
        ("<V2", Dtype::Bf16),
        ("<f4", Dtype::F32),
        ("<f8", Dtype::F64),
    ] {
        let data: Vec<u8> = (0..3 * dtype.size() as u8).collect();
        let found = tensor(&plain(descr, false, "(3,)", &data)).unwrap();
        assert_eq!((found.dtype, found.shape, &found.data[..]), (dtype, vec![3], &data[..]), "{descr}");
    }
}

#[test]
fn scalars_and_nothing() {
    let found = tensor(&plain("<i2", false, "()", &[1, 2])).unwrap();
    assert_eq!((found.shape.len(), &found.data[..]), (0, &[1, 2][..]));
    let found = tensor(&plain("<f8", true, "(3, 0, 5)", &[])).unwrap();
    assert_eq!((found.shape, found.data.len()), (vec![3, 0, 5], 0));
}

#[test]
fn every_version() {
    let dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}";
    for version in [2, 3] {
        let mut file = b"\x93NUMPY".to_vec();
        file.extend([version, 0]);
        file.extend((dict.len() as u32).to_le_bytes());
        file.extend(dict.as_bytes());
        file.extend([5, 6]);
        assert_eq!(&tensor(&file).unwrap().data[..], [5, 6]);
    }
    let mut file = npy(dict, &[5, 6]);
    file[6] = 9;
    assert!(tensor(&file).unwrap_err().contains("unknown version 9"));
}

#[test]
fn other_orders_are_brought_into_ours() {
    let found = tensor(&plain(">u2", false, "(2,)", &[0, 1, 2, 3])).unwrap();
    assert_eq!(&found.data[..], [1u16.to_ne_bytes(), 0x0203u16.to_ne_bytes()].concat());
    // Fortran order: element (r, c) of 2x3 is at r + 2c.
    let found = tensor(&plain("|u1", true, "(2, 3)", &[0, 10, 1, 11, 2, 12])).unwrap();
    assert_eq!(&found.data[..], [0, 1, 2, 10, 11, 12]);
}

#[test]
fn fortran_order_in_many_dimensions() {
    let shape = [2usize, 3, 4, 5];
    for size in [1usize, 2, 4, 8] {
        let value = |i: usize| i.to_le_bytes()[..size].to_vec();
        let (mut ours, mut theirs) = (Vec::new(), vec![0; 120 * size]);
        for i in 0..120 {
            let index = [i / 60, i / 20 % 3, i / 5 % 4, i % 5];
            let at = index[0] + 2 * (index[1] + 3 * (index[2] + 4 * index[3]));
            theirs[at * size..][..size].copy_from_slice(&value(i));
            ours.extend(value(i));
        }
        assert_eq!(order::rows_first(&theirs, size, &shape).unwrap(), ours);
    }
}

#[test]
fn the_usual_case_copies_nothing() {
    let file = Bytes::from(plain("<f4", false, "(1, 2)", &[9; 8]));
    let Ok(Value::Tensor(found)) = decoder("npy", "{}").decode(&file, &mut Scratch::new()) else { panic!() };
    assert_eq!(found.data.as_ptr(), file[file.len() - 8..].as_ptr());
}

#[test]
fn what_is_no_array_is_refused_in_plain_words() {
    let message = |bytes: &[u8]| tensor(bytes).unwrap_err();
    assert!(message(b"").contains("zero-length"));
    assert!(message(b"PK\x03\x04").contains(".npz"));
    assert!(message(b"hello").contains("`hello`"));
    assert!(message(&plain("|O", false, "(1,)", &[0])).contains("would run code"));
    assert!(message(&plain("<c8", false, "(1,)", &[0; 8])).contains("complex"));
    assert!(message(&plain("<U3", false, "(1,)", &[0; 12])).contains("text"));
    assert!(message(&plain("|V2", false, "(1,)", &[0; 2])).contains("raw records"));
    assert!(
        message(&plain("<f4", false, "(2,)", &[0; 7]))
            .contains("ends early: f32[2] has 8 bytes, the file only 7")
    );
    assert!(message(&plain("<f4", false, "(2,)", &[0; 9])).contains("followed by 1 more"));
    assert!(message(&plain("<f4", false, "(9223372036854775807, 9)", &[])).contains("impossible shape"));
    assert!(message(&plain("<f4", false, "(99999999999999999999,)", &[])).contains("cannot be read"));
    let records = npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]);
    assert!(message(&records).contains("records"));
}

#[test]
fn every_cut_and_every_flip_is_survived() {
    let file = plain("<f4", true, "(2, 3)", &[0; 24]);
    for len in 0..file.len() {
        assert!(tensor(&file[..len]).is_err());
    }
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut damaged = file.clone();
            damaged[at] ^= 1 << bit;
            let _ = tensor(&damaged);
        }
    }
}

#[test]
fn promises_to_the_plan_are_kept() {
    let args = r#"{"dtype": "float32", "shape": [-1, 2]}"#;
    let spec = decoder("npy", args).spec(&FieldSpec::encoded()).unwrap();
    assert_eq!(spec, FieldSpec::array(Dtype::F32, vec![Dim::Any, Dim::Fixed(2)]));
    assert!(decode("npy", args, &plain("<f4", false, "(1, 2)", &[0; 8])).is_ok());
    let wrong = decode("npy", args, &plain("<f8", false, "(1, 2)", &[0; 16])).unwrap_err();
    assert!(wrong.contains("is of f64, not of f32: say dtype=\"f64\""), "{wrong}");
    let wrong = decode("npy", args, &plain("<f4", false, "(2, 1)", &[0; 8])).unwrap_err();
    assert!(wrong.contains("[2, 1]") && wrong.contains("f32[?, 2]"), "{wrong}");
}
