//! `GaussianBlur`: blurs with a Gaussian kernel of random width.

use super::pixels::{need_pixels, redraw_with};
use infeed_core::{Args, Context, Dim, Entry, Error, FieldSpec, Image, Param, Result, Transform, Value};
use infeed_pixels::{Gaussian, blur, blur_memory};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "GaussianBlur",
    about: "blur with a Gaussian kernel of random width",
    params: &[
        Param {
            name: "kernel_size",
            python: "int | Sequence[int]",
            default: None,
            about: "weights of the kernel, odd; or (along x, along y)",
        },
        Param {
            name: "sigma",
            python: "float | Sequence[float]",
            default: Some("[0.1, 2.0]"),
            about: "standard deviation in pixels, or (low, high)",
        },
    ],
    build,
};

#[derive(Debug)]
struct GaussianBlur {
    /// Along x and y.
    size: [usize; 2],
    sigma: (f64, f64),
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let size = match args.ints("kernel_size", 1)?.as_slice() {
        [n] => [*n, *n],
        [x, y] => [*x, *y],
        _ => return Err(args.error("kernel_size", "must be one or two odd numbers")),
    };
    if size.iter().any(|n| n % 2 == 0 || *n > 65_535) {
        return Err(args.error("kernel_size", "must be odd"));
    }
    let sigma = match args.floats("sigma")?.as_slice() {
        [s] => (*s, *s),
        [low, high] => (*low, *high),
        _ => return Err(args.error("sigma", "must be a number or (low, high)")),
    };
    if !(0.0 < sigma.0 && sigma.0 <= sigma.1) {
        return Err(args.error("sigma", "must be positive and rise"));
    }
    Ok(Box::new(GaussianBlur { size: size.map(|n| n as usize), sigma }))
}

impl GaussianBlur {
    /// Whether the kernel fits: borders are mirrored, so it must not reach beyond the other side.
    fn fits(&self, width: usize, height: usize) -> bool {
        self.size[0] / 2 < width && self.size[1] / 2 < height
    }

    fn blur(&self, image: &mut Image, sigma: f64, context: &mut Context<'_>) -> Result<()> {
        let (width, height) = (image.width() as usize, image.height() as usize);
        if !self.fits(width, height) {
            return Err(Error::sample(format!(
                "GaussianBlur with a kernel of {:?} does not fit an image of {width}x{height}",
                self.size
            )));
        }
        let [x, y] = self.size.map(|n| Gaussian::new(n, sigma));
        let stride = width * usize::from(image.channels());
        redraw_with(image, context, blur_memory(stride, &y), |picture, out| blur(picture, &x, &y, out))
    }
}

impl Transform for GaussianBlur {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_pixels("GaussianBlur", input)?;
        if let Some((Dim::Fixed(h), Dim::Fixed(w), _)) = input.image_dims()
            && !self.fits(w, h)
        {
            return Err(Error::plan(
                "GaussianBlur",
                format!("a kernel of {:?} does not fit images of {w}x{h}; make it smaller", self.size),
            ));
        }
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let sigma = context.rng.uniform(self.sigma.0, self.sigma.1);
        self.blur(value.image_mut()?, sigma, context)
    }
}

#[cfg(test)]
mod tests;
