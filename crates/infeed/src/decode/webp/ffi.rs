//! The calls into libwebp: the only `unsafe` code of the decoders.

use infeed_core::{Error, Rect, Result};
use libwebp_sys as sys;
use std::{mem::MaybeUninit, ptr};
use sys::{VP8StatusCode as Status, WEBP_CSP_MODE as Mode};

/// Properties from the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) alpha: bool,
    pub(super) animated: bool,
    pub(super) lossless: bool,
}

/// Reads the header.
pub(super) fn features(bytes: &[u8]) -> Result<Features> {
    let mut found = MaybeUninit::<sys::WebPBitstreamFeatures>::zeroed();
    // SAFETY: the pointer and the length are those of a live slice; `found` is writable, and all zeros are a valid
    // value of it (plain integers).
    let found = unsafe {
        check(sys::WebPGetFeatures(bytes.as_ptr(), bytes.len(), found.as_mut_ptr()))?;
        found.assume_init()
    };
    Ok(Features {
        width: found.width.unsigned_abs(),
        height: found.height.unsigned_abs(),
        alpha: found.has_alpha != 0,
        animated: found.has_animation != 0,
        lossless: found.format == 2,
    })
}

/// Decodes the part `crop` of a still picture as RGB or RGBA, rows `stride` bytes apart. For lossy files the crop must
/// start at even coordinates.
pub(super) fn decode(bytes: &[u8], crop: Rect, alpha: bool, out: &mut [u8], stride: usize) -> Result<()> {
    let broken = || Error::Internal { what: "libwebp does not fit its bindings".to_owned() };
    let int = |n: u32| i32::try_from(n).map_err(|_| Error::sample("WebP of an impossible size"));
    let mut config = sys::WebPDecoderConfig::new().map_err(|()| broken())?;
    config.options.use_cropping = 1;
    config.options.crop_left = int(crop.x)?;
    config.options.crop_top = int(crop.y)?;
    config.options.crop_width = int(crop.width)?;
    config.options.crop_height = int(crop.height)?;
    config.output.colorspace = if alpha { Mode::MODE_RGBA } else { Mode::MODE_RGB };
    config.output.is_external_memory = 1;
    config.output.u.RGBA = sys::WebPRGBABuffer {
        rgba: out.as_mut_ptr(),
        stride: i32::try_from(stride).map_err(|_| Error::sample("WebP of an impossible size"))?,
        size: out.len(),
    };
    // SAFETY: `bytes` is a live slice that nobody changes: the image decoder copies mapped memory first. The output is
    // external memory: libwebp checks stride and size against the cropped picture before it writes, never frees it, and
    // keeps no pointer to it after the call.
    let status = unsafe { sys::WebPDecode(bytes.as_ptr(), bytes.len(), &mut config) };
    check(status)
}

/// An animation decoder that is freed on drop.
struct Animation(*mut sys::WebPAnimDecoder);

impl Drop for Animation {
    fn drop(&mut self) {
        // SAFETY: made by `WebPAnimDecoderNew` and deleted nowhere else.
        unsafe { sys::WebPAnimDecoderDelete(self.0) }
    }
}

/// Calls `show` with the first frame of an animation: RGBA pixels of the whole canvas, its width and its height.
pub(super) fn first_frame<T>(bytes: &[u8], show: impl FnOnce(&[u8], u32, u32) -> Result<T>) -> Result<T> {
    let damaged = || Error::sample("corrupt or truncated WebP animation");
    let mut options = MaybeUninit::<sys::WebPAnimDecoderOptions>::zeroed();
    let data = sys::WebPData { bytes: bytes.as_ptr(), size: bytes.len() };
    // SAFETY: `options` is filled by its own initialiser before use. The decoder borrows `data` and `bytes`, which
    // outlive it. The frame it returns is owned by the decoder, is valid until the decoder's next call, and holds
    // `canvas_width * canvas_height` pixels of four bytes as its header says.
    unsafe {
        if sys::WebPAnimDecoderOptionsInit(options.as_mut_ptr()) == 0 {
            return Err(Error::Internal { what: "libwebp does not fit its bindings".to_owned() });
        }
        let mut options = options.assume_init();
        options.color_mode = Mode::MODE_RGBA;
        options.use_threads = 0;
        let decoder = sys::WebPAnimDecoderNew(&data, &options);
        if decoder.is_null() {
            return Err(damaged());
        }
        let decoder = Animation(decoder);
        let mut info = MaybeUninit::<sys::WebPAnimInfo>::zeroed();
        if sys::WebPAnimDecoderGetInfo(decoder.0, info.as_mut_ptr()) == 0 {
            return Err(damaged());
        }
        let info = info.assume_init();
        let (mut frame, mut time) = (ptr::null_mut(), 0);
        if sys::WebPAnimDecoderGetNext(decoder.0, &mut frame, &mut time) == 0 || frame.is_null() {
            return Err(damaged());
        }
        let len = info.canvas_width as usize * info.canvas_height as usize * 4;
        show(std::slice::from_raw_parts(frame, len), info.canvas_width, info.canvas_height)
    }
}

fn check(status: Status) -> Result<()> {
    let what = match status {
        Status::VP8_STATUS_OK => return Ok(()),
        Status::VP8_STATUS_NOT_ENOUGH_DATA | Status::VP8_STATUS_SUSPENDED => {
            "WebP ends early: the file is truncated"
        }
        Status::VP8_STATUS_OUT_OF_MEMORY => "no memory for this WebP",
        Status::VP8_STATUS_UNSUPPORTED_FEATURE => "unsupported WebP feature",
        Status::VP8_STATUS_BITSTREAM_ERROR => "corrupt WebP",
        other => return Err(Error::Internal { what: format!("libwebp refuses the call: {other:?}") }),
    };
    Err(Error::sample(what))
}
