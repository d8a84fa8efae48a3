//! Makes JPEG files of every kind with libjpeg-turbo's encoder.

use turbojpeg_sys as tj;

use crate::{Backend, Decoder, Error, Output, Region, Request, Scale, read_header};

/// A small deterministic generator (xorshift), so that every failure can be repeated.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// A number in `0..limit`.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        (self.next() % u64::from(limit)) as u32
    }
}

pub(crate) const SUBSAMPLINGS: [i32; 7] = [
    tj::TJSAMP_TJSAMP_444,
    tj::TJSAMP_TJSAMP_422,
    tj::TJSAMP_TJSAMP_420,
    tj::TJSAMP_TJSAMP_440,
    tj::TJSAMP_TJSAMP_411,
    tj::TJSAMP_TJSAMP_441,
    tj::TJSAMP_TJSAMP_GRAY,
];
pub(crate) const SIZES: [(u32, u32); 9] =
    [(1, 1), (7, 5), (17, 33), (16, 16), (33, 17), (100, 75), (3, 129), (255, 64), (640, 481)];

/// What to encode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) size: (u32, u32),
    pub(crate) subsampling: i32,
    pub(crate) quality: i32,
    pub(crate) progressive: bool,
    pub(crate) optimize: bool,
    pub(crate) arithmetic: bool,
    /// Restart interval in MCUs and in MCU rows; at most one of them is non-zero.
    pub(crate) restart: (i32, i32),
    pub(crate) cmyk: bool,
    pub(crate) rgb: bool,
    /// 0 is flat colour, 255 pure noise.
    pub(crate) noise: u8,
    pub(crate) seed: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Sample {
            size: (97, 61),
            subsampling: tj::TJSAMP_TJSAMP_420,
            quality: 85,
            progressive: false,
            optimize: false,
            arithmetic: false,
            restart: (0, 0),
            cmyk: false,
            rgb: false,
            noise: 40,
            seed: 1,
        }
    }
}

impl Sample {
    /// Anything, mostly of the common kinds.
    pub(crate) fn random(random: &mut Random) -> Self {
        let noises = [0, 10, 40, 120, 255];
        Sample {
            size: (1 + random.below(200), 1 + random.below(150)),
            subsampling: SUBSAMPLINGS[random.below(7) as usize],
            quality: 1 + random.below(100) as i32,
            progressive: random.below(8) == 0,
            optimize: random.below(3) == 0,
            arithmetic: random.below(20) == 0,
            restart: [(0, 0), (0, 0), (1 + random.below(5) as i32, 0), (0, 1)][random.below(4) as usize],
            cmyk: false,
            rgb: random.below(20) == 0,
            noise: noises[random.below(5) as usize],
            seed: random.next(),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let (width, height) = self.size;
        let channels = if self.cmyk { 4 } else { 3 };
        let pixels = self.pixels(channels);
        let set = |handle: tj::tjhandle, parameter: tj::TJPARAM, value: i32| {
            // SAFETY: the handle is live; plain integers.
            assert_eq!(unsafe { tj::tj3Set(handle, parameter as i32, value) }, 0);
        };
        // SAFETY: the handle is checked, the pixel buffer holds `height` rows of `width * channels` bytes, and
        // the output buffer is allocated by the library, copied from, and freed once.
        unsafe {
            let handle = tj::tj3Init(tj::TJINIT_TJINIT_COMPRESS as i32);
            assert!(!handle.is_null());
            set(handle, tj::TJPARAM_TJPARAM_QUALITY, self.quality);
            set(handle, tj::TJPARAM_TJPARAM_SUBSAMP, self.subsampling);
            set(handle, tj::TJPARAM_TJPARAM_PROGRESSIVE, self.progressive.into());
            set(handle, tj::TJPARAM_TJPARAM_OPTIMIZE, self.optimize.into());
            set(handle, tj::TJPARAM_TJPARAM_ARITHMETIC, self.arithmetic.into());
            if self.rgb {
                set(handle, tj::TJPARAM_TJPARAM_COLORSPACE, 0);
                set(handle, tj::TJPARAM_TJPARAM_SUBSAMP, tj::TJSAMP_TJSAMP_444);
            }
            match self.restart {
                (0, 0) => {}
                (blocks, 0) => set(handle, tj::TJPARAM_TJPARAM_RESTARTBLOCKS, blocks),
                (_, rows) => set(handle, tj::TJPARAM_TJPARAM_RESTARTROWS, rows),
            }
            let (mut buffer, mut size) = (std::ptr::null_mut(), 0);
            let format = if self.cmyk { tj::TJPF_TJPF_CMYK } else { tj::TJPF_TJPF_RGB };
            let result = tj::tj3Compress8(
                handle,
                pixels.as_ptr(),
                width as i32,
                0,
                height as i32,
                format,
                &mut buffer,
                &mut size,
            );
            assert_eq!(result, 0, "{self:?}");
            let file = std::slice::from_raw_parts(buffer, size as usize).to_vec();
            tj::tj3Free(buffer.cast());
            tj::tj3Destroy(handle);
            file
        }
    }

    /// Smooth colour with edges and some noise: enough to use every kind of coefficient.
    fn pixels(&self, channels: usize) -> Vec<u8> {
        let mut random = Random::new(self.seed);
        let (width, height) = self.size;
        let mut pixels = Vec::with_capacity(width as usize * height as usize * channels);
        let slopes: Vec<(u32, u32)> = (0..channels).map(|_| (random.below(7), random.below(7))).collect();
        for y in 0..height {
            for x in 0..width {
                let edge = if (x / 23 + y / 31) % 2 == 0 { 0 } else { 90 };
                for &(a, b) in &slopes {
                    let smooth = (x * a + y * b + edge) % 256;
                    let noise = random.below(u32::from(self.noise) + 1);
                    pixels.push((smooth * (255 - u32::from(self.noise)) / 255 + noise).min(255) as u8);
                }
            }
        }
        pixels
    }
}

/// Decodes with one backend into a buffer of exactly the needed size.
pub(crate) fn decode(decoder: &mut Decoder, bytes: &[u8], request: &Request) -> Result<Vec<u8>, Error> {
    let header = read_header(bytes)?;
    let stride = request.region.width as usize * request.output.channels();
    let mut out = vec![0xA5; stride * request.region.height as usize];
    decoder.decode(bytes, &header, request, &mut out, stride)?;
    Ok(out)
}

/// The full image by libjpeg-turbo.
pub(crate) fn full(bytes: &[u8], scale: Scale, output: Output) -> Result<Vec<u8>, Error> {
    let mut decoder = Decoder::new()?;
    decoder.set_backend(Backend::Turbo);
    let region = Region::whole(&read_header(bytes)?, scale);
    decode(&mut decoder, bytes, &Request { scale, region, output })
}

/// A random region of an image, from a single pixel to everything.
pub(crate) fn random_region(random: &mut Random, width: u32, height: u32) -> Region {
    let (w, h) = (1 + random.below(width), 1 + random.below(height));
    Region { x: random.below(width - w + 1), y: random.below(height - h + 1), width: w, height: h }
}

/// The region cut out of a full image.
pub(crate) fn cut(full: &[u8], width: u32, channels: usize, region: &Region) -> Vec<u8> {
    let pitch = width as usize * channels;
    let left = region.x as usize * channels;
    full.chunks_exact(pitch)
        .skip(region.y as usize)
        .take(region.height as usize)
        .flat_map(|row| &row[left..left + region.width as usize * channels])
        .copied()
        .collect()
}
