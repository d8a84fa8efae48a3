//! Brace expansion, as in shells and WebDataset.

use infeed_core::{Error, Result};

/// Maximum names from one pattern. More are probably a typo, and would exhaust the memory.
const MOST: usize = 10_000_000;

/// Expands `a{1..3}{x,y}` to `a1x a1y a2x a2y a3x a3y`. Braces without a comma or a range are literal.
pub fn braces(form: &str) -> Result<Vec<String>> {
    let out =
        expand(form).ok_or_else(|| Error::argument(format!("`{form}` stands for more than {MOST} names")))?;
    Ok(out)
}

/// Returns every name of a pattern; `None` if there are too many.
fn expand(form: &str) -> Option<Vec<String>> {
    let mut from = 0;
    while let Some(open) = form[from..].find('{').map(|i| i + from) {
        let group = closing(form, open).map(|close| (close, alternatives(&form[open + 1..close])));
        let Some((close, Some(middles))) = group else {
            from = open + 1;
            continue;
        };
        let middles = middles?;
        let tails = expand(&form[close + 1..])?;
        if middles.len().checked_mul(tails.len())? > MOST {
            return None;
        }
        let head = &form[..open];
        return Some(
            middles.iter().flat_map(|m| tails.iter().map(move |t| format!("{head}{m}{t}"))).collect(),
        );
    }
    Some(vec![form.to_owned()])
}

/// Returns the brace that closes the one at `open`.
fn closing(form: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, byte) in form.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(i),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the alternatives inside a brace: `None` if the brace is literal, `Some(None)` if there are too many.
fn alternatives(inside: &str) -> Option<Option<Vec<String>>> {
    if let Some(range) = range(inside) {
        return Some(range);
    }
    let parts = split(inside);
    if parts.len() < 2 {
        // `{x{1..2}}`: the outer braces are literal, and the caller continues with the inner ones.
        return None;
    }
    let mut all = Vec::new();
    for part in parts {
        match expand(part) {
            Some(mut names) if all.len() + names.len() <= MOST => all.append(&mut names),
            _ => return Some(None),
        }
    }
    Some(Some(all))
}

/// Splits at the commas outside inner braces.
fn split(inside: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (i, byte) in inside.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&inside[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    parts
}

/// Expands `first..last` or `first..last..step`, of numbers or of single letters.
fn range(inside: &str) -> Option<Option<Vec<String>>> {
    let mut parts = inside.split("..");
    let (first, last) = (parts.next()?, parts.next()?);
    let step = parts.next().map_or(Some(1), |s| s.parse::<i64>().ok())?.unsigned_abs().max(1);
    if parts.next().is_some() {
        return None;
    }
    let (a, b, name): (i64, i64, Box<dyn Fn(i64) -> String>) = match (first.as_bytes(), last.as_bytes()) {
        ([a], [b]) if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
            (i64::from(*a), i64::from(*b), Box::new(|n| char::from(n as u8).to_string()))
        }
        _ => {
            let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 };
            (first.parse().ok()?, last.parse().ok()?, Box::new(move |n| format!("{n:0width$}")))
        }
    };
    let count = a.abs_diff(b) / step;
    if count >= MOST as u64 {
        return Some(None);
    }
    let sign = if a <= b { 1 } else { -1 };
    Some(Some((0..=count).map(|i| name(a + sign * (i * step) as i64)).collect()))
}

/// Whether a number is written with leading zeros.
fn padded(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() > 1 && digits.starts_with('0')
}
