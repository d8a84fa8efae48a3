//! Normalises weights, bit-identical to NumPy.

use infeed_core::{Error, Result};

/// Divides each weight by their sum. Rejects invalid weights.
///
/// Adds in the order of NumPy's `sum`: the file lists of blends are normalised with NumPy, and with eight parts or
/// more a different order of additions gives a different blend.
pub fn normalized(weights: &[f64]) -> Result<Vec<f64>> {
    let sum = checked_sum(weights)?;
    Ok(weights.iter().map(|weight| weight / sum).collect())
}

/// Returns the sum of the weights after checking them.
pub(super) fn checked_sum(weights: &[f64]) -> Result<f64> {
    if let Some((part, wrong)) = weights.iter().enumerate().find(|(_, w)| !(w.is_finite() && **w >= 0.0)) {
        let what = format!("weight {wrong} of part {part} is no weight; give a finite number, 0 or larger");
        return Err(Error::plan("blend", what));
    }
    let sum = pairwise(weights);
    if !(sum > 0.0 && sum.is_finite()) {
        let what = format!("the weights add up to {sum}; give at least one that is larger than 0");
        return Err(Error::plan("blend", what));
    }
    Ok(sum)
}

/// Adds up to 128 numbers in eight columns; longer lists are halved at a multiple of eight.
fn pairwise(numbers: &[f64]) -> f64 {
    let plain = |start: f64, numbers: &[f64]| numbers.iter().fold(start, |sum, number| sum + number);
    if numbers.len() < 8 {
        return plain(0.0, numbers);
    }
    if numbers.len() > 128 {
        let half = numbers.len() / 2 / 8 * 8;
        return pairwise(&numbers[..half]) + pairwise(&numbers[half..]);
    }
    let rows = numbers.chunks_exact(8);
    let rest = rows.remainder();
    let mut columns = [0.0; 8];
    for row in rows {
        for (column, number) in columns.iter_mut().zip(row) {
            *column += number;
        }
    }
    let [a, b, c, d, e, f, g, h] = columns;
    plain(((a + b) + (c + d)) + ((e + f) + (g + h)), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of `np.sum(1 / (np.arange(n) + 3.0))` from NumPy 2.4; adding from left to right gives
    /// other bits from 9 numbers on.
    #[test]
    fn sums_as_numpy() {
        for (n, bits) in [
            (7, 0x3ff5_4374_3743_7437),
            (9, 0x3ff8_516a_e822_df44),
            (20, 0x4001_86c9_18ea_9d00),
            (137, 0x4010_0fa6_30fd_8cf6),
            (300, 0x4013_283d_93b7_feeb_u64),
        ] {
            let numbers: Vec<f64> = (0..n).map(|k| 1.0 / (f64::from(k) + 3.0)).collect();
            assert_eq!(pairwise(&numbers).to_bits(), bits, "{n}");
        }
    }

    #[test]
    fn nonsense() {
        let error = |weights: &[f64]| normalized(weights).unwrap_err().to_string();
        assert!(error(&[1.0, -1.0]).contains("weight -1 of part 1"));
        assert!(error(&[f64::NAN]).contains("no weight"));
        assert!(error(&[f64::INFINITY]).contains("no weight"));
        assert!(error(&[0.0, 0.0]).contains("add up to 0"));
        assert!(error(&[]).contains("add up to 0"));
        assert!(error(&[f64::MAX, f64::MAX]).contains("add up to inf"));
    }
}
