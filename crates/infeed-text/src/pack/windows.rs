//! Windows that slide over a document.

use std::ops::Range;

/// Windows of `length` tokens, one every `stride`, over a document of `tokens`. What does not fill a window comes as a
/// shorter one with `keep_last`, if the windows before have not covered it.
pub fn windows(
    tokens: usize,
    length: usize,
    stride: usize,
    keep_last: bool,
) -> impl Iterator<Item = Range<usize>> {
    let (length, stride) = (length.max(1), stride.max(1));
    let full = if tokens < length { 0 } else { (tokens - length) / stride + 1 };
    let covered = if full == 0 { 0 } else { (full - 1) * stride + length };
    let start = full * stride;
    // With a stride beyond the length there are gaps, and the end may lie in one.
    let last = (keep_last && covered < tokens && start < tokens).then_some(start..tokens);
    (0..full).map(move |n| n * stride..n * stride + length).chain(last)
}
