use super::{pickle::Pickle, tensors::Found, values::Value};
use crate::tests::{Files, npz as archive, numbers, open, rows};
use serde_json::json;
use std::sync::Arc;

/// Steps of a pickle.
struct Steps(Vec<u8>);

impl Steps {
    fn new() -> Self {
        Steps(vec![0x80, 2])
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn text(self, text: &str) -> Self {
        let len = (text.len() as u32).to_le_bytes();
        self.raw(b"X").raw(&len).raw(text.as_bytes())
    }

    fn int(self, number: i32) -> Self {
        self.raw(b"J").raw(&number.to_le_bytes())
    }

    fn tuple(self, numbers: &[i32]) -> Self {
        numbers.iter().fold(self.raw(b"("), |steps, n| steps.int(*n)).raw(b"t")
    }

    fn storage(self, kind: &str, key: &str, elements: i32) -> Self {
        let steps = self.raw(b"(").text("storage").raw(format!("c{kind}\n").as_bytes());
        steps.text(key).text("cpu").int(elements).raw(b"tQ")
    }

    /// A tensor of u16: `_rebuild_tensor_v3`.
    fn tensor(self, key: &str, elements: i32, offset: i32, shape: &[i32], strides: &[i32]) -> Self {
        self.raw(b"ctorch._utils\n_rebuild_tensor_v3\n(")
            .storage("torch.storage\nUntypedStorage", key, elements * 2)
            .int(offset)
            .tuple(shape)
            .tuple(strides)
            .raw(b"\x89ccollections\nOrderedDict\n)Rctorch\nuint16\ntR")
    }

    fn end(self) -> Vec<u8> {
        self.raw(b".").0
    }
}

/// A file of a pickle and storages of u16: 0, 1, 2 and so on.
fn file(pickle: Vec<u8>, storages: &[u16]) -> Vec<u8> {
    let names: Vec<String> = (0..storages.len()).map(|n| format!("x/data/{n}")).collect();
    let mut members = vec![("x/data.pkl", pickle), ("x/byteorder", b"little".to_vec())];
    for (name, count) in names.iter().zip(storages) {
        members.push((name, (0..*count).flat_map(u16::to_le_bytes).collect()));
    }
    archive(&members)
}

fn refused(pickle: Vec<u8>) -> String {
    Found::read(&pickle).unwrap_err().what
}

#[test]
fn views_of_one_storage() {
    let pickle = Steps::new()
        .raw(b"}(")
        .text("a")
        .tensor("0", 12, 0, &[3, 4], &[4, 1])
        .text("b")
        .raw(b"}")
        .text("t")
        .tensor("0", 12, 0, &[4, 3], &[1, 4])
        .raw(b"s")
        .text("e")
        .tensor("0", 12, 5, &[3, 2], &[0, 1])
        .text("n")
        .int(7)
        .text("last")
        .raw(b"]")
        .tensor("1", 2, 1, &[], &[])
        .raw(b"a")
        .raw(b"u")
        .end();
    let store = Arc::new(Files::new(&[("a.pt", file(pickle, &[12, 2]))]));
    let source = open(&store, "pt", &["a.pt"], json!({})).unwrap();
    let names: Vec<&str> = source.spec().fields.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["a", "b.t", "e", "last.0"]);
    let all = |field: &str| numbers(&rows(&*source, field, &[0])[0]);
    assert_eq!(all("a"), (0..12).collect::<Vec<u16>>());
    assert_eq!(all("b.t"), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    assert_eq!(all("e"), [5, 6, 5, 6, 5, 6]);
    assert_eq!(all("last.0"), [1]);
    assert!(source.describe().contains("no tensors, left out: n"), "{}", source.describe());
    let source = open(&store, "pt", &["a.pt"], json!({"rows": "axis", "fields": ["a", "e"]})).unwrap();
    assert_eq!(rows(&*source, "a", &[2, 0]).iter().map(|row| numbers(row)[0]).collect::<Vec<_>>(), [8, 0]);
    assert_eq!(numbers(&rows(&*source, "e", &[2])[0]), [5, 6]);
    let source = open(&store, "pt", &["a.pt"], json!({"rows": "axis", "fields": ["b.t"]})).unwrap();
    // Rows across each other are turned around together.
    assert_eq!(source.block_rows(), [4]);
    assert_eq!(numbers(&rows(&*source, "b.t", &[3])[0]), [3, 7, 11]);
}

#[test]
fn names_of_python_are_refused_and_never_run() {
    let call = Steps::new().raw(b"cos\nsystem\n").text("true").raw(b"\x85R").end();
    assert!(refused(call).contains("needs `os.system`"));
    let call = Steps::new().text("builtins").text("eval").raw(b"\x93").end();
    assert!(refused(call).contains("needs `builtins.eval`"));
    assert!(refused(Steps::new().raw(b"ctorch\nFooStorage\n").end()).contains("`torch.FooStorage`"));
    assert!(refused(Steps::new().raw(b"}").text("x").raw(b"\x85\x81").end()).contains("step 0x81"));
    let state = Steps::new().raw(b"]}b").end();
    assert!(refused(state).contains("an object with a state"));
}

#[test]
fn what_lies_outside_is_refused() {
    let tensor = |elements, offset, shape: &[i32], strides: &[i32]| {
        Found::read(&Steps::new().tensor("0", elements, offset, shape, strides).end())
            .map(|found| found.tensors.len())
    };
    assert_eq!(tensor(12, 0, &[3, 4], &[4, 1]), Ok(1));
    assert_eq!(tensor(12, 11, &[1, 1], &[99, 99]), Ok(1));
    assert_eq!(tensor(0, 5, &[0, 4], &[4, 1]), Ok(1));
    for (elements, offset, shape, strides) in [
        (12, 1, &[3, 4][..], &[4, 1][..]),
        (11, 0, &[3, 4], &[4, 1]),
        (12, 0, &[3, 4], &[4]),
        (12, -1, &[3], &[1]),
        (12, 0, &[-3], &[1]),
        (12, 0, &[3], &[-1]),
        (12, 0, &[i32::MAX; 4], &[0; 4]),
        (12, 0, &[2, 2], &[i32::MAX, i32::MAX]),
    ] {
        assert!(tensor(elements, offset, shape, strides).is_err(), "{shape:?} {strides:?}");
    }
    // Elements of another size than those of the storage, which is not known.
    let other = Steps::new().raw(b"ctorch._utils\n_rebuild_tensor_v3\n(").storage(
        "torch\nComplexFloatStorage",
        "0",
        4,
    );
    let other = other.int(0).tuple(&[1 << 30]).tuple(&[1 << 30]).raw(b"\x89Nctorch\nuint16\ntR").end();
    assert!(refused(other).contains("a tensor of shape"));
    // The member is shorter than the pickle says, or is not there.
    for (storages, what) in [(&[11][..], "has 22 bytes"), (&[], "is not there")] {
        let pickle = Steps::new().tensor("0", 12, 0, &[12], &[1]).end();
        let store = Arc::new(Files::new(&[("a.pt", file(pickle, storages))]));
        let error = open(&store, "pt", &["a.pt"], json!({})).unwrap_err().to_string();
        assert!(error.contains("`data` needs 24 bytes") && error.contains(what), "{error}");
    }
}

#[test]
fn pickles_that_ask_for_much_end() {
    // A pair of pairs of pairs, each of one thing twice: 2 to the power of 50.
    let mut steps = Steps::new().raw(b")q\0");
    for place in 0..50u8 {
        steps = steps.raw(&[b'h', place, 0x86, b'q', place + 1]);
    }
    assert!(refused(steps.end()).contains("too many values"));
    let nested = |depth: usize| Steps::new().raw(&b"]".repeat(depth)).raw(&b"a".repeat(depth - 1)).end();
    assert!(Found::read(&nested(20)).is_ok());
    assert!(refused(nested(2000)).contains("64 dicts and lists deep"));
    // A list that holds itself.
    assert!(refused(Steps::new().raw(b"]q\0h\0a").end()).contains("deep"));
    // Twice in itself: two to the power of 64 ways.
    assert!(refused(Steps::new().raw(b"]q\0(h\0h\0e").end()).contains("deep"));
    // Copies of one long tuple, through torch.Size.
    let mut steps = Steps::new().raw(b"(").raw(&b"K\0".repeat(100_000)).raw(b"tq\0");
    for _ in 0..2000 {
        steps = steps.raw(b"ctorch\nSize\nh\0\x85R");
    }
    assert!(refused(steps.end()).contains("too many values"));
    let text = Steps::new().raw(b"X\xff\xff\xff\xff").text("x").end();
    assert!(refused(text).contains("ends in the middle"));
}

#[test]
fn values_of_every_step() {
    let read = |steps: Steps| {
        let pickle = Pickle::read(&steps.end()).unwrap();
        pickle.value(pickle.root).clone()
    };
    assert_eq!(read(Steps::new().raw(b"J\xff\xff\xff\xff")), Value::Int(-1));
    assert_eq!(read(Steps::new().raw(b"\x8a\x00")), Value::Int(0));
    assert_eq!(read(Steps::new().raw(b"\x8a\x02\x00\x80")), Value::Int(-32768));
    assert_eq!(read(Steps::new().raw(b"\x8a\x09123456789")), Value::Other);
    assert_eq!(read(Steps::new().raw(b"\x8c\x01a")), Value::Text("a".to_owned()));
    assert_eq!(read(Steps::new().raw(b"M\x01\x02")), Value::Int(513));
    assert_eq!(read(Steps::new().raw(b"NK\x01\x86")), Value::Tuple(vec![0, 1]));
    for steps in [
        &b"\x80\x09"[..],
        b"a",
        b"]a",
        b"e",
        b"u",
        b"}(Nu",
        b"h\x05",
        b"q\0",
        b"R",
        b"K\x01Q",
        b"\xff",
        b"(a",
    ] {
        assert!(Pickle::read(&Steps::new().raw(steps).end()).is_err(), "{steps:?}");
    }
}

#[test]
fn every_cut_and_change_is_an_error_or_harmless() {
    let pickle = Steps::new().tensor("0", 12, 0, &[3, 4], &[4, 1]).end();
    let whole = file(pickle, &[12]);
    let read = |bytes: Vec<u8>| {
        let store = Arc::new(Files::new(&[("a.pt", bytes)]));
        let source = open(&store, "pt", &["a.pt"], json!({}))?;
        source.fetch(&[0], &["data".into()]).map(|_| ())
    };
    read(whole.clone()).unwrap();
    for len in 0..whole.len() {
        assert!(read(whole[..len].to_vec()).is_err(), "{len}");
    }
    for at in 0..whole.len() {
        for bit in [1, 0x80] {
            let mut changed = whole.clone();
            changed[at] ^= bit;
            let _ = read(changed);
        }
    }
    // A byte of the elements is found by the checksum.
    let at = whole.windows(4).position(|bytes| bytes == [1, 0, 2, 0]).unwrap();
    let mut changed = whole.clone();
    changed[at] ^= 4;
    assert!(read(changed).unwrap_err().to_string().contains("checksum"));
    let old = [super::LEGACY, b"rest"].concat();
    assert!(read(old).unwrap_err().to_string().contains("torch before 1.6"));
}
