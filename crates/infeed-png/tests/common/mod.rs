//! A PNG writer for unusual files: any filter on any row, passes, tiny chunks.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs)]

/// xorshift64*, so that a failure can be repeated.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| (self.next() >> 40) as u8).collect()
    }
}

/// Every pair of colour type and bit depth there is.
pub const KINDS: [(u8, u8); 15] = [
    (0, 1),
    (0, 2),
    (0, 4),
    (0, 8),
    (0, 16),
    (2, 8),
    (2, 16),
    (3, 1),
    (3, 2),
    (3, 4),
    (3, 8),
    (4, 8),
    (4, 16),
    (6, 8),
    (6, 16),
];

#[derive(Clone, Copy)]
pub enum Filter {
    Always(u8),
    Random,
}

pub struct Image {
    pub width: usize,
    pub height: usize,
    pub color: u8,
    pub depth: u8,
    pub interlaced: bool,
    pub filter: Filter,
    pub idats: usize,
    pub extra: Vec<([u8; 4], Vec<u8>)>,
}

impl Image {
    pub fn new(width: usize, height: usize, (color, depth): (u8, u8)) -> Self {
        let mut extra = Vec::new();
        if color == 3 {
            let entries = 3 << depth.min(8);
            extra.push((*b"PLTE", (0..entries).map(|i| (i * 37 + 11) as u8).collect()));
        }
        Self { width, height, color, depth, interlaced: false, filter: Filter::Random, idats: 1, extra }
    }

    pub fn bits(&self) -> usize {
        [1, 0, 3, 1, 2, 0, 4][self.color as usize] * self.depth as usize
    }

    /// The file, and the inflated stream inside it, of random pixels.
    pub fn encode(&self, random: &mut Random) -> Vec<u8> {
        self.wrap(&self.stream(random))
    }

    /// Random rows with the asked filters applied, pass after pass.
    pub fn stream(&self, random: &mut Random) -> Vec<u8> {
        let passes: &[[usize; 4]] = if self.interlaced {
            &[
                [0, 0, 8, 8],
                [4, 0, 8, 8],
                [0, 4, 4, 8],
                [2, 0, 4, 4],
                [0, 2, 2, 4],
                [1, 0, 2, 2],
                [0, 1, 1, 2],
            ]
        } else {
            &[[0, 0, 1, 1]]
        };
        let mut out = Vec::new();
        for &[x0, y0, dx, dy] in passes {
            let width = (self.width + dx - 1 - x0) / dx;
            let height = (self.height + dy - 1 - y0) / dy;
            if width == 0 {
                continue;
            }
            let len = (width * self.bits()).div_ceil(8);
            let mut above = vec![0; len];
            for _ in 0..height {
                let kind = match self.filter {
                    Filter::Always(kind) => kind,
                    Filter::Random => random.below(5) as u8,
                };
                let row = random.bytes(len);
                out.push(kind);
                out.extend(filter(kind, self.bits().div_ceil(8), &row, &above));
                above = row;
            }
        }
        out
    }

    /// Puts a stream into a file.
    pub fn wrap(&self, stream: &[u8]) -> Vec<u8> {
        self.wrap_compressed(&miniz_oxide::deflate::compress_to_vec_zlib(stream, 1))
    }

    pub fn wrap_compressed(&self, packed: &[u8]) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut ihdr = Vec::new();
        ihdr.extend((self.width as u32).to_be_bytes());
        ihdr.extend((self.height as u32).to_be_bytes());
        ihdr.extend([self.depth, self.color, 0, 0, u8::from(self.interlaced)]);
        chunk(&mut file, b"IHDR", &ihdr);
        for (kind, data) in &self.extra {
            chunk(&mut file, kind, data);
        }
        for piece in packed.chunks(packed.len().div_ceil(self.idats)) {
            chunk(&mut file, b"IDAT", piece);
        }
        chunk(&mut file, b"IEND", &[]);
        file
    }
}

/// The checksum of chunks, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}

pub fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let from = file.len();
    file.extend(kind);
    file.extend(data);
    let crc = crc32(&file[from..]);
    file.extend(crc.to_be_bytes());
}

fn filter(kind: u8, bpp: usize, row: &[u8], above: &[u8]) -> Vec<u8> {
    let before = |from: &[u8], i: usize| if i >= bpp { i32::from(from[i - bpp]) } else { 0 };
    (0..row.len())
        .map(|i| {
            let (a, b, c) = (before(row, i), i32::from(above[i]), before(above, i));
            let p = a + b - c;
            let nearest = [a, b, c].into_iter().min_by_key(|n| (p - n).abs()).unwrap();
            let guess = [0, a, b, (a + b) / 2, nearest][kind as usize];
            row[i].wrapping_sub(guess as u8)
        })
        .collect()
}

/// Decodes to tightly packed rows.
pub fn decode(bytes: &[u8], output: infeed_png::Output) -> Result<Vec<u8>, infeed_png::Error> {
    let header = infeed_png::read_header(bytes)?;
    let (channels, size) = infeed_png::stored_format(&header);
    let pixel = match output {
        infeed_png::Output::Gray | infeed_png::Output::Index => 1,
        infeed_png::Output::Rgb => 3,
        infeed_png::Output::Rgba => 4,
        infeed_png::Output::AsStored => channels * size,
    };
    let stride = header.width as usize * pixel;
    let mut out = vec![0xA5; stride * header.height as usize];
    infeed_png::Decoder::new().decode(bytes, &header, output, &mut out, stride)?;
    Ok(out)
}
