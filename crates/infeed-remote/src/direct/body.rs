//! The body of an answer.

use super::{connections::Connections, sys};
use bytes::{Buf, Bytes};
use std::{
    io,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{io::AsyncReadExt, net::TcpStream, time::timeout};

/// What is received at a time by those who want pieces.
const PIECE: usize = 64 << 10;
/// How many bytes a socket gathers before it wakes its reader. Woken for each packet, a thread spends more time on being woken than on
/// the bytes.
const GATHERED: usize = 512 << 10;
/// How long it may gather. A slow connection is read as its bytes come, so that whoever looks sees them come.
const GATHERING: Duration = Duration::from_millis(100);

/// A body of known length that is on its way.
#[derive(Debug)]
pub(crate) struct Received {
    /// Gone when the connection went home.
    stream: Option<TcpStream>,
    home: Option<Home>,
    /// What came together with the head.
    begun: Bytes,
    /// Bytes that are still to come, with those of `begun`.
    left: u64,
    /// How many bytes the socket gathers now before it wakes its reader, and how many it may.
    gathers: usize,
    most: usize,
}

/// Where a connection goes when its answer was read to the end.
#[derive(Debug)]
pub(super) struct Home {
    connections: Weak<Connections>,
    host: Box<str>,
}

impl Home {
    pub(super) fn new(connections: &Arc<Connections>, host: &str) -> Self {
        Home { connections: Arc::downgrade(connections), host: host.into() }
    }
}

impl Received {
    pub(super) fn new(stream: TcpStream, home: Option<Home>, begun: Bytes, length: u64) -> io::Result<Self> {
        if begun.len() as u64 > length {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "more came than the answer has"));
        }
        let mut body =
            Received { stream: Some(stream), home, begun, left: length, gathers: 1, most: GATHERED };
        body.go_home_at_the_end();
        Ok(body)
    }

    /// Receives some bytes; none when all have come.
    pub(crate) async fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = match &mut self.stream {
            _ if most == 0 => return Ok(0),
            _ if !self.begun.is_empty() => {
                let count = most.min(self.begun.len());
                self.begun.copy_to_slice(&mut out[..count]);
                count
            }
            Some(stream) => {
                // What is left of a body always wakes its reader.
                gather(stream, &mut self.gathers, self.most.min(most));
                match timeout(GATHERING, stream.read(&mut out[..most])).await {
                    Ok(count) => count?,
                    Err(_) => {
                        self.most = 1;
                        gather(stream, &mut self.gathers, 1);
                        stream.read(&mut out[..most]).await?
                    }
                }
            }
            None => 0,
        };
        if count == 0 {
            let what = format!("the connection was closed {} bytes too early", self.left);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        self.left -= count as u64;
        self.go_home_at_the_end();
        Ok(count)
    }

    /// Receives the next piece.
    pub(crate) async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        let mut piece = vec![0; PIECE.min(usize::try_from(self.left).unwrap_or(PIECE))];
        let count = self.read(&mut piece).await?;
        piece.truncate(count);
        Ok((count > 0).then(|| piece.into()))
    }

    /// Receives all that is left.
    pub(super) async fn collect(&mut self) -> io::Result<Bytes> {
        let mut all = Vec::new();
        while let Some(piece) = self.piece().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all.into())
    }

    fn go_home_at_the_end(&mut self) {
        if self.left > 0 {
            return;
        }
        let connections = self.home.as_ref().and_then(|home| Some((home.connections.upgrade()?, &home.host)));
        if let (Some((connections, host)), Some(stream)) = (connections, self.stream.take()) {
            // The head of the next answer is small.
            gather(&stream, &mut self.gathers, 1);
            connections.keep(host, stream);
        }
    }
}

/// Lets a socket gather so many bytes, if that is not what it does.
fn gather(stream: &TcpStream, gathers: &mut usize, bytes: usize) {
    if *gathers != bytes {
        sys::gather(stream, bytes);
        *gathers = bytes;
    }
}
