//! Compressors that others have written: zlib, zstd, lz4, bzip2.

/// Those that are costly to make, made when first needed.
#[derive(Default)]
pub(crate) struct Decompressors {
    #[cfg(not(infeed_portable))]
    zlib: Option<libdeflater::Decompressor>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

fn damaged() -> String {
    "the compressed bytes are damaged, or do not give a chunk".to_owned()
}

impl Decompressors {
    /// zlib: deflate with its head and checksum.
    #[cfg(not(infeed_portable))]
    pub(super) fn zlib(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize, String> {
        let zlib = self.zlib.get_or_insert_with(libdeflater::Decompressor::new);
        zlib.zlib_decompress(input, out).map_err(|_| damaged())
    }

    /// zlib: deflate with its head and checksum.
    #[cfg(infeed_portable)]
    pub(super) fn zlib(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize, String> {
        let parts = std::iter::once(input);
        miniz_oxide::inflate::decompress_slice_iter_to_slice(out, parts, true, false).map_err(|_| damaged())
    }

    /// One zstd frame.
    pub(super) fn zstd(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize, String> {
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(|e| e.to_string())?),
        };
        zstd.decompress_to_buffer(input, out).map_err(|_| damaged())
    }
}

/// One raw lz4 block.
pub(super) fn lz4(input: &[u8], out: &mut [u8]) -> Result<usize, String> {
    lz4_flex::block::decompress_into(input, out).map_err(|_| damaged())
}

/// The lz4 filter of HDF5: sizes in big-endian, then blocks, each with its stored length.
pub(super) fn lz4_blocks(input: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let short = || "the head of the lz4 blocks is cut short".to_owned();
    let (total, rest) = input.split_first_chunk::<8>().ok_or_else(short)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let total = u64::from_be_bytes(*total);
    let block = (u64::from(u32::from_be_bytes(*block))).min(total) as usize;
    let total = usize::try_from(total).ok().filter(|&total| total <= out.len());
    let total = total.ok_or_else(|| "more bytes than a chunk has".to_owned())?;
    if block == 0 && total > 0 {
        return Err("blocks of no bytes".to_owned());
    }
    for to in out[..total].chunks_mut(block.max(1)) {
        let (len, behind) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let len = u32::from_be_bytes(*len) as usize;
        let (from, behind) = behind.split_at_checked(len).ok_or_else(short)?;
        // What could not be made smaller is stored as it is.
        if len == to.len() {
            to.copy_from_slice(from);
        } else if lz4(from, to)? != to.len() {
            return Err(damaged());
        }
        rest = behind;
    }
    Ok(total)
}

/// One bzip2 stream.
pub(super) fn bzip2(input: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let mut stream = bzip2::Decompress::new(false);
    match stream.decompress(input, out) {
        Ok(bzip2::Status::StreamEnd) => Ok(stream.total_out() as usize),
        _ => Err(damaged()),
    }
}
