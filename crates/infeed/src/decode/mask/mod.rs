//! `mask`: a class per pixel, for segmentation.
//!
//! Pixels of a mask are classes, so they are never scaled, looked up in a palette or mixed. Three kinds of files hold them:
//! gray values, indices into a palette, and colours that a table turns into classes.

mod colours;
mod stored;

use super::{
    codec_of,
    image::{MAX_PIXELS, check_size},
    needs_encoded,
    pixels::whole,
};
use colours::Colours;
use infeed_core::{
    Args, Bytes, Channels, Decoder, Dtype, Entry, Error, FieldSpec, Image, ImageCodec, ImageInfo, Param,
    Result, Scratch, TargetRule, Value, Want, lent,
};
use stored::samples;

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> = Entry {
    name: "mask",
    about: "a class per pixel: gray values, palette indices, or colours with a table; moved with its image, never mixed",
    params: &[
        Param {
            name: "colors",
            python: "Sequence[Sequence[int]] | str | None",
            default: Some("null"),
            about: "for masks in colours: the colour of class 0, 1, ..., or rows of red, green, blue, class; \"id\" is \
                    COCO's panoptic red + 256 * green + 65536 * blue",
        },
        Param {
            name: "ignore",
            python: "int | None",
            default: Some("null"),
            about: "the class outside of the image and of colours that are not in the table; without it 0 outside, and such \
                    colours are refused",
        },
        Param {
            name: "dtype",
            python: "str | None",
            default: Some("null"),
            about: "the type that classes come out as, such as \"int64\"; by default u8, or i32 where that is too small",
        },
        Param {
            name: "image",
            python: "str | None",
            default: Some("null"),
            about: "the field of the image that it belongs to, if there are several",
        },
        MAX_PIXELS,
    ],
    build: |args| Ok(Box::new(MaskDecoder::new(args)?)),
};

#[derive(Debug)]
struct MaskDecoder {
    colours: Option<Colours>,
    ignore: Option<i32>,
    dtype: Option<Dtype>,
    image: Option<String>,
    max_pixels: u64,
}

impl MaskDecoder {
    fn new(args: &Args) -> Result<Self> {
        let ignore = match args.value("ignore") {
            None => None,
            Some(_) => Some(
                i32::try_from(args.int("ignore", i64::from(i32::MIN))?)
                    .map_err(|_| args.error("ignore", "must fit 32 bits"))?,
            ),
        };
        let dtype = if args.is_none("dtype") { None } else { Some(args.dtype("dtype")?) };
        if dtype.is_some_and(|d| {
            !matches!(d, Dtype::U8 | Dtype::U16 | Dtype::I16 | Dtype::I32 | Dtype::I64 | Dtype::F32)
        }) {
            return Err(args.error("dtype", "must be uint8, uint16, int16, int32, int64 or float32"));
        }
        Ok(MaskDecoder {
            colours: Colours::read(args, ignore)?,
            ignore,
            dtype,
            image: args.value("image").and_then(|v| v.as_str()).map(str::to_owned),
            max_pixels: args.int("max_pixels", 1)?.unsigned_abs(),
        })
    }

    /// Whether classes need more than 8 bits, as far as that is known before reading.
    fn wide(&self) -> bool {
        self.colours.as_ref().is_some_and(Colours::wide)
            || self.ignore.is_some_and(|n| u8::try_from(n).is_err())
    }

    fn out(&self) -> Dtype {
        self.dtype.unwrap_or(if self.wide() { Dtype::I32 } else { Dtype::U8 })
    }
}

/// Refuses JPEG, which changes values slightly: the only format that shrinks while decoding.
fn check_exact(info: &ImageInfo, codec: &dyn ImageCodec) -> Result<()> {
    if info.shrinks == 1 {
        return Ok(());
    }
    Err(Error::sample(format!(
        "the mask is stored as {codec:?}, which changes values slightly: classes cannot be read from it; decode it as \
         \"gray\" and threshold it, or store it as PNG"
    )))
}

impl Decoder for MaskDecoder {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("mask", encoded)?;
        Ok(FieldSpec::mask(self.out()))
    }

    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value> {
        let bytes = &*lent::owned(bytes)?;
        let codec = codec_of(bytes)?.codec;
        let info = codec.probe(bytes)?;
        check_size("mask", &info, self.max_pixels)?;
        check_exact(&info, codec)?;
        let fill = self.ignore.unwrap_or(0);
        let (channels, data) = match &self.colours {
            Some(colours) => {
                let want = Want { region: whole(&info), shrink: 1, channels: Channels::Rgb };
                let mut pixels = Vec::new();
                scratch.decoding(|s| codec.read(bytes, &info, &want, s, &mut pixels))?;
                colours.classes(&pixels, info.width, self.wide())?
            }
            None => samples(bytes, codec, &info, self.wide() || self.out() != Dtype::U8, scratch)?,
        };
        let mask = Image::raw(info.width, info.height, channels, data)?.into_mask(fill, Some(self.out()))?;
        Ok(Value::Image(Box::new(mask)))
    }

    fn target(&self) -> Option<TargetRule> {
        Some(TargetRule { image: self.image.clone(), along: None })
    }
}
