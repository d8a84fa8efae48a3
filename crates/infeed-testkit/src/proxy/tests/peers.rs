//! A server and a client that know just enough HTTP, apart from the code under test.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

/// Byte `at` of every object.
pub(super) fn byte(at: usize) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13) as u8
}

/// Bytes of every object.
pub(super) fn bytes(range: std::ops::Range<usize>) -> Vec<u8> {
    range.map(byte).collect()
}

/// `/object/SIZE` with ranges, `/chunked/SIZE`, `/close/SIZE` (ends with the connection), `/once` (closes after the answer without
/// saying so), `PUT` (answers with what it got). Ends with the test's process.
pub(super) struct Server {
    pub(super) port: u16,
}

impl Server {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || while answer(&socket).unwrap_or(false) {});
            }
        });
        Server { port }
    }
}

/// Answers one request. Returns whether the connection stays open.
fn answer(mut socket: &TcpStream) -> io::Result<bool> {
    socket.set_nodelay(true)?;
    // One byte at a time, so that nothing of the next request is read.
    let mut reader = BufReader::with_capacity(1, socket);
    let (first, fields) = head(&mut reader)?;
    let words: Vec<&str> = first.split(' ').collect();
    assert_eq!(words[2], "HTTP/1.1");
    assert!(
        !fields.contains_key("connection"),
        "what is said about the client's connection is for the proxy"
    );
    if words[0] == "PUT" {
        assert!(!fields.contains_key("expect"));
        let body = body(&mut reader, &fields)?;
        write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
        socket.write_all(&body)?;
        return Ok(true);
    }
    let path = words[1][1..].split('?').next().unwrap_or_default();
    let (kind, size) = path.split_once('/').unwrap_or((path, "0"));
    let size: usize = size.parse().unwrap();
    match kind {
        "object" => {
            let range = fields.get("range").map(|range| {
                let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                first.parse::<usize>().unwrap()..(last.parse::<usize>().unwrap() + 1).min(size)
            });
            match range {
                Some(range) if range.start >= size => {
                    write!(socket, "HTTP/1.1 416 Range\r\nContent-Length: 0\r\n\r\n")?;
                }
                found => {
                    let own = found.clone().unwrap_or(0..size);
                    let status = if found.is_some() { "206 Partial Content" } else { "200 OK" };
                    write!(
                        socket,
                        "HTTP/1.1 {status}\r\nX-Odd: caf\u{e9}\r\nContent-Length: {}\r\n",
                        own.len()
                    )?;
                    if found.is_some() {
                        write!(socket, "Content-Range: bytes {}-{}/{size}\r\n", own.start, own.end - 1)?;
                    }
                    write!(socket, "\r\n")?;
                    if words[0] != "HEAD" {
                        socket.write_all(&bytes(own))?;
                    }
                }
            }
            Ok(true)
        }
        "chunked" => {
            write!(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            for chunk in bytes(0..size).chunks(100_000) {
                write!(socket, "{:x};a=b\r\n", chunk.len())?;
                socket.write_all(chunk)?;
                write!(socket, "\r\n")?;
            }
            write!(socket, "0\r\nX-Trailer: 1\r\n\r\n")?;
            Ok(true)
        }
        "close" => {
            write!(socket, "HTTP/1.0 200 OK\r\n\r\n")?;
            socket.write_all(&bytes(0..size))?;
            Ok(false)
        }
        "once" => {
            write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
            Ok(false)
        }
        // Says nothing any more.
        "silent" => {
            thread::sleep(Duration::from_secs(600));
            Ok(false)
        }
        _ => {
            write!(socket, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            Ok(true)
        }
    }
}

/// An answer.
#[derive(Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) fields: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
    /// How the body ended, if not well: the kind of the error.
    pub(super) broken: Option<ErrorKind>,
}

/// A client with one connection, which it opens anew when it was closed.
pub(super) struct Client {
    port: u16,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(super) fn new(port: u16) -> Self {
        Client { port, connection: None }
    }

    pub(super) fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"), b"")
    }

    pub(super) fn range(&mut self, path: &str, first: usize, last: usize) -> io::Result<Reply> {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nRange: bytes={first}-{last}\r\n\r\n"), b"")
    }

    pub(super) fn post(&mut self, path: &str, body: &str) -> io::Result<Reply> {
        let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
        self.send(&head, body.as_bytes())
    }

    /// Sends a request as it is given.
    pub(super) fn send(&mut self, request: &str, sent: &[u8]) -> io::Result<Reply> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let socket = TcpStream::connect(("127.0.0.1", self.port))?;
                // Against hangs alone.
                socket.set_read_timeout(Some(Duration::from_secs(60)))?;
                BufReader::new(socket)
            }
        };
        connection.get_mut().write_all(request.as_bytes())?;
        connection.get_mut().write_all(sent)?;
        let (mut first, mut fields) = head(&mut connection)?;
        if first.contains(" 100 ") {
            (first, fields) = head(&mut connection)?;
        }
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let (mut got, mut broken) = (Vec::new(), None);
        if !request.starts_with("HEAD") {
            // Of a broken body, what came is of interest, too.
            let result = match fields.get("content-length").map(|length| length.parse::<u64>().unwrap()) {
                Some(length) => (&mut connection).take(length).read_to_end(&mut got).and_then(|count| {
                    if count as u64 == length { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
                }),
                None => body(&mut connection, &fields).map(|all| got = all),
            };
            broken = result.err().map(|error| error.kind());
        }
        let closes = fields.get("connection").is_some_and(|said| said == "close");
        if broken.is_none() && !closes {
            self.connection = Some(connection);
        }
        Ok(Reply { status, fields, body: got, broken })
    }
}

/// First line and fields, names in lower case.
fn head(reader: &mut impl BufRead) -> io::Result<(String, BTreeMap<String, String>)> {
    let line = |reader: &mut dyn BufRead| {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(io::Error::from(ErrorKind::UnexpectedEof));
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    };
    let first = line(reader)?;
    let mut fields = BTreeMap::new();
    loop {
        let next = line(reader)?;
        match next.split_once(": ") {
            Some((name, value)) => fields.insert(name.to_lowercase(), value.to_owned()),
            None => return Ok((first, fields)),
        };
    }
}

/// A body by its fields: a length, chunks, or until the end.
fn body(reader: &mut impl BufRead, fields: &BTreeMap<String, String>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if let Some(length) = fields.get("content-length") {
        body.resize(length.parse().unwrap(), 0);
        reader.read_exact(&mut body)?;
    } else if fields.contains_key("transfer-encoding") {
        loop {
            let (mut line, old) = (String::new(), body.len());
            if reader.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let size = usize::from_str_radix(line.trim().split(';').next().unwrap(), 16).unwrap();
            if size == 0 {
                while {
                    line.clear();
                    reader.read_line(&mut line)? > 2
                } {}
                break;
            }
            body.resize(old + size, 0);
            reader.read_exact(&mut body[old..])?;
            reader.read_exact(&mut [0; 2])?;
        }
    } else {
        reader.read_to_end(&mut body)?;
    }
    Ok(body)
}
