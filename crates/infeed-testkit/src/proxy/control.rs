//! What the proxy answers itself: its counters and faults under `/__proxy/`, and errors in the server's name.

use super::{config::Shared, head::Framing, head::Head, options::Faults, wire::Wire};
use serde::Serialize;
use std::io;

/// Paths of the proxy's own.
pub(super) const PREFIX: &str = "/__proxy/";
/// The largest options.
const LARGEST: u64 = 1 << 20;

/// Status and JSON for a request to the proxy itself.
pub(super) fn answer(shared: &Shared, request: &Head, client: &mut Wire) -> io::Result<(u16, Vec<u8>)> {
    let body = match request.request_framing()? {
        Framing::Length(length) if length <= LARGEST => read(client, length as usize)?,
        _ => return Err(super::head::invalid("options are sent with their length, at most 1 MiB")),
    };
    let (method, target, _) = request.request()?;
    match (method, target.strip_prefix(PREFIX).unwrap_or_default()) {
        ("GET", "stats") => json(200, &shared.counters.stats()),
        ("GET", "faults") => json(200, &shared.config().faults),
        ("POST", "reset") => {
            shared.reset();
            json(200, &serde_json::json!({}))
        }
        ("POST", "faults") => match Faults::from_json(&body) {
            Ok(faults) => {
                shared.set(faults);
                json(200, &shared.config().faults)
            }
            Err(error) => json(400, &serde_json::json!({"error": error.to_string()})),
        },
        _ => json(
            404,
            &serde_json::json!({"error": "the proxy has GET stats, GET faults, POST reset, POST faults"}),
        ),
    }
}

fn read(client: &mut Wire, length: usize) -> io::Result<Vec<u8>> {
    while client.buffered().len() < length {
        if !client.fill()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let body = client.buffered()[..length].to_vec();
    client.consume(length);
    Ok(body)
}

fn json(status: u16, value: &impl Serialize) -> io::Result<(u16, Vec<u8>)> {
    Ok((status, serde_json::to_vec(value)?))
}

/// The body of an error as S3 writes it; other services' clients look at the status alone.
pub(super) fn error_body(status: u16, target: &str) -> String {
    let (code, message) = match status {
        400 => ("ExpiredToken", "The provided token has expired."),
        401 | 403 => ("AccessDenied", "Access Denied"),
        404 => ("NoSuchKey", "The specified key does not exist."),
        412 => ("PreconditionFailed", "At least one of the pre-conditions you specified did not hold"),
        429 => ("TooManyRequests", "Please reduce your request rate."),
        503 => ("SlowDown", "Please reduce your request rate."),
        _ => ("InternalError", "We encountered an internal error. Please try again."),
    };
    let resource: String = target
        .split('?')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| !matches!(c, '<' | '>' | '&'))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>{message}</Message>\
         <Resource>{resource}</Resource><RequestId>proxy</RequestId></Error>"
    )
}
