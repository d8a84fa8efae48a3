//! `.npy` files as tokens: checks that they are little-endian and complete.

use infeed_core::{Error, Result};
use infeed_records::npy::Header;

/// Reads a header and checks that the file has all elements it declares. `len` is the size of the whole
/// file, `head` its first bytes.
pub(crate) fn header(head: &[u8], len: u64, name: &str) -> Result<Header> {
    let wrong = |at: u64, what: String| Error::Format { shard: name.to_owned(), offset: at, what };
    let header = Header::read(head).map_err(|fault| wrong(fault.at as u64, fault.what))?;
    if header.big_endian {
        let what =
            format!("big-endian {} elements: only little-endian ones can be read as tokens", header.dtype);
        return Err(wrong(0, what));
    }
    let needs = header.data_len().and_then(|n| n.checked_add(header.data_at));
    if needs.is_none_or(|needs| needs as u64 > len) {
        let needs = needs.map_or("more than any file has".to_owned(), |n| format!("{n} bytes"));
        let shape = &header.shape;
        let what =
            format!("an array of shape {shape:?} takes {needs}, and the file has {len}: it was cut short");
        return Err(wrong(len, what));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::Dtype;

    #[test]
    fn incomplete_files_are_refused() {
        let three = Header::write(Dtype::U16, &[3]);
        assert_eq!(header(&three, 134, "x.npy").unwrap().shape, [3]);
        let fails = |bytes: &[u8], len| header(bytes, len, "x.npy").unwrap_err().to_string();
        assert!(fails(&three, 133).contains("cut short"));
        assert!(fails(&three[..60], 60).contains("in its header"));
        assert!(fails(b"NUMPY", 5).contains("x.npy"));
        let big = String::from_utf8_lossy(&three[10..]).replace("<u2", ">u2");
        assert!(fails(&[&three[..10], big.as_bytes()].concat(), 134).contains("big-endian u16"));
        assert!(fails(&Header::write(Dtype::U16, &[1 << 60, 9]), 134).contains("more than any file has"));
    }
}
