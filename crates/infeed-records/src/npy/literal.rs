//! Parses the dictionary in a header, a Python literal.

/// Types inside each other that are followed.
const DEEPEST: usize = 16;
/// Members of one type.
const MOST_MEMBERS: usize = 1 << 12;

/// A type description.
pub(super) enum Descr<'a> {
    /// A text such as `<f4`.
    Plain(&'a [u8]),
    /// The members of a structured type.
    Members(Vec<Described<'a>>),
}

/// A member of a structured type.
pub(super) struct Described<'a> {
    pub(super) name: &'a [u8],
    pub(super) descr: Descr<'a>,
    /// The shape of the array that every element has in this member.
    pub(super) shape: Vec<usize>,
}

/// Returns the entries of the dictionary with its type in full: type, Fortran order, shape.
pub(super) fn read_full(text: &[u8]) -> Option<(Descr<'_>, bool, Vec<usize>)> {
    let mut literal = Literal { rest: text };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    literal.expect(b'{')?;
    while !literal.take(b'}') {
        let key = literal.string()?;
        literal.expect(b':')?;
        match key {
            b"descr" => descr = Some(literal.descr(DEEPEST)?),
            b"fortran_order" => fortran = Some(literal.boolean()?),
            b"shape" => shape = Some(literal.tuple()?),
            _ => return None,
        }
        if !literal.take(b',') {
            literal.expect(b'}')?;
            break;
        }
    }
    Some((descr?, fortran?, shape?))
}

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

    fn descr(&mut self, depth: usize) -> Option<Descr<'a>> {
        if self.peek()? != b'[' {
            return self.string().map(Descr::Plain);
        }
        let depth = depth.checked_sub(1)?;
        self.expect(b'[')?;
        let mut members = Vec::new();
        while !self.take(b']') {
            members.push(self.member(depth)?);
            if members.len() > MOST_MEMBERS {
                return None;
            }
            if !self.take(b',') {
                self.expect(b']')?;
                break;
            }
        }
        Some(Descr::Members(members))
    }

    /// `('name', '<f4')`, `('name', '<f4', (2,))`, or with a title: `(('title', 'name'), '<f4')`.
    fn member(&mut self, depth: usize) -> Option<Described<'a>> {
        self.expect(b'(')?;
        let name = if self.take(b'(') {
            self.string()?;
            self.expect(b',')?;
            let name = self.string()?;
            self.expect(b')')?;
            name
        } else {
            self.string()?
        };
        self.expect(b',')?;
        let descr = self.descr(depth)?;
        let mut shape = Vec::new();
        if self.take(b',') && self.peek()? == b'(' {
            shape = self.tuple()?;
            self.take(b',');
        }
        self.expect(b')')?;
        Some(Described { name, descr, shape })
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
