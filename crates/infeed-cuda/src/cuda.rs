//! A CUDA device as a machine.

use crate::{
    Error, Result,
    driver::{Driver, Handle},
    kernel::Kernel,
    library::Places,
    machine::{Machine, Stretch, Target},
    nvjpeg::{Asking, Backend, NvJpeg},
    slot::{Slot, copied},
};
use infeed_core::{Deferred, Drawing, Error as CoreError};
use std::{mem::ManuallyDrop, path::PathBuf, sync::Arc, time::Instant};

/// What a device is opened with.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The number of the device.
    pub device: u32,
    /// Where libraries are looked for.
    pub places: Places,
    /// The folder that compiled kernels are kept in.
    pub folder: Option<PathBuf>,
    /// How many batches may be under way.
    pub slots: usize,
}

/// The oldest driver that works: CUDA 11.4, as PyTorch's own libraries ask for.
const OLDEST: u32 = 11_040;

/// The JPEG engines and the cores of one GPU.
#[derive(Debug)]
pub struct Cuda {
    decoders: ManuallyDrop<Decoders>,
    kernel: Kernel,
    driver: Arc<Driver>,
    current: usize,
    number: u32,
    spent: Spent,
}

/// What nvJPEG frees in the context that is current: in this order.
#[derive(Debug)]
struct Decoders {
    slots: Vec<Slot>,
    asking: Asking,
    jpeg: Arc<NvJpeg>,
}

/// Seconds of the host.
#[derive(Debug, Default)]
struct Spent {
    waiting: f64,
    asking: f64,
    decoding: f64,
    drawing: f64,
}

impl Cuda {
    /// Opens a device, and loads what is needed.
    pub fn open(setup: &Setup) -> Result<Self> {
        let driver = Driver::open(&setup.places, setup.device)?;
        if driver.version() < OLDEST {
            return Err(Error::Missing(format!(
                "NVIDIA's driver knows CUDA up to {}.{} and is too old: 11.4 is needed",
                driver.version() / 1000,
                driver.version() % 1000 / 10
            )));
        }
        let (decoders, kernel) = {
            let _entered = driver.enter()?;
            let jpeg = NvJpeg::open(&setup.places)?;
            let kernel = Kernel::load(&driver, &setup.places, setup.folder.as_deref())?;
            let slots = (0..setup.slots.max(1)).map(|_| Slot::new(&driver, &jpeg)).collect::<Result<_>>()?;
            let asking = Asking::new(&jpeg)?;
            (ManuallyDrop::new(Decoders { slots, asking, jpeg }), kernel)
        };
        let spent = Spent::default();
        Ok(Cuda { decoders, kernel, driver, current: 0, number: setup.device, spent })
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        let driver = Arc::clone(&self.driver);
        // Without a context there is nothing left to free.
        if let Ok(_entered) = driver.enter() {
            for slot in &mut self.decoders.slots {
                let _ = slot.free();
            }
            // SAFETY: it is dropped here alone, and not used again.
            unsafe { ManuallyDrop::drop(&mut self.decoders) };
        }
    }
}

fn drawing(image: &Deferred) -> Result<Drawing<'_>> {
    let lost = || CoreError::Internal { what: "an image was deferred that has no drawing".to_owned() };
    Ok(image.drawing().ok_or_else(lost)?)
}

impl Machine for Cuda {
    fn begin(&mut self) -> Result<()> {
        let start = Instant::now();
        let _entered = self.driver.enter()?;
        self.current = (self.current + 1) % self.decoders.slots.len();
        let done = self.decoders.slots[self.current].free();
        self.spent.waiting += start.elapsed().as_secs_f64();
        done
    }

    fn decode(&mut self, images: &[&Deferred]) -> Result<Vec<bool>> {
        let start = Instant::now();
        let _entered = self.driver.enter()?;
        let mut list = vec![];
        for image in images {
            let drawing = drawing(image)?;
            let asked = self.decoders.asking.takes(drawing.bytes, drawing.size);
            list.push((image.file(), drawing, asked));
        }
        let middle = Instant::now();
        let taken = self.decoders.slots[self.current].decode(list);
        self.spent.asking += (middle - start).as_secs_f64();
        self.spent.decoding += middle.elapsed().as_secs_f64();
        taken
    }

    fn staging(&mut self, bytes: usize) -> Result<&mut [u8]> {
        let _entered = self.driver.enter()?;
        self.decoders.slots[self.current].staging(bytes)
    }

    fn place(&mut self, target: Target, stretches: &[Stretch]) -> Result<()> {
        let _entered = self.driver.enter()?;
        self.decoders.slots[self.current].place(target, stretches)
    }

    fn draw(&mut self, target: Target, images: &[(usize, usize, &Deferred)]) -> Result<()> {
        let start = Instant::now();
        let _entered = self.driver.enter()?;
        let drawings = images.iter().map(|(number, row, image)| Ok((*number, *row, drawing(image)?)));
        let drawings = drawings.collect::<Result<Vec<_>>>()?;
        let done = self.decoders.slots[self.current].draw(&self.kernel, target, &drawings);
        self.spent.drawing += start.elapsed().as_secs_f64();
        done
    }

    fn pixels(&mut self, number: usize, image: &Deferred) -> Result<Vec<u8>> {
        let _entered = self.driver.enter()?;
        self.decoders.slots[self.current].pixels(number, drawing(image)?.pixel_bytes())
    }

    fn row(&mut self, target: Target, row: usize) -> Result<Vec<u8>> {
        let _entered = self.driver.enter()?;
        let address = target.address + (row * target.row) as u64;
        copied(&self.driver, address, target.row, target.stream as Handle)
    }

    fn describe(&self) -> String {
        let who = match self.decoders.jpeg.backend {
            Backend::Engines => "its JPEG engines",
            Backend::Cores => "its cores (it has no JPEG engines)",
        };
        format!("cuda:{}, {who}, nvJPEG {}", self.number, self.decoders.jpeg.version())
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        let Spent { waiting, asking, decoding, drawing } = self.spent;
        vec![("waiting", waiting), ("asking", asking), ("decoding", decoding), ("drawing", drawing)]
    }
}
