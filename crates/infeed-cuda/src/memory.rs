//! Memory, streams and events of a device, freed when they are dropped.

use crate::{
    Result,
    driver::{Driver, Handle},
};
use std::{ptr::null_mut, sync::Arc};

/// Sizes are rounded up to this, so that batches that differ a little do not each get memory of their own.
const GRAIN: usize = 1 << 20;

/// How much is asked for where `bytes` are needed: an eighth more, since the next batch may be larger.
fn ample(bytes: usize) -> usize {
    (bytes + bytes / 8).next_multiple_of(GRAIN)
}

/// Memory on the device.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    driver: Arc<Driver>,
    pub(crate) address: u64,
    len: usize,
    what: &'static str,
}

impl DeviceMemory {
    /// Nothing yet.
    pub(crate) fn new(driver: &Arc<Driver>, what: &'static str) -> Self {
        DeviceMemory { driver: Arc::clone(driver), address: 0, len: 0, what }
    }

    /// Makes sure that there are so many bytes. What was there is lost, and must not be in use.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.len {
            return Ok(());
        }
        self.free();
        let len = ample(bytes);
        let mut address = 0;
        // SAFETY: the pointer is to a variable of the right type.
        let code = unsafe { (self.driver.call.device_alloc)(&raw mut address, len) };
        self.driver.check_memory("cuMemAlloc", code, self.what, len)?;
        (self.address, self.len) = (address, len);
        Ok(())
    }

    fn free(&mut self) {
        if self.len > 0 {
            // SAFETY: the address is that of memory which nothing uses any more. A failure leaves it where it is.
            unsafe { (self.driver.call.device_free)(self.address) };
        }
        (self.address, self.len) = (0, 0);
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.len > 0
            && let Ok(_entered) = self.driver.enter()
        {
            self.free();
        }
    }
}

/// Page-locked memory of the host, which the device copies from by itself.
#[derive(Debug)]
pub(crate) struct HostMemory {
    driver: Arc<Driver>,
    address: *mut u8,
    len: usize,
    what: &'static str,
}

// SAFETY: it is memory of the process, owned by this value alone.
unsafe impl Send for HostMemory {}

impl HostMemory {
    /// Nothing yet.
    pub(crate) fn new(driver: &Arc<Driver>, what: &'static str) -> Self {
        HostMemory { driver: Arc::clone(driver), address: null_mut(), len: 0, what }
    }

    /// Makes sure that there are so many bytes, and returns them. Nothing may copy from them any more.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<&mut [u8]> {
        if bytes > self.len {
            self.free();
            let len = ample(bytes);
            let mut address = null_mut();
            // SAFETY: the pointer is to a variable of the right type.
            let code = unsafe { (self.driver.call.host_alloc)(&raw mut address, len, 0) };
            self.driver.check_memory("cuMemHostAlloc", code, self.what, len)?;
            // SAFETY: the memory was just allocated with this length. It is written once, so that it has values.
            unsafe { std::ptr::write_bytes(address.cast::<u8>(), 0, len) };
            (self.address, self.len) = (address.cast(), len);
        }
        if bytes == 0 {
            return Ok(&mut []);
        }
        // SAFETY: there are at least so many bytes, which have values and belong to this value, borrowed mutably here.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.address, bytes) })
    }

    /// Where it begins.
    pub(crate) fn address(&self) -> *const u8 {
        self.address
    }

    fn free(&mut self) {
        if self.len > 0 {
            // SAFETY: the memory came from `cuMemHostAlloc`, and nothing uses it any more.
            unsafe { (self.driver.call.host_free)(self.address.cast()) };
        }
        (self.address, self.len) = (null_mut(), 0);
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.len > 0
            && let Ok(_entered) = self.driver.enter()
        {
            self.free();
        }
    }
}

/// A point in the work of a stream. Waiting threads sleep.
#[derive(Debug)]
pub(crate) struct Event {
    driver: Arc<Driver>,
    handle: Handle,
}

// SAFETY: events may be used by any thread whose current context is theirs.
unsafe impl Send for Event {}

/// `CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING`.
const QUIET: u32 = 1 | 2;

impl Event {
    pub(crate) fn new(driver: &Arc<Driver>) -> Result<Self> {
        let mut handle = null_mut();
        // SAFETY: the pointer is to a variable of the right type.
        let code = unsafe { (driver.call.event_create)(&raw mut handle, QUIET) };
        driver.check("cuEventCreate", code)?;
        Ok(Event { driver: Arc::clone(driver), handle })
    }

    /// Stands after all work of a stream so far.
    pub(crate) fn record(&self, stream: Handle) -> Result<()> {
        // SAFETY: both handles are valid in the current context.
        self.driver.check("cuEventRecord", unsafe { (self.driver.call.event_record)(self.handle, stream) })
    }

    /// Waits for the work before it. One that was never recorded is reached.
    pub(crate) fn finish(&self) -> Result<()> {
        // SAFETY: the handle is valid in the current context.
        self.driver.check("cuEventSynchronize", unsafe { (self.driver.call.event_finish)(self.handle) })
    }

    /// Lets further work of a stream wait for it.
    pub(crate) fn hold(&self, stream: Handle) -> Result<()> {
        // SAFETY: both handles are valid in the current context.
        let code = unsafe { (self.driver.call.stream_wait)(stream, self.handle, 0) };
        self.driver.check("cuStreamWaitEvent", code)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_entered) = self.driver.enter() {
            // SAFETY: the handle is valid and not used again.
            unsafe { (self.driver.call.event_destroy)(self.handle) };
        }
    }
}

/// A stream of our own, which does not wait for the default stream.
#[derive(Debug)]
pub(crate) struct Stream {
    driver: Arc<Driver>,
    pub(crate) handle: Handle,
}

// SAFETY: streams may be used by any thread whose current context is theirs.
unsafe impl Send for Stream {}

const NON_BLOCKING: u32 = 1;

impl Stream {
    pub(crate) fn new(driver: &Arc<Driver>) -> Result<Self> {
        let mut handle = null_mut();
        // SAFETY: the pointer is to a variable of the right type. Work of the loader is short, and somebody will wait for it:
        // numbers below zero are higher priorities, and are cut to what the device has.
        let code = unsafe { (driver.call.stream_create)(&raw mut handle, NON_BLOCKING, -1) };
        driver.check("cuStreamCreateWithPriority", code)?;
        Ok(Stream { driver: Arc::clone(driver), handle })
    }

    /// Waits until all its work is done.
    pub(crate) fn finish(&self) -> Result<()> {
        // SAFETY: the handle is valid in the current context.
        self.driver.check("cuStreamSynchronize", unsafe { (self.driver.call.stream_finish)(self.handle) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_entered) = self.driver.enter() {
            // SAFETY: the handle is valid and not used again.
            unsafe { (self.driver.call.stream_destroy)(self.handle) };
        }
    }
}
