//! nvJPEG: many files at a time, decoded by the JPEG engines of the chip where it has them.

use crate::{
    Error, Result,
    driver::Handle,
    library::{JPEG_HINT, Places, functions},
};
use std::{
    ffi::{c_int, c_uint, c_void},
    ptr::null_mut,
    sync::Arc,
};

functions! {
    /// The functions that are used.
    Functions {
        version = "nvjpegGetProperty"(c_int, *mut c_int);
        create = "nvjpegCreateEx"(c_int, *mut c_void, *mut c_void, c_uint, *mut Handle);
        destroy = "nvjpegDestroy"(Handle);
        state_create = "nvjpegJpegStateCreate"(Handle, *mut Handle);
        state_destroy = "nvjpegJpegStateDestroy"(Handle);
        stream_create = "nvjpegJpegStreamCreate"(Handle, *mut Handle);
        stream_destroy = "nvjpegJpegStreamDestroy"(Handle);
        parse = "nvjpegJpegStreamParseHeader"(Handle, *const u8, usize, Handle);
        size = "nvjpegJpegStreamGetFrameDimensions"(Handle, *mut c_uint, *mut c_uint);
        supported = "nvjpegDecodeBatchedSupported"(Handle, Handle, *mut c_int);
        initialize = "nvjpegDecodeBatchedInitialize"(Handle, Handle, c_int, c_int, c_int);
        decode = "nvjpegDecodeBatched"(Handle, Handle, *const *const u8, *const usize, *const Picture, Handle);
    }
}

/// Where nvJPEG writes one image: planes, or interleaved channels in the first.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Picture {
    pub(crate) planes: [u64; 4],
    pub(crate) pitches: [usize; 4],
}

/// What files are decoded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Format {
    /// The luma component.
    Gray = 2,
    /// Interleaved red, green, blue.
    Rgb = 5,
}

/// Who decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Backend {
    /// The engines of the chip: A100, H100 and later.
    Engines = 3,
    /// The GPU's cores, with Huffman decoding there too.
    Cores = 2,
}

const OUT_OF_MEMORY: c_int = 5;

/// The library and its handle, which is expensive: one per device.
#[derive(Debug)]
pub(crate) struct NvJpeg {
    call: Functions,
    handle: Handle,
    pub(crate) backend: Backend,
}

// SAFETY: the handle may be used by several threads, by nvJPEG's documentation; states and streams are not shared.
unsafe impl Send for NvJpeg {}
// SAFETY: as above.
unsafe impl Sync for NvJpeg {}

impl NvJpeg {
    /// Opens the library. The context of the device must be current.
    pub(crate) fn open(places: &Places) -> Result<Arc<Self>> {
        let call = Functions::of(places.load("libnvjpeg.so", JPEG_HINT)?)?;
        let mut last = 0;
        for backend in [Backend::Engines, Backend::Cores] {
            let mut handle = null_mut();
            // SAFETY: the pointer is to a variable of the right type; without allocators nvJPEG uses CUDA's.
            last = unsafe { (call.create)(backend as c_int, null_mut(), null_mut(), 0, &raw mut handle) };
            if last == 0 {
                return Ok(Arc::new(NvJpeg { call, handle, backend }));
            }
        }
        Err(Error::Missing(format!("nvJPEG cannot be used here: nvjpegCreateEx says {last} ({})", why(last))))
    }

    /// The version, as 12.4.
    pub(crate) fn version(&self) -> String {
        let number = |which| {
            let mut value = 0;
            // SAFETY: the pointer is to a variable of the right type.
            unsafe { (self.call.version)(which, &raw mut value) };
            value
        };
        format!("{}.{}", number(0), number(1))
    }
}

impl Drop for NvJpeg {
    fn drop(&mut self) {
        // SAFETY: states and streams hold the handle, so they are gone.
        unsafe { (self.call.destroy)(self.handle) };
    }
}

fn check(call: &'static str, code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        OUT_OF_MEMORY => Err(Error::Memory { what: "nvJPEG", bytes: 0 }),
        _ => Err(Error::Call { call, code, why: why(code).to_owned() }),
    }
}

fn why(code: c_int) -> &'static str {
    match code {
        1 => "not initialised",
        2 => "an invalid parameter",
        3 => "not a good JPEG",
        4 => "a kind of JPEG it does not know",
        OUT_OF_MEMORY => "no memory",
        6 => "the device failed",
        7 => "not made for this GPU",
        8 => "an internal error",
        9 => "not implemented",
        10 => "the file ends early",
        _ => "an unknown error",
    }
}

/// Reads headers, and asks whether the engines take a file.
#[derive(Debug)]
pub(crate) struct Asking {
    library: Arc<NvJpeg>,
    stream: Handle,
}

// SAFETY: it is used by one thread at a time, since its methods take it mutably.
unsafe impl Send for Asking {}

impl Asking {
    pub(crate) fn new(library: &Arc<NvJpeg>) -> Result<Self> {
        let mut stream = null_mut();
        // SAFETY: the pointer is to a variable of the right type.
        let code = unsafe { (library.call.stream_create)(library.handle, &raw mut stream) };
        check("nvjpegJpegStreamCreate", code)?;
        Ok(Asking { library: Arc::clone(library), stream })
    }

    /// Whether a file of this size is taken.
    pub(crate) fn takes(&mut self, file: &[u8], size: (u32, u32)) -> bool {
        let NvJpeg { call, handle, backend } = &*self.library;
        // SAFETY: the file is read during the call alone.
        if unsafe { (call.parse)(*handle, file.as_ptr(), file.len(), self.stream) } != 0 {
            return false;
        }
        let mut found = (0, 0);
        // SAFETY: the pointers are to variables of the right types.
        let code = unsafe { (call.size)(self.stream, &raw mut found.0, &raw mut found.1) };
        // Memory was reserved by our own reading of the header: both must agree before anything is written.
        if code != 0 || found != size {
            return false;
        }
        if *backend != Backend::Engines {
            return true;
        }
        let mut answer = -1;
        // SAFETY: the pointer is to a variable of the right type; the stream holds the header that was just read.
        let code = unsafe { (call.supported)(*handle, self.stream, &raw mut answer) };
        code == 0 && answer == 0
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // SAFETY: the stream belongs to this value and is not used again.
        unsafe { (self.library.call.stream_destroy)(self.stream) };
    }
}

/// Decodes many files with one call, into one format.
#[derive(Debug)]
pub(crate) struct Batched {
    library: Arc<NvJpeg>,
    state: Handle,
    format: Format,
}

// SAFETY: as for `Asking`.
unsafe impl Send for Batched {}

impl Batched {
    pub(crate) fn new(library: &Arc<NvJpeg>, format: Format) -> Result<Self> {
        let mut state = null_mut();
        // SAFETY: the pointer is to a variable of the right type.
        let code = unsafe { (library.call.state_create)(library.handle, &raw mut state) };
        check("nvjpegJpegStateCreate", code)?;
        Ok(Batched { library: Arc::clone(library), state, format })
    }

    /// Starts decoding on a stream.
    ///
    /// # Safety
    /// The files must stay where they are, and the pictures must be memory of the device that nothing uses, with room for
    /// the sizes that the files' headers say, both until the work of the stream is done.
    pub(crate) unsafe fn decode(
        &mut self,
        files: &[(*const u8, usize)],
        pictures: &[Picture],
        stream: Handle,
    ) -> Result<()> {
        if files.is_empty() || files.len() != pictures.len() {
            return Ok(());
        }
        let NvJpeg { call, handle, .. } = &*self.library;
        let data: Vec<*const u8> = files.iter().map(|(data, _)| *data).collect();
        let lengths: Vec<usize> = files.iter().map(|(_, length)| *length).collect();
        let format = self.format as c_int;
        // SAFETY: both handles are valid.
        let code = unsafe { (call.initialize)(*handle, self.state, files.len() as c_int, 1, format) };
        check("nvjpegDecodeBatchedInitialize", code)?;
        // SAFETY: the lists have as many entries as was just said; the rest is the caller's.
        let code = unsafe {
            (call.decode)(*handle, self.state, data.as_ptr(), lengths.as_ptr(), pictures.as_ptr(), stream)
        };
        check("nvjpegDecodeBatched", code)
    }
}

impl Drop for Batched {
    fn drop(&mut self) {
        // SAFETY: the state belongs to this value and is not used again.
        unsafe { (self.library.call.state_destroy)(self.state) };
    }
}
