//! Arithmetic on numbers without silent loss of precision.

use super::{Scalar, node::Arith};
use std::cmp::Ordering;

/// Compares an integer with a float exactly; `None` for NaN. Converting the integer to a float would round it, and
/// 2^53 + 1 would equal 2^53.
pub(super) fn compare(a: i64, b: f64) -> Option<Ordering> {
    // 2^63 as a float: no i64 has a value from here on, or below its negative.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if b.is_nan() {
        return None;
    }
    if b >= END {
        return Some(Ordering::Less);
    }
    if b < -END {
        return Some(Ordering::Greater);
    }
    let whole = b.trunc();
    // Exact: `whole` is an integer in the range of i64. The truncated fraction breaks ties.
    Some(a.cmp(&(whole as i64)).then_with(|| {
        if b > whole {
            Ordering::Less
        } else if b < whole {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }))
}

/// Returns the result, or the reason why there is none.
pub(super) fn arith(op: Arith, a: &Scalar<'_>, b: &Scalar<'_>) -> Result<Scalar<'static>, &'static str> {
    const LARGE: &str = "the result is too large for a whole number of 64 bits";
    const ZERO: &str = "division by zero";
    if let (Scalar::Int(a), Scalar::Int(b), true) = (a, b, op != Arith::Divide) {
        let done = match op {
            Arith::Plus => a.checked_add(*b),
            Arith::Minus => a.checked_sub(*b),
            Arith::Times => a.checked_mul(*b),
            _ if *b == 0 => return Err(ZERO),
            // Takes the sign of the right operand, as in Python: `label % 3` of a negative label is still 0, 1 or 2.
            _ => {
                let rest = a.wrapping_rem(*b);
                Some(if rest != 0 && (rest < 0) != (*b < 0) { rest + b } else { rest })
            }
        };
        return done.map(Scalar::Int).ok_or(LARGE);
    }
    let (Some(a), Some(b)) = (fraction(a), fraction(b)) else {
        return Err("only numbers can be worked with");
    };
    Ok(Scalar::Float(match op {
        Arith::Plus => a + b,
        Arith::Minus => a - b,
        Arith::Times => a * b,
        _ if b == 0.0 => return Err(ZERO),
        Arith::Divide => a / b,
        Arith::Rest => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
    }))
}

fn fraction(x: &Scalar<'_>) -> Option<f64> {
    match x {
        Scalar::Int(x) => Some(*x as f64),
        Scalar::Float(x) => Some(*x),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bit_is_lost() {
        let large = (1i64 << 53) + 1;
        assert_eq!(compare(large, (1i64 << 53) as f64), Some(Ordering::Greater));
        assert_eq!(compare(i64::MAX, 9_223_372_036_854_775_808.0), Some(Ordering::Less));
        assert_eq!(compare(i64::MIN, -9_223_372_036_854_775_808.0), Some(Ordering::Equal));
        assert_eq!(compare(i64::MIN, f64::NEG_INFINITY), Some(Ordering::Greater));
        assert_eq!(
            [compare(-1, -0.5), compare(0, -0.5), compare(0, 0.5), compare(3, 3.0)].map(Option::unwrap),
            [Ordering::Less, Ordering::Greater, Ordering::Less, Ordering::Equal]
        );
        assert_eq!(compare(0, f64::NAN), None);
    }

    #[test]
    fn as_in_python() {
        let int = |op, a, b| arith(op, &Scalar::Int(a), &Scalar::Int(b));
        assert_eq!(int(Arith::Rest, -7, 3), Ok(Scalar::Int(2)));
        assert_eq!(int(Arith::Rest, 7, -3), Ok(Scalar::Int(-2)));
        assert_eq!(int(Arith::Rest, i64::MIN, -1), Ok(Scalar::Int(0)));
        let rest = |a, b| arith(Arith::Rest, &Scalar::Float(a), &Scalar::Float(b));
        assert_eq!([rest(-7.5, 2.0), rest(7.5, -2.0)], [0.5, -0.5].map(|x| Ok(Scalar::Float(x))));
        assert_eq!([rest(6.0, -2.0), rest(-6.0, 2.0)], [0.0, -0.0].map(|x| Ok(Scalar::Float(x))));
        assert_eq!(int(Arith::Divide, 7, 2), Ok(Scalar::Float(3.5)));
        assert!(int(Arith::Divide, 7, 0).is_err() && int(Arith::Rest, 7, 0).is_err());
        assert!(int(Arith::Times, i64::MAX, 2).is_err());
        assert_eq!(arith(Arith::Rest, &Scalar::Float(-1.5), &Scalar::Int(1)), Ok(Scalar::Float(0.5)));
    }
}
