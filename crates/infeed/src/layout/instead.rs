//! Recognises what lies where a shard should be when a download went wrong.
//!
//! A server that answers with an error page, or a repository without its large files, gives a file with the right name
//! and other content. The fault that a reader finds in it (a wrong checksum) does not say so.

/// Names what a damaged shard is, if its start shows that it is no shard at all.
pub(crate) fn instead(start: &[u8]) -> Option<&'static str> {
    let text = start.trim_ascii_start();
    let begins = |with: &str| text.get(..with.len()).is_some_and(|t| t.eq_ignore_ascii_case(with.as_bytes()));
    match () {
        () if ["<!doctype html", "<html", "<head", "<body"].into_iter().any(begins) => {
            Some("this is an HTML page, not the data: did a server answer with an error or a login page?")
        }
        () if begins("<?xml") => Some("this is XML, not the data: did a server answer with an error?"),
        () if begins("version https://git-lfs") => {
            Some("this is a Git LFS pointer, not the data: `git lfs pull` fetches the data")
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_pointers_are_named() {
        for (start, what) in [
            (&b"<!DOCTYPE html>\n<html>"[..], "an HTML page"),
            (b"\r\n  <HTML><body>403", "an HTML page"),
            (b"<?xml version=\"1.0\"?><Error><Code>NoSuchKey", "XML"),
            (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        ] {
            assert!(instead(start).unwrap().starts_with(&format!("this is {what}, not the data")));
        }
        for other in [&b""[..], b"<", b"<htm", b"html", b"PAR1", b"\x1f\x8b\x08", b"{\"a\": 1}"] {
            assert_eq!(instead(other), None);
        }
    }
}
