//! The EXIF orientation tag.

/// How EXIF data starts inside an APP1 segment.
const SIGNATURE: &[u8] = b"Exif\0\0";
const ORIENTATION: u16 = 0x0112;
const TYPE_SHORT: u16 = 3;

/// A TIFF header with its byte order.
struct Tiff<'a> {
    bytes: &'a [u8],
    little_endian: bool,
}

impl Tiff<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        let pair: [u8; 2] = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.little_endian { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let quad: [u8; 4] = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.little_endian { u32::from_le_bytes(quad) } else { u32::from_be_bytes(quad) })
    }
}

/// The orientation (1 to 8) stated by an APP1 payload, if it is EXIF and states a valid one.
pub(crate) fn orientation(app1: &[u8]) -> Option<u8> {
    let bytes = app1.strip_prefix(SIGNATURE)?;
    let little_endian = match bytes.get(..2)? {
        b"II" => true,
        b"MM" => false,
        _ => return None,
    };
    let tiff = Tiff { bytes, little_endian };
    if tiff.u16(2)? != 42 {
        return None;
    }
    let directory = tiff.u32(4)? as usize;
    let entries = usize::from(tiff.u16(directory)?);
    for index in 0..entries {
        let entry = directory.checked_add(2 + index * 12)?;
        if tiff.u16(entry)? == ORIENTATION {
            // The value of a single SHORT lies in the entry itself, in the first two of four bytes.
            let value = (tiff.u16(entry + 2)? == TYPE_SHORT).then(|| tiff.u16(entry + 8))??;
            return u8::try_from(value).ok().filter(|value| (1..=8).contains(value));
        }
    }
    None
}
