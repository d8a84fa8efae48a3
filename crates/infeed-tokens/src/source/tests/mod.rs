mod cases;

use super::*;
use crate::{ENTRY, TokenWriter, element, testing};
use infeed_core::{Args, OpenRequest, Opened, Store};
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;

fn corpus(dir: &Path, name: &str, dtype: Dtype, documents: &[Vec<u32>]) -> String {
    let prefix = dir.join(name).display().to_string();
    let mut writer = TokenWriter::create(&prefix, dtype).unwrap();
    documents.iter().for_each(|d| writer.add(d).unwrap());
    writer.finish().unwrap();
    prefix
}

fn request<'a>(
    store: &'a Arc<dyn Store>,
    paths: &'a [String],
    args: &'a serde_json::Value,
) -> OpenRequest<'a> {
    let given = args.as_object().unwrap();
    OpenRequest { entry: &ENTRY, store, paths, found: None, listed: None, given, threads: 2 }
}

/// Opens as the table of formats does, from a store that maps.
fn open(paths: &[String], args: serde_json::Value) -> Result<Arc<dyn Source>> {
    open_from(&testing::mapping(), paths, args)
}

fn open_from(store: &Arc<dyn Store>, paths: &[String], args: serde_json::Value) -> Result<Arc<dyn Source>> {
    match ENTRY.open(request(store, paths, &args))? {
        Opened::Rows(source) => Ok(source),
        Opened::Stream(_) => panic!("tokens are rows"),
    }
}

fn numbers(bytes: &[u8], dtype: Dtype) -> Vec<i64> {
    // Tests run on little-endian machines, where file and memory layouts agree.
    bytes.chunks_exact(dtype.size()).map(|b| element::read(dtype, b)).collect()
}

/// Returns all fields of all rows as numbers; checks that `fetch` and `fill` agree.
fn rows(source: &Arc<dyn Source>) -> Vec<Vec<Vec<i64>>> {
    let names: Vec<Arc<str>> = source.spec().fields.iter().map(|(name, _)| Arc::clone(name)).collect();
    let all: Vec<u64> = (0..source.rows()).collect();
    let records = source.fetch(&all, &names).unwrap();
    let mut blocks: Vec<Vec<u8>> = source
        .spec()
        .fields
        .iter()
        .map(|(_, spec)| vec![0xee; spec.fixed_bytes().unwrap() * all.len()])
        .collect();
    let mut out: Vec<&mut [u8]> = blocks.iter_mut().map(Vec::as_mut_slice).collect();
    source.fill(&all, &names, &mut out).unwrap();
    let mut found = vec![];
    for (k, record) in records.iter().enumerate() {
        let mut row = vec![];
        for (i, value) in record.fields.iter().enumerate() {
            let Value::Tensor(tensor) = value else { panic!("{value:?}") };
            let size = tensor.data.len();
            assert_eq!(&blocks[i][k * size..(k + 1) * size], &tensor.data[..], "fill and fetch agree");
            let spec = &source.spec().fields[i].1;
            assert_eq!((spec.dtype, spec.fixed_shape()), (tensor.dtype, Some(tensor.shape.clone())));
            let dtype = if tensor.dtype == Dtype::F32 { Dtype::U32 } else { tensor.dtype };
            let dtype = if dtype == Dtype::Bool { Dtype::U8 } else { dtype };
            row.push(numbers(&tensor.data, dtype));
        }
        found.push(row);
    }
    found
}

const ONE: i64 = 0x3f80_0000; // the bits of 1.0

/// Computes all fields of one row, token by token.
fn expect(tokens: &[i64], document_of: &[usize], len: usize, labels: bool, reset: bool) -> Vec<Vec<i64>> {
    let last = |i: usize| document_of.get(i + 1).is_none_or(|next| *next != document_of[i]);
    let begin = |i: usize| {
        if reset {
            (0..=i).rev().take_while(|j| document_of[*j] == document_of[i]).last().unwrap()
        } else {
            0
        }
    };
    let mut out = vec![tokens[..len].to_vec()];
    if labels {
        out.push(tokens[1..=len].to_vec());
    }
    out.push((0..len).map(|i| (i - begin(i)) as i64).collect());
    out.push((0..len).map(|i| if last(i) { 0 } else { ONE }).collect());
    let mut ids: Vec<usize> = document_of[..len].to_vec();
    ids.dedup();
    out.push((0..len).map(|i| ids.iter().position(|d| *d == document_of[i]).unwrap() as i64).collect());
    out.push((0..len * len).map(|k| i64::from((begin(k / len)..=k / len).contains(&(k % len)))).collect());
    out
}

fn documents() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(0u32..200, 0..7), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Windows over several files of different types, compared with plain lists; documents by the index or by a token.
    #[test]
    fn windows_are_what_they_say(
        files in prop::collection::vec((documents(), prop::sample::select(&[Dtype::U8, Dtype::U16, Dtype::I32][..])), 1..4),
        length in 1usize..6,
        stride in prop::option::of(1u64..5),
        labels in any::<bool>(),
        reset in any::<bool>(),
        by_token in any::<bool>(),
        pread in any::<bool>(),
        maps in any::<bool>(),
        dtype in prop::sample::select(&["int64", "int32"][..]),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = vec![];
        let (mut tokens, mut document_of, mut document) = (vec![], vec![], 0);
        for (i, (documents, dtype)) in files.iter().enumerate() {
            paths.push(corpus(dir.path(), &format!("f{i}"), *dtype, documents));
            for list in documents {
                for token in list {
                    tokens.push(i64::from(*token));
                    document_of.push(document);
                    document += usize::from(by_token && *token == 3);
                }
                document += usize::from(!by_token);
            }
        }
        let mut args = json!({"length": length, "labels": labels, "stride": stride, "reset": reset, "dtype": dtype,
            "position_ids": true, "loss_mask": true, "document_ids": true, "attention_mask": true,
            "read": if pread { "pread" } else { "mmap" }});
        if by_token {
            args["eod"] = 3.into();
        }
        let store = if maps { testing::mapping() } else { testing::ranges() };
        let source = open_from(&store, &paths, args).unwrap();
        let need = length + usize::from(labels);
        let stride = stride.unwrap_or(length as u64) as usize;
        let starts: Vec<usize> = (0..).map(|k| k * stride).take_while(|s| s + need <= tokens.len()).collect();
        prop_assert_eq!(source.rows(), starts.len() as u64);
        let found = rows(&source);
        let mut begins = vec![0];
        for (documents, _) in &files {
            begins.push(begins.last().unwrap() + documents.iter().map(Vec::len).sum::<usize>());
        }
        for (k, start) in starts.iter().enumerate() {
            // Whether the token after the row belongs to another document is known, if there is one.
            let end = (start + length + 1).min(tokens.len());
            let mut of = document_of[*start..end].to_vec();
            if by_token {
                // A row that ends with the token ends its document there, whatever follows.
                of.truncate(length);
                let last = tokens[start + length - 1] == 3;
                of.push(of[length - 1] + usize::from(last));
            }
            let expected = expect(&tokens[*start..*start + need], &of, length, labels, reset);
            prop_assert_eq!(&found[k], &expected, "row {}", k);
            let file = begins.partition_point(|b| b <= start) - 1;
            prop_assert_eq!(source.shard_of(k as u64), paths[file].clone());
            prop_assert_eq!(source.key(k as u64), format!("{}:{}", paths[file], start - begins[file]));
        }
        let mut per_file = vec![0; files.len()];
        starts.iter().for_each(|s| per_file[begins.partition_point(|b| b <= s) - 1] += 1);
        prop_assert_eq!(source.shard_rows(), per_file);
    }

    /// GPT samples through the source, compared with concatenated documents.
    #[test]
    fn samples_are_what_they_say(
        documents in documents(),
        length in 1usize..6,
        samples in 0u64..20,
        seed in 0u32..5,
        labels in any::<bool>(),
    ) {
        prop_assume!(documents.iter().any(|d| !d.is_empty()));
        let dir = tempfile::tempdir().unwrap();
        let prefix = corpus(dir.path(), "x", Dtype::U16, &documents);
        let args = json!({"length": length, "sampling": "megatron", "samples": samples, "seed": seed, "labels": labels,
            "position_ids": true, "loss_mask": true, "document_ids": true, "attention_mask": true});
        let checked = Args::new("tokens", ENTRY.params, args.as_object().unwrap()).unwrap();
        let options = crate::options::build(&checked).unwrap();
        let source = Arc::new(TokenSource::open(&testing::mapping(), &[prefix], options, 1).unwrap());
        let made = Arc::clone(&source);
        let made = made.samples().unwrap();
        let source: Arc<dyn Source> = source;
        let laid: Vec<(usize, i64)> = made
            .documents
            .iter()
            .enumerate()
            .flat_map(|(place, d)| documents[*d as usize].iter().map(move |t| (place, i64::from(*t))))
            .collect();
        let len = if labels { length } else { length + 1 };
        let found = rows(&source);
        prop_assert_eq!(found.len() as u64, made.len());
        for (k, row) in found.iter().enumerate() {
            let start = made.shuffle[k] as usize * length;
            let part = &laid[start..(start + len + 1).min(laid.len())];
            let (of, tokens): (Vec<usize>, Vec<i64>) = part.iter().copied().unzip();
            let tokens = &tokens[..length + 1];
            prop_assert_eq!(row, &expect(tokens, &of, len, labels, true));
        }
    }
}
