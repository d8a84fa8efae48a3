//! Recognises data that infeed does not read, so that the error can name it.

use infeed_core::{Error, FileLook, Magic, Sure, opening::ends_with};

/// Advice for files of an unknown format.
pub(super) const CURE: &str = "For anything else: infeed.files(paths) gives whole files as bytes for .map(function) to decode, \
                               infeed.wrap(dataset) takes any object with __getitem__, infeed.stream(function) any iterator";

/// One kind of data.
#[derive(Debug)]
pub(super) struct Stranger {
    /// Its name in a sentence.
    what: &'static str,
    endings: &'static [&'static str],
    magic: &'static [Magic],
    /// What to do about it, in addition to [`CURE`].
    cure: &'static str,
}

const fn magic(bytes: &'static [u8]) -> Magic {
    Magic { at: 0, bytes }
}

/// The magic number of ZIP archives; some formats are ZIP archives.
const ZIP: Magic = magic(b"PK\x03\x04");

const PLAIN: Stranger = Stranger { what: "", endings: &[], magic: &[], cure: "" };

/// The kinds that are recognised.
const STRANGERS: &[Stranger] = &[
    Stranger { what: "a safetensors file", endings: &[".safetensors"], ..PLAIN },
    Stranger { what: "a PyTorch file", endings: &[".pt", ".pth"], magic: &[ZIP], ..PLAIN },
    Stranger {
        what: "a pickle, which can run any code when it is loaded",
        endings: &[".pkl", ".pickle"],
        ..PLAIN
    },
    Stranger {
        what: "a ZIP archive",
        endings: &[".zip"],
        magic: &[ZIP],
        cure: "unpack it and open the folder",
    },
    Stranger {
        what: "a 7z archive",
        endings: &[".7z"],
        magic: &[magic(b"7z\xbc\xaf\x27\x1c")],
        cure: "unpack it and open the folder",
    },
    Stranger {
        what: "HTML, a web page",
        endings: &[".html", ".htm"],
        magic: &[magic(b"<!DOCTYPE html"), magic(b"<!doctype html"), magic(b"<html"), magic(b"<HTML")],
        cure: "a download may have given a page of an error or a login instead of the data",
    },
    Stranger {
        what: "XML",
        endings: &[".xml"],
        magic: &[magic(b"<?xml")],
        cure: "a store may have answered with an error instead of the data; infeed.voc(folder) reads the annotations of \
               Pascal VOC",
    },
    Stranger { what: "a PDF document", endings: &[".pdf"], magic: &[magic(b"%PDF-")], ..PLAIN },
    Stranger {
        what: "audio",
        endings: &[".wav", ".flac", ".mp3", ".ogg"],
        magic: &[magic(b"fLaC"), magic(b"OggS"), Magic { at: 8, bytes: b"WAVE" }],
        ..PLAIN
    },
    Stranger {
        what: "a video",
        endings: &[".mp4", ".mkv", ".avi", ".webm"],
        magic: &[Magic { at: 4, bytes: b"ftyp" }],
        ..PLAIN
    },
    Stranger {
        what: "a Git LFS pointer and not the data itself",
        magic: &[magic(b"version https://git-lfs")],
        cure: "`git lfs pull` fetches the data",
        ..PLAIN
    },
];

/// One document where lines are expected.
const JSON_DOCUMENT: Stranger = Stranger {
    what: "one JSON document, not JSON lines",
    cure: "write one object a line, for example with `jq -c '.[]'`",
    ..PLAIN
};

/// Recognises a file. Returns how sure the match is, too.
pub(super) fn of_file(file: &FileLook<'_>) -> Option<(Sure, &'static Stranger)> {
    let sure = |stranger: &'static Stranger| {
        let named = stranger.endings.iter().any(|ending| ends_with(file.name, ending));
        let there = |m: &Magic| file.head.get(m.at..).is_some_and(|rest| rest.starts_with(m.bytes));
        match (named, stranger.magic.iter().any(there)) {
            (true, true) => Some((Sure::Certain, stranger)),
            (false, true) => Some((Sure::Head, stranger)),
            (true, false) => Some((Sure::Name, stranger)),
            (false, false) => None,
        }
    };
    let document = || {
        let begins = matches!(file.head.trim_ascii_start().first(), Some(b'{' | b'['));
        (begins && ends_with(file.name, ".json")).then_some((Sure::Barely, &JSON_DOCUMENT))
    };
    // Of kinds that share their magic number (archives) the one with a matching name wins, otherwise the plain archive.
    let known = STRANGERS.iter().filter_map(sure);
    let rank = |(sure, stranger): &(Sure, &Stranger)| (*sure, stranger.what == "a ZIP archive");
    known.max_by_key(rank).or_else(document)
}

impl Stranger {
    /// The error: what was found and what can be done.
    pub(super) fn refuse(&self, name: &str) -> Error {
        let what = self.what;
        let cure = if self.cure.is_empty() { String::new() } else { format!("; {}", self.cure) };
        Error::argument(format!("`{name}` is {what}, which infeed.open does not read{cure}. {CURE}"))
    }
}
