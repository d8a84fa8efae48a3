//! How the blocks of a file are compressed.

use crate::shard::limit::BlockLimit;
use infeed_core::{Bytes, Error, Result, memory};
use std::io::Read;

/// What `avro.codec` can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Deflate,
    Snappy,
    Zstandard,
}

impl Codec {
    /// By its name in the header; the names that there are otherwise.
    pub(super) fn parse(name: &[u8]) -> Result<Codec, String> {
        Ok(match name {
            b"null" | b"" => Codec::None,
            b"deflate" => Codec::Deflate,
            b"snappy" => Codec::Snappy,
            b"zstandard" => Codec::Zstandard,
            other => {
                return Err(format!(
                    "it is compressed with `{}`, and only null, deflate, snappy and zstandard are read: write it again with \
                     one of them",
                    other.escape_ascii()
                ));
            }
        })
    }

    /// The bytes of a block, unpacked. Not more of them than a block may have.
    pub(super) fn unpack(self, block: Bytes, limit: &BlockLimit) -> Result<Bytes> {
        let bad = |what: &dyn std::fmt::Display| Error::sample(format!("it cannot be unpacked ({what})"));
        let all = |input: &mut dyn Read| {
            let mut out = vec![];
            let most = limit.get();
            input.take(most.saturating_add(1)).read_to_end(&mut out).map_err(|e| bad(&e))?;
            limit.check(out.len() as u64)?;
            Ok(out.into())
        };
        match self {
            Codec::None => Ok(block),
            Codec::Deflate => all(&mut flate2::read::DeflateDecoder::new(&block[..])),
            Codec::Zstandard => all(&mut zstd::Decoder::new(&block[..]).map_err(|e| bad(&e))?),
            Codec::Snappy => {
                let (packed, sum) = block.split_last_chunk::<4>().ok_or_else(|| bad(&"it is cut off"))?;
                let len = snap::raw::decompress_len(packed).map_err(|e| bad(&e))?;
                limit.check(len as u64)?;
                // Three bytes stand for 64 at most.
                if len / 32 > packed.len() {
                    return Err(bad(&format!("{} bytes claim to be {len}", packed.len())));
                }
                let mut out: Vec<u8> = memory::zeroed(len)?;
                let written = snap::raw::Decoder::new().decompress(packed, &mut out).map_err(|e| bad(&e))?;
                out.truncate(written);
                if crc32fast::hash(&out) != u32::from_be_bytes(*sum) {
                    return Err(bad(&"its checksum is wrong"));
                }
                Ok(out.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn snappy(data: &[u8]) -> Bytes {
        let mut packed = snap::raw::Encoder::new().compress_vec(data).unwrap();
        packed.extend_from_slice(&crc32fast::hash(data).to_be_bytes());
        packed.into()
    }

    fn deflate(data: &[u8]) -> Bytes {
        let mut out = flate2::write::DeflateEncoder::new(vec![], flate2::Compression::default());
        out.write_all(data).unwrap();
        out.finish().unwrap().into()
    }

    #[test]
    fn bombs_stop_at_the_limit() {
        let limit = BlockLimit::default();
        let data = vec![7; 1 << 20];
        let zstd: Bytes = zstd::encode_all(&data[..], 3).unwrap().into();
        for (codec, packed) in
            [(Codec::Snappy, snappy(&data)), (Codec::Deflate, deflate(&data)), (Codec::Zstandard, zstd)]
        {
            limit.set(Some(1 << 20));
            assert_eq!(codec.unpack(packed.clone(), &limit).unwrap(), data);
            limit.set(Some(1000));
            let error = codec.unpack(packed, &limit).unwrap_err().to_string();
            assert!(error.contains("memory="), "{error}");
        }
    }

    #[test]
    fn damage_is_found() {
        let limit = BlockLimit::default();
        let mut packed = snappy(b"some bytes that are checked").to_vec();
        packed[12] ^= 1;
        assert!(Codec::Snappy.unpack(packed.into(), &limit).unwrap_err().to_string().contains("unpacked"));
        for codec in [Codec::Deflate, Codec::Snappy, Codec::Zstandard] {
            assert!(codec.unpack(Bytes::from_static(&[0xff; 3]), &limit).is_err());
        }
        // A length of 2^32 - 1 and nothing behind it.
        assert!(
            Codec::Snappy.unpack(Bytes::from_static(&[255, 255, 255, 255, 15, 0, 0, 0, 0]), &limit).is_err()
        );
        assert!(Codec::parse(b"bzip2").unwrap_err().contains("`bzip2`"));
    }
}
