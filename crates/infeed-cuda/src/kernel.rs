//! The compiled kernel, and how it is launched.

use crate::{
    Result,
    driver::{Driver, Handle},
    job::{COLUMNS, Jobs, LINES},
    library::Places,
    nvrtc,
};
use std::{
    ffi::{CStr, c_void},
    path::Path,
    ptr::null_mut,
    sync::Arc,
};

/// The source of both functions.
const SOURCE: &str = include_str!("kernel.cu");

/// Threads of a block that computes coefficients.
const BLOCK: u32 = 128;

/// Both functions, loaded into the context of the process.
#[derive(Debug)]
pub(crate) struct Kernel {
    driver: Arc<Driver>,
    prepare: Handle,
    draw: Handle,
}

// SAFETY: functions may be launched by any thread whose current context is theirs.
unsafe impl Send for Kernel {}
// SAFETY: as above; launching changes nothing in them.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Compiles it, or takes what was compiled before. The context must be current.
    pub(crate) fn load(driver: &Arc<Driver>, places: &Places, folder: Option<&Path>) -> Result<Self> {
        let code = nvrtc::compiled(places, SOURCE, driver.architecture()?, folder)?;
        let mut module = null_mut();
        // SAFETY: the code is an image that NVRTC made, whole; the driver checks it and copies it.
        let answer = unsafe { (driver.call.module_load)(&raw mut module, code.as_ptr().cast()) };
        driver.check("cuModuleLoadData", answer)?;
        let function = |name: &CStr| {
            let mut function = null_mut();
            // SAFETY: the module was just loaded, and stays so.
            let answer = unsafe { (driver.call.module_function)(&raw mut function, module, name.as_ptr()) };
            driver.check("cuModuleGetFunction", answer).map(|()| function)
        };
        let (prepare, draw) = (function(c"prepare")?, function(c"draw")?);
        Ok(Kernel { driver: Arc::clone(driver), prepare, draw })
    }

    /// Launches both.
    ///
    /// # Safety
    /// `list` and `tables` are memory of the device with the jobs and room for their tables, and what the jobs name is memory
    /// of the device, all until the work of the stream is done.
    pub(crate) unsafe fn launch(
        &self,
        jobs: &Jobs,
        mut list: u64,
        mut tables: u64,
        stream: Handle,
    ) -> Result<()> {
        let images = jobs.list.len() as u32;
        if images == 0 || jobs.longest == 0 {
            return Ok(());
        }
        let mut arguments = [(&raw mut list).cast::<c_void>(), (&raw mut tables).cast::<c_void>()];
        let grid = [jobs.longest.div_ceil(BLOCK), 2, images];
        // SAFETY: these are the parameters of `prepare`; the rest is the caller's.
        unsafe { self.start(self.prepare, grid, [BLOCK, 1], 0, stream, &mut arguments) }?;
        let mut room = jobs.room;
        let mut arguments = [arguments[0], arguments[1], (&raw mut room).cast::<c_void>()];
        let grid = [jobs.tiles(), images, 1];
        // SAFETY: these are the parameters of `draw`; the rest is the caller's.
        unsafe { self.start(self.draw, grid, [COLUMNS, LINES], jobs.shared(), stream, &mut arguments) }
    }

    /// # Safety
    /// The arguments are those of the function.
    unsafe fn start(
        &self,
        function: Handle,
        [x, y, z]: [u32; 3],
        [across, down]: [u32; 2],
        shared: u32,
        stream: Handle,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let launch = self.driver.call.launch;
        // SAFETY: the caller's; the driver copies the arguments before it returns.
        let code = unsafe {
            launch(function, x, y, z, across, down, 1, shared, stream, arguments.as_mut_ptr(), null_mut())
        };
        self.driver.check("cuLaunchKernel", code)
    }
}
