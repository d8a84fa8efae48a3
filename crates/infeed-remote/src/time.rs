//! Times as services write them.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Nanoseconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers send today.
pub(crate) fn http_date(text: &str) -> Option<u64> {
    let mut parts = text.split_once(", ")?.1.split(' ');
    let day: u64 = parts.next()?.parse().ok()?;
    let month = MONTHS.iter().position(|month| Some(*month) == parts.clone().next())? as u64 + 1;
    parts.next();
    let year: u64 = parts.next()?.parse().ok()?;
    let mut clock = parts.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !(1970..2500).contains(&year) || day == 0 || day > 31 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    seconds.checked_mul(1_000_000_000)
}

/// Seconds since 1970 of `2030-01-02T03:04:05Z`, with or without a fraction; `+00:00` is the same.
pub(crate) fn iso_date(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let zone = text.get(19..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let valid = (1970..2500).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let utc = matches!(zone, "Z" | "+00:00" | "+0000");
    (valid && utc).then(|| ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days since 1970, by counting years from March: the leap day is then the last of its year.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000_000_000));
        assert_eq!(http_date("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000_000_000_000));
        for wrong in ["", "yesterday", "Sun, 06 Nov 1694 08:49:37 GMT", "Sun, 06 Non 1994 08:49:37 GMT"] {
            assert_eq!(http_date(wrong), None);
        }
        assert_eq!(iso_date("2024-02-29T12:00:00Z"), Some(1_709_208_000));
        assert_eq!(iso_date("2024-02-29T12:00:00.123+00:00"), Some(1_709_208_000));
        assert_eq!((iso_date("2024-02-29"), iso_date("2024-13-29T12:00:00Z")), (None, None));
    }
}
