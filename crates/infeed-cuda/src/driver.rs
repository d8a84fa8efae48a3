//! CUDA's driver API, in the context that the process uses already.

use crate::{
    Error, Result,
    library::{DRIVER_HINT, Places, functions},
};
use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr::null_mut,
    sync::Arc,
};

/// A handle of the driver: context, stream, event, module, function.
pub(crate) type Handle = *mut c_void;

functions! {
    /// The functions that are used.
    Functions {
        init = "cuInit"(c_uint);
        version = "cuDriverGetVersion"(*mut c_int);
        device = "cuDeviceGet"(*mut c_int, c_int);
        attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
        retain = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
        push = "cuCtxPushCurrent_v2"(Handle);
        pop = "cuCtxPopCurrent_v2"(*mut Handle);
        error_text = "cuGetErrorString"(c_int, *mut *const c_char);
        device_alloc = "cuMemAlloc_v2"(*mut u64, usize);
        device_free = "cuMemFree_v2"(u64);
        host_alloc = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
        host_free = "cuMemFreeHost"(*mut c_void);
        to_device = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, Handle);
        to_host = "cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, Handle);
        stream_create = "cuStreamCreateWithPriority"(*mut Handle, c_uint, c_int);
        stream_destroy = "cuStreamDestroy_v2"(Handle);
        stream_wait = "cuStreamWaitEvent"(Handle, Handle, c_uint);
        stream_finish = "cuStreamSynchronize"(Handle);
        event_create = "cuEventCreate"(*mut Handle, c_uint);
        event_destroy = "cuEventDestroy_v2"(Handle);
        event_record = "cuEventRecord"(Handle, Handle);
        event_finish = "cuEventSynchronize"(Handle);
        module_load = "cuModuleLoadData"(*mut Handle, *const c_void);
        module_function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
        launch = "cuLaunchKernel"(
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
        );
    }
}

const OUT_OF_MEMORY: c_int = 2;
const MAJOR: c_int = 75;
const MINOR: c_int = 76;

/// The driver and the primary context of one device: the context that PyTorch and other libraries of the process use.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) call: Functions,
    context: Handle,
    device: c_int,
}

// SAFETY: a context may be used by any thread that has made it current, which `enter` does.
unsafe impl Send for Driver {}
// SAFETY: as above; the driver API is thread safe.
unsafe impl Sync for Driver {}

impl Driver {
    /// Opens a device by its number. The context is kept until the process ends.
    pub(crate) fn open(places: &Places, number: u32) -> Result<Arc<Self>> {
        let library = places.load("libcuda.so.1", DRIVER_HINT)?;
        let call = Functions::of(library)?;
        let (mut device, mut context) = (0, null_mut());
        // SAFETY: the pointers are to variables of the right types.
        let answers = unsafe {
            [
                ("cuInit", (call.init)(0)),
                ("cuDeviceGet", (call.device)(&raw mut device, number as c_int)),
                ("cuDevicePrimaryCtxRetain", (call.retain)(&raw mut context, device)),
            ]
        };
        let driver = Driver { call, context, device };
        for (name, code) in answers {
            driver.check(name, code).map_err(|e| Error::Missing(e.to_string()))?;
        }
        Ok(Arc::new(driver))
    }

    /// Makes the context current in this thread, until the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Entered> {
        // SAFETY: the context is retained for ever.
        self.check("cuCtxPushCurrent", unsafe { (self.call.push)(self.context) })?;
        Ok(Entered { driver: Arc::clone(self) })
    }

    /// The number that the code of this device is compiled for, as 90 for compute capability 9.0.
    pub(crate) fn architecture(&self) -> Result<u32> {
        let number = |attribute| {
            let mut value = 0;
            // SAFETY: the pointer is to a variable of the right type.
            let code = unsafe { (self.call.attribute)(&raw mut value, attribute, self.device) };
            self.check("cuDeviceGetAttribute", code).map(|()| value as u32)
        };
        Ok(number(MAJOR)? * 10 + number(MINOR)?)
    }

    /// The newest version of CUDA that the driver knows, as 12040 for 12.4.
    pub(crate) fn version(&self) -> u32 {
        let mut version = 0;
        // SAFETY: the pointer is to a variable of the right type.
        unsafe { (self.call.version)(&raw mut version) };
        version as u32
    }

    /// Makes an error of an answer that is one.
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        // SAFETY: the pointer is to a variable of the right type.
        unsafe { (self.call.error_text)(code, &raw mut text) };
        let why = if text.is_null() {
            "an unknown error".to_owned()
        } else {
            // SAFETY: the driver gave a text that ends with zero and lives for ever.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(Error::Call { call, code, why })
    }

    /// The same for a request of memory.
    pub(crate) fn check_memory(
        &self,
        call: &'static str,
        code: c_int,
        what: &'static str,
        bytes: usize,
    ) -> Result<()> {
        if code == OUT_OF_MEMORY { Err(Error::Memory { what, bytes }) } else { self.check(call, code) }
    }
}

/// The context is current in this thread.
#[derive(Debug)]
pub(crate) struct Entered {
    driver: Arc<Driver>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut old = null_mut();
        // SAFETY: the pointer is to a variable of the right type; what was pushed last is popped.
        unsafe { (self.driver.call.pop)(&raw mut old) };
    }
}
