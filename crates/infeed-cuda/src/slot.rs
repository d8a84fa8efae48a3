//! The memory of one batch on its way through a device, and what is under way in it.

use crate::{
    Result,
    driver::{Driver, Handle},
    job::{Job, Jobs, SLACK},
    kernel::Kernel,
    machine::{Stretch, Target},
    memory::{DeviceMemory, Event, HostMemory, Stream},
    nvjpeg::{Batched, Format, NvJpeg, Picture},
};
use infeed_core::{Bytes, Drawing, Error as CoreError};
use std::sync::Arc;

/// Where the pixels of an image begin is a multiple of this.
const ALIGN: u64 = 256;

/// One of several: while engines decode into one, the kernel reads another.
#[derive(Debug)]
pub(crate) struct Slot {
    driver: Arc<Driver>,
    /// Engines do not keep to the order of other streams' work, so decoding has a stream of its own.
    stream: Stream,
    rgb: Batched,
    gray: Batched,
    /// Decoding is done.
    decoded: Event,
    /// The batch is drawn: nothing reads this slot any more.
    drawn: Event,
    busy: bool,
    pixels: DeviceMemory,
    list: DeviceMemory,
    tables: DeviceMemory,
    staging: HostMemory,
    jobs: HostMemory,
    /// Files that are being read, by nvJPEG or by the engines. Page-locked: from other memory the driver copies them one by one while
    /// work of the same stream waits. And nobody else can change them there.
    files: HostMemory,
    /// Where each of them begins, and its length.
    spans: Vec<(usize, usize)>,
    /// Where the pixels of each image begin in `pixels`.
    places: Vec<u64>,
}

impl Slot {
    /// The context must be current, here and for all methods.
    pub(crate) fn new(driver: &Arc<Driver>, jpeg: &Arc<NvJpeg>) -> Result<Self> {
        Ok(Slot {
            driver: Arc::clone(driver),
            stream: Stream::new(driver)?,
            rgb: Batched::new(jpeg, Format::Rgb)?,
            gray: Batched::new(jpeg, Format::Gray)?,
            decoded: Event::new(driver)?,
            drawn: Event::new(driver)?,
            busy: false,
            pixels: DeviceMemory::new(driver, "decoded pixels on the device"),
            list: DeviceMemory::new(driver, "what is to be drawn"),
            tables: DeviceMemory::new(driver, "coefficients on the device"),
            staging: HostMemory::new(driver, "pixels in page-locked memory"),
            jobs: HostMemory::new(driver, "what is to be drawn, in page-locked memory"),
            files: HostMemory::new(driver, "files in page-locked memory"),
            spans: vec![],
            places: vec![],
        })
    }

    /// Waits until nothing uses it. The engines have been seen to begin before work that stands before them in their stream,
    /// so the host waits, and not the stream.
    pub(crate) fn free(&mut self) -> Result<()> {
        if self.busy {
            self.stream.finish()?;
            self.drawn.finish()?;
            self.busy = false;
        }
        self.spans.clear();
        self.places.clear();
        Ok(())
    }

    /// Starts decoding. Says of each image whether it was taken.
    /// Those that are not `asked` for keep their numbers, and get no room.
    pub(crate) fn decode(&mut self, images: Vec<(Bytes, Drawing<'_>, bool)>) -> Result<Vec<bool>> {
        let mut all = 0;
        let mut groups = [vec![], vec![]];
        for (number, (_, drawing, asked)) in images.iter().enumerate() {
            self.places.push(all);
            if *asked {
                all += (drawing.pixel_bytes() as u64).next_multiple_of(ALIGN);
                groups[usize::from(drawing.gray)].push((number, drawing.size.0));
            }
        }
        self.pixels.reserve((all + u64::from(SLACK)) as usize)?;
        let mut taken = vec![false; images.len()];
        self.copy_files(&images)?;
        self.busy = true;
        for (gray, group) in [false, true].into_iter().zip(&groups) {
            for number in self.decode_group(group, gray)? {
                taken[number] = true;
            }
        }
        self.decoded.record(self.stream.handle)?;
        Ok(taken)
    }

    /// Copies the files of those that are asked for to where the engines read them.
    fn copy_files(&mut self, images: &[(Bytes, Drawing<'_>, bool)]) -> Result<()> {
        let mut all = 0;
        for (file, _, asked) in images {
            let len = if *asked { file.len() } else { 0 };
            self.spans.push((all, len));
            all += len;
        }
        let room = self.files.reserve(all)?;
        for ((file, ..), (at, len)) in images.iter().zip(&self.spans) {
            room[*at..at + len].copy_from_slice(&file[..*len]);
        }
        Ok(())
    }

    /// Decodes images of one format, each with its width, and returns those that were taken.
    fn decode_group(&mut self, group: &[(usize, u32)], gray: bool) -> Result<Vec<usize>> {
        if group.is_empty() {
            return Ok(vec![]);
        }
        let file = |(number, _): &(usize, u32)| {
            let (at, len) = self.spans[*number];
            (self.files.address().wrapping_add(at), len)
        };
        let files: Vec<_> = group.iter().map(file).collect();
        let picture = |(number, width): &(usize, u32)| {
            let mut picture = Picture::default();
            picture.planes[0] = self.pixels.address + self.places[*number];
            picture.pitches[0] = *width as usize * if gray { 1 } else { 3 };
            picture
        };
        let pictures: Vec<_> = group.iter().map(picture).collect();
        let batched = if gray { &mut self.gray } else { &mut self.rgb };
        // SAFETY: the files are in `files` and the slot is not reused before its stream is done; each picture has the room
        // of the size that nvJPEG found in the header, too, and nothing uses the slot.
        if unsafe { batched.decode(&files, &pictures, self.stream.handle) }.is_ok() {
            return Ok(group.iter().map(|(number, _)| *number).collect());
        }
        // One of them is damaged, and nvJPEG does not say which.
        self.stream.finish()?;
        let mut taken = vec![];
        for (nth, (number, _)) in group.iter().enumerate() {
            // SAFETY: as above.
            let one = unsafe { batched.decode(&files[nth..=nth], &pictures[nth..=nth], self.stream.handle) };
            self.stream.finish()?;
            if one.is_ok() {
                taken.push(*number);
            }
        }
        Ok(taken)
    }

    /// Memory for rows that are made already.
    pub(crate) fn staging(&mut self, bytes: usize) -> Result<&mut [u8]> {
        self.staging.reserve(bytes)
    }

    /// Starts copying rows from there.
    pub(crate) fn place(&mut self, target: Target, stretches: &[Stretch]) -> Result<()> {
        self.busy = true;
        for Stretch { from, to, count } in stretches {
            let (at, bytes) = (target.address + (to * target.row) as u64, count * target.row);
            // SAFETY: the rows were written to staging memory, which is not reused before `drawn`; the target has room for them.
            let code = unsafe {
                let source = self.staging.address().add(from * target.row);
                (self.driver.call.to_device)(at, source.cast(), bytes, target.stream as Handle)
            };
            self.driver.check("cuMemcpyHtoDAsync", code)?;
        }
        Ok(())
    }

    /// Starts drawing.
    pub(crate) fn draw(
        &mut self,
        kernel: &Kernel,
        target: Target,
        images: &[(usize, usize, Drawing<'_>)],
    ) -> Result<()> {
        let stream = target.stream as Handle;
        let mut jobs = Jobs::default();
        for (image, row, drawing) in images {
            let source = self.pixels.address + self.places[*image];
            jobs.add(drawing, source, target.address + (row * target.row) as u64);
        }
        let bytes = size_of_val(&jobs.list[..]);
        if bytes > 0 {
            self.list.reserve(bytes)?;
            self.tables.reserve(jobs.table as usize * size_of::<i32>())?;
            let room = self.jobs.reserve(bytes)?;
            // SAFETY: jobs are plain numbers without gaps, and there are so many bytes of them.
            room.copy_from_slice(unsafe {
                std::slice::from_raw_parts(
                    jobs.list.as_ptr().cast::<u8>(),
                    size_of::<Job>() * jobs.list.len(),
                )
            });
            // SAFETY: both have room for so many bytes, and the slot is not reused before `drawn`.
            let code = unsafe {
                (self.driver.call.to_device)(self.list.address, self.jobs.address().cast(), bytes, stream)
            };
            self.driver.check("cuMemcpyHtoDAsync", code)?;
            self.decoded.hold(stream)?;
            // SAFETY: list and tables were reserved for these jobs; pixels were decoded before; the target is the caller's.
            unsafe { kernel.launch(&jobs, self.list.address, self.tables.address, stream) }?;
        }
        self.drawn.record(stream)
    }

    /// Decoded pixels, once they are there.
    pub(crate) fn pixels(&self, image: usize, bytes: usize) -> Result<Vec<u8>> {
        self.stream.finish()?;
        let Some(place) = self.places.get(image) else {
            return Err(CoreError::Internal { what: format!("no image {image} on the device") }.into());
        };
        copied(&self.driver, self.pixels.address + place, bytes, self.stream.handle)
    }
}

/// Bytes of the device, after the work of a stream.
pub(crate) fn copied(driver: &Driver, address: u64, bytes: usize, stream: Handle) -> Result<Vec<u8>> {
    let mut out = vec![0u8; bytes];
    // SAFETY: there is room for so many bytes; the caller names memory of the device that has them.
    let code = unsafe { (driver.call.to_host)(out.as_mut_ptr().cast(), address, bytes, stream) };
    driver.check("cuMemcpyDtoHAsync", code)?;
    // SAFETY: the stream is valid.
    driver.check("cuStreamSynchronize", unsafe { (driver.call.stream_finish)(stream) })?;
    Ok(out)
}
