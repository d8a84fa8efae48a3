//! `like`: text against a pattern in which `*` stands for any text and `?` for one character.

/// Whether the whole text fits. Never worse than the product of the lengths, whatever the pattern.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    // Where the last star is, and the text that it has not taken yet.
    let mut star: Option<(usize, usize)> = None;
    while from < t.len() {
        match p.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(b'?') => (at, from) = (at + 1, from + character(t, from)),
            Some(c) if *c == t[from] => (at, from) = (at + 1, from + 1),
            // The star must take one character more.
            _ => match star {
                Some((back, taken)) => {
                    let taken = taken + character(t, taken);
                    star = Some((back, taken));
                    (at, from) = (back + 1, taken);
                }
                None => return false,
            },
        }
    }
    p[at..].iter().all(|c| *c == b'*')
}

/// The length of the character that begins here.
fn character(text: &[u8], from: usize) -> usize {
    1 + text[from + 1..].iter().take_while(|b| **b & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_marks() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("n01*", "n01440764"),
            ("*.jpg", "a.jpg.jpg"),
            ("a*b*c", "aXbYbZc"),
            ("?é?", "aéb"),
            ("?", "é"),
            ("*é", "aé"),
            ("**a", "ba"),
            ("a?c*", "abc"),
            ("*ab", "aab"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("?", ""), ("n01*", "n02"), ("a*b", "abc"), ("?", "ab"), ("*a?", "a"), ("A", "a")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        let long = "a".repeat(2000);
        assert!(!matches(&"*a".repeat(50).replace("*a*a", "*a*ab"), &long), "and quickly");
    }
}
