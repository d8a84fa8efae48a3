//! The orientation in an EXIF block. (JPEG files have a reader of their own.)

/// Returns the EXIF orientation, 1 to 8, of a block that starts with a TIFF header or with `Exif\0\0` and a TIFF
/// header. Anything malformed counts as upright, as in every viewer.
pub(super) fn orientation(block: &[u8]) -> u8 {
    let tiff = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
    find(tiff).unwrap_or(1)
}

fn find(tiff: &[u8]) -> Option<u8> {
    let little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let u16_at = |at: usize| -> Option<u16> {
        let b = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(b) } else { u16::from_be_bytes(b) })
    };
    let u32_at = |at: usize| -> Option<u32> {
        let b = tiff.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if little { u32::from_le_bytes(b) } else { u32::from_be_bytes(b) })
    };
    let directory = u32_at(4)? as usize;
    let entries = usize::from(u16_at(directory)?);
    for i in 0..entries {
        let at = directory.checked_add(2)?.checked_add(i * 12)?;
        const ORIENTATION: u16 = 0x0112;
        const SHORT: u16 = 3;
        if u16_at(at)? == ORIENTATION {
            let value = u16_at(at.checked_add(8)?)?;
            let valid = u16_at(at.checked_add(2)?)? == SHORT && (1..=8).contains(&value);
            return valid.then_some(value as u8);
        }
    }
    None
}
