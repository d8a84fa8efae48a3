//! The heads of requests and answers.

use bytes::{Bytes, BytesMut};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode, Uri,
    header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, USER_AGENT},
    uri::Authority,
};
use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The longest head, and the most lines of it.
const LONGEST: usize = 64 << 10;
const LINES: usize = 100;

/// The head of an answer, taken apart.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// How long the body is, if that is said.
    pub(super) length: Option<u64>,
    /// Whether the connection can be used again.
    pub(super) keeps: bool,
    /// What came of the body.
    pub(super) begun: Bytes,
}

/// A GET request as it is sent.
pub(super) fn request(uri: &Uri, host: &Authority, headers: &HeaderMap) -> Vec<u8> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut out = Vec::with_capacity(1024);
    let mut line = |parts: &[&[u8]]| {
        parts.iter().for_each(|part| out.extend_from_slice(part));
        out.extend_from_slice(b"\r\n");
    };
    line(&[b"GET ", path.as_bytes(), b" HTTP/1.1"]);
    if !headers.contains_key(HOST) {
        line(&[b"host: ", host.as_str().as_bytes()]);
    }
    if !headers.contains_key(USER_AGENT) {
        line(&[b"user-agent: infeed/", env!("CARGO_PKG_VERSION").as_bytes()]);
    }
    for (name, value) in headers {
        line(&[name.as_str().as_bytes(), b": ", value.as_bytes()]);
    }
    line(&[]);
    out
}

/// Sends a request and reads the head of its answer.
pub(super) async fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<Answer> {
    stream.write_all(request).await?;
    let mut buffer = BytesMut::with_capacity(4096);
    loop {
        if stream.read_buf(&mut buffer).await? == 0 {
            let what = "the connection was closed before an answer came";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        while let Some((answer, len)) = parse(&buffer)? {
            let rest = buffer.split_off(len);
            // Answers before the answer: "processing", and such.
            if answer.status.is_informational() {
                buffer = rest;
                continue;
            }
            return Ok(Answer { begun: rest.freeze(), ..answer });
        }
        if buffer.len() >= LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the head of the answer is too long"));
        }
    }
}

/// Takes a head apart, if all of it is there. Returns its length, too.
pub(super) fn parse(bytes: &[u8]) -> io::Result<Option<(Answer, usize)>> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("no HTTP answer: {what}"));
    let mut lines = [httparse::EMPTY_HEADER; LINES];
    let mut head = httparse::Response::new(&mut lines);
    let len = match head.parse(bytes).map_err(|e| wrong(e.to_string()))? {
        httparse::Status::Complete(len) => len,
        httparse::Status::Partial => return Ok(None),
    };
    let status = head.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or_else(|| wrong("it has no status".to_owned()))?;
    let mut headers = HeaderMap::with_capacity(head.headers.len());
    for header in head.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|e| wrong(e.to_string()))?;
        let value = HeaderValue::from_bytes(header.value).map_err(|e| wrong(e.to_string()))?;
        headers.append(name, value);
    }
    let says = |name: &HeaderName, word: &str| {
        let words = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        words.flat_map(|value| value.split(',')).any(|found| found.trim().eq_ignore_ascii_case(word))
    };
    // Two lengths are an attack on those who stand between, or a mistake.
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter().map(|length| length.to_str().ok()?.parse().ok());
    let length = match (lengths.next(), lengths.next()) {
        (Some(length), None) => length,
        _ => None,
    };
    let plain = !headers.contains_key(TRANSFER_ENCODING)
        && headers.get(CONTENT_ENCODING).is_none_or(|packed| packed.as_bytes() == b"identity");
    let keeps = head.version == Some(1) && !says(&CONNECTION, "close");
    let length = length.filter(|_| plain);
    Ok(Some((Answer { status, headers, length, keeps, begun: Bytes::new() }, len)))
}
