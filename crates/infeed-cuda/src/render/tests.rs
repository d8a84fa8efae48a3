//! Batches on a machine without a GPU.

use super::*;
use crate::Host;
use infeed_core::{
    Channels, Drawing, Finish, Image, ImageCodec, ImageInfo, Patch, PixelLayout, Rect, Result as CoreResult,
    Want,
};
use infeed_resample::Filter;

/// Files of this format are width, height, channels, and pixels that follow from the number behind these.
#[derive(Debug)]
struct Plain;

const DAMAGED: u8 = 255;

impl ImageCodec for Plain {
    fn sniff(&self, _: &[u8]) -> bool {
        true
    }

    fn probe(&self, bytes: &[u8]) -> CoreResult<ImageInfo> {
        let [width, height, channels, ..] = bytes else { return Err(CoreError::sample("too short")) };
        Ok(ImageInfo {
            width: (*width).into(),
            height: (*height).into(),
            channels: *channels,
            depth: 8,
            orientation: 1,
            shrinks: 1,
        })
    }

    fn read(
        &self,
        bytes: &[u8],
        info: &ImageInfo,
        want: &Want,
        _: &mut Scratch,
        into: &mut Vec<u8>,
    ) -> CoreResult<Patch> {
        if bytes[3] == DAMAGED {
            return Err(CoreError::sample("damaged on purpose"));
        }
        let channels = if want.channels == Channels::Rgb { 3 } else { usize::from(info.channels) };
        into.clear();
        for pixel in 0..info.width * info.height {
            for channel in 0..channels {
                let channel = if info.channels == 1 { 0 } else { channel };
                into.push((pixel as usize * 7 + channel * 31 + usize::from(bytes[3]) * 13) as u8);
            }
        }
        let area = Rect { x: 0, y: 0, width: info.width, height: info.height };
        Ok(Patch { shrink: 1, area, channels: channels as u8 })
    }

    fn whole(&self, bytes: &[u8]) -> Option<usize> {
        Some(bytes.len())
    }
}

/// A view of an image that has everything: crop, resize, flips, padding, a finish.
fn image(seed: u8, channels: u8) -> Box<Image> {
    let file = vec![20 + seed % 30, 15 + seed % 20, channels, seed];
    let info = Plain.probe(&file).unwrap();
    let mut scratch = Scratch::new();
    let mut image = Image::encoded(file.into(), &Plain, info, Channels::Rgb, false);
    image.crop(2, 3, 12, 10, [0; 4], &mut scratch).unwrap();
    image.resize(8, 9, Filter::Bilinear, true, &mut scratch).unwrap();
    if seed.is_multiple_of(2) {
        image.flip_horizontal();
    }
    image.crop(-1, 0, 10, 9, [9, 8, 7, 0], &mut scratch).unwrap();
    image.finish = Finish { layout: PixelLayout::Chw, ..Finish::PLAIN };
    Box::new(image)
}

const ROW: usize = 10 * 9 * 3;

fn rendered(image: &Image) -> Vec<u8> {
    let mut out = vec![0; image.bytes()];
    image.render(&mut Scratch::new(), &mut out).unwrap();
    out
}

fn target(out: &mut [u8]) -> Target {
    // SAFETY: the memory is that of `out`, which the tests keep until they are done with the target.
    unsafe { Target::new(out.as_mut_ptr() as u64, ROW, out.len() / ROW, 0) }
}

/// An image that is left to the machine, or none, and what must become of it.
type Sample = (Option<Deferred>, Vec<u8>);

/// A batch of which every third row was made before, and what it must become.
fn batch(rows: u8) -> (Vec<Sample>, Vec<u8>) {
    let mut all = vec![];
    let mut wanted = vec![];
    for seed in 0..rows {
        let image = image(seed, if seed % 4 == 1 { 1 } else { 3 });
        let bytes = rendered(&image);
        wanted.extend_from_slice(&bytes);
        let deferred = (seed % 3 != 0).then(|| image.defer().unwrap());
        all.push((deferred, bytes));
    }
    (all, wanted)
}

fn as_rows(batch: &[Sample]) -> Vec<Row<'_>> {
    batch.iter().map(|(image, bytes)| image.as_ref().map_or(Row::Made(bytes), Row::Deferred)).collect()
}

#[test]
fn rows_come_to_their_places() {
    let (batch, wanted) = batch(20);
    let mut out = vec![0xAA; wanted.len()];
    let renderer = Renderer::new(Box::new(Host::new()), 2);
    for _ in 0..2 {
        let (outcome, mut decoded) = renderer.render(&as_rows(&batch), target(&mut out)).unwrap();
        assert_eq!((outcome.device, outcome.made, outcome.refused), (13, 7, 0));
        assert!(outcome.bad.is_empty());
        assert_eq!(out, wanted);
        let found = decoded.audit(&as_rows(&batch), target(&mut out)).unwrap();
        assert_eq!((found.values, found.different), (13 * ROW as u64, 0));
        out.fill(0xAA);
    }
}

#[test]
fn the_audit_finds_one_wrong_value() {
    let (batch, wanted) = batch(5);
    let mut out = vec![0; wanted.len()];
    let renderer = Renderer::new(Box::new(Host::new()), 1);
    let (_, mut decoded) = renderer.render(&as_rows(&batch), target(&mut out)).unwrap();
    let value = &mut out[ROW + 100];
    *value = value.wrapping_add(3);
    let found = decoded.audit(&as_rows(&batch), target(&mut out)).unwrap();
    assert_eq!(found.different, 1);
}

#[test]
fn what_is_refused_is_made_here() {
    let (batch, wanted) = batch(20);
    for takes in [|_: &Drawing<'_>| false, |drawing: &Drawing<'_>| drawing.size.0.is_multiple_of(2)] {
        let mut out = vec![0xAA; wanted.len()];
        let renderer = Renderer::new(Box::new(Host::that_takes(takes)), 3);
        let (outcome, _) = renderer.render(&as_rows(&batch), target(&mut out)).unwrap();
        assert_eq!(outcome.device + outcome.refused, 13);
        assert!(outcome.refused > 0);
        assert_eq!(out, wanted);
    }
}

#[test]
fn a_damaged_image_costs_only_itself_wherever_it_is() {
    for at in 0..6 {
        let images: Vec<Deferred> = (0..6u8)
            .map(|seed| {
                let seed = if seed == at { DAMAGED } else { seed };
                image(seed, 3).defer().unwrap()
            })
            .collect();
        let rows: Vec<Row<'_>> = images.iter().map(Row::Deferred).collect();
        let mut out = vec![0xAA; 6 * ROW];
        let (outcome, _) = Renderer::new(Box::new(Host::new()), 2).render(&rows, target(&mut out)).unwrap();
        assert_eq!((outcome.device, outcome.refused), (5, 1));
        let [(row, error)] = &outcome.bad[..] else { panic!("{:?}", outcome.bad) };
        assert_eq!(*row, usize::from(at));
        assert!(error.to_string().contains("damaged on purpose"), "{error}");
        for (row, (image, found)) in images.iter().zip(out.chunks(ROW)).enumerate() {
            if row == usize::from(at) {
                assert!(found.iter().all(|value| *value == 0));
            } else {
                assert_eq!(found, rendered(image.image()), "row {row} beside {at}");
            }
        }
    }
}

#[test]
fn a_batch_of_another_shape_is_refused() {
    let (batch, wanted) = batch(4);
    let mut out = vec![0; wanted.len()];
    let renderer = Renderer::new(Box::new(Host::new()), 1);
    assert!(renderer.render(&as_rows(&batch)[1..], target(&mut out)).is_err());
    // SAFETY: nothing is written to it.
    let other = unsafe { Target::new(out.as_mut_ptr() as u64, ROW - 1, 4, 0) };
    assert!(renderer.render(&as_rows(&batch), other).is_err());
}

#[test]
fn what_was_changed_on_the_way_is_not_deferred() {
    let mut scratch = Scratch::new();
    let mut settled = image(1, 3);
    settled.settle(&mut scratch).unwrap();
    assert!(settled.defer().is_err());
    let mut shared = image(1, 3);
    shared.share();
    assert!(shared.defer().is_err());
    let mut far = image(1, 3);
    far.finish.dtype = infeed_core::Dtype::F64;
    assert!(far.defer().is_err());
}

/// Threads may each have a step: what was begun with one batch must not be drawn with another.
#[test]
fn batches_under_way_are_not_mixed_up() {
    let (batch, wanted) = batch(9);
    let rows = as_rows(&batch);
    let renderer = Renderer::new(Box::new(Host::new()), 1);
    let asked: Vec<_> = (0..2).map(|_| renderer.ask(&rows).unwrap()).collect();
    let mut decoded: Vec<_> = asked.iter().map(|asked| renderer.decode(&rows, asked).unwrap()).collect();
    for decoded in decoded.iter_mut().rev() {
        let mut out = vec![0; wanted.len()];
        decoded.draw(&rows, target(&mut out)).unwrap();
        assert_eq!(out, wanted);
    }
    assert!(renderer.decode(&rows[1..], &asked[0]).is_err());
    let mut out = vec![0; 8 * ROW];
    assert!(decoded[0].draw(&rows[1..], target(&mut out)).is_err());
}
