//! The entry of token files in the table of formats.

use crate::{Options, TokenSource, file, idx, options, prefix_of};
use infeed_core::{
    Can, Error, FileLook, FolderLook, FormatEntry, Found, Guess, Magic, OpenRequest, Opened, Param, Result,
    Sure, opening::ends_with,
};
use infeed_records::npy::Header;
use std::{collections::HashSet, sync::Arc};

const fn param(
    name: &'static str,
    python: &'static str,
    default: &'static str,
    about: &'static str,
) -> Param {
    Param { name, python, default: Some(default), about }
}

/// Token files: their parameters, and how they are recognised and opened.
pub const ENTRY: FormatEntry = FormatEntry {
    name: "tokens",
    about: "token ids: .bin with .idx (Megatron), .bin alone, .npy",
    details: DETAILS,
    params: PARAMS,
    endings: &[".bin", ".idx", ".npy"],
    magic: &[Magic { at: 0, bytes: idx::MMID }, Magic { at: 0, bytes: idx::LEGACY }],
    can: Can { write: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: Some(recognise_folder),
    open,
};

const PARAMS: &[Param] = &[
    // Files recognised by their contents are opened without it; the error then says what to call. Its type has no
    // None: in Python it must be given.
    param("length", "int", "null", "tokens of a row"),
    param("dtype", "IntegerDtype", "\"int64\"", "element type of tokens and labels"),
    param("labels", "bool", "false", "whether to give `labels`: the tokens one place on"),
    param(
        "eod",
        "int | None",
        "null",
        "the token that ends a document; without it the index says where one ends",
    ),
    param("position_ids", "bool", "false", "whether to give the place of each token"),
    param("loss_mask", "bool", "false", "whether to give 1 for each token, and 0 where a document ends"),
    param("document_ids", "bool", "false", "whether to give the number of each token's document in the row"),
    param("attention_mask", "bool", "false", "whether to give which token may look at which"),
    param("reset", "bool", "true", "whether places begin anew and attention ends with a document"),
    param(
        "stride",
        "int | None",
        "null",
        "tokens between the beginnings of two windows; as many as `length` if not given",
    ),
    param("sampling", "Sampling", "\"windows\"", "`windows`, or `megatron` for its GPT samples"),
    param("samples", "int | None", "null", "GPT samples to prepare, over several epochs where needed"),
    param("seed", "int", "1234", "seed of the GPT samples"),
    param("split", "str | None", "null", "shares of the parts, as in `969, 30, 1`"),
    param("part", "SplitPart", "\"train\"", "`train`, `valid` or `test` of a split"),
    param(
        "cache",
        "str | os.PathLike[str] | None",
        "null",
        "folder of this machine with the cache files of GPT samples",
    ),
    param("vocab", "int | None", "null", "size of the vocabulary: larger ids are errors"),
    param("raw", "IntegerName | None", "null", "element type of files without an index"),
    param("read", "Read", "\"mmap\"", "`mmap`, or `pread` to read row by row"),
    param("drift", "Drift", "\"error\"", "`error`, `repair` or `ignore` when .idx and .bin do not agree"),
];

const DETAILS: &str = "\
Rows are `length` tokens each. Paths are prefixes (`x` of `x.bin` and `x.idx`, as Megatron and BlendCorpus write them), \
`.bin` files without an index (`raw` says their element type, `\"uint16\"` if it is not given), `.npy` files with one \
dimension, folders and patterns. Several are laid end to end.

`sampling` says how rows are cut:

* `\"windows\"`: row `k` is `tokens[k * stride : k * stride + length]` of everything laid end to end; `stride` is `length` if it \
is not given. Put `.shuffle(seed=...)` behind it.
* `\"megatron\"`: rows are the GPT samples of Megatron and BlendCorpus, index for index. Documents and samples are shuffled by \
`seed`, in as many epochs as `samples` needs. As there, a row has `length + 1` tokens unless `labels` are asked for, and \
there may be more rows than `samples`. `cache` is a folder with Megatron's cache files: those that are there are read, \
others are written.

Fields: `tokens`; with `labels=True` also `labels`, the tokens one place on, both of `length`. `position_ids`, `loss_mask` \
(float32, 0 where a document ends), `document_ids` (int32, counted from 0 in each row) and `attention_mask` (bool, `length` x \
`length`, True where a token may look) are given when asked for. A document ends with the token `eod`; without it the index \
says where documents end. `reset=True` lets positions begin anew with each document and keeps attention inside it.

`split=\"969, 30, 1\"` with `part=\"train\"`, `\"valid\"` or `\"test\"` keeps a part of the documents, as Megatron does. `vocab` makes \
ids that are not in the vocabulary an error; `dtype` may be narrower than the file's when all ids fit.

`read=\"mmap\"` maps files of this machine. They must then not be cut short while they are read: the operating system would \
end the process. `read=\"pread\"` is slower and gives an error instead. Data that cannot be mapped is read by ranges either \
way. `drift` says what to do with a `.bin` that is longer than its index counts: `\"error\"`, `\"repair\"` (each document has an \
uncounted end-of-document token) or `\"ignore\"`.";

/// Recognises a token file. A `.bin` has no magic bytes, except for one kind of header.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    // Compressed tokens have no random access.
    if file.head.is_empty() && file.size > 0 {
        return None;
    }
    let named = |ending| ends_with(file.name, ending);
    let index = file.head.starts_with(idx::MMID) || file.head.starts_with(idx::LEGACY);
    match index {
        true => Some(Guess::new(if named(".idx") { Sure::Certain } else { Sure::Head })),
        false if named(".bin") => {
            Some(Guess::new(if file::is_headed(file.head) { Sure::Certain } else { Sure::Name }))
        }
        false if named(".npy") => {
            let header = Header::read(file.head).ok()?;
            let tokens = header.shape.len() == 1 && header.dtype.is_integer() && !header.big_endian;
            tokens.then(|| Guess::new(Sure::Certain))
        }
        false => None,
    }
}

/// Counts the token files of a folder. Arrays (`.npy`) are taken for tokens only one by one.
fn recognise_folder(folder: &FolderLook<'_>) -> Result<Option<Guess>> {
    let tokens = |name: &&&str| [".bin", ".idx"].iter().any(|ending| ends_with(name, ending));
    let count = folder.files.iter().filter(tokens).count();
    Ok((count > 0).then(|| Guess { count, ..Guess::new(Sure::Name) }))
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    if args.is_none("length") {
        return Err(Error::argument(format!(
            "`{}` looks like a file of tokens, which does not say how long a sample is: infeed.tokens(path, length=...) \
             reads it{}",
            request.paths.join("`, `"),
            // One dimension of integers can also be one number a row: labels.
            match request.paths.iter().any(|path| ends_with(path, ".npy")) {
                true => ", and infeed.npy(path) as one number a row",
                false => "",
            }
        )));
    }
    let options: Options = options::build(&args)?;
    let names = corpora(request)?;
    Ok(Opened::Rows(Arc::new(TokenSource::open(request.store, &names, options, request.threads)?)))
}

/// Returns the corpora that the paths name, each once, in order.
fn corpora(request: &OpenRequest<'_>) -> Result<Vec<String>> {
    let store = request.store;
    let mut out = Vec::new();
    for path in request.paths {
        // Corpora are named by prefixes, which are not files: `x` of `x.idx` and `x.bin`.
        let forms = [".idx", ".bin", ".npy", ""].map(|ending| format!("{path}{ending}"));
        let found = forms.iter().find_map(|form| store.find(form).ok()).map_or_else(|| store.find(path), Ok);
        let found = found.map_err(|e| match e {
            Error::NotFound { path, hint } => {
                let prefix = prefix_of(&path);
                let hint = format!("; there is no `{prefix}.bin`, `{prefix}.idx` or `{prefix}.npy`{hint}");
                Error::NotFound { path, hint }
            }
            other => other,
        })?;
        for found in found {
            match found {
                Found::File(name) => out.push(name),
                Found::Folder(folder) => out.extend(inside(request, &folder)?),
            }
        }
    }
    // x.bin and x.idx are one corpus, whichever of them a pattern matched.
    let mut seen = HashSet::new();
    out.retain(|name| seen.insert(prefix_of(name).to_owned()));
    if out.is_empty() {
        return Err(Error::argument("there is no token file to read"));
    }
    Ok(out)
}

/// Returns the token files in a folder, not those in its subfolders.
fn inside(request: &OpenRequest<'_>, folder: &str) -> Result<Vec<String>> {
    let listed = match request.listed {
        Some(names) => names.to_vec(),
        None => request.store.names(folder)?,
    };
    let direct = |name: &String| {
        let rest = name.strip_prefix(folder).unwrap_or(name).trim_start_matches('/');
        !rest.contains('/') && [".idx", ".bin", ".npy"].iter().any(|ending| rest.ends_with(ending))
    };
    let mut names: Vec<String> = listed.into_iter().filter(direct).collect();
    if names.is_empty() {
        let hint = "; there is no .bin, .idx or .npy file in it".to_owned();
        return Err(Error::NotFound { path: folder.to_owned(), hint });
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::{Dtype, Store};
    use serde_json::json;

    fn look(name: &str, head: &[u8]) -> Option<Sure> {
        let file = FileLook { name, head, size: 4096, alone: true };
        ENTRY.look(&file).map(|guess| guess.sure)
    }

    #[test]
    fn files_are_recognised() {
        assert_eq!(look("x.idx", b"MMIDIDX\0\0\x01"), Some(Sure::Certain));
        assert_eq!(look("x.idx", b"TNTIDX\0\0\x01"), Some(Sure::Certain));
        assert_eq!(look("index", b"MMIDIDX\0\0\x01"), Some(Sure::Head));
        assert_eq!(look("x.idx", b"0 1024\n"), None);
        assert_eq!(look("x.bin", &[1, 2]), Some(Sure::Name));
        let mut headed = vec![0; 1024];
        headed[..4].copy_from_slice(&20_240_520i32.to_le_bytes());
        assert_eq!(look("x.bin", &headed), Some(Sure::Certain));
        // A compressed file shows no content, and its rows have no random access.
        assert_eq!(look("x.bin", b""), None);
        let npy = |dtype, shape: &[usize]| look("x.npy", &Header::write(dtype, shape));
        assert_eq!(npy(Dtype::U16, &[100]), Some(Sure::Certain));
        assert_eq!(npy(Dtype::I64, &[0]), Some(Sure::Certain));
        assert_eq!((npy(Dtype::F32, &[100]), npy(Dtype::Bool, &[100])), (None, None));
        assert_eq!((npy(Dtype::U16, &[100, 2]), npy(Dtype::U16, &[])), (None, None));
        assert_eq!((look("x.npy", b"junk"), look("x.tar", b"junk")), (None, None));
    }

    #[test]
    fn a_missing_length_says_what_to_call() {
        let store: Arc<dyn Store> = crate::testing::mapping();
        let (paths, given) = (["x.npy".to_owned()], json!({}));
        let given = given.as_object().unwrap();
        let request = OpenRequest {
            entry: &ENTRY,
            store: &store,
            paths: &paths,
            found: None,
            listed: None,
            given,
            threads: 1,
        };
        assert_eq!(
            ENTRY.open(request).unwrap_err().to_string(),
            "`x.npy` looks like a file of tokens, which does not say how long a sample is: infeed.tokens(path, length=...) \
             reads it, and infeed.npy(path) as one number a row"
        );
        let length = &ENTRY.params[0];
        assert!(length.name == "length" && length.is_required() && !ENTRY.params[3].is_required());
    }

    #[test]
    fn folders_are_not_searched_below() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().display().to_string();
        std::fs::create_dir(dir.path().join("below")).unwrap();
        for name in ["b.bin", "a.npy", "below/c.bin", "d.idx", "d.bin", "notes.txt"] {
            std::fs::write(dir.path().join(name), [1, 0]).unwrap();
        }
        let store: Arc<dyn Store> = crate::testing::ranges();
        let paths = [folder.clone(), format!("{folder}/b")];
        let given = serde_json::Map::new();
        let request = OpenRequest {
            entry: &ENTRY,
            store: &store,
            paths: &paths,
            found: None,
            listed: None,
            given: &given,
            threads: 1,
        };
        let found: Vec<String> = corpora(&request).unwrap();
        assert_eq!(found, ["a.npy", "b.bin", "d.bin"].map(|name| format!("{folder}/{name}")));
        let listed = [format!("{folder}/z.bin"), format!("{folder}/below/c.bin")];
        let again = OpenRequest { paths: &paths[..1], listed: Some(&listed), ..request };
        assert_eq!(corpora(&again).unwrap(), listed[..1]);
        let missing = [format!("{folder}/nothing")];
        let error = corpora(&OpenRequest { paths: &missing, ..request }).unwrap_err().to_string();
        assert!(error.contains("nothing.npy"), "{error}");
    }
}
