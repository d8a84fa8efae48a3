//! The image decoders: they read the header now and decode pixels once it is known which are used.

use super::{
    codec_of, needs_encoded,
    orient::{turn, turned_size},
    pixels::{channel_count, whole},
};
use infeed_core::{
    Args, Bytes, Channels, Decoder, Dim, Dtype, Entry, Error, FieldSpec, Image, ImageInfo, Param, Result,
    Scratch, Tensor, Value, Want, lent,
};

/// Red, green, blue.
pub(super) static RGB: Entry<dyn Decoder> = Entry {
    name: "rgb",
    about: "an image of any known format as red, green, blue",
    params: PARAMS,
    build: |args| build("rgb", Channels::Rgb, args),
};

/// Luminance.
pub(super) static GRAY: Entry<dyn Decoder> = Entry {
    name: "gray",
    about: "an image of any known format as luminance; of a colour JPEG its luma plane, without any conversion",
    params: PARAMS,
    build: |args| build("gray", Channels::Gray, args),
};

/// As stored.
pub(super) static STORED: Entry<dyn Decoder> = Entry {
    name: "stored",
    about: "an image with the channels its file has: gray, RGB or RGBA; 16-bit images become u16 arrays",
    params: PARAMS,
    build: |args| build("stored", Channels::Stored, args),
};

const PARAMS: &[Param] = &[
    Param {
        name: "exact",
        python: "bool",
        default: Some("false"),
        about: "always decode at full size, even where a smaller decode would serve the resize that follows",
    },
    Param {
        name: "orientation",
        python: "bool",
        default: Some("false"),
        about: "turn the image as its EXIF orientation says: Pillow's ImageOps.exif_transpose",
    },
    MAX_PIXELS,
];

/// The `max_pixels` parameter.
pub(super) const MAX_PIXELS: Param = Param {
    // The size at which Pillow raises DecompressionBombError.
    name: "max_pixels",
    python: "int",
    default: Some("178956970"),
    about: "refuse images with more pixels, before any memory is taken for them",
};

fn build(name: &'static str, channels: Channels, args: &Args) -> Result<Box<dyn Decoder>> {
    Ok(Box::new(ImageDecoder {
        name,
        channels,
        exact: args.flag("exact")?,
        orientation: args.flag("orientation")?,
        max_pixels: args.int("max_pixels", 1)?.unsigned_abs(),
    }))
}

#[derive(Debug)]
struct ImageDecoder {
    name: &'static str,
    channels: Channels,
    exact: bool,
    orientation: bool,
    max_pixels: u64,
}

impl Decoder for ImageDecoder {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded(self.name, encoded)?;
        Ok(FieldSpec::image(match self.channels {
            Channels::Rgb => Dim::Fixed(3),
            Channels::Gray => Dim::Fixed(1),
            Channels::Stored => Dim::Any,
        }))
    }

    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value> {
        // Codecs check a header and then read it again, some of them in C: nobody may change it in between.
        let bytes = &*lent::owned(bytes)?;
        let codec = codec_of(bytes)?.codec;
        let info = codec.probe(bytes)?;
        check_size(self.name, &info, self.max_pixels)?;
        let turned = self.orientation && info.orientation != 1;
        let wide = self.channels == Channels::Stored && info.depth == 16;
        if !turned && !wide {
            let image = Image::encoded(bytes.clone(), codec, info, self.channels, self.exact);
            return Ok(Value::Image(Box::new(image)));
        }
        let want = Want { region: whole(&info), shrink: 1, channels: self.channels };
        let mut data = Vec::new();
        scratch.decoding(|s| codec.read(bytes, &info, &want, s, &mut data))?;
        let channels = channel_count(&info, self.channels);
        let (mut width, mut height) = (info.width, info.height);
        if turned {
            let pixel = usize::from(channels) << u8::from(wide);
            scratch.claim(data.len() as u64 * 2)?;
            data = turn(info.orientation, width, height, pixel, &data)?;
            (width, height) = turned_size(info.orientation, width, height);
        }
        if !wide {
            return Ok(Value::Image(Box::new(Image::raw(width, height, channels, data)?)));
        }
        let shape = vec![height as usize, width as usize, usize::from(channels)];
        Ok(Value::Tensor(Tensor::new(Dtype::U16, shape, Bytes::from(data))?))
    }
}

/// Refuses images without pixels, and those with more than the user accepts.
pub(super) fn check_size(name: &str, info: &ImageInfo, max_pixels: u64) -> Result<()> {
    let ImageInfo { width, height, .. } = *info;
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(Error::sample(format!("an image of {width}x{height} has no pixels")));
    }
    if pixels > max_pixels {
        return Err(Error::sample(format!(
            "an image of {width}x{height} has {pixels} pixels, more than max_pixels={max_pixels}; if you trust the data, \
             give the decoder `{name}` a larger max_pixels"
        )));
    }
    Ok(())
}
