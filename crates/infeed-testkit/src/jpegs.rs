//! JPEG files, encoded with libjpeg-turbo. The only file of this crate with `unsafe`.

use infeed_core::{Error, Result};
use std::ffi::CStr;
use turbojpeg_sys as tj;

/// Chroma subsampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subsampling {
    /// Full size.
    S444,
    /// Half the width.
    S422,
    /// Half the width and height, as in cameras and most data sets.
    #[default]
    S420,
    /// Half the height.
    S440,
    /// A quarter of the width.
    S411,
    /// No chroma.
    Gray,
}

impl Subsampling {
    /// All kinds.
    pub const ALL: [Subsampling; 6] = [
        Subsampling::S444,
        Subsampling::S422,
        Subsampling::S420,
        Subsampling::S440,
        Subsampling::S411,
        Subsampling::Gray,
    ];

    fn code(self) -> i32 {
        match self {
            Subsampling::S444 => tj::TJSAMP_TJSAMP_444,
            Subsampling::S422 => tj::TJSAMP_TJSAMP_422,
            Subsampling::S420 => tj::TJSAMP_TJSAMP_420,
            Subsampling::S440 => tj::TJSAMP_TJSAMP_440,
            Subsampling::S411 => tj::TJSAMP_TJSAMP_411,
            Subsampling::Gray => tj::TJSAMP_TJSAMP_GRAY,
        }
    }
}

/// How a JPEG is encoded.
#[derive(Debug, Clone, Copy)]
pub struct JpegOptions {
    /// 1 to 100.
    pub quality: u8,
    /// Chroma subsampling.
    pub subsampling: Subsampling,
    /// Several scans, coarse to fine.
    pub progressive: bool,
    /// Optimised Huffman tables.
    pub optimize: bool,
    /// A restart marker after this many rows of blocks; 0 for none.
    pub restart_rows: u16,
}

impl Default for JpegOptions {
    /// The most common settings in data sets.
    fn default() -> Self {
        JpegOptions {
            quality: 90,
            subsampling: Subsampling::S420,
            progressive: false,
            optimize: false,
            restart_rows: 0,
        }
    }
}

impl JpegOptions {
    /// Default options with another quality.
    pub fn quality(quality: u8) -> Self {
        JpegOptions { quality, ..Self::default() }
    }
}

/// Encodes interleaved RGB rows without gaps as a JPEG file.
pub fn jpeg(rgb: &[u8], width: u32, height: u32, options: &JpegOptions) -> Result<Vec<u8>> {
    let side = |n: u32| i32::try_from(n).ok().filter(|n| (1..=65_535).contains(n));
    let (Some(w), Some(h)) = (side(width), side(height)) else {
        return Err(Error::argument(format!("a JPEG cannot be {width}x{height}")));
    };
    if rgb.len() as u64 != u64::from(width) * u64::from(height) * 3 {
        return Err(Error::argument(format!("{} bytes cannot be {width}x{height} RGB pixels", rgb.len())));
    }
    let handle = Handle::new()?;
    handle.set(tj::TJPARAM_TJPARAM_QUALITY, i32::from(options.quality))?;
    handle.set(tj::TJPARAM_TJPARAM_SUBSAMP, options.subsampling.code())?;
    handle.set(tj::TJPARAM_TJPARAM_PROGRESSIVE, options.progressive.into())?;
    handle.set(tj::TJPARAM_TJPARAM_OPTIMIZE, options.optimize.into())?;
    handle.set(tj::TJPARAM_TJPARAM_RESTARTROWS, options.restart_rows.into())?;
    let mut out = Output { start: std::ptr::null_mut(), len: 0 };
    // SAFETY: the handle is live and made for compressing; `rgb` holds `height` rows of `width * 3` bytes, as
    // checked above, and a pitch of 0 means no gaps; the library allocates the output itself because the pointer is
    // null, and `Output` frees it.
    let code = unsafe {
        tj::tj3Compress8(handle.0, rgb.as_ptr(), w, 0, h, tj::TJPF_TJPF_RGB, &mut out.start, &mut out.len)
    };
    handle.check(code)?;
    Ok(out.bytes().to_vec())
}

/// A compressor that is closed when dropped.
struct Handle(tj::tjhandle);

impl Handle {
    fn new() -> Result<Self> {
        // SAFETY: takes a plain number; null is checked below.
        let handle = unsafe { tj::tj3Init(tj::TJINIT_TJINIT_COMPRESS as i32) };
        if handle.is_null() {
            return Err(Error::argument("libjpeg-turbo could not be started"));
        }
        Ok(Handle(handle))
    }

    fn set(&self, parameter: tj::TJPARAM, value: i32) -> Result<()> {
        // SAFETY: the handle is live; plain numbers, which the library checks.
        let code = unsafe { tj::tj3Set(self.0, parameter as i32, value) };
        self.check(code)
    }

    fn check(&self, code: i32) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the handle is live; the text is NUL-terminated, belongs to the handle and is copied at once.
        let text = unsafe { CStr::from_ptr(tj::tj3GetErrorStr(self.0)) }.to_string_lossy().into_owned();
        Err(Error::argument(format!("libjpeg-turbo: {text}")))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `tj3Init` and destroyed only here.
        unsafe { tj::tj3Destroy(self.0) }
    }
}

/// Memory that the library allocated.
struct Output {
    start: *mut u8,
    len: tj::size_t,
}

impl Output {
    fn bytes(&self) -> &[u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the library wrote `len` bytes at `start`, and nothing else refers to them.
        unsafe { std::slice::from_raw_parts(self.start, self.len as usize) }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // SAFETY: allocated by the library and freed only here; null is allowed.
        unsafe { tj::tj3Free(self.start.cast()) }
    }
}
