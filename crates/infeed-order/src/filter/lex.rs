//! The lexer: splits a filter into words, numbers, texts and signs.

use infeed_core::{Error, Result};

/// The longest part of a line that an error shows, and how much of it may precede the caret.
const SHOWN: usize = 76;
const BEFORE: usize = 50;

/// Longer signs first, because `<=` begins with `<`.
const SIGNS: [&str; 18] =
    ["==", "!=", "<=", ">=", "&&", "||", "=", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", ","];

const SUFFIXES: [(&str, u64); 6] = [
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// A word, number, text or sign.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    /// A name or keyword.
    Word(&'t str),
    /// An unsigned integer, at most 2^63. That value is valid only after a minus sign.
    Int(u64),
    Float(f64),
    Text(String),
    Sign(&'static str),
    End,
}

impl Token<'_> {
    /// Describes the token for messages.
    pub(super) fn words(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Int(x) => format!("the number {x}"),
            Token::Float(x) => format!("the number {x}"),
            Token::Text(_) => "a text".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// Returns an error that shows the position.
pub(super) fn fail(text: &str, at: usize, what: &str) -> Error {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let column = text[start..at].chars().count();
    let skip = column.saturating_sub(BEFORE);
    let shown: String =
        line.chars().skip(skip).take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    Error::argument(format!("filter: {what}\n  {shown}\n  {}^", " ".repeat(column - skip)))
}

/// Returns the tokens with their byte offsets; the last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>> {
    let mut out = vec![];
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let point = c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        let (token, len) = if c.is_ascii_digit() || point {
            number(rest).map_err(|what| fail(text, at, &what))?
        } else if c.is_alphabetic() || c == '_' {
            let len = word(rest);
            (Token::Word(&rest[..len]), len)
        } else if c == '"' || c == '\'' {
            quoted(rest, c).map_err(|(more, what)| fail(text, at + more, &what))?
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(fail(text, at, &format!("`{}` means nothing here", c.escape_debug())));
        };
        out.push((token, at));
        at += len;
    }
    out.push((Token::End, text.trim_end().len()));
    Ok(out)
}

/// Returns the length of a word: `json.width`, `__key__`, `crop.0`.
fn word(text: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut len = 0;
    for (at, c) in text.char_indices() {
        let dot = c == '.' && text[at + 1..].starts_with(part);
        if !part(c) && !dot {
            break;
        }
        len = at + c.len_utf8();
    }
    len
}

/// Parses a number and returns its length in bytes.
fn number(text: &str) -> Result<(Token<'_>, usize), String> {
    let digits = |from: usize| -> usize {
        text[from..].bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count() + from
    };
    let mut end = digits(0);
    let whole = end;
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    let plain = text[..end].replace('_', "");
    let suffix = &text[end..end + word(&text[end..])];
    let times = match SUFFIXES.iter().find(|(name, _)| name.eq_ignore_ascii_case(suffix)) {
        _ if suffix.is_empty() => None,
        Some((_, times)) => Some(*times),
        None => {
            let all: Vec<&str> = SUFFIXES.iter().map(|(name, _)| *name).collect();
            return Err(format!("`{suffix}` after a number: expected {} or a space", all.join(", ")));
        }
    };
    let large = || format!("the number {} is too large", &text[..end]);
    let token = if end == whole {
        let value = plain.parse::<u64>().ok().and_then(|n| n.checked_mul(times.unwrap_or(1)));
        Token::Int(value.filter(|n| *n <= 1 << 63).ok_or_else(large)?)
    } else {
        let value = plain.parse::<f64>().map_err(|_| format!("{} is no number", &text[..end]))?;
        match times {
            None if value.is_finite() => Token::Float(value),
            // There are no fractional bytes, and 1.1MB must not become 1100000.0000000002.
            Some(times) if value * (times as f64) < 1e18 => Token::Int((value * times as f64).round() as u64),
            _ => return Err(large()),
        }
    };
    Ok((token, end + suffix.len()))
}

/// Parses a quoted text and returns its length in bytes. An error carries its byte offset.
fn quoted(text: &str, quote: char) -> Result<(Token<'_>, usize), (usize, String)> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((Token::Text(out), at + 1)),
            '\\' => match chars.next() {
                Some((_, c @ ('\\' | '"' | '\''))) => out.push(c),
                Some((_, 'n')) => out.push('\n'),
                Some((_, 'r')) => out.push('\r'),
                Some((_, 't')) => out.push('\t'),
                _ => return Err((at, "expected \\\\, \\\", \\', \\n, \\r or \\t".to_owned())),
            },
            c => out.push(c),
        }
    }
    Err((0, format!("this text has no end: expected another {quote}")))
}
