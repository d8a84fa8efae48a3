//! SHA-1 and MD5: both work on blocks of 64 bytes and end with the length.

/// Passes the data to `each` in blocks, with the padding of both hashes: a bit, zeros, and the length in bits.
fn padded(bytes: &[u8], length: [u8; 8], mut each: impl FnMut(&[u8; 64])) {
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().for_each(&mut each);
    let mut last = [0; 128];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let end = if rest.len() < 56 { 64 } else { 128 };
    last[end - 8..end].copy_from_slice(&length);
    last[..end].as_chunks::<64>().0.iter().for_each(each);
}

/// SHA-1.
pub fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    padded(bytes, (bytes.len() as u64 * 8).to_be_bytes(), |block| {
        let mut w = [0u32; 80];
        for (word, four) in w.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*four);
        }
        for i in 16..80 {
            w[i] = (w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in w.iter().enumerate() {
            let (f, k) = match i / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6),
            };
            let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(part);
        }
    });
    let mut out = [0; 20];
    for (four, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *four = word.to_be_bytes();
    }
    out
}

/// MD5.
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    // By definition the integer part of 2^32 times the sine.
    let sines: [u32; 64] = std::array::from_fn(|i| (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32);
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    padded(bytes, (bytes.len() as u64 * 8).to_le_bytes(), |block| {
        let mut m = [0u32; 16];
        for (word, four) in m.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*four);
        }
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (f, g) = match i / 16 {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), 5 * i + 1),
                2 => (b ^ c ^ d, 3 * i + 5),
                _ => (c ^ (b | !d), 7 * i),
            };
            let sum = a.wrapping_add(f).wrapping_add(sines[i]).wrapping_add(m[g % 16]);
            (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(TURNS[i / 16][i % 4])));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    });
    let mut out = [0; 16];
    for (four, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *four = word.to_le_bytes();
    }
    out
}
