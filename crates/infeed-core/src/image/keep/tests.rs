//! Whatever is done to an image before and after, keeping it in between changes nothing.

use super::*;
use crate::{Bytes, ImageInfo, Patch, Rect, Want, keep::Writer};
use proptest::prelude::*;

/// Images whose pixels follow from their place; four bytes say how large they are.
#[derive(Debug)]
struct Formula;

fn pixel(x: u32, y: u32, c: u32) -> u8 {
    (crate::rng::mix(u64::from(x / 3) << 40 | u64::from(y / 2) << 8 | u64::from(c)) >> 56) as u8
}

impl ImageCodec for Formula {
    fn sniff(&self, _: &[u8]) -> bool {
        true
    }

    fn probe(&self, bytes: &[u8]) -> Result<ImageInfo> {
        let side = |at: usize| u32::from(bytes[at]) + 1;
        Ok(ImageInfo {
            width: side(0),
            height: side(1),
            channels: 3,
            depth: 8,
            orientation: 1,
            shrinks: u32::from(bytes[2]),
        })
    }

    fn read(
        &self,
        _: &[u8],
        info: &ImageInfo,
        want: &Want,
        _: &mut Scratch,
        into: &mut Vec<u8>,
    ) -> Result<Patch> {
        let by = want.shrink;
        let area = Rect {
            x: want.region.x / by,
            y: want.region.y / by,
            width: (want.region.x + want.region.width).div_ceil(by) - want.region.x / by,
            height: (want.region.y + want.region.height).div_ceil(by) - want.region.y / by,
        };
        into.clear();
        for (y, x, c) in (area.y..area.y + area.height)
            .flat_map(|y| (area.x..area.x + area.width).map(move |x| (y, x)))
            .flat_map(|(y, x)| (0..3).map(move |c| (y, x, c)))
        {
            let (mut sum, mut count) = (0, 0);
            for (y, x) in (y * by..(y * by + by).min(info.height))
                .flat_map(|y| (x * by..(x * by + by).min(info.width)).map(move |x| (y, x)))
            {
                sum += u32::from(pixel(x, y, c));
                count += 1;
            }
            into.push((sum / count) as u8);
        }
        Ok(Patch { shrink: by, area, channels: 3 })
    }
}

static FORMULA: Formula = Formula;

fn codec(_: &[u8]) -> Result<&'static dyn ImageCodec> {
    Ok(&FORMULA)
}

fn encoded(width: u8, height: u8, shrinks: u8, exact: bool) -> Image {
    let bytes = Bytes::from(vec![width, height, shrinks, 0]);
    let info = FORMULA.probe(&bytes).unwrap();
    Image::encoded(bytes, &FORMULA, info, Channels::Rgb, exact)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Crop(i8, i8, u8, u8),
    Resize(u8, u8, u8),
    FlipX,
    FlipY,
    Edit,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        (-4i8..20, -4i8..20, 1u8..30, 1u8..30).prop_map(|(l, t, w, h)| Step::Crop(l, t, w, h)),
        (1u8..40, 1u8..40, 0u8..6).prop_map(|(w, h, f)| Step::Resize(w, h, f)),
        Just(Step::FlipX),
        Just(Step::FlipY),
        Just(Step::Edit),
    ];
    prop::collection::vec(one, 0..5)
}

fn take(image: &mut Image, steps: &[Step], scratch: &mut Scratch) {
    for step in steps {
        match *step {
            Step::Crop(l, t, w, h) => {
                image.crop(l.into(), t.into(), w.into(), h.into(), [9, 8, 7, 6], scratch).unwrap();
            }
            Step::Resize(w, h, f) => {
                image.resize(w.into(), h.into(), FILTERS[usize::from(f)], true, scratch).unwrap();
            }
            Step::FlipX => image.flip_horizontal(),
            Step::FlipY => image.flip_vertical(),
            Step::Edit => image.pixels_mut(scratch).unwrap().iter_mut().for_each(|v| *v = v.wrapping_mul(3)),
        }
    }
}

fn rendered(image: &Image) -> Vec<u8> {
    let mut out = vec![0; image.bytes()];
    image.render(&mut Scratch::new(), &mut out).unwrap();
    out
}

fn kept(image: &Image, encoded: bool) -> Image {
    let (mut image, mut out, mut scratch) = (image.clone(), Writer::default(), Scratch::new());
    image.prepare_to_keep(encoded, &mut scratch).unwrap();
    image.save(&mut out, &mut scratch).unwrap();
    let mut from = Reader::new(out.finish().unwrap().into());
    let loaded = Image::load(&mut from, codec).unwrap();
    assert!(from.is_empty());
    loaded
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn keeping_changes_nothing(
        size in (20u8..90, 20u8..90),
        shrinks in prop_oneof![Just(1u8), Just(8)],
        exact in any::<bool>(),
        share in any::<bool>(),
        leave in any::<bool>(),
        before in steps(),
        after in steps(),
    ) {
        let mut scratch = Scratch::new();
        let mut image = encoded(size.0, size.1, shrinks, exact);
        if share {
            image.share();
        }
        take(&mut image, &before, &mut scratch);
        image.finish.dtype = Dtype::F32;
        image.normalize(1, 3.0, 7.0);
        let mut again = kept(&image, leave);
        take(&mut image, &after, &mut scratch);
        take(&mut again, &after, &mut scratch);
        prop_assert_eq!(image.shape(), again.shape());
        prop_assert_eq!(rendered(&image), rendered(&again));
    }
}

#[test]
fn pixels_are_kept_where_they_are_all_that_counts() {
    let mut scratch = Scratch::new();
    let mut resized = encoded(80, 60, 8, false);
    resized.resize(20, 15, Filter::Bilinear, true, &mut scratch).unwrap();
    assert!(kept(&resized, false).has_pixels() && !kept(&resized, true).has_pixels());
    assert!(!kept(&encoded(80, 60, 8, false), false).has_pixels(), "a resize may still decode it smaller");
    assert!(kept(&encoded(80, 60, 8, true), false).has_pixels());
    assert!(kept(&encoded(80, 60, 1, false), false).has_pixels());
}

#[test]
fn masks_stay_masks() {
    let mask = Image::raw(4, 3, 1, (0..12).collect()).unwrap().into_mask(200, Some(Dtype::I64)).unwrap();
    let mut scratch = Scratch::new();
    let (mut lazy, mut again) = (mask.clone(), kept(&mask, false));
    for image in [&mut lazy, &mut again] {
        image.crop(-1, 0, 6, 4, [0; 4], &mut scratch).unwrap();
    }
    assert!(again.is_mask());
    assert_eq!(rendered(&lazy), rendered(&again));
}
