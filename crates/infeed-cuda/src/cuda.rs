//! A CUDA device as a machine.

use crate::{
    Error, Result,
    driver::{Driver, Handle},
    kernel::Kernel,
    library::Places,
    machine::{Machine, Stretch, Target, Work},
    nvjpeg::{Asking, Backend, NvJpeg},
    slot::{Slot, copied},
};
use infeed_core::{Deferred, Drawing, Error as CoreError, Hold};
use std::{
    collections::VecDeque,
    mem::ManuallyDrop,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Instant,
};

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
    shared: Arc<Shared>,
}

/// What batches under way need, too.
#[derive(Debug)]
struct Shared {
    decoders: ManuallyDrop<Decoders>,
    kernel: Kernel,
    driver: Arc<Driver>,
    number: u32,
    spent: Mutex<Spent>,
}

/// What nvJPEG frees in the context that is current: in this order.
#[derive(Debug)]
struct Decoders {
    /// Those that no batch has, the one that was drawn longest ago first.
    slots: Mutex<VecDeque<Slot>>,
    asking: Mutex<Asking>,
    jpeg: Arc<NvJpeg>,
}

/// Seconds of the host.
#[derive(Debug, Default, Clone, Copy)]
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
            let slots: VecDeque<Slot> =
                (0..setup.slots.max(1)).map(|_| Slot::new(&driver, &jpeg)).collect::<Result<_>>()?;
            let (slots, asking) = (Mutex::new(slots), Mutex::new(Asking::new(&jpeg)?));
            (ManuallyDrop::new(Decoders { slots, asking, jpeg }), kernel)
        };
        let spent = Mutex::default();
        Ok(Cuda { shared: Arc::new(Shared { decoders, kernel, driver, number: setup.device, spent }) })
    }
}

impl Shared {
    /// Memory for a batch: what was drawn longest ago, once it is free, or more if everything is under way.
    fn slot(&self) -> Result<Slot> {
        let found = self.decoders.slots.hold().pop_front();
        let mut slot = found.map_or_else(|| Slot::new(&self.driver, &self.decoders.jpeg), Ok)?;
        slot.free()?;
        Ok(slot)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let driver = Arc::clone(&self.driver);
        // Without a context there is nothing left to free.
        if let Ok(_entered) = driver.enter() {
            for slot in self.decoders.slots.hold().iter_mut() {
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
    fn ask(&self, images: &[&Deferred]) -> Result<Vec<bool>> {
        let start = Instant::now();
        let _entered = self.shared.driver.enter()?;
        let mut asking = self.shared.decoders.asking.hold();
        let answer = |image: &&Deferred| drawing(image).map(|d| asking.takes(d.bytes, d.size));
        let answers = images.iter().map(answer).collect();
        self.shared.spent.hold().asking += start.elapsed().as_secs_f64();
        answers
    }

    fn decode(&self, images: &[&Deferred], asked: &[bool]) -> Result<Box<dyn Work>> {
        let start = Instant::now();
        let _entered = self.shared.driver.enter()?;
        let list = images.iter().zip(asked).map(|(image, asked)| Ok((image.file(), drawing(image)?, *asked)));
        let list = list.collect::<Result<Vec<_>>>()?;
        let mut slot = self.shared.slot()?;
        let middle = Instant::now();
        let taken = slot.decode(list)?;
        let mut spent = self.shared.spent.hold();
        spent.waiting += (middle - start).as_secs_f64();
        spent.decoding += middle.elapsed().as_secs_f64();
        drop(spent);
        Ok(Box::new(UnderWay { shared: Arc::clone(&self.shared), slot: Some(slot), taken }))
    }

    fn describe(&self) -> String {
        let jpeg = &self.shared.decoders.jpeg;
        let who = match jpeg.backend {
            Backend::Engines => "its JPEG engines",
            Backend::Cores => "its cores (it has no JPEG engines)",
        };
        format!("cuda:{}, {who}, nvJPEG {}", self.shared.number, jpeg.version())
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        let Spent { waiting, asking, decoding, drawing } = *self.shared.spent.hold();
        vec![("waiting", waiting), ("asking", asking), ("decoding", decoding), ("drawing", drawing)]
    }
}

/// A batch in a slot.
#[derive(Debug)]
struct UnderWay {
    shared: Arc<Shared>,
    slot: Option<Slot>,
    taken: Vec<bool>,
}

impl UnderWay {
    /// The slot, which is there until the batch is dropped.
    fn slot(&mut self) -> Result<(&mut Slot, &Shared)> {
        let lost = || CoreError::Internal { what: "a batch lost its memory".to_owned() };
        Ok((self.slot.as_mut().ok_or_else(lost)?, &self.shared))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.shared.decoders.slots.hold().push_back(slot);
        }
    }
}

impl Work for UnderWay {
    fn taken(&self) -> &[bool] {
        &self.taken
    }

    fn staging(&mut self, bytes: usize) -> Result<&mut [u8]> {
        let _entered = self.shared.driver.enter()?;
        self.slot()?.0.staging(bytes)
    }

    fn place(&mut self, target: Target, stretches: &[Stretch]) -> Result<()> {
        let _entered = self.shared.driver.enter()?;
        self.slot()?.0.place(target, stretches)
    }

    fn draw(&mut self, target: Target, images: &[(usize, usize, &Deferred)]) -> Result<()> {
        let start = Instant::now();
        let _entered = self.shared.driver.enter()?;
        let drawings = images.iter().map(|(number, row, image)| Ok((*number, *row, drawing(image)?)));
        let drawings = drawings.collect::<Result<Vec<_>>>()?;
        let (slot, shared) = self.slot()?;
        let done = slot.draw(&shared.kernel, target, &drawings);
        self.shared.spent.hold().drawing += start.elapsed().as_secs_f64();
        done
    }

    fn pixels(&mut self, number: usize, image: &Deferred) -> Result<Vec<u8>> {
        let _entered = self.shared.driver.enter()?;
        self.slot()?.0.pixels(number, drawing(image)?.pixel_bytes())
    }

    fn row(&mut self, target: Target, row: usize) -> Result<Vec<u8>> {
        let _entered = self.shared.driver.enter()?;
        let address = target.address + (row * target.row) as u64;
        copied(&self.shared.driver, address, target.row, target.stream as Handle)
    }
}
