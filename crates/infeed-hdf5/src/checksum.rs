//! The checksum of metadata: Bob Jenkins' `lookup3` (public domain), over bytes, with the start value 0.

/// The checksum of some bytes.
pub(crate) fn lookup3(data: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(data.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |bytes: &[u8]| {
        let mut wide = [0; 4];
        wide[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(wide)
    };
    // The last 1 to 12 bytes are mixed in another way, so a length of 12 has no first part.
    let whole = data.len().saturating_sub(1) / 12 * 12;
    let (first, last) = data.split_at(whole);
    for block in first.chunks_exact(12) {
        a = a.wrapping_add(word(&block[..4]));
        b = b.wrapping_add(word(&block[4..8]));
        c = c.wrapping_add(word(&block[8..]));
        a = (a.wrapping_sub(c)) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = (b.wrapping_sub(a)) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = (c.wrapping_sub(b)) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = (a.wrapping_sub(c)) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = (b.wrapping_sub(a)) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = (c.wrapping_sub(b)) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
    }
    if last.is_empty() {
        return c;
    }
    let part = |from: usize| word(last.get(from..last.len().min(from + 4)).unwrap_or_default());
    a = a.wrapping_add(part(0));
    b = b.wrapping_add(part(4));
    c = c.wrapping_add(part(8));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::lookup3;

    #[test]
    fn the_published_values() {
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
