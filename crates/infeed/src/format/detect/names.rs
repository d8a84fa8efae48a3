//! What names say.

use crate::format::is_image;

/// Formats and what the names of their files end with, without the ending of a compression.
const ENDINGS: [(&str, &[&str]); 10] = [
    ("tar", &[".tar"]),
    ("jsonl", &[".jsonl", ".ndjson", ".jsonlines", ".json"]),
    ("csv", &[".csv", ".tsv"]),
    ("text", &[".txt", ".text"]),
    ("tfrecord", &[".tfrecord", ".tfrecords"]),
    ("parquet", &[".parquet", ".pq"]),
    ("arrow", &[".arrow", ".feather", ".ipc"]),
    ("avro", &[".avro"]),
    ("sqlite", &[".sqlite", ".sqlite3", ".db"]),
    ("lmdb", &[".mdb", ".lmdb"]),
];

/// What the names of compressed files end with.
const PACKED: [&str; 6] = [".gz", ".zst", ".zstd", ".bz2", ".xz", ".lz4"];

/// Endings of token files, which say nothing of how long a sample is.
const TOKENS: [&str; 3] = [".bin", ".idx", ".npy"];

pub(super) fn ends(name: &str, extension: &str) -> bool {
    name.len() > extension.len()
        && name.as_bytes()[name.len() - extension.len()..].eq_ignore_ascii_case(extension.as_bytes())
}

/// Whether a name is that of a compressed file.
pub fn is_packed(name: &str) -> bool {
    ends(name, ".tgz") || PACKED.iter().any(|ending| ends(name, ending))
}

/// A name without the ending of its compression.
fn bare(name: &str) -> &str {
    let packed = PACKED.iter().find(|ending| ends(name, ending));
    packed.map_or(name, |ending| &name[..name.len() - ending.len()])
}

/// The format that a name speaks of.
pub(super) fn format_of(name: &str) -> Option<&'static str> {
    if ends(name, ".tgz") {
        return Some("tar");
    }
    let name = bare(name);
    // LMDB keeps its locks beside its data.
    if name.ends_with("lock.mdb") || name.ends_with("-lock") {
        return None;
    }
    let has = |endings: &&[&str]| endings.iter().any(|ending| ends(name, ending));
    ENDINGS.iter().find(|(_, endings)| has(endings)).map(|(format, _)| *format)
}

/// Whether a file in a folder belongs to a format that the user named.
pub fn belongs(name: &str, format: &str) -> bool {
    format_of(name) == Some(format) && !is_image(name)
}

/// Whether a name is that of a file of tokens.
pub(super) fn is_tokens(name: &str) -> bool {
    TOKENS.iter().any(|ending| ends(name, ending))
}
