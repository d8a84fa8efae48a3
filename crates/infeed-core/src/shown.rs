//! Text as it may be shown: signatures, tokens and passwords of URLs are left out.
//!
//! A signed URL is a path like any other, and so the name of a shard wherever one is named. What is told to people (errors,
//! descriptions, statistics, the command's output) goes through [`shown`]; what programs compare keeps the name.

use std::borrow::Cow;

/// Characters that end a URL in a text.
fn ends(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '`' | '"' | '\'' | '<' | '>' | '\\')
}

/// The same text, with queries of URLs as `?...` and users with passwords as `...@`.
///
/// A `?` in a name of an object store is a pattern, unless a `=` follows it; that of a web server always begins a query.
pub fn shown(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out += before;
        let end = after.find(ends).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        let scheme =
            before[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '+').next().unwrap_or("");
        let own = url_shown(scheme, url);
        changed |= own != url;
        out += &own;
        rest = behind;
    }
    if !changed {
        return Cow::Borrowed(text);
    }
    Cow::Owned(out + rest)
}

/// What follows `://`, as it may be shown.
fn url_shown<'a>(scheme: &str, url: &'a str) -> Cow<'a, str> {
    let web = scheme.starts_with("http");
    let (path, query) = match url.split_once('?') {
        Some((path, query)) if web || query.contains('=') => (path, Some(query)),
        _ => (url, None),
    };
    let host = path.find('/').unwrap_or(path.len());
    let user = match path[..host].rfind('@') {
        // A container before the account is no secret; a password is.
        Some(at) if web || path[..at].contains(':') => Some(at),
        _ => None,
    };
    if query.is_none() && user.is_none() {
        return Cow::Borrowed(url);
    }
    let path = user.map_or_else(|| path.to_owned(), |at| format!("...{}", &path[at..]));
    Cow::Owned(if query.is_some() { path + "?..." } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_of_urls_are_not_shown() {
        for (text, expected) in [
            ("https://u:secret@h/x?sig=secret", "https://...@h/x?..."),
            ("http://u@h:1/x", "http://...@h:1/x"),
            ("cannot read `https://h/x.tar?a=secret&b=%2F`: gone", "cannot read `https://h/x.tar?...`: gone"),
            (
                "[\"https://h/a?secret\", \"https://h/b?secret\"]",
                "[\"https://h/a?...\", \"https://h/b?...\"]",
            ),
            ("az://c/x?sv=1&sig=secret", "az://c/x?..."),
            ("proxy http://me:secret@p:3128 is away", "proxy http://...@p:3128 is away"),
        ] {
            assert_eq!(shown(text), expected);
        }
        for same in [
            "abfs://c@a.dfs.core.windows.net/x",
            "s3://b/x-?.tar",
            "no URL? none",
            "://",
            "s3://b/k",
            "a://b://c",
        ] {
            assert!(matches!(shown(same), Cow::Borrowed(_)), "{same}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_shown(text in "\\PC{0,40}", secret in "[a-z]{12}") {
            let _ = shown(&text);
            let url = format!("{text} https://h/x?y={secret}&z={secret} {text}");
            prop_assert!(!shown(&url).contains(&secret));
        }
    }
}
