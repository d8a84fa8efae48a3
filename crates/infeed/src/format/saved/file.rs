//! Atomic file writes, and the checksum.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Writes to a temporary name first: a reader never sees half a file, and two writers do not mix.
pub(in crate::format) fn write(
    place: &Path,
    content: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = place.as_os_str().to_owned();
    name.push(format!(".{}-{:x}.tmp", std::process::id(), serial()));
    let draft = PathBuf::from(name);
    let written = File::create_new(&draft)
        .and_then(|mut file| content(&mut file))
        .and_then(|()| std::fs::rename(&draft, place));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// Distinguishes the temporary files of threads that save the same index.
fn serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes eight bytes at a time. Protects against accidents, not against attacks.
pub(in crate::format) fn hash(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let words = words.iter().map(|w| u64::from_le_bytes(*w));
    words.chain([u64::from_le_bytes(last), bytes.len() as u64]).fold(ODD, mix)
}

/// Combines a hash with another word.
pub(in crate::format) fn mix(state: u64, word: u64) -> u64 {
    let mixed = (state ^ word).wrapping_mul(ODD);
    mixed ^ (mixed >> 29)
}
