//! Why a request failed, and what that means.

use crate::{credentials::PROFILE, location::shown};
use infeed_core::Error;
use object_store::client::HttpErrorKind;
use std::{
    error::Error as StdError,
    io::{Error as IoError, ErrorKind},
};

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The object, or its bucket, is not there.
    Missing,
    /// The object is not the one that was listed.
    Changed,
    /// The credentials are wrong, or were valid and are not any more.
    Keys,
    /// The credentials are not enough for this object, or there are none.
    Denied,
    /// The service asks for fewer requests.
    SlowDown,
    /// A fault that may pass: of the network, or of the service.
    Passing,
    /// Parts of objects cannot be had from this server.
    NoRanges,
    /// A request that can never succeed.
    Refused,
}

/// A failed request.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    pub(crate) what: String,
}

impl Failure {
    pub(crate) fn new(cause: Cause, what: impl Into<String>) -> Self {
        Failure { cause, what: what.into() }
    }

    /// Whether the same request can succeed a moment later.
    pub(crate) fn passes(&self) -> bool {
        matches!(self.cause, Cause::SlowDown | Cause::Passing)
    }

    /// From the status of an answer and its body.
    pub(crate) fn of_status(status: u16, body: &str) -> Self {
        let cause = match status {
            404 | 410 => Cause::Missing,
            412 => Cause::Changed,
            // The signature of a request that waited for too long.
            403 if body.contains("RequestTimeTooSkewed") => Cause::Passing,
            400 | 401 | 403 if says(body, &EXPIRED) || says(body, &WRONG) => Cause::Keys,
            401 | 403 => Cause::Denied,
            429 | 503 => Cause::SlowDown,
            // Not implemented, and a version of HTTP that the server does not know.
            501 | 505 => Cause::Refused,
            408 | 425 | 500..=599 => Cause::Passing,
            416 => Cause::Changed,
            _ => Cause::Refused,
        };
        let said = said(body).map(|said| format!(": {said}")).unwrap_or_default();
        Failure::new(cause, format!("the server answered {status}{said}"))
    }

    /// The error for readers. `tries` is how often the request was sent.
    pub(crate) fn error(self, doing: &'static str, url: &str, tries: u32) -> Error {
        let path = shown(url);
        let what = if tries > 1 { format!("{} (tried {tries} times)", self.what) } else { self.what };
        match self.cause {
            Cause::Missing => Error::NotFound { path, hint: format!("; {what}") },
            Cause::Changed => Error::Changed { path, what },
            Cause::Keys => {
                let cure = if says(&what, &EXPIRED) {
                    "get new credentials, and go on from the last state; those of a profile or of its credential_process \
                     are read again by themselves, those of the environment are not"
                } else {
                    "check the credentials in the environment or in the profile, or set anonymous=True for public data"
                };
                // All samples need them: none of them is bad because of it.
                Error::io(doing, path, IoError::other(format!("{what}; {cure}")))
            }
            Cause::Denied => {
                let what = format!(
                    "{what}; check the credentials and what they may read, or set anonymous=True for public data"
                );
                Error::io(doing, path, IoError::new(ErrorKind::PermissionDenied, what))
            }
            // Not one of the kinds that are tried again: that was done.
            Cause::SlowDown | Cause::Passing => Error::io(doing, path, IoError::other(what)),
            Cause::NoRanges => Error::io(doing, path, IoError::new(ErrorKind::Unsupported, what)),
            Cause::Refused => Error::io(doing, path, IoError::new(ErrorKind::InvalidInput, what)),
        }
    }
}

/// Codes of credentials that were valid once.
const EXPIRED: [&str; 4] = ["ExpiredToken", "TokenRefreshRequired", "RequestExpired", "Request has expired"];
/// Codes of credentials that are wrong.
const WRONG: [&str; 6] = [
    "InvalidToken",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidSecurity",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
];

fn says(text: &str, codes: &[&str]) -> bool {
    codes.iter().any(|code| text.contains(code))
}

/// The code and the message of an XML error, or the beginning of another text.
fn said(body: &str) -> Option<String> {
    let within = |name: &str| {
        let start = body.find(&format!("<{name}>"))? + name.len() + 2;
        let end = start + body[start..].find('<')?;
        Some(body[start..end].trim().to_owned()).filter(|text| !text.is_empty())
    };
    match (within("Code"), within("Message")) {
        (Some(code), Some(message)) => Some(format!("{code}, {message}")),
        (Some(code), None) => Some(code),
        // Pages of proxies and servers are long and say little.
        _ if body.contains('<') => None,
        _ => {
            let text: String = body.trim().chars().take(200).collect();
            (!text.is_empty()).then_some(text)
        }
    }
}

impl From<object_store::Error> for Failure {
    fn from(e: object_store::Error) -> Self {
        use object_store::Error as E;
        let source = match &e {
            E::Precondition { .. } => return Failure::new(Cause::Changed, "another object has its name now"),
            E::NotSupported { source } | E::Generic { source, .. } => &**source,
            E::NotFound { source, .. }
            | E::PermissionDenied { source, .. }
            | E::Unauthenticated { source, .. } => &**source,
            other => return Failure::new(Cause::Refused, other.to_string()),
        };
        if let Some(status) = status_of(source) {
            return status;
        }
        match &e {
            E::NotFound { .. } => Failure::new(Cause::Missing, "there is no such object"),
            E::PermissionDenied { .. } => Failure::new(Cause::Denied, "it may not be read"),
            // Ours: a program that does not give keys, in its own words.
            E::Unauthenticated { path, .. } if path == PROFILE => {
                Failure::new(Cause::Denied, format!("the AWS profile gives no credentials: {source}"))
            }
            E::Unauthenticated { .. } => Failure::new(Cause::Denied, "there are no valid credentials"),
            _ => of_source(source),
        }
    }
}

/// The status and body of an answer, out of the text of object_store's error: its type is private.
fn status_of(source: &(dyn StdError + 'static)) -> Option<Failure> {
    const LEAD: &str = "status code: ";
    let mut next = Some(source);
    while let Some(error) = next {
        let text = error.to_string();
        if let Some(at) = text.find(LEAD) {
            let rest = &text[at + LEAD.len()..];
            let status = rest.get(..3)?.parse().ok()?;
            // `403 Forbidden: <the body>`
            let body = rest.split_once(": ").map_or("", |(_, body)| body);
            return Some(Failure::of_status(status, body));
        }
        // Some services answer 200 and put the error into the body.
        if let Some(at) = text.find("error response: ") {
            return Some(Failure::of_status(503, &text[at..]));
        }
        next = error.source();
    }
    None
}

/// A failure without an answer: of the connection, mostly.
fn of_source(source: &(dyn StdError + 'static)) -> Failure {
    let mut next = Some(source);
    let (mut cause, mut last) = (Cause::Refused, String::new());
    while let Some(error) = next {
        if let Some(http) = error.downcast_ref::<object_store::client::HttpError>() {
            cause = match http.kind() {
                HttpErrorKind::Connect
                | HttpErrorKind::Timeout
                | HttpErrorKind::Interrupted
                | HttpErrorKind::Request
                | HttpErrorKind::Unknown => Cause::Passing,
                _ => cause,
            };
        }
        if error.is::<IoError>() {
            cause = Cause::Passing;
        }
        // The innermost says most, and has no URL in it.
        last = error.to_string();
        next = error.source();
    }
    if let Some(failure) = untrusted(&last) {
        return failure;
    }
    // An answer for another range: of a proxy or a server that mixes requests up.
    let mixed = last.contains("Requested ") && last.contains("got ") || last.contains("non-partial response");
    Failure::new(if mixed { Cause::Passing } else { cause }, last)
}

/// A certificate that is not trusted: asking again would not help.
fn untrusted(what: &str) -> Option<Failure> {
    let cure = "if the server is yours, name its certificate with ca_file=";
    what.contains("invalid peer certificate").then(|| Failure::new(Cause::Refused, format!("{what}; {cure}")))
}

impl From<reqwest::Error> for Failure {
    fn from(e: reqwest::Error) -> Self {
        let e = e.without_url();
        let never = e.is_builder() || e.is_redirect();
        let mut last: &dyn StdError = &e;
        while let Some(inner) = last.source() {
            last = inner;
        }
        if let Some(failure) = untrusted(&last.to_string()) {
            return failure;
        }
        let what = if e.is_timeout() { "it took too long".to_owned() } else { last.to_string() };
        let what = if e.is_connect() { format!("no connection: {what}") } else { what };
        Failure::new(if never { Cause::Refused } else { Cause::Passing }, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood() {
        let cause = |status, body: &str| Failure::of_status(status, body).cause;
        assert_eq!(cause(404, ""), Cause::Missing);
        assert_eq!(cause(503, "<Error><Code>SlowDown</Code></Error>"), Cause::SlowDown);
        assert_eq!(cause(500, ""), Cause::Passing);
        assert_eq!(cause(403, "<Code>AccessDenied</Code>"), Cause::Denied);
        assert_eq!(cause(400, "<Code>ExpiredToken</Code>"), Cause::Keys);
        assert_eq!(cause(403, "<Code>SignatureDoesNotMatch</Code>"), Cause::Keys);
        assert_eq!(cause(403, ""), Cause::Denied);
        assert_eq!(cause(400, ""), Cause::Refused);
        let xml = "<?xml?><Error><Code>NoSuchBucket</Code><Message>The bucket is not there</Message></Error>";
        let error = Failure::of_status(404, xml).error("read", "s3://b/x?sig=abc", 1);
        let text = error.to_string();
        assert!(text.contains("NoSuchBucket, The bucket is not there") && !text.contains("abc"), "{text}");
        assert!(
            Failure::of_status(502, "<html>").error("read", "http://h/x", 4).to_string().contains("4 times")
        );
    }

    #[test]
    fn faults_of_the_storage_are_told_from_those_of_data() {
        let error = |cause| Failure::new(cause, "x").error("read", "s3://b/x", 2);
        assert!(error(Cause::Passing).is_storage() && !error(Cause::Passing).is_transient());
        assert!(error(Cause::Changed).is_storage() && error(Cause::Keys).is_storage());
        assert!(!error(Cause::Denied).is_storage() && !error(Cause::Missing).is_storage());
    }
}
