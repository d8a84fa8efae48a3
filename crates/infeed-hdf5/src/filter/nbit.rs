//! `nbit`: numbers that do not use all of their bits, packed without the unused ones.

/// How elements are built, out of the filter's settings.
enum Part {
    /// A number: bytes, whether big-endian, bits in use, bits below them.
    Number { size: usize, big: bool, used: u32, below: u32 },
    /// Several of one kind.
    Array { size: usize, base: Box<Part> },
    /// Fields, each with its offset.
    Compound { size: usize, fields: Vec<(usize, Part)> },
    /// Bytes as they are.
    Plain { size: usize },
}

/// Undoes the filter.
pub(super) fn undo(settings: &[u32], input: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let wrong = || "its settings make no sense".to_owned();
    let [_, plain, count, parts @ ..] = settings else { return Err(wrong()) };
    if *plain != 0 {
        let len = input.len().min(out.len());
        out[..len].copy_from_slice(&input[..len]);
        return Ok(len);
    }
    let mut settings = parts;
    let part = parse(&mut settings, 16).ok_or_else(wrong)?;
    let size = part.size();
    let total = (*count as usize).checked_mul(size).filter(|&total| total <= out.len());
    let out = &mut out[..total.ok_or_else(|| "more bytes than a chunk has".to_owned())?];
    out.fill(0);
    let mut bits = Bits { input, at: 0 };
    for element in out.chunks_exact_mut(size) {
        unpack(&part, &mut bits, element).ok_or_else(|| "the packed bits are cut short".to_owned())?;
    }
    Ok(out.len())
}

fn parse(settings: &mut &[u32], depth: u32) -> Option<Part> {
    let depth = depth.checked_sub(1)?;
    let mut next = || {
        let (first, rest) = settings.split_first()?;
        *settings = rest;
        Some(*first as usize)
    };
    let (class, size) = (next()?, next()?);
    if size == 0 {
        return None;
    }
    Some(match class {
        1 => {
            let (big, used, below) = (next()? == 1, next()? as u32, next()? as u32);
            if size > 8 || used == 0 || used.checked_add(below)? > size as u32 * 8 {
                return None;
            }
            Part::Number { size, big, used, below }
        }
        2 => {
            let base = Box::new(parse(settings, depth)?);
            (size % base.size() == 0).then_some(Part::Array { size, base })?
        }
        3 => {
            let count = next()?;
            let mut fields = Vec::new();
            for _ in 0..count {
                let (first, rest) = settings.split_first()?;
                *settings = rest;
                let (offset, part) = (*first as usize, parse(settings, depth)?);
                if offset.checked_add(part.size())? > size {
                    return None;
                }
                fields.push((offset, part));
            }
            Part::Compound { size, fields }
        }
        4 => Part::Plain { size },
        _ => return None,
    })
}

impl Part {
    fn size(&self) -> usize {
        match self {
            Part::Number { size, .. } | Part::Array { size, .. } => *size,
            Part::Compound { size, .. } | Part::Plain { size } => *size,
        }
    }
}

fn unpack(part: &Part, bits: &mut Bits<'_>, out: &mut [u8]) -> Option<()> {
    match part {
        Part::Number { size, big, used, below } => {
            let value = bits.take(*used)? << below;
            if *big {
                out.copy_from_slice(&value.to_be_bytes()[8 - size..]);
            } else {
                out.copy_from_slice(&value.to_le_bytes()[..*size]);
            }
        }
        Part::Array { base, .. } => {
            for element in out.chunks_exact_mut(base.size()) {
                unpack(base, bits, element)?;
            }
        }
        Part::Compound { fields, .. } => {
            for (offset, field) in fields {
                unpack(field, bits, out.get_mut(*offset..*offset + field.size())?)?;
            }
        }
        Part::Plain { .. } => {
            for byte in out {
                *byte = bits.take(8)? as u8;
            }
        }
    }
    Some(())
}

/// Bits, the highest of each byte first.
pub(super) struct Bits<'a> {
    pub(super) input: &'a [u8],
    /// Place in bits.
    pub(super) at: usize,
}

impl Bits<'_> {
    /// The next bits as a number.
    pub(super) fn take(&mut self, count: u32) -> Option<u64> {
        let end = self.at.checked_add(count as usize)?;
        if end > self.input.len().saturating_mul(8) || count > 64 {
            return None;
        }
        let bytes = &self.input[self.at / 8..end.div_ceil(8)];
        let wide = bytes.iter().fold(0u128, |wide, &byte| wide << 8 | u128::from(byte));
        let behind = bytes.len() * 8 - self.at % 8 - count as usize;
        self.at = end;
        let mask = if count == 64 { u64::MAX } else { (1 << count) - 1 };
        Some((wide >> behind) as u64 & mask)
    }
}
