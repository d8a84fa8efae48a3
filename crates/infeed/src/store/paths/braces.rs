//! Brace expansion, as in shells and WebDataset.

use infeed_core::{Error, Result};
use infeed_records::preview::preview;

/// Maximum names from one pattern. More are probably a typo, and would exhaust the memory.
const MOST: usize = 10_000_000;

/// Maximum length of all names together.
const MOST_BYTES: usize = 1 << 30;

/// How deep braces may nest, closed or not. Expansion recurses and looks at every level again.
const DEPTH: usize = 100;

/// Expands `a{1..3}{x,y}` to `a1x a1y a2x a2y a3x a3y`. Braces without a comma or a range are literal.
pub fn braces(form: &str) -> Result<Vec<String>> {
    if depth(form) > DEPTH {
        let shown = preview(form.as_bytes());
        return Err(Error::argument(format!("{shown} has braces inside braces, more than {DEPTH} deep")));
    }
    expand(form).ok_or_else(|| {
        let shown = preview(form.as_bytes());
        Error::argument(format!("{shown} stands for more than {MOST} names, or for names of more than 1 GiB"))
    })
}

/// Returns how many braces are open at most.
fn depth(form: &str) -> usize {
    let (mut now, mut most) = (0usize, 0);
    for byte in form.bytes() {
        match byte {
            b'{' => now += 1,
            b'}' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// Returns every name of a pattern; `None` if there are too many.
fn expand(form: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = form;
    while let Some((open, close, middles)) = group(rest) {
        let middles = middles?;
        let count = names.len().checked_mul(middles.len())?;
        if count > MOST || count.checked_mul(form.len())? > MOST_BYTES {
            return None;
        }
        let between = &rest[..open];
        let longer =
            |name: &String| middles.iter().map(|m| format!("{name}{between}{m}")).collect::<Vec<_>>();
        names = names.iter().flat_map(longer).collect();
        rest = &rest[close + 1..];
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Some(names)
}

/// Finds the first braces that are not literal: where they open and close, and what they stand for.
fn group(form: &str) -> Option<(usize, usize, Option<Vec<String>>)> {
    let mut from = 0;
    while let Some(open) = form[from..].find('{').map(|i| i + from) {
        if let Some(close) = closing(form, open)
            && let Some(middles) = alternatives(&form[open + 1..close])
        {
            return Some((open, close, middles));
        }
        from = open + 1;
    }
    None
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
            // No number is written with so many zeros, and formatting cannot.
            u8::try_from(width).ok()?;
            (first.parse().ok()?, last.parse().ok()?, Box::new(move |n| format!("{n:0width$}")))
        }
    };
    let count = a.abs_diff(b) / step;
    if count >= MOST as u64 {
        return Some(None);
    }
    // A distance can be larger than any number, but what lies that far away is one again.
    let far = |distance: u64| {
        if a <= b { a.wrapping_add_unsigned(distance) } else { a.wrapping_sub_unsigned(distance) }
    };
    Some(Some((0..=count).map(|i| name(far(i * step))).collect()))
}

/// Whether a number is written with leading zeros.
fn padded(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() > 1 && digits.starts_with('0')
}
