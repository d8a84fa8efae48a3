//! Human-readable numbers.

/// Numbers are written the same way in verdicts and in tables.
pub(crate) use infeed::order::ledger::count;

/// `1.5 MB`: decimal units, as for disks and rates.
pub(crate) fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < 999.5 {
            return if unit == "B" || value >= 99.5 {
                format!("{value:.0} {unit}")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// `12 %`, or `0.4 %` for small shares.
pub(crate) fn share(part: f64) -> String {
    let percent = part * 100.0;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// One line of text without control characters, at most `most` characters long.
pub(crate) fn line(text: &str, most: usize) -> String {
    let clean: String =
        text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(most + 1).collect();
    if clean.chars().count() <= most {
        return clean;
    }
    clean.chars().take(most.saturating_sub(3)).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1500), bytes(123_456), bytes(2_000_000_000)].join(" "),
            "0 B 999 B 1.5 KB 123 KB 2.0 GB"
        );
        assert_eq!([count(7), count(1234), count(1_234_567)].join(" "), "7 1,234 1,234,567");
        assert_eq!([share(0.0), share(0.004), share(0.5)].join(" "), "0 % 0.4 % 50 %");
        assert_eq!(line("a\nb\u{1b}c", 10), "a b c");
        assert_eq!(line("abcdefgh", 6), "abc...");
    }
}
