//! Numbers in text.

use super::super::tests::decode;
use infeed_core::{Dtype, Value};

fn int(text: &str) -> Result<i64, String> {
    match decode("int", "{}", text.as_bytes())? {
        Value::Tensor(t) => {
            assert_eq!((t.dtype, t.shape.len()), (Dtype::I64, 0));
            Ok(i64::from_ne_bytes(t.data[..].try_into().unwrap()))
        }
        other => panic!("{other:?}"),
    }
}

fn float(text: &str) -> Result<f64, String> {
    match decode("float", "{}", text.as_bytes())? {
        Value::Tensor(t) => {
            assert_eq!((t.dtype, t.shape.len()), (Dtype::F64, 0));
            Ok(f64::from_ne_bytes(t.data[..].try_into().unwrap()))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn whole_numbers() {
    assert_eq!(int("7"), Ok(7));
    assert_eq!(int(" -12\r\n"), Ok(-12));
    assert_eq!(int("+0012"), Ok(12));
    assert_eq!(int("-9223372036854775808"), Ok(i64::MIN));
}

#[test]
fn what_is_no_whole_number_is_shown() {
    assert!(int("seven").unwrap_err().contains("`seven` is not a whole number"));
    assert!(int("1.5").unwrap_err().contains("use the decoder `float`"));
    assert!(int("9223372036854775808").unwrap_err().contains("does not fit in i64"));
    assert!(int(" \n").unwrap_err().contains("nothing in it"));
    assert!(decode("int", "{}", &[0xff, b'1']).unwrap_err().contains("`\\xff1`"));
    assert!(int("1 2").is_err());
    assert!(int(&"1x".repeat(1000)).unwrap_err().len() < 100);
}

#[test]
fn numbers() {
    assert_eq!(float("1.5\n"), Ok(1.5));
    assert_eq!(float("-2e-3"), Ok(-0.002));
    assert_eq!(float("inf"), Ok(f64::INFINITY));
    assert!(float("nan").unwrap().is_nan());
    assert!(float("one").unwrap_err().contains("`one` is not a number"));
    assert!(float("").unwrap_err().contains("nothing in it"));
}
