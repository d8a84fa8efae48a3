//! What valid JSON may hold: values that a parser of the consumer can take.

use super::scan::{DEEPEST, Scan};
use infeed_core::{Error, Result};
use memchr::memchr2_iter;

/// Digits of a whole number. Python refuses longer ones.
const DIGITS: usize = 4300;

/// Checks valid JSON: its depth, and the length of its whole numbers.
pub fn check_limits(text: &str) -> Result<()> {
    let bytes = text.as_bytes();
    // Mostly there are too few brackets for any depth.
    if memchr2_iter(b'[', b'{', bytes).nth(DEEPEST as usize).is_some() {
        Scan::new(bytes).value().map_err(|_| {
            Error::sample(format!("it is nested more than {DEEPEST} levels deep, and no deeper JSON is read"))
        })?;
    }
    if bytes.len() > DIGITS {
        digits(bytes)?;
    }
    Ok(())
}

/// Looks for a whole number that is too long. Whatever has so many digits has one at some multiple of half as many.
fn digits(bytes: &[u8]) -> Result<()> {
    let is_digit = |at: &usize| bytes[*at].is_ascii_digit();
    for at in (0..bytes.len()).step_by(DIGITS / 2).filter(is_digit) {
        let start = (0..at).rev().take_while(is_digit).last().unwrap_or(at);
        let end = (at..bytes.len()).take_while(is_digit).last().unwrap_or(at) + 1;
        if end - start > DIGITS && is_number(bytes, start, end) {
            return Err(Error::sample(format!(
                "a whole number has {} digits, and at most {DIGITS} are read; write it as text",
                end - start
            )));
        }
    }
    Ok(())
}

/// Whether digits are a whole number: not the part of a float, and not inside of a text.
fn is_number(bytes: &[u8], start: usize, end: usize) -> bool {
    let before = bytes[..start].iter().rev().find(|b| !matches!(b, b'-' | b'+'));
    let float =
        matches!(before, Some(b'.' | b'e' | b'E')) || matches!(bytes.get(end), Some(b'.' | b'e' | b'E'));
    if float {
        return false;
    }
    let (mut quoted, mut at) = (false, 0);
    while at < start {
        match bytes[at] {
            b'"' => quoted = !quoted,
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    !quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        check_limits(&nested(100)).unwrap();
        for depth in [101, 2000, 1_000_000] {
            let error = check_limits(&nested(depth)).unwrap_err().to_string();
            assert!(error.contains("more than 100 levels"), "{error}");
        }
        check_limits(&format!("[{}]", vec!["[{\"a\":[1]}]"; 1000].join(","))).unwrap();
        check_limits(&format!("\"{}\"", "[".repeat(1000))).unwrap();
    }

    #[test]
    fn long_numbers_are_found() {
        let long = "9".repeat(4301);
        for text in [long.clone(), format!("[1, -{long}]"), format!("{{\"a\\\"\": {long}, \"b\": 1}}")] {
            assert!(check_limits(&text).unwrap_err().to_string().contains("4301 digits"));
        }
        for text in [
            "9".repeat(4300),
            format!("\"{long}\""),
            format!("[\"a\\\"{long}\"]"),
            format!("0.{long}"),
            format!("{long}.5"),
            format!("{long}e5"),
            format!("1e-{long}"),
        ] {
            check_limits(&text).unwrap();
        }
    }
}
