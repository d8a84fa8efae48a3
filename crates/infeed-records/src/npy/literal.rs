//! Parses the dictionary in a header, a Python literal.

/// Its three entries.
pub(super) struct HeaderDict<'a> {
    /// The description of the element type; `None` if it is a list of fields instead of a text.
    pub(super) descr: Option<&'a [u8]>,
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// Returns the entries of the dictionary, if NumPy could have written it.
pub(super) fn read(text: &[u8]) -> Option<HeaderDict<'_>> {
    let mut literal = Literal { rest: text };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    literal.expect(b'{')?;
    while !literal.take(b'}') {
        let key = literal.string()?;
        literal.expect(b':')?;
        match key {
            // A list of fields: its contents are not needed.
            b"descr" if matches!(literal.peek(), Some(b'[' | b'(')) => {
                return Some(HeaderDict { descr: None, fortran: false, shape: vec![] });
            }
            b"descr" => descr = Some(literal.string()?),
            b"fortran_order" => fortran = Some(literal.boolean()?),
            b"shape" => shape = Some(literal.tuple()?),
            _ => return None,
        }
        if !literal.take(b',') {
            literal.expect(b'}')?;
            break;
        }
    }
    Some(HeaderDict { descr: Some(descr?), fortran: fortran?, shape: shape? })
}

/// The remaining text. Methods return `None` if the text is not as expected.
struct Literal<'a> {
    rest: &'a [u8],
}

impl<'a> Literal<'a> {
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let quote = self.peek().filter(|q| matches!(q, b'\'' | b'"'))?;
        let inner = &self.rest[1..];
        let end = inner.iter().position(|b| *b == quote)?;
        self.rest = &inner[end + 1..];
        Some(&inner[..end])
    }

    fn boolean(&mut self) -> Option<bool> {
        self.peek()?;
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(value);
            }
        }
        None
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        let mut out = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            self.peek()?;
            let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let (number, rest) = self.rest.split_at(digits);
            out.push(std::str::from_utf8(number).ok()?.parse().ok()?);
            // Python 2 wrote long integers with an L.
            self.rest = rest.strip_prefix(b"L").unwrap_or(rest);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Some(out)
    }
}
