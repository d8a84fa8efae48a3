//! Checksums used by data sets: SHA-1, MD5, xxHash (64 bits) and CRC-32, implemented from their definitions. They
//! detect accidental damage and are used for nothing else.

mod blocks;
mod words;

pub use blocks::{md5, sha1};
pub use words::{crc32, xxh64};

/// The names that [`digest`] supports.
pub const KNOWN: [&str; 4] = ["sha1", "md5", "xxh64", "crc32"];

/// Returns the checksum of this name in hexadecimal, as Python's `hexdigest` writes it; `None` for an unknown name.
pub fn digest(name: &str, bytes: &[u8]) -> Option<String> {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect();
    Some(match name {
        "sha1" => hex(&sha1(bytes)),
        "md5" => hex(&md5(bytes)),
        "xxh64" => format!("{:016x}", xxh64(bytes)),
        "crc32" => format!("{:08x}", crc32(bytes)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_known_texts() {
        let long = b"1234567890".repeat(20);
        for (name, text, want) in [
            ("sha1", &b""[..], "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("sha1", b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("md5", b"", "d41d8cd98f00b204e9800998ecf8427e"),
            ("md5", b"abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("md5", &long[..80], "57edf4a22be3c955ac49da2e2107b67a"),
            ("crc32", b"123456789", "cbf43926"),
            ("xxh64", b"", "ef46db3751d8e999"),
            ("xxh64", b"abc", "44bc2cf5ad770999"),
        ] {
            assert_eq!(digest(name, text).unwrap(), want, "{name}");
        }
        assert_eq!(digest("sha3", b""), None);
    }
}
