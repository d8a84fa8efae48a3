//! Parses numbers and lists of numbers.

/// Returns whether bytes are a JSON number.
fn is_number(bytes: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let bytes = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let whole = digits(bytes);
    if whole == 0 || (whole > 1 && bytes[0] == b'0') {
        return false;
    }
    let mut rest = &bytes[whole..];
    if let Some(after) = rest.strip_prefix(b".") {
        let count = digits(after);
        if count == 0 {
            return false;
        }
        rest = &after[count..];
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let after = after.strip_prefix(b"+").or(after.strip_prefix(b"-")).unwrap_or(after);
        let count = digits(after);
        if count == 0 {
            return false;
        }
        rest = &after[count..];
    }
    rest.is_empty()
}

/// Parses an i64.
pub fn int(bytes: &[u8]) -> Option<i64> {
    let (minus, digits) = match bytes.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, bytes),
    };
    if digits.is_empty() || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    // Accumulates downwards, because the smallest number has no positive counterpart.
    let mut sum = 0i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum = sum.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if minus { Some(sum) } else { sum.checked_neg() }
}

/// Parses an f64.
pub fn float(bytes: &[u8]) -> Option<f64> {
    is_number(bytes).then(|| std::str::from_utf8(bytes).ok()?.parse().ok())?
}

/// Splits a flat list, given with its brackets, into its elements. Nested lists give pieces that are not valid numbers.
pub(super) fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let inside = list.strip_prefix(b"[").and_then(|l| l.strip_suffix(b"]")).unwrap_or(list);
    let blank = inside.iter().all(u8::is_ascii_whitespace);
    inside.split(|b| *b == b',').map(<[u8]>::trim_ascii).filter(move |_| !blank)
}

/// Parses a list of i64, in native byte order.
pub fn ints(list: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(list.len() * 2);
    for element in elements(list) {
        out.extend_from_slice(&int(element)?.to_ne_bytes());
    }
    Some(out)
}

/// Parses a list of f64, in native byte order.
pub fn floats(list: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(list.len());
    for element in elements(list) {
        out.extend_from_slice(&float(element)?.to_ne_bytes());
    }
    Some(out)
}
