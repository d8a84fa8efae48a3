//! How the elements of a column lie in a page.

use infeed_codecs::shuffle;
use infeed_core::{Dtype, Result, memory};

/// What the elements are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Bit,
    Number(Dtype),
    /// Ends of the entries of a collection.
    Index,
    /// The first bits of float32.
    Truncated,
    /// Steps between two numbers.
    Quantised {
        /// The first, and the step.
        low: f64,
        step: f64,
    },
}

/// How elements are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Encoding {
    kind: Kind,
    bits: usize,
    /// Whether all first bytes come first, then all second ones; signed numbers are zigzag then, and ends are differences.
    split: bool,
}

impl Encoding {
    /// The encoding of a number of the format, or why it is not read.
    pub(super) fn new(kind: u16, bits: u16, range: Option<(f64, f64)>) -> Result<Encoding, String> {
        use Dtype::*;
        let number = Kind::Number;
        let (own, wanted, split) = match kind {
            0x00 => (Kind::Bit, 1, false),
            0x01 | 0x04 => (number(U8), 8, false),
            0x02 | 0x03 => (number(I8), 8, false),
            0x05 | 0x11 => (number(I16), 16, kind > 0x10),
            0x06 | 0x12 => (number(U16), 16, kind > 0x10),
            0x07 | 0x13 => (number(I32), 32, kind > 0x10),
            0x08 | 0x14 => (number(U32), 32, kind > 0x10),
            0x09 | 0x15 => (number(I64), 64, kind > 0x10),
            0x0a | 0x16 => (number(U64), 64, kind > 0x10),
            0x0b | 0x17 => (number(F16), 16, kind > 0x10),
            0x0c | 0x18 => (number(F32), 32, kind > 0x10),
            0x0d | 0x19 => (number(F64), 64, kind > 0x10),
            0x0e | 0x1a => (Kind::Index, 32, kind > 0x10),
            0x0f | 0x1b => (Kind::Index, 64, kind > 0x10),
            0x10 => return Err("columns of type Switch are not read".to_owned()),
            0x1c if (10..=31).contains(&bits) => (Kind::Truncated, bits, false),
            0x1d if (1..=32).contains(&bits) => {
                let (low, high) = range.ok_or("its column of type Real32Quant has no range")?;
                let step = (high - low) / ((1u64 << bits) - 1) as f64;
                (Kind::Quantised { low, step }, bits, false)
            }
            _ => return Err(format!("columns of type {kind:#04x} are not known")),
        };
        if bits != wanted {
            return Err(format!("columns of type {kind:#04x} with {bits} bits are not known"));
        }
        Ok(Encoding { kind: own, bits: usize::from(bits), split })
    }

    pub(super) fn is_index(&self) -> bool {
        self.kind == Kind::Index
    }

    /// Whether elements become numbers of a type.
    pub(super) fn gives(&self, dtype: Dtype) -> bool {
        match self.kind {
            Kind::Bit => dtype == Dtype::Bool,
            Kind::Number(own) if own.is_float() => matches!(dtype, Dtype::F32 | Dtype::F64),
            Kind::Number(own) => own == dtype || (own.size() == 1 && matches!(dtype, Dtype::U8 | Dtype::I8)),
            Kind::Index => false,
            Kind::Truncated | Kind::Quantised { .. } => matches!(dtype, Dtype::F32 | Dtype::F64),
        }
    }

    /// Bytes of so many elements.
    pub(super) fn bytes(&self, elements: usize) -> usize {
        elements.saturating_mul(self.bits).div_ceil(8)
    }

    /// Whether the elements lie in the page as in memory.
    pub(super) fn is_plain(&self, dtype: Dtype) -> bool {
        let whole = matches!(self.kind, Kind::Number(own) if own == dtype || own.size() == 1);
        whole && !self.split && cfg!(target_endian = "little")
    }

    /// Writes all elements of a page, as numbers of a type.
    pub(super) fn decode(&self, dtype: Dtype, page: &[u8], out: &mut [u8], more: &mut Vec<u8>) -> Result<()> {
        match self.kind {
            Kind::Bit => {
                for (byte, out) in page.iter().zip(out.chunks_mut(8)) {
                    out.iter_mut().enumerate().for_each(|(at, to)| *to = byte >> at & 1);
                }
            }
            Kind::Number(own) if own == dtype || own.size() == 1 => self.raw(page, out),
            Kind::Number(own) => {
                memory::resize(more, page.len())?;
                self.raw(page, more);
                match own {
                    Dtype::F16 => {
                        let one = |bytes: &[u8; 2]| f64::from(half::f16::from_ne_bytes(*bytes));
                        reals(more.as_chunks().0.iter().map(one), dtype, out);
                    }
                    Dtype::F32 => {
                        reals(
                            more.as_chunks().0.iter().map(|b| f64::from(f32::from_ne_bytes(*b))),
                            dtype,
                            out,
                        );
                    }
                    _ => reals(more.as_chunks().0.iter().map(|b| f64::from_ne_bytes(*b)), dtype, out),
                }
            }
            Kind::Index => {}
            Kind::Truncated => {
                let float = |bits: u32| f64::from(f32::from_bits(bits << (32 - self.bits)));
                reals(self.packed(page).map(float), dtype, out);
            }
            Kind::Quantised { low, step } => {
                reals(self.packed(page).map(|steps| f64::from(steps) * step + low), dtype, out);
            }
        }
        Ok(())
    }

    /// Elements of whole bytes, in this machine's byte order.
    fn raw(&self, page: &[u8], out: &mut [u8]) {
        let size = self.bits / 8;
        if !self.split || shuffle::undo(size, page, out).is_err() {
            out.copy_from_slice(page);
        }
        let signed = matches!(self.kind, Kind::Number(Dtype::I16 | Dtype::I32 | Dtype::I64));
        let zigzag = self.split && signed;
        if !zigzag && cfg!(target_endian = "little") {
            return;
        }
        macro_rules! turn {
            ($type:ty) => {
                for bytes in out.as_chunks_mut().0 {
                    let value = <$type>::from_le_bytes(*bytes);
                    let value = if zigzag { value >> 1 ^ (value & 1).wrapping_neg() } else { value };
                    *bytes = value.to_ne_bytes();
                }
            };
        }
        match size {
            2 => turn!(u16),
            4 => turn!(u32),
            8 => turn!(u64),
            _ => {}
        }
    }

    /// Elements of fewer bits than a number has, the lowest bit first.
    fn packed(&self, page: &[u8]) -> impl Iterator<Item = u32> {
        let bits = self.bits;
        let mask = (1u64 << bits) - 1;
        let count = page.len() * 8 / bits;
        (0..count).map(move |at| {
            let first = at * bits;
            let mut word = [0; 8];
            let bytes = &page[first / 8..page.len().min(first / 8 + 8)];
            word[..bytes.len()].copy_from_slice(bytes);
            (u64::from_le_bytes(word) >> (first % 8) & mask) as u32
        })
    }

    /// Adds all ends of a page.
    pub(super) fn ends(&self, page: &[u8], out: &mut Vec<u64>, more: &mut Vec<u8>) -> Result<()> {
        memory::reserve(out, page.len() * 8 / self.bits)?;
        memory::resize(more, page.len())?;
        self.raw(page, more);
        // Differences are of one page.
        let mut before = 0u64;
        let mut add = |value: u64| {
            before = if self.split { before.wrapping_add(value) } else { value };
            out.push(before);
        };
        match self.bits {
            32 => more.as_chunks().0.iter().for_each(|bytes| add(u64::from(u32::from_ne_bytes(*bytes)))),
            _ => more.as_chunks().0.iter().for_each(|bytes| add(u64::from_ne_bytes(*bytes))),
        }
        Ok(())
    }
}

/// Writes real numbers as float32 or float64.
fn reals(values: impl Iterator<Item = f64>, dtype: Dtype, out: &mut [u8]) {
    match dtype {
        Dtype::F32 => {
            let pairs = out.as_chunks_mut().0.iter_mut().zip(values);
            pairs.for_each(|(to, value)| *to = (value as f32).to_ne_bytes());
        }
        _ => {
            let pairs = out.as_chunks_mut().0.iter_mut().zip(values);
            pairs.for_each(|(to, value)| *to = value.to_ne_bytes());
        }
    }
}
