//! Decoders that must agree with others.

use infeed_jpeg::{Backend, Decoder, Error, Output, Region, Request, Scale};
use std::cell::RefCell;

/// Pixels that are decoded at most: larger ones take long and show nothing new.
pub(crate) const MOST_PIXELS: u64 = 1 << 18;

thread_local! {
    /// Ours, and libjpeg-turbo alone. They are kept from input to input, as workers do.
    static JPEG: RefCell<Option<[Decoder; 2]>> = const { RefCell::new(None) };
}

/// Our own JPEG decoder against libjpeg-turbo, whole and in parts.
pub(crate) fn jpeg(data: &[u8]) {
    let Ok(header) = infeed_jpeg::read_header(data) else { return };
    if u64::from(header.width) * u64::from(header.height) > MOST_PIXELS {
        return;
    }
    JPEG.with_borrow_mut(|kept| {
        let made = || {
            let mut turbo = Decoder::new()?;
            turbo.set_backend(Backend::Turbo);
            Ok::<_, Error>([Decoder::new()?, turbo])
        };
        if kept.is_none() {
            *kept = made().ok();
        }
        let Some([ours, turbo]) = kept else { return };
        for (scale, output) in
            [(Scale::Full, Output::Rgb), (Scale::Half, Output::Rgb), (Scale::Full, Output::Gray)]
        {
            let whole = Region::whole(&header, scale);
            // A part that depends on the bytes, so that all kinds of parts are seen.
            let by = u32::from(data[data.len() / 2]);
            let (x, y) = (by * whole.width / 512, by * whole.height / 512);
            let part =
                Region { x, y, width: (whole.width - x).div_ceil(2), height: (whole.height - y).div_ceil(2) };
            for region in [whole, part] {
                let request = Request { scale, region, output };
                let decode = |decoder: &mut Decoder| {
                    let stride = region.width as usize * output.channels();
                    let mut out = vec![0; stride * region.height as usize];
                    decoder.decode(data, &header, &request, &mut out, stride).map(|()| out)
                };
                match (decode(ours), decode(turbo)) {
                    (Ok(a), Ok(b)) => assert!(a == b, "pixels of {request:?} differ"),
                    // Damage behind a part is not seen by a decoder that stops there.
                    (Ok(_), Err(e)) => {
                        assert!(region != whole, "only libjpeg-turbo refuses {request:?}: {e}")
                    }
                    (Err(e), Ok(_)) => panic!("only libjpeg-turbo decodes {request:?}: {e}"),
                    (Err(_), Err(_)) => {}
                }
            }
        }
    });
}

/// Our own PNG decoder against the crate `png`.
pub(crate) fn png(data: &[u8]) {
    super::images::image("png", data);
    let Ok(header) = infeed_png::read_header(data) else { return };
    if u64::from(header.width) * u64::from(header.height) > MOST_PIXELS {
        return;
    }
    let stride = header.width as usize * 4;
    let mut ours = vec![0; stride * header.height as usize];
    if infeed_png::Decoder::new().decode(data, &header, infeed_png::Output::Rgba, &mut ours, stride).is_err()
    {
        return;
    }
    // What the crate refuses we may accept (it checks chunks that say nothing about pixels), but not read differently.
    let Some(theirs) = their_png(data) else { return };
    // Sixteen bits and colour keys are told in other ways: only what both give as plain RGBA is compared.
    if header.bit_depth <= 8 && !header.color_key {
        assert!(ours == theirs, "pixels of a PNG of {header:?} differ");
    }
}

/// RGBA by the crate `png`.
fn their_png(data: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(data));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().ok()?;
    let mut out = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut out).ok()?;
    let pixels = &out[..info.buffer_size()];
    Some(match info.color_type {
        png::ColorType::Rgba => pixels.to_vec(),
        png::ColorType::GrayscaleAlpha => {
            pixels.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect()
        }
        _ => return None,
    })
}
