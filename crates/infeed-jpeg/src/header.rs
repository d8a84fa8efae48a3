//! The header of a file: what a pipeline needs before it decides what to decode.

use crate::error::Error;
use crate::exif;
use crate::markers::{APP0, APP1, APP14, SOS, Segments};

/// The largest width or height that libjpeg accepts.
const MAX_DIMENSION: u32 = 65_500;

/// The colour model that the components of a file are stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Color {
    /// One component.
    Gray,
    /// Luma and two colour differences: almost every photograph.
    Ycc,
    /// Red, green, blue, stored without conversion.
    Rgb,
    /// Cyan, magenta, yellow, black.
    Cmyk,
    /// CMYK, with the first three stored as luma and colour differences.
    Ycck,
}

/// How much smaller the chroma components are than the luma component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subsampling {
    /// A single component.
    Gray,
    /// 4:4:4, full-size chroma.
    S444,
    /// 4:2:2, chroma of half the width.
    S422,
    /// 4:2:0, chroma of half the width and height.
    S420,
    /// 4:4:0, chroma of half the height.
    S440,
    /// 4:1:1, chroma of a quarter of the width.
    S411,
    /// 4:4:1, chroma of a quarter of the height.
    S441,
    /// Any other combination of sampling factors.
    Other,
}

impl Subsampling {
    /// The full-scale size in pixels of the smallest interleaved unit, where it is known.
    #[cfg(not(infeed_portable))]
    pub(crate) fn mcu(self) -> Option<(u32, u32)> {
        match self {
            Subsampling::Gray | Subsampling::S444 => Some((8, 8)),
            Subsampling::S422 => Some((16, 8)),
            Subsampling::S420 => Some((16, 16)),
            Subsampling::S440 => Some((8, 16)),
            Subsampling::S411 => Some((32, 8)),
            Subsampling::S441 => Some((8, 32)),
            Subsampling::Other => None,
        }
    }
}

/// What [`read_header`] finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Width in pixels, before any orientation is applied.
    pub width: u32,
    /// Height in pixels, before any orientation is applied.
    pub height: u32,
    /// The stored colour model.
    pub color: Color,
    /// Whether the file is progressive.
    pub progressive: bool,
    /// The chroma subsampling.
    pub subsampling: Subsampling,
    /// EXIF orientation, 1 to 8; 1 when the file states none.
    pub orientation: u8,
}

impl Header {
    /// About how many bytes decoding takes besides the pixels that it writes. A progressive file is kept whole, as
    /// coefficients of two bytes, until its last scan has been read.
    pub fn working_memory(&self) -> u64 {
        if !self.progressive {
            return 0;
        }
        let components = match self.color {
            Color::Gray => 1,
            Color::Ycc | Color::Rgb => 3,
            Color::Cmyk | Color::Ycck => 4,
        };
        u64::from(self.width) * u64::from(self.height) * components * 2
    }
}

/// What the frame header (start-of-frame segment) states.
struct Frame {
    width: u32,
    height: u32,
    progressive: bool,
    components: usize,
    ids: [u8; 4],
    sampling: [(u8, u8); 4],
}

/// Reads the markers of a JPEG file up to its first scan.
///
/// Does not read entropy-coded data, and allocates nothing except for error messages.
pub fn read_header(bytes: &[u8]) -> Result<Header, Error> {
    let mut segments = Segments::new(bytes)?;
    let mut frame = None;
    let mut orientation = None;
    let mut jfif = false;
    let mut adobe = None;
    while let Some(segment) = segments.next_segment()? {
        match segment.code {
            APP0 => jfif |= segment.payload.starts_with(b"JFIF\0") && segment.payload.len() >= 14,
            APP1 => orientation = orientation.or_else(|| exif::orientation(segment.payload)),
            APP14 => adobe = adobe_transform(segment.payload).or(adobe),
            0xC0..=0xC2 | 0xC9 | 0xCA => {
                if frame.is_some() {
                    return Err(Error::Corrupt("the file has two frame headers".into()));
                }
                frame = Some(read_frame(segment.code, segment.payload)?);
            }
            0xC3 | 0xC5..=0xC7 | 0xC8 | 0xCB | 0xCD..=0xCF => {
                return Err(Error::Unsupported(format!("frame type {:#04x}", segment.code)));
            }
            SOS => break,
            _ => {}
        }
    }
    let frame = frame.ok_or_else(|| Error::Corrupt("the scan comes before the frame header".into()))?;
    Ok(Header {
        width: frame.width,
        height: frame.height,
        color: color(&frame, jfif, adobe)?,
        progressive: frame.progressive,
        subsampling: subsampling(&frame),
        orientation: orientation.unwrap_or(1),
    })
}

fn read_frame(code: u8, payload: &[u8]) -> Result<Frame, Error> {
    let &[precision, h1, h0, w1, w0, count, ref rest @ ..] = payload else {
        return Err(Error::Corrupt("the frame header is too short".into()));
    };
    let (width, height) = (u32::from(u16::from_be_bytes([w1, w0])), u32::from(u16::from_be_bytes([h1, h0])));
    if precision != 8 {
        return Err(Error::Unsupported(format!("{precision} bits per sample")));
    }
    if width == 0 || height == 0 {
        return Err(Error::Unsupported(format!("a size of {width}x{height}")));
    }
    if width > MAX_DIMENSION || height > MAX_DIMENSION {
        return Err(Error::TooLarge { width, height });
    }
    let components = usize::from(count);
    if components == 0 || components > 4 {
        return Err(Error::Unsupported(format!("{components} components")));
    }
    if rest.len() != components * 3 {
        return Err(Error::Corrupt("the frame header has a wrong length".into()));
    }
    let mut frame = Frame {
        width,
        height,
        progressive: matches!(code, 0xC2 | 0xCA),
        components,
        ids: [0; 4],
        sampling: [(1, 1); 4],
    };
    for (index, component) in rest.as_chunks::<3>().0.iter().enumerate() {
        let sampling = (component[1] >> 4, component[1] & 15);
        if !(1..=4).contains(&sampling.0) || !(1..=4).contains(&sampling.1) {
            return Err(Error::Corrupt("a sampling factor is outside 1 to 4".into()));
        }
        frame.ids[index] = component[0];
        frame.sampling[index] = sampling;
    }
    Ok(frame)
}

/// The transform byte of an Adobe APP14 segment.
fn adobe_transform(payload: &[u8]) -> Option<u8> {
    if payload.len() >= 12 && payload.starts_with(b"Adobe") { Some(payload[11]) } else { None }
}

/// The colour model, by libjpeg's rules: the file itself never states it.
fn color(frame: &Frame, jfif: bool, adobe: Option<u8>) -> Result<Color, Error> {
    match frame.components {
        1 => Ok(Color::Gray),
        3 => Ok(match (jfif, adobe) {
            (true, _) => Color::Ycc,
            (false, Some(0)) => Color::Rgb,
            (false, Some(_)) => Color::Ycc,
            (false, None) if frame.ids[..3] == *b"RGB" => Color::Rgb,
            (false, None) => Color::Ycc,
        }),
        4 => Ok(match adobe {
            None | Some(0) => Color::Cmyk,
            Some(_) => Color::Ycck,
        }),
        count => Err(Error::Unsupported(format!("{count} components"))),
    }
}

fn subsampling(frame: &Frame) -> Subsampling {
    if frame.components == 1 {
        return Subsampling::Gray;
    }
    let [luma, chroma @ ..] = frame.sampling;
    // The fourth component of a CMYK file is stored like the first.
    if chroma[..2] != [(1, 1), (1, 1)] || (frame.components == 4 && chroma[2] != luma) {
        return Subsampling::Other;
    }
    match luma {
        (1, 1) => Subsampling::S444,
        (2, 1) => Subsampling::S422,
        (2, 2) => Subsampling::S420,
        (1, 2) => Subsampling::S440,
        (4, 1) => Subsampling::S411,
        (1, 4) => Subsampling::S441,
        _ => Subsampling::Other,
    }
}
