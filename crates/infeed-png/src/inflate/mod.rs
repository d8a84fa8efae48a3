//! Inflating a whole stream of known size, and checksums: with libdeflate, or in portable code in portable builds.

#[cfg(not(infeed_portable))]
mod libdeflate;
#[cfg(any(infeed_portable, test))]
mod portable;

#[cfg(not(infeed_portable))]
pub(crate) use libdeflate::{Inflater, crc32};
#[cfg(infeed_portable)]
pub(crate) use portable::{Inflater, crc32};

/// Why a stream does not inflate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is larger than the output buffer.
    NoRoom,
    /// It is damaged, or ends early.
    BadData,
}

#[cfg(test)]
#[cfg(not(infeed_portable))]
mod tests {
    use super::{Fault, Inflater, crc32, portable};

    /// Both implementations give the same results and refuse the same streams.
    #[test]
    fn portable_code_agrees() {
        let plain: Vec<u8> = (0..20_000u32).map(|i| (i * i / 77) as u8).collect();
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&plain, 6);
        assert_eq!(crc32(&plain), portable::crc32(&plain));
        assert_eq!(portable::crc32(b"123456789"), 0xcbf4_3926);
        let (mut c, mut rust) = (Inflater::new(), portable::Inflater::new());
        let mut both = |stream: &[u8], room: usize| {
            let (mut a, mut b) = (vec![0; room], vec![0; room]);
            let (first, second) = (c.zlib(stream, &mut a), rust.zlib(stream, &mut b));
            assert_eq!(first, second);
            if let Ok(len) = first {
                assert_eq!(a[..len], b[..len]);
            }
            first
        };
        assert_eq!(both(&packed, plain.len()), Ok(plain.len()));
        assert_eq!(both(&packed, plain.len() + 512), Ok(plain.len()));
        assert_eq!(both(&packed, plain.len() - 1), Err(Fault::NoRoom));
        for len in (0..packed.len()).step_by(97) {
            assert_eq!(both(&packed[..len], plain.len() + 512), Err(Fault::BadData));
        }
        let mut wrong = packed.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert_eq!(both(&wrong, plain.len() + 512), Err(Fault::BadData));
        wrong[0] ^= 0x0f;
        assert_eq!(both(&wrong, plain.len() + 512), Err(Fault::BadData));
    }
}
