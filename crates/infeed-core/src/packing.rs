//! Compressed files: their extensions and magic numbers.

use crate::opening::{ends_with, without_query};

/// A kind of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Packing {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Lz4,
}

impl Packing {
    /// All kinds.
    pub const ALL: [Packing; 5] = [Packing::Gzip, Packing::Zstd, Packing::Bzip2, Packing::Xz, Packing::Lz4];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Bzip2 => "bzip2",
            Packing::Xz => "xz",
            Packing::Lz4 => "lz4",
        }
    }

    /// Returns the extensions of such files.
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Packing::Gzip => &[".gz"],
            Packing::Zstd => &[".zst", ".zstd"],
            Packing::Bzip2 => &[".bz2"],
            Packing::Xz => &[".xz"],
            Packing::Lz4 => &[".lz4"],
        }
    }

    /// Returns the single-word extensions of such tars.
    fn tar_endings(self) -> &'static [&'static str] {
        match self {
            Packing::Gzip => &[".tgz"],
            Packing::Zstd => &[".tzst"],
            Packing::Bzip2 => &[".tbz", ".tbz2"],
            Packing::Xz => &[".txz"],
            Packing::Lz4 => &[],
        }
    }

    /// Returns the compression that a name indicates.
    pub fn of_name(name: &str) -> Option<Packing> {
        let name = without_query(name);
        let has = |packing: &Packing| {
            let mut endings = packing.endings().iter().chain(packing.tar_endings());
            endings.any(|ending| ends_with(name, ending))
        };
        Packing::ALL.into_iter().find(has)
    }

    /// Returns the compression of data with this start.
    pub fn of_head(head: &[u8]) -> Option<Packing> {
        let mut at = head;
        // zstd and lz4 share skippable frames: what follows them tells which it is.
        while let Some(len) = Packing::skippable(at)
            && let Some(rest) = usize::try_from(len).ok().and_then(|len| at.get(len..))
            && rest.len() >= 4
        {
            at = rest;
        }
        let known = Packing::ALL.into_iter().find(|packing| packing.begins(at));
        known.or_else(|| Packing::ALL.into_iter().find(|packing| packing.begins(head)))
    }

    /// Returns the length of the skippable frame that starts here, with its header.
    pub fn skippable(head: &[u8]) -> Option<u64> {
        match head {
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => {
                Some(8 + u64::from(u32::from_le_bytes([*a, *b, *c, *d])))
            }
            _ => None,
        }
    }

    fn begins(self, head: &[u8]) -> bool {
        match self {
            Packing::Gzip => head.starts_with(b"\x1f\x8b"),
            // A skippable frame, which parallel compressors write first, counts like a real one.
            Packing::Zstd => {
                head.starts_with(b"\x28\xb5\x2f\xfd") || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
            }
            Packing::Bzip2 => matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', ..]),
            Packing::Xz => head.starts_with(b"\xfd7zXZ\0"),
            // The second one is that of the legacy format, which the Linux kernel and old programs write.
            Packing::Lz4 => head.starts_with(b"\x04\x22\x4d\x18") || head.starts_with(b"\x02\x21\x4c\x18"),
        }
    }

    /// Returns a name without the extension of its compression: `a.jsonl` for `a.jsonl.gz`, and without the query of a URL.
    pub fn bare(name: &str) -> &str {
        let name = without_query(name);
        let mut endings = Packing::ALL.iter().flat_map(|packing| packing.endings());
        let ending = endings.find(|ending| ends_with(name, ending));
        ending.map_or(name, |ending| &name[..name.len() - ending.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_heads_tell_the_compression() {
        assert_eq!(Packing::of_name("a.jsonl.GZ"), Some(Packing::Gzip));
        assert_eq!(Packing::of_name("a.tgz"), Some(Packing::Gzip));
        assert_eq!(Packing::of_name("https://h/a.jsonl.gz?X-Amz-Signature=b.c"), Some(Packing::Gzip));
        assert_eq!(Packing::bare("https://h/a.jsonl.gz?X-Amz-Signature=b.c"), "https://h/a.jsonl");
        assert_eq!(Packing::bare("s3://b/a?.tar"), "s3://b/a?.tar");
        assert_eq!(Packing::of_name(".gz"), None);
        assert_eq!(Packing::bare("a.jsonl.zst"), "a.jsonl");
        assert_eq!(Packing::bare("a.tgz"), "a.tgz");
        assert_eq!(Packing::of_head(b"\x28\xb5\x2f\xfd...."), Some(Packing::Zstd));
        assert_eq!(Packing::of_head(b"BZh"), None);
        assert_eq!(Packing::of_head(b"\x02\x21\x4c\x18...."), Some(Packing::Lz4));
        let skip = b"\x53\x2a\x4d\x18\x02\0\0\0ab";
        assert_eq!(Packing::of_head(skip), Some(Packing::Zstd));
        assert_eq!(Packing::of_head(&[&skip[..], b"\x04\x22\x4d\x18"].concat()), Some(Packing::Lz4));
        assert_eq!(Packing::of_head(&[&skip[..], skip, b"\x28\xb5\x2f\xfd"].concat()), Some(Packing::Zstd));
        assert_eq!(Packing::skippable(b"\x53\x2a\x4d\x18\xff\xff\xff\xff"), Some(8 + u64::from(u32::MAX)));
    }
}
