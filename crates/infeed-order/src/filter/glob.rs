//! The operator `like`: matches text against a pattern in which `*` stands for any text and `?` for one character.

/// Returns whether the whole text matches. The time is at most the product of the lengths, for any pattern.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    // The position of the last star, and where the text after its match begins.
    let mut star: Option<(usize, usize)> = None;
    while from < t.len() {
        match p.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(b'?') => (at, from) = (at + 1, from + character(t, from)),
            Some(c) if *c == t[from] => (at, from) = (at + 1, from + 1),
            // Extend the match of the star by one character.
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

/// Returns the length of the character at this offset.
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
