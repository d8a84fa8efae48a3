//! Masks in colours: a table says which colour is which class.

use infeed_core::{Args, Error, Result, memory};
use std::collections::HashMap;

/// How colours become classes.
#[derive(Debug)]
pub(super) enum Colours {
    /// By a table, with the class of colours that are not in it.
    Table { classes: HashMap<[u8; 3], i32>, other: Option<i32> },
    /// Red + 256 * green + 65536 * blue.
    Id,
}

impl Colours {
    /// Reads the argument `colors`.
    pub(super) fn read(args: &Args, other: Option<i32>) -> Result<Option<Self>> {
        let Some(value) = args.value("colors") else { return Ok(None) };
        if value.as_str() == Some("id") {
            return Ok(Some(Colours::Id));
        }
        let wrong = || {
            args.error("colors", "must be \"id\", colours such as [[0, 0, 0], [128, 0, 0]], or rows of red, green, blue, class")
        };
        let mut classes = HashMap::new();
        for (at, row) in value.as_array().ok_or_else(wrong)?.iter().enumerate() {
            let numbers: Option<Vec<i64>> =
                row.as_array().and_then(|r| r.iter().map(|n| n.as_i64()).collect());
            let numbers = numbers.filter(|n| n.len() == 3 || n.len() == 4).ok_or_else(wrong)?;
            let byte = |n: i64| u8::try_from(n).map_err(|_| wrong());
            let colour = [byte(numbers[0])?, byte(numbers[1])?, byte(numbers[2])?];
            let class = numbers.get(3).copied().unwrap_or(at as i64);
            let class = i32::try_from(class).map_err(|_| wrong())?;
            if classes.insert(colour, class).is_some_and(|old| old != class) {
                return Err(args.error("colors", &format!("has the colour {colour:?} twice")));
            }
        }
        if classes.is_empty() {
            return Err(wrong());
        }
        Ok(Some(Colours::Table { classes, other }))
    }

    /// Whether its classes need more than 8 bits.
    pub(super) fn wide(&self) -> bool {
        match self {
            Colours::Id => true,
            Colours::Table { classes, .. } => classes.values().any(|c| u8::try_from(*c).is_err()),
        }
    }

    /// Turns RGB pixels into classes.
    pub(super) fn classes(&self, pixels: &[u8], width: u32, wide: bool) -> Result<(u8, Vec<u8>)> {
        let channels = if wide { 4 } else { 1 };
        let mut out = memory::with_capacity(pixels.len() / 3 * channels)?;
        // Neighbours mostly have the same colour.
        let mut last: Option<([u8; 3], i32)> = None;
        for (at, pixel) in pixels.as_chunks::<3>().0.iter().enumerate() {
            let class = match last {
                Some((colour, class)) if colour == *pixel => class,
                _ => self.class(*pixel, at, width)?,
            };
            last = Some((*pixel, class));
            if wide {
                out.extend_from_slice(&class.to_ne_bytes());
            } else {
                out.push(class as u8);
            }
        }
        Ok((channels as u8, out))
    }

    fn class(&self, pixel: [u8; 3], at: usize, width: u32) -> Result<i32> {
        match self {
            Colours::Id => Ok(i32::from_le_bytes([pixel[0], pixel[1], pixel[2], 0])),
            Colours::Table { classes, other } => {
                classes.get(&pixel).copied().or(*other).ok_or_else(|| {
                    let (x, y) = (at % width as usize, at / width as usize);
                    Error::sample(format!(
                        "the mask has the colour {pixel:?} at x {x}, y {y}, which is not in colors: add it, or give ignore= for \
                         all other colours"
                    ))
                })
            }
        }
    }
}
