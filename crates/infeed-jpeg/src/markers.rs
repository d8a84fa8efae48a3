//! Reads the marker segments before the entropy-coded data.

use crate::error::Error;

pub(crate) const SOI: u8 = 0xD8;
pub(crate) const EOI: u8 = 0xD9;
pub(crate) const SOS: u8 = 0xDA;
pub(crate) const DHT: u8 = 0xC4;
pub(crate) const DQT: u8 = 0xDB;
pub(crate) const DRI: u8 = 0xDD;
pub(crate) const APP0: u8 = 0xE0;
pub(crate) const APP1: u8 = 0xE1;
pub(crate) const APP14: u8 = 0xEE;

/// One marker segment: its code and its payload (without the two length bytes).
pub(crate) struct Segment<'a> {
    pub(crate) code: u8,
    pub(crate) payload: &'a [u8],
    /// Where the bytes after this segment begin: for a start-of-scan, the entropy-coded data.
    pub(crate) end: usize,
}

/// An iterator over the segments of a file, up to and including the first start-of-scan.
pub(crate) struct Segments<'a> {
    bytes: &'a [u8],
    at: usize,
    done: bool,
    /// Whether bytes that belong to no segment were skipped.
    pub(crate) garbage: bool,
}

impl<'a> Segments<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        match bytes {
            [0xFF, SOI, ..] => Ok(Segments { bytes, at: 2, done: false, garbage: false }),
            _ => Err(Error::NotJpeg),
        }
    }

    /// The next segment; `None` after the start-of-scan was returned.
    pub(crate) fn next_segment(&mut self) -> Result<Option<Segment<'a>>, Error> {
        if self.done {
            return Ok(None);
        }
        let code = self.next_code()?;
        if code == EOI {
            return Err(Error::Corrupt("the file ends before any image data".into()));
        }
        // These carry no length: restarts, a second start-of-image and the TEM marker.
        if matches!(code, 0xD0..=0xD8 | 0x01) {
            return Ok(Some(Segment { code, payload: &[], end: self.at }));
        }
        let length = match self.bytes.get(self.at..self.at + 2) {
            Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
            _ => return Err(Error::Truncated),
        };
        if length < 2 {
            return Err(Error::Corrupt(format!("marker {code:#04x} has a length of {length}")));
        }
        let payload = self.bytes.get(self.at + 2..self.at + length).ok_or(Error::Truncated)?;
        self.at += length;
        self.done = code == SOS;
        Ok(Some(Segment { code, payload, end: self.at }))
    }

    /// The next marker code; skips stray bytes as libjpeg does.
    fn next_code(&mut self) -> Result<u8, Error> {
        loop {
            match self.bytes.get(self.at..).unwrap_or_default() {
                [0xFF, 0xFF, ..] => self.at += 1,
                [0xFF, 0x00, ..] => {
                    self.garbage = true;
                    self.at += 2;
                }
                &[0xFF, code, ..] => {
                    self.at += 2;
                    return Ok(code);
                }
                [_, _, ..] => {
                    self.garbage = true;
                    self.at += 1;
                }
                _ => return Err(Error::Truncated),
            }
        }
    }
}
