//! Answers that are received where they will lie.
//!
//! An HTTP library reads an answer into memory of its own and hands out pieces, which are copied to where they belong. At some
//! gigabytes per second these copies cost as much as everything else a client does. Here the head of an answer is read and
//! taken apart, and its body goes from the socket straight to the reader's memory: a fifth less processor time
//! (`benches/remote.py --only raw`).
//!
//! Only plain HTTP, without proxies, and only bodies of known length: that is what services inside of a cluster speak. Whatever
//! else comes up (a redirection, an answer in chunks, a host that cannot be reached) is [`Answered::NotHere`]: then the
//! library asks once more and says what is wrong.

mod body;
mod connections;
mod head;
mod service;
mod sys;

pub(crate) use body::Received;
pub(crate) use service::{Connector, Wanted};

use body::Home;
use bytes::Bytes;
use connections::Connections;
use http::{HeaderMap, StatusCode, Uri};
use std::{io, sync::Arc};

/// The largest body of an answer that says what is wrong.
const LARGEST_MESSAGE: u64 = 64 << 10;

/// Sends requests for bodies.
#[derive(Debug)]
pub(crate) struct Direct {
    connections: Arc<Connections>,
}

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Answered {
    /// The head of an answer whose body can be received.
    Body(StatusCode, HeaderMap, Received),
    /// An answer that says what is wrong.
    Message(StatusCode, HeaderMap, Bytes),
    /// An HTTP library must ask.
    NotHere,
}

impl Direct {
    /// A client that keeps so many unused connections to each host, or none if a proxy may stand between.
    pub(crate) fn new(idle: usize, proxy: Option<&str>) -> Option<Self> {
        let named = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
        let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let without = proxy.is_none() && !named.iter().any(set);
        without.then(|| Direct { connections: Connections::new(idle) })
    }

    /// Sends a GET request. An error is one of a connection that was there.
    pub(crate) async fn get(&self, uri: &Uri, headers: &HeaderMap) -> io::Result<Answered> {
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.authority()) else {
            return Ok(Answered::NotHere);
        };
        if host.as_str().contains('@') {
            // A name and a password, which become a header.
            return Ok(Answered::NotHere);
        }
        let request = head::request(uri, host, headers);
        // A server closes connections that were not used for a while, perhaps at this very moment.
        if let Some(mut kept) = self.connections.kept(host.as_str())
            && let Ok(answer) = head::exchange(&mut kept, &request).await
        {
            return self.answered(kept, host.as_str(), answer).await;
        }
        let Some(mut fresh) = self.connections.connect(host).await else { return Ok(Answered::NotHere) };
        let answer = head::exchange(&mut fresh, &request).await?;
        self.answered(fresh, host.as_str(), answer).await
    }

    async fn answered(
        &self,
        stream: tokio::net::TcpStream,
        host: &str,
        answer: head::Answer,
    ) -> io::Result<Answered> {
        let head::Answer { status, headers, length, keeps, begun } = answer;
        let Some(length) = length.filter(|_| !status.is_redirection()) else { return Ok(Answered::NotHere) };
        let home = keeps.then(|| Home::new(&self.connections, host));
        let mut body = Received::new(stream, home, begun, length)?;
        if status.is_success() {
            return Ok(Answered::Body(status, headers, body));
        }
        if length > LARGEST_MESSAGE {
            return Ok(Answered::NotHere);
        }
        let message = body.collect().await?;
        Ok(Answered::Message(status, headers, message))
    }
}

#[cfg(test)]
mod tests;
