//! Showing bytes in messages.

/// How many bytes are shown: enough to recognise a file, few enough for one line.
const SHOWN: usize = 24;

/// Returns the first bytes between backticks, with non-printable ones escaped.
pub fn preview(bytes: &[u8]) -> String {
    let dots = if bytes.len() > SHOWN { "..." } else { "" };
    format!("`{}{dots}`", bytes[..bytes.len().min(SHOWN)].escape_ascii())
}
