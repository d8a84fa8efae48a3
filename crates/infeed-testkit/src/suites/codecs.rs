//! Image codecs: they recognise their own bytes and reject others.

use super::guarded;
use crate::{JpegOptions, PngKind, jpeg, photo, png};
use infeed::decode::{CODECS, codec_of};

/// Unknown bytes are rejected without a panic, and no truncation of a valid file causes one.
pub fn codecs() -> Vec<String> {
    let mut faults = Vec::new();
    let strangers: [&[u8]; 5] = [b"", b"\0", b"{}", &[0; 64], b"not an image at all, just a line of text"];
    for codec in CODECS {
        for stranger in strangers {
            guarded(&mut faults, codec.name, || match codec.codec.probe(stranger) {
                Ok(info) => Err(format!("reads `{}` as {info:?}", stranger.escape_ascii())),
                Err(_) if codec.codec.sniff(stranger) => Err(format!("claims `{}`", stranger.escape_ascii())),
                Err(_) => Ok(()),
            });
        }
    }
    let pixels = photo(20, 12, 1);
    let files = [
        ("jpeg", jpeg(&pixels, 20, 12, &JpegOptions::default())),
        ("png", png(&pixels, 20, 12, PngKind::Rgb)),
    ];
    for (name, file) in files {
        let Some(file) = guarded(&mut faults, name, || file.map_err(|e| e.to_string())) else { continue };
        guarded(&mut faults, name, || match codec_of(&file) {
            Ok(codec) if codec.name == name => Ok(()),
            Ok(codec) => Err(format!("is taken for {}", codec.name)),
            Err(e) => Err(e.to_string()),
        });
        for codec in CODECS {
            for end in 0..file.len() {
                // For some truncations either answer is right; only a panic is wrong.
                guarded(&mut faults, codec.name, || {
                    let _ = codec.codec.probe(&file[..end]);
                    Ok(())
                });
            }
        }
    }
    faults
}
