//! Showing bytes in messages.

/// How many bytes are shown: enough to recognise a file, short enough for one line.
const SHOWN: usize = 24;

/// The first bytes between backticks, those that do not print as escapes.
pub fn preview(bytes: &[u8]) -> String {
    let dots = if bytes.len() > SHOWN { "..." } else { "" };
    format!("`{}{dots}`", bytes[..bytes.len().min(SHOWN)].escape_ascii())
}
