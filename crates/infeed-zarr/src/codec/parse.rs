//! Reads the lists of codecs of both versions.

use super::{
    Chain, Shard, Step,
    numbers::{How, Numbers},
    step::Sum,
};
use crate::{
    datatype::{self, Datatype, Order, Scalar},
    error::{Error, Result},
    json::Json,
    limits::Limits,
};

/// The codecs of version 2: `filters`, then `compressor`; `order` is that of elements in a chunk.
pub(crate) fn second(json: &Json, shape: &[u64], datatype: &Datatype) -> Result<Chain> {
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    match json.get("order").and_then(Json::text) {
        Some("C") | None => {}
        Some("F") => axes.reverse(),
        Some(other) => return Err(Error::unsupported(format!("elements in the order `{other}`"))),
    }
    let filters = json.get("filters").filter(|filters| **filters != Json::Null);
    let filters = match filters {
        None => &[],
        Some(filters) => filters.list().ok_or_else(|| Error::damaged("`filters` is no list"))?,
    };
    let compressor = json.get("compressor").filter(|compressor| **compressor != Json::Null);
    let mut steps = Vec::new();
    for codec in filters.iter().chain(compressor) {
        let name = codec.get("id").and_then(Json::text);
        let name = name.ok_or_else(|| Error::damaged(format!("the codec {codec} has no name")))?;
        steps.extend(step(name, codec, datatype)?);
    }
    Ok(Chain { shape: shape.to_vec(), axes, shard: None, steps, element: datatype.size })
}

/// The codecs of version 3, and the byte order that they tell.
pub(crate) fn third(
    json: &Json,
    shape: &[u64],
    datatype: &Datatype,
    limits: &Limits,
) -> Result<(Chain, Order)> {
    let depth = limits.max_depth;
    Third { datatype, limits }.chain(json, shape, depth)
}

struct Third<'a> {
    datatype: &'a Datatype,
    limits: &'a Limits,
}

/// The name and the settings of a codec.
fn named(codec: &Json) -> Result<(&str, &Json)> {
    let name = codec.text().or_else(|| codec.get("name").and_then(Json::text));
    let name = name.ok_or_else(|| Error::damaged(format!("the codec {codec} has no name")))?;
    Ok((name, codec.get("configuration").unwrap_or(&Json::Null)))
}

impl Third<'_> {
    fn chain(&self, json: &Json, shape: &[u64], depth: u32) -> Result<(Chain, Order)> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::damaged("shards are nested too deep"));
        };
        let list = json.list().ok_or_else(|| Error::damaged("`codecs` is no list"))?;
        let mut chain = Chain {
            shape: shape.to_vec(),
            axes: (0..shape.len()).collect(),
            shard: None,
            steps: Vec::new(),
            element: self.datatype.size,
        };
        let mut order = None;
        for codec in list {
            let (name, settings) = named(codec)?;
            match name {
                "transpose" if order.is_none() => {
                    if chain.steps.iter().any(|s| matches!(s, Step::Numbers(n) if n.how == How::Delta)) {
                        return Err(Error::unsupported("the codec `transpose` behind `delta`"));
                    }
                    chain.axes = transposed(&chain.axes, settings)?;
                }
                "bytes" | "endian" if order.is_none() => {
                    let endian = settings.get("endian").and_then(Json::text);
                    order = Some(match endian {
                        Some("little") => Order::Little,
                        Some("big") => Order::Big,
                        None if !self.datatype.has_order() => Order::Little,
                        other => {
                            return Err(Error::damaged(format!(
                                "the codec `bytes` with the byte order {other:?}"
                            )));
                        }
                    });
                }
                "sharding_indexed" if order.is_none() => {
                    let (shard, inner) = self.shard(settings, &chain.stored_shape(), depth)?;
                    (chain.shard, order) = (Some(Box::new(shard)), Some(inner));
                }
                _ => {
                    let step =
                        step(name.strip_prefix("numcodecs.").unwrap_or(name), settings, self.datatype)?;
                    let numbers = matches!(step, Some(Step::Numbers(_) | Step::PackBits));
                    if step.is_some() && numbers == order.is_some() {
                        return Err(Error::damaged(format!(
                            "the codec `{name}` is at the wrong place of the list"
                        )));
                    }
                    if numbers && !chain.is_straight() {
                        return Err(Error::unsupported(format!("the codec `{name}` behind `transpose`")));
                    }
                    chain.steps.extend(step);
                }
            }
        }
        let order = order.ok_or_else(|| Error::damaged("none of the codecs makes bytes of elements"))?;
        let numbers = |step: &Step| matches!(step, Step::Numbers(_) | Step::PackBits);
        if chain.shard.is_some() && chain.steps.iter().any(numbers) {
            return Err(Error::unsupported("codecs over numbers in front of `sharding_indexed`"));
        }
        // The codec `bytes` decides how all numbers before it are stored.
        for step in &mut chain.steps {
            if let Step::Numbers(numbers) = step {
                (numbers.chunk.1, numbers.stored.1) = (order, order);
            }
        }
        Ok((chain, order))
    }

    fn shard(&self, settings: &Json, shape: &[u64], depth: u32) -> Result<(Shard, Order)> {
        let missing = |what: &str| Error::damaged(format!("the codec `sharding_indexed` without `{what}`"));
        let inner = settings.get("chunk_shape").and_then(Json::list).ok_or_else(|| missing("chunk_shape"))?;
        let inner: Option<Vec<u64>> = inner.iter().map(Json::count).collect();
        let inner = inner.ok_or_else(|| missing("chunk_shape"))?;
        let fits = |(outer, inner): (&u64, &u64)| *inner > 0 && outer % inner == 0;
        if inner.len() != shape.len() || !shape.iter().zip(&inner).all(fits) {
            return Err(Error::damaged(format!("chunks of {inner:?} in shards of {shape:?}")));
        }
        let grid: Vec<u64> = shape.iter().zip(&inner).map(|(outer, inner)| outer / inner).collect();
        let size = grid.iter().try_fold(16u64, |all, &n| all.checked_mul(n)).unwrap_or(u64::MAX);
        if size > self.limits.max_index || usize::try_from(size).is_err() {
            return Err(Error::TooLarge { what: "the index of a shard", size, limit: self.limits.max_index });
        }
        let (mut big, mut sum, mut known) = (false, false, false);
        let index =
            settings.get("index_codecs").and_then(Json::list).ok_or_else(|| missing("index_codecs"))?;
        for codec in index {
            match named(codec)? {
                ("bytes" | "endian", settings) if !known => {
                    (known, big) = (true, settings.get("endian").and_then(Json::text) == Some("big"));
                }
                ("crc32c", _) if known && !sum => sum = true,
                (name, _) => {
                    return Err(Error::unsupported(format!("the codec `{name}` for the index of shards")));
                }
            }
        }
        let front = match settings.get("index_location").and_then(Json::text) {
            None | Some("end") => false,
            Some("start") => true,
            Some(other) => return Err(Error::damaged(format!("the index of shards at `{other}`"))),
        };
        let codecs = settings.get("codecs").ok_or_else(|| missing("codecs"))?;
        let (chain, order) = self.chain(codecs, &inner, depth)?;
        chain.bytes(self.limits)?;
        Ok((Shard { chain, grid, big, sum, front }, order))
    }
}

/// Axes after one more transposition.
fn transposed(axes: &[usize], settings: &Json) -> Result<Vec<usize>> {
    let order = settings.get("order");
    let wrong = || Error::damaged(format!("the codec `transpose` of {} axes with {settings}", axes.len()));
    let order: Vec<usize> = match order {
        Some(Json::Text(name)) if name == "C" => (0..axes.len()).collect(),
        Some(Json::Text(name)) if name == "F" => (0..axes.len()).rev().collect(),
        Some(Json::List(list)) => {
            let order: Option<Vec<usize>> = list.iter().map(|n| usize::try_from(n.count()?).ok()).collect();
            order.ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    };
    let mut seen = order.clone();
    seen.sort_unstable();
    if seen != (0..axes.len()).collect::<Vec<_>>() {
        return Err(wrong());
    }
    Ok(order.iter().map(|&at| axes[at]).collect())
}

/// A codec by its name; `None` for those that leave nothing to undo.
fn step(name: &str, settings: &Json, datatype: &Datatype) -> Result<Option<Step>> {
    let refuse = || Error::unsupported(format!("the codec `{name}`; write the array again with another one"));
    let front = |usual: bool| match settings.get("location").and_then(Json::text) {
        None => Ok(usual),
        Some("start") => Ok(true),
        Some("end") => Ok(false),
        Some(other) => Err(Error::damaged(format!("the codec `{name}` at `{other}`"))),
    };
    let number = |key: &str| settings.get(key).and_then(Json::number);
    // A type that the settings name, or else that of the elements.
    let kind = |keys: &[&str]| -> Result<(Scalar, Order)> {
        let found = keys.iter().find_map(|key| settings.get(key).filter(|kind| **kind != Json::Null));
        let found = match found {
            Some(kind) => datatype::numpy(kind, 4)?,
            None => datatype.clone(),
        };
        match found.class {
            datatype::Class::Number(scalar, order) if scalar != Scalar::Bool => Ok((scalar, order)),
            _ => Err(Error::unsupported(format!("the codec `{name}` for {found}"))),
        }
    };
    Ok(Some(match name {
        "blosc" => Step::Blosc,
        "blosc2" => Step::Blosc2,
        "gzip" => Step::Gzip,
        "zlib" => Step::Zlib,
        "zstd" => Step::Zstd,
        "lz4" => Step::Lz4,
        "bz2" => Step::Bz2,
        "fletcher32" => Step::Fletcher32,
        "packbits" => Step::PackBits,
        "crc32c" => Step::Sum(Sum::Crc32c, front(false)?),
        "crc32" => Step::Sum(Sum::Crc32, front(true)?),
        "adler32" => Step::Sum(Sum::Adler32, front(true)?),
        "shuffle" => {
            let size = settings.get("elementsize").map_or(Some(4), Json::count);
            Step::Shuffle(size.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0).ok_or_else(refuse)?)
        }
        // Digits that were rounded away do not come back.
        "bitround" => return Ok(None),
        "delta" | "fixedscaleoffset" | "quantize" | "astype" => {
            let how = match name {
                "delta" => How::Delta,
                "fixedscaleoffset" => {
                    let parts = number("scale").zip(number("offset"));
                    let (scale, offset) =
                        parts.ok_or_else(|| Error::damaged(format!("the codec {settings}")))?;
                    How::Scale(scale, offset)
                }
                _ => How::Cast,
            };
            let chunk = kind(&["dtype", "decode_dtype"])?;
            let stored = kind(&["astype", "encode_dtype", "dtype"])?;
            if how == How::Cast && chunk == stored {
                return Ok(None);
            }
            Step::Numbers(Numbers { how, chunk, stored })
        }
        _ => return Err(refuse()),
    }))
}
