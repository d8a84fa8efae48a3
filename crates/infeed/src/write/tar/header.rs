//! Writes the header blocks of a member.

/// Size of a header, and the unit that data is padded to.
pub(super) const BLOCK: usize = 512;
/// Sizes from here on do not fit into eleven octal digits.
const OCTAL_END: u64 = 1 << 33;

/// Makes one ustar header, with a PAX header before it if the name or the size does not fit.
pub(super) fn headers(name: &str, size: u64, mtime: u64) -> Vec<u8> {
    let place = split(name.as_bytes());
    // Readers disagree about bytes above 127 in a plain header; in PAX records they are UTF-8 by definition.
    let fits = name.is_ascii() && place.is_some();
    let mut out = Vec::with_capacity(3 * BLOCK);
    if !fits || size >= OCTAL_END {
        let mut records = Vec::new();
        if !fits {
            record(&mut records, "path", name);
        }
        if size >= OCTAL_END {
            record(&mut records, "size", &size.to_string());
        }
        out.extend_from_slice(&block(b"PaxHeaders/next", b"", records.len() as u64, mtime, b'x'));
        out.extend_from_slice(&records);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    // A reader without PAX support gets at least the start of the name.
    let start = &name.as_bytes()[..name.len().min(100)];
    let (prefix, rest) = if fits { place.unwrap_or((b"", start)) } else { (&b""[..], start) };
    out.extend_from_slice(&block(rest, prefix, size, mtime, b'0'));
    out
}

/// Splits a name into a prefix of at most 155 bytes and a rest of at most 100, at a slash that is not stored.
fn split(name: &[u8]) -> Option<(&[u8], &[u8])> {
    if name.len() <= 100 {
        return Some((b"", name));
    }
    let slash = name.iter().enumerate().position(|(i, b)| *b == b'/' && name.len() - i - 1 <= 100)?;
    ((1..=155).contains(&slash) && slash + 1 < name.len()).then(|| (&name[..slash], &name[slash + 1..]))
}

fn block(name: &[u8], prefix: &[u8], size: u64, mtime: u64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name);
    put(100, b"0000444\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, &number(size));
    put(136, &number(mtime));
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(329, b"0000000\0");
    put(337, b"0000000\0");
    put(345, prefix);
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Encodes eleven octal digits, or binary after a marker.
fn number(n: u64) -> [u8; 12] {
    let mut field = [0; 12];
    if n < OCTAL_END {
        field[..11].copy_from_slice(format!("{n:011o}").as_bytes());
    } else {
        field[0] = 0x80;
        field[4..].copy_from_slice(&n.to_be_bytes());
    }
    field
}

/// Appends `"<length> <keyword>=<value>\n"`, where the length counts its own digits.
fn record(out: &mut Vec<u8>, keyword: &str, value: &str) {
    let bare = keyword.len() + value.len() + 3;
    let mut length = bare + 1;
    while bare + length.to_string().len() != length {
        length = bare + length.to_string().len();
    }
    out.extend_from_slice(format!("{length} {keyword}={value}\n").as_bytes());
}

#[cfg(test)]
mod tests;
