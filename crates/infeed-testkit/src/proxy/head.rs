//! Heads of requests and answers, as far as a proxy must understand them.

use std::{io, ops::RangeInclusive};

/// The first line and the fields, in their order. Every byte is one `char`, so that what is not ASCII passes unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    first: String,
    fields: Vec<(String, String)>,
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes; 0 when there is no body.
    Length(u64),
    /// With the chunk of length 0.
    Chunked,
    /// With the connection.
    UntilClose,
}

impl Head {
    /// Parses a head without its last, empty line.
    pub(super) fn parse(bytes: &[u8]) -> io::Result<Self> {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
        let first = lines.next().ok_or_else(|| invalid("a head without a first line"))?.to_owned();
        let fields = lines.map(|line| {
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a field without a colon"))?;
            Ok((name.to_owned(), value.trim().to_owned()))
        });
        Ok(Head { first, fields: fields.collect::<io::Result<_>>()? })
    }

    /// The head of an answer of the proxy's own.
    pub(super) fn answer(status: u16, kind: &str, length: usize) -> Self {
        let fields = [("Content-Type", kind.to_owned()), ("Content-Length", length.to_string())];
        Head {
            first: format!("HTTP/1.1 {status} {}", reason(status)),
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// The head as it is sent.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{}\r\n", self.first);
        for (name, value) in &self.fields {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text.push_str("\r\n");
        // Parsed from bytes, or written here in ASCII: nothing is lost.
        text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect()
    }

    /// The value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Removes a field.
    pub(super) fn remove(&mut self, name: &str) {
        self.fields.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
    }

    /// Gives a field its value, in the place of the old one if there was one.
    pub(super) fn set(&mut self, name: &str, value: String) {
        match self.fields.iter_mut().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
            Some((_, old)) => *old = value,
            None => self.fields.push((name.to_owned(), value)),
        }
    }

    /// Removes what is said about the connection: it ends at the proxy.
    pub(super) fn leave_connection(&mut self) {
        for name in ["Connection", "Keep-Alive", "Proxy-Connection"] {
            self.remove(name);
        }
    }

    /// Whether the sender keeps the connection open after this message.
    pub(super) fn keeps_alive(&self, version: &str) -> bool {
        let said = self.get("Connection").unwrap_or_default().to_ascii_lowercase();
        if version.ends_with("1.0") { said.contains("keep-alive") } else { !said.contains("close") }
    }

    /// Method, target and version of a request.
    pub(super) fn request(&self) -> io::Result<(&str, &str, &str)> {
        let mut words = self.first.split(' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some(version), None) if version.starts_with("HTTP/1.") => {
                Ok((method, origin_form(target), version))
            }
            _ => Err(invalid("the first line is none of a request in HTTP/1")),
        }
    }

    /// Makes a request for the server: in HTTP/1.1, with the path alone even if the client named the host.
    pub(super) fn for_server(&self) -> io::Result<Self> {
        let (method, target, _) = self.request()?;
        let mut head = Head { first: format!("{method} {target} HTTP/1.1"), fields: self.fields.clone() };
        head.leave_connection();
        head.remove("Expect");
        Ok(head)
    }

    /// Version and status of an answer.
    pub(super) fn status(&self) -> io::Result<(&str, u16)> {
        let mut words = self.first.split(' ');
        match (words.next(), words.next().and_then(|status| status.parse().ok())) {
            (Some(version), Some(status)) if version.starts_with("HTTP/1.") => Ok((version, status)),
            _ => Err(invalid("the first line is none of an answer in HTTP/1")),
        }
    }

    /// Makes an answer for the client.
    pub(super) fn for_client(&self, keep: bool) -> io::Result<Self> {
        let (version, _) = self.status()?;
        let mut head =
            Head { first: format!("HTTP/1.1{}", &self.first[version.len()..]), fields: self.fields.clone() };
        head.leave_connection();
        if !keep {
            head.set("Connection", "close".to_owned());
        }
        Ok(head)
    }

    /// The body of a request.
    pub(super) fn request_framing(&self) -> io::Result<Framing> {
        if self.chunked() { Ok(Framing::Chunked) } else { Ok(Framing::Length(self.length()?.unwrap_or(0))) }
    }

    /// The body of the answer to a request with this method.
    pub(super) fn answer_framing(&self, method: &str) -> io::Result<Framing> {
        let (_, status) = self.status()?;
        if method == "HEAD" || status < 200 || status == 204 || status == 304 {
            return Ok(Framing::Length(0));
        }
        Ok(match (self.chunked(), self.length()?) {
            (true, _) => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::UntilClose,
        })
    }

    fn chunked(&self) -> bool {
        self.get("Transfer-Encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"))
    }

    fn length(&self) -> io::Result<Option<u64>> {
        let parse = |text: &str| text.parse().map_err(|_| invalid("a Content-Length that is no number"));
        self.get("Content-Length").map(parse).transpose()
    }

    /// The field with the range that a request asks for; Azure has a name of its own.
    pub(super) fn range_field(&self) -> Option<(&'static str, &str)> {
        ["Range", "x-ms-range"].into_iter().find_map(|name| self.get(name).map(|value| (name, value)))
    }

    /// The bytes that a request asks for, where both ends are given.
    pub(super) fn range(&self) -> Option<(&'static str, RangeInclusive<u64>)> {
        let (name, value) = self.range_field()?;
        Some((name, ends(value.strip_prefix("bytes=")?)?))
    }

    /// The bytes that an answer names, and what follows them: `/` and the size of the object.
    pub(super) fn content_range(&self) -> Option<(RangeInclusive<u64>, &str)> {
        let value = self.get("Content-Range")?.strip_prefix("bytes ")?;
        let (range, _) = value.split_once('/')?;
        Some((ends(range)?, &value[range.len()..]))
    }

    /// How requests are told apart: method, target, and range if there is one.
    pub(super) fn key(&self) -> io::Result<String> {
        let (method, target, _) = self.request()?;
        let range = self.range_field().map(|(_, value)| format!(" {value}")).unwrap_or_default();
        Ok(format!("{method} {target}{range}"))
    }
}

/// `0-99`.
fn ends(text: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(first..=last)
}

/// `/path` of `http://host/path`, which a client sends to what it takes for a proxy.
fn origin_form(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => rest.find('/').map_or("/", |at| &rest[at..]),
        _ => target,
    }
}

/// What a status is called.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        412 => "Precondition Failed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

/// An error of the other side.
pub(super) fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
