//! Decoders: `decode` returns what `spec` promises.

use super::{args, building, guarded};
use crate::{JpegOptions, jpeg, photo};
use infeed::decode::DECODERS;
use infeed_core::{Bytes, Decoder, Dim, Entry, FieldKind, FieldSpec, Scratch, Value};

/// Every decoder builds, rejects decoded input, survives garbage, and fulfils its spec on what it can read.
pub fn decoders() -> Vec<String> {
    let mut faults = Vec::new();
    let mut inputs: Vec<Bytes> = vec![
        Bytes::new(),
        Bytes::from_static(b"7"),
        Bytes::from_static(b"-1.5"),
        Bytes::from_static(b"{\"a\": [1, 2]}"),
        Bytes::from_static(b"[[1, 2, 3, 4], [0.5, 0.5, 7.25, 8]]"),
        Bytes::from_static(b"[[[1, 2, 2], [3, 4, 0]]]"),
        Bytes::from_static(br#"{"size":[2,3],"ids":[4],"segmentations":[[[0,0,3,0,3,1,0,1]]]}"#),
        // A gray image of 2x1 pixels.
        Bytes::from_static(b"P5 2 1 255\n\x00\x07"),
        Bytes::from_static(b"\xff\xfe\x00 not UTF-8"),
        npy(),
    ];
    match jpeg(&photo(20, 12, 1), 20, 12, &JpegOptions::default()) {
        Ok(image) => inputs.push(image.into()),
        Err(e) => faults.push(format!("cannot make a JPEG to try: {e}")),
    }
    for entry in DECODERS {
        guarded(&mut faults, entry.name, || building(entry));
        let Some(decoder) = guarded(&mut faults, entry.name, || {
            entry.make(&args::for_params(entry.params)).map_err(|e| e.to_string())
        }) else {
            continue;
        };
        let mut read = 0;
        for input in &inputs {
            if let Some(true) = guarded(&mut faults, entry.name, || promise(&*decoder, input)) {
                read += 1;
            }
        }
        if read == 0 {
            faults.push(format!("{}: reads none of {} inputs", entry.name, inputs.len()));
        }
        guarded(&mut faults, entry.name, || refuses(entry, &*decoder));
    }
    faults
}

/// Returns whether the input could be read; fails if the result is not what `spec` says.
fn promise(decoder: &dyn Decoder, input: &Bytes) -> Result<bool, String> {
    let spec = decoder.spec(&FieldSpec::encoded()).map_err(|e| format!("rejects encoded bytes: {e}"))?;
    let Ok(value) = decoder.decode(input, &mut Scratch::new()) else { return Ok(false) };
    let shape = match (&value, spec.kind) {
        (Value::Bytes(_), FieldKind::Encoded)
        | (Value::Text(_), FieldKind::Text)
        | (Value::Json(_), FieldKind::Json) => {
            return Ok(true);
        }
        (Value::Tensor(t), FieldKind::Array) if t.dtype == spec.dtype => t.shape.clone(),
        (Value::Image(i), FieldKind::Image(layout))
            if i.finish.layout == layout && i.finish.dtype == spec.dtype =>
        {
            i.shape()
        }
        (Value::Image(i), FieldKind::Mask) if i.is_mask() && i.finish.dtype == spec.dtype => i.shape(),
        // Their numbers come out when the transforms of their image are done.
        (Value::Boxes(_), FieldKind::Boxes)
        | (Value::Points(_), FieldKind::Points)
        | (Value::Masks(_), FieldKind::Masks) => return Ok(true),
        _ => return Err(format!("promises {spec} and gives {}", value.what())),
    };
    let fits = |(dim, n): (&Dim, &usize)| *dim == Dim::Any || *dim == Dim::Fixed(*n);
    if spec.shape.len() == shape.len() && spec.shape.iter().zip(&shape).all(fits) {
        return Ok(true);
    }
    Err(format!("promises {spec} and gives the shape {shape:?}"))
}

/// Checks that an already decoded field is rejected.
fn refuses(entry: &Entry<dyn Decoder>, decoder: &dyn Decoder) -> Result<(), String> {
    match decoder.spec(&FieldSpec::image(Dim::Fixed(3))) {
        Err(e) if e.to_string().contains(entry.name) => Ok(()),
        Err(e) => Err(format!("the error does not name the decoder: {e}")),
        Ok(_) => Err("takes an image for encoded bytes".to_owned()),
    }
}

/// Builds a NumPy file with the floats 0 and 1.
fn npy() -> Bytes {
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".to_owned();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend([0f32, 1.0].iter().flat_map(|x| x.to_le_bytes()));
    file.into()
}
