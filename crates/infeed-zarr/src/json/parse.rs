//! Takes a text apart.

use super::Json;
use crate::error::{Error, Result};

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Parser<'_> {
    pub(super) fn wrong(&self, what: &str) -> Error {
        Error::damaged(format!("JSON: {what}, at byte {}", self.at))
    }

    pub(super) fn space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')).count();
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn value(&mut self, depth: u32) -> Result<Json> {
        self.space();
        let Some(first) = self.text.as_bytes().get(self.at) else { return Err(self.wrong("it ends early")) };
        if matches!(first, b'[' | b'{') && depth == 0 {
            return Err(self.wrong("it is nested too deep"));
        }
        match first {
            b'"' => Ok(Json::Text(self.string()?)),
            b'[' => {
                let mut list = Vec::new();
                self.items("]", |parser| {
                    list.push(parser.value(depth - 1)?);
                    Ok(())
                })?;
                Ok(Json::List(list))
            }
            b'{' => {
                let mut pairs = Vec::new();
                self.items("}", |parser| {
                    let name = parser.string()?;
                    parser.space();
                    if !parser.eat(":") {
                        return Err(parser.wrong("a colon is missing"));
                    }
                    pairs.push((name, parser.value(depth - 1)?));
                    Ok(())
                })?;
                Ok(Json::Map(pairs))
            }
            _ if self.eat("null") => Ok(Json::Null),
            _ if self.eat("true") => Ok(Json::Bool(true)),
            _ if self.eat("false") => Ok(Json::Bool(false)),
            _ => self.scalar(),
        }
    }

    /// What is between brackets, with commas.
    fn items(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.at += 1;
        self.space();
        if self.eat(end) {
            return Ok(());
        }
        loop {
            self.space();
            item(self)?;
            self.space();
            if self.eat(end) {
                return Ok(());
            }
            if !self.eat(",") {
                return Err(self.wrong("a comma is missing"));
            }
        }
    }

    fn scalar(&mut self) -> Result<Json> {
        for name in ["NaN", "Infinity", "-Infinity"] {
            if self.eat(name) {
                return Ok(Json::Number(name.to_owned()));
            }
        }
        let rest = &self.text[self.at..];
        let len = rest
            .bytes()
            .take_while(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'))
            .count();
        let number = &rest[..len];
        if !number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) || number.parse::<f64>().is_err() {
            return Err(self.wrong("neither a value nor a number"));
        }
        self.at += len;
        Ok(Json::Number(number.to_owned()))
    }

    fn string(&mut self) -> Result<String> {
        if !self.eat("\"") {
            return Err(self.wrong("a quote is missing"));
        }
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(len) = rest.find(['"', '\\']) else { return Err(self.wrong("a text has no end")) };
            out.push_str(&rest[..len]);
            self.at += len + 1;
            if rest.as_bytes()[len] == b'"' {
                return Ok(out);
            }
            let Some(escape) = self.text.as_bytes().get(self.at).copied() else {
                return Err(self.wrong("a text has no end"));
            };
            out.push(match escape {
                b'"' | b'\\' | b'/' => char::from(escape),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    self.at += 1;
                    let found = self.unicode()?;
                    out.push(found);
                    continue;
                }
                _ => return Err(self.wrong("an escape that does not exist")),
            });
            self.at += 1;
        }
    }

    /// The four digits behind `\u`, twice where one is only half a character. Halves that are alone become U+FFFD.
    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.eat("\\u") {
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let code = code.ok_or_else(|| self.wrong("four hexadecimal digits are missing"))?;
        self.at += 4;
        Ok(code)
    }
}
