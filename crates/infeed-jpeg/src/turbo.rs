//! Decoding with libjpeg-turbo: the reference for all pixels and the fallback for unusual files.

use std::ffi::CStr;
use std::ptr::NonNull;

use turbojpeg_sys as tj;

use crate::cmyk;
use crate::ending::{has_end, repaired};
use crate::error::Error;
use crate::header::{Color, Header};
use crate::request::{Output, Region, Request};
use crate::tables;

/// The warning when the file has no end-of-image marker.
const WARNING_END_OF_FILE: &str = "Premature end of JPEG file";
/// How the texts of all warnings begin.
const WARNINGS: [&str; 7] = [
    WARNING_END_OF_FILE,
    "Corrupt JPEG data",
    "Inconsistent progression sequence",
    "Unknown Adobe color transform code",
    "Warning: unknown JFIF revision number",
    "Application transferred too many scanlines",
    "Invalid SOS parameters for sequential",
];
/// What the texts of failures say when there is no memory, or not as much as is allowed.
const NO_MEMORY: [&str; 3] = ["Insufficient memory", "Memory limit exceeded", "Memory allocation failure"];
/// A progressive file with more scans than this is taken for an attack.
const MAX_SCANS: i32 = 500;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    /// libjpeg-turbo's own run-time answer to "is there a SIMD routine for the accurate IDCT on this CPU?".
    /// This is the check that the decoder makes before it picks a routine.
    safe fn jsimd_can_idct_islow() -> std::ffi::c_int;
}

/// Whether libjpeg-turbo really uses its SIMD routines in this process.
///
/// False when the library was built without an assembler, when the CPU lacks the instructions, or when they
/// are switched off by libjpeg-turbo's environment variables.
pub fn simd_enabled() -> bool {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        jsimd_can_idct_islow() != 0
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        false
    }
}

/// How a call into libjpeg-turbo ended.
enum Outcome {
    Clean,
    Warned(String),
}

/// A decompressor instance with its scratch memory.
pub(crate) struct Turbo {
    handle: NonNull<std::ffi::c_void>,
    /// Rows decoded around a region, before the inside is copied out. Only ever grows.
    rows: Vec<u8>,
    /// A copy of a file that lacks its end marker, with one added and without harmless flaws.
    patched: Vec<u8>,
    /// What libjpeg-turbo may keep; 0 for any amount.
    megabytes: i32,
}

// SAFETY: the handle is owned by this value alone, is only used through `&mut self`, and libjpeg-turbo keeps
// no per-thread state in it (error texts in thread-local storage are read right after the failing call).
unsafe impl Send for Turbo {}

impl Drop for Turbo {
    fn drop(&mut self) {
        // SAFETY: the handle came from `tj3Init` and is destroyed once.
        unsafe { tj::tj3Destroy(self.handle.as_ptr()) };
    }
}

impl Turbo {
    pub(crate) fn new() -> Result<Self, Error> {
        let turbo = Turbo { handle: new_handle()?, rows: Vec::new(), patched: Vec::new(), megabytes: 0 };
        turbo.configure()?;
        Ok(turbo)
    }

    /// Limits what libjpeg-turbo keeps of a file whose pixels come in several scans.
    pub(crate) fn limit_memory(&mut self, bytes: u64) -> Result<(), Error> {
        // In megabytes, and none would be no limit at all.
        let megabytes = i32::try_from(bytes >> 20).unwrap_or(i32::MAX).max(1);
        if self.megabytes != megabytes {
            self.megabytes = megabytes;
            self.configure()?;
        }
        Ok(())
    }

    fn configure(&self) -> Result<(), Error> {
        self.set(tj::TJPARAM_TJPARAM_MAXMEMORY, self.megabytes)?;
        self.set(tj::TJPARAM_TJPARAM_SCANLIMIT, MAX_SCANS)?;
        // ICC profiles are not used; saving them would copy them for every file.
        self.set(tj::TJPARAM_TJPARAM_SAVEMARKERS, 0)
    }

    /// Replaces the instance: one that failed inside a header would continue that header with the next file, and
    /// any instance would use the tables of earlier files for a file that lacks them.
    fn renew(&mut self) -> Result<(), Error> {
        let fresh = new_handle()?;
        let stale = std::mem::replace(&mut self.handle, fresh);
        // SAFETY: the handle came from `tj3Init` and is no longer reachable.
        unsafe { tj::tj3Destroy(stale.as_ptr()) };
        self.configure()
    }

    /// Decodes a request that [`Request::check`] has accepted.
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        header: &Header,
        request: &Request,
        out: &mut [u8],
        stride: usize,
    ) -> Result<(), Error> {
        let structure = tables::structure(bytes);
        if !structure.complete {
            self.renew()?;
        }
        match self.decode_once(bytes, header, request, out, stride)? {
            // The text is that of the first warning: the end of the file may be a later one.
            Outcome::Warned(message) if message.starts_with(WARNING_END_OF_FILE) || !has_end(bytes) => {
                // Either pixels are missing or only the end marker is. If there is still a warning with a marker
                // added and harmless flaws removed, pixels are missing. Later scans can be missing without a
                // warning, so files with more than one scan are not tried again.
                if !structure.single_scan {
                    return Err(Error::Truncated);
                }
                let components = match header.color {
                    Color::Gray => 1,
                    Color::Ycc | Color::Rgb => 3,
                    Color::Cmyk | Color::Ycck => 4,
                };
                let mut patched = std::mem::take(&mut self.patched);
                patched.clear();
                patched.try_reserve(bytes.len() + 2).map_err(|_| Error::NoMemory)?;
                repaired(bytes, components, &mut patched);
                let result = self.decode_once(&patched, header, request, out, stride);
                self.patched = patched;
                match result? {
                    Outcome::Clean => Ok(()),
                    Outcome::Warned(_) => Err(Error::Truncated),
                }
            }
            _ => Ok(()),
        }
    }

    fn decode_once(
        &mut self,
        bytes: &[u8],
        header: &Header,
        request: &Request,
        out: &mut [u8],
        stride: usize,
    ) -> Result<Outcome, Error> {
        let outcome = self.try_decode(bytes, header, request, out, stride);
        if outcome.is_err() {
            self.renew()?;
        }
        outcome
    }

    fn try_decode(
        &mut self,
        bytes: &[u8],
        header: &Header,
        request: &Request,
        out: &mut [u8],
        stride: usize,
    ) -> Result<Outcome, Error> {
        let scale = request.scale;
        let factor = tj::tjscalingfactor { num: 1, denom: scale.denominator() as i32 };
        // SAFETY: the handle is live; the struct is passed by value.
        let set = unsafe { tj::tj3SetScalingFactor(self.handle.as_ptr(), factor) };
        self.outcome(set)?;
        self.crop(tj::tjregion { x: 0, y: 0, w: 0, h: 0 })?;
        self.read_header(bytes, header)?;

        let whole = Region::whole(header, scale);
        let four_inks = matches!(header.color, Color::Cmyk | Color::Ycck);
        let format = match request.output {
            _ if four_inks => tj::TJPF_TJPF_CMYK,
            Output::Rgb => tj::TJPF_TJPF_RGB,
            Output::Gray => tj::TJPF_TJPF_GRAY,
        };
        if request.region == whole && !four_inks {
            return self.decompress(bytes, out, stride, format);
        }

        let around = surroundings(header, request, &whole);
        if around != whole {
            self.crop(tj::tjregion {
                x: around.x as i32,
                y: around.y as i32,
                w: around.width as i32,
                h: around.height as i32,
            })?;
        }
        let pixel = if four_inks { 4 } else { request.output.channels() };
        let pitch = around.width as usize * pixel;
        let mut rows = std::mem::take(&mut self.rows);
        let needed = pitch * around.height as usize;
        if rows.len() < needed {
            if rows.try_reserve_exact(needed - rows.len()).is_err() {
                return Err(Error::NoMemory);
            }
            rows.resize(needed, 0);
        }
        let outcome = self.decompress(bytes, &mut rows[..needed], pitch, format);
        if outcome.is_ok() {
            let Region { x, y, width, height } = request.region;
            let left = (x - around.x) as usize * pixel;
            let inside = rows.chunks_exact(pitch).skip((y - around.y) as usize).take(height as usize);
            let row_out = width as usize * request.output.channels();
            for (row, out) in inside.zip(out.chunks_mut(stride)) {
                let (row, out) = (&row[left..left + width as usize * pixel], &mut out[..row_out]);
                match request.output {
                    Output::Rgb if four_inks => cmyk::row_to_rgb(row, out),
                    Output::Gray if four_inks => cmyk::row_to_gray(row, out),
                    _ => out.copy_from_slice(row),
                }
            }
        }
        self.rows = rows;
        outcome
    }

    /// Lets libjpeg-turbo read the header and checks that it sees the size that buffers are made for.
    fn read_header(&mut self, bytes: &[u8], header: &Header) -> Result<(), Error> {
        // SAFETY: the handle is live and the pointer and length describe `bytes`.
        let result = unsafe {
            tj::tj3DecompressHeader(self.handle.as_ptr(), bytes.as_ptr(), bytes.len() as tj::size_t)
        };
        self.outcome(result)?;
        let size = (self.get(tj::TJPARAM_TJPARAM_JPEGWIDTH), self.get(tj::TJPARAM_TJPARAM_JPEGHEIGHT));
        if size != (header.width as i32, header.height as i32) {
            return Err(Error::BadRequest("the header does not belong to these bytes".into()));
        }
        Ok(())
    }

    /// Decodes the cropping region that is set into `out`, whose size the caller has matched to it.
    fn decompress(
        &mut self,
        bytes: &[u8],
        out: &mut [u8],
        pitch: usize,
        format: i32,
    ) -> Result<Outcome, Error> {
        // SAFETY: the handle is live, the pointer and length describe `bytes`, and `out` holds every row that
        // is written: the image size was checked against what libjpeg-turbo read from these same bytes, and
        // both the pitch and the number of rows were derived from it. libjpeg-turbo reads the header a second
        // time here. It finds the same one, because nobody can change what a shared slice refers to; callers
        // copy memory that others can write to, such as a mapped file, before they make a slice of it.
        let result = unsafe {
            tj::tj3Decompress8(
                self.handle.as_ptr(),
                bytes.as_ptr(),
                bytes.len() as tj::size_t,
                out.as_mut_ptr(),
                pitch as i32,
                format,
            )
        };
        self.outcome(result)
    }

    fn crop(&mut self, region: tj::tjregion) -> Result<(), Error> {
        // SAFETY: the handle is live; the struct is passed by value.
        let result = unsafe { tj::tj3SetCroppingRegion(self.handle.as_ptr(), region) };
        self.outcome(result).map(|_| ())
    }

    fn set(&self, parameter: tj::TJPARAM, value: i32) -> Result<(), Error> {
        // SAFETY: the handle is live; plain integers.
        let result = unsafe { tj::tj3Set(self.handle.as_ptr(), parameter as i32, value) };
        self.outcome(result).map(|_| ())
    }

    fn get(&self, parameter: tj::TJPARAM) -> i32 {
        // SAFETY: the handle is live; plain integers.
        unsafe { tj::tj3Get(self.handle.as_ptr(), parameter as i32) }
    }

    /// Sorts the result of the call just made into clean, warned and failed.
    fn outcome(&self, result: i32) -> Result<Outcome, Error> {
        if result == 0 {
            return Ok(Outcome::Clean);
        }
        // SAFETY: the handle is live and the string is NUL-terminated, valid until the next call on it.
        let message = unsafe { CStr::from_ptr(tj::tj3GetErrorStr(self.handle.as_ptr())) };
        let message = message.to_string_lossy().into_owned();
        // SAFETY: the handle is live.
        let code = unsafe { tj::tj3GetErrorCode(self.handle.as_ptr()) };
        // The code only says that there was a warning at some point; the call may have failed after it. The
        // text is that of the first warning, unless a failure has replaced it.
        let warning = WARNINGS.iter().any(|text| message.starts_with(text));
        if code == tj::TJERR_TJERR_WARNING as i32 && warning {
            Ok(Outcome::Warned(message))
        } else if NO_MEMORY.iter().any(|text| message.contains(text)) {
            Err(Error::NoMemory)
        } else {
            Err(Error::Corrupt(message))
        }
    }
}

fn new_handle() -> Result<NonNull<std::ffi::c_void>, Error> {
    // SAFETY: takes no pointers; a null result is handled.
    let handle = unsafe { tj::tj3Init(tj::TJINIT_TJINIT_DECOMPRESS as i32) };
    NonNull::new(handle).ok_or_else(|| Error::Unsupported("libjpeg-turbo could not be initialised".into()))
}

/// The part to decode so that the inside of a region comes out as in the full image.
///
/// A crop can only begin where an interleaved unit begins, and upsampling at the edge of a crop cannot see
/// the neighbours that it sees in the full image; one more unit on each side makes both harmless.
fn surroundings(header: &Header, request: &Request, whole: &Region) -> Region {
    let Some((mcu_width, mcu_height)) = header.subsampling.mcu() else {
        return *whole;
    };
    let (step_x, step_y) = (request.scale.apply(mcu_width), request.scale.apply(mcu_height));
    let Region { x, y, width, height } = request.region;
    let first = |start: u32, step: u32| (start / step).saturating_sub(1) * step;
    let last = |end: u32, step: u32, limit: u32| ((end.div_ceil(step) + 1) * step).min(limit);
    let (left, top) = (first(x, step_x), first(y, step_y));
    Region {
        x: left,
        y: top,
        width: last(x + width, step_x, whole.width) - left,
        height: last(y + height, step_y, whole.height) - top,
    }
}
