use super::*;

#[test]
fn parts_come_in_the_order_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let parts = vec![
        file(dir.path(), "0.tar", &numbered(0..10, 20)),
        file(dir.path(), "1.tar", &[]),
        file(dir.path(), "2.tar.gz", &pack(Packing::Gzip, &numbered(10..30, 20))),
        file(dir.path(), "3.tar.zst", &pack(Packing::Zstd, &[0; 1024])),
        Opening::Pipe(format!("cat {}", dir.path().join("0.tar").display())),
    ];
    let stream = TarStream::open(parts).unwrap();
    assert_eq!(stream.parts(), 5);
    assert_eq!(stream.describe(), "tar stream of 4 files and 1 command, read from front to back");
    let read = |parts: &[u64]| {
        let (keys, end) = keys(&mut *stream.start(parts).unwrap());
        end.unwrap();
        keys
    };
    assert_eq!(read(&[0, 1, 2, 3]), key_of(0..30));
    assert_eq!(read(&[2, 3, 1, 0]), [key_of(10..30), key_of(0..10)].concat());
    assert_eq!(read(&[4, 4, 2]), [key_of(0..10), key_of(0..10), key_of(10..30)].concat());
    assert_eq!(read(&[1, 3]), [""; 0]);
    assert_eq!(read(&[]), [""; 0]);
    assert!(stream.start(&[5]).unwrap_err().to_string().contains("there is no part 5"));
}

#[test]
fn skipping_leads_to_the_same_row() {
    let dir = tempfile::tempdir().unwrap();
    let parts = (0..4u32).map(|part| {
        let tar = numbered(part * 25..part * 25 + 25, 3000);
        file(dir.path(), &format!("{part}.tar.gz"), &pack(Packing::Gzip, &tar))
    });
    let stream = TarStream::open(parts.collect()).unwrap();
    let all = names(&["cls", "bin"]);
    let mut whole = stream.start(&[0, 1, 2, 3]).unwrap();
    for row in 0..100u64 {
        let wanted = whole.next(&all).unwrap().unwrap();
        if row % 9 != 0 && row != 25 {
            continue;
        }
        let mut flow = stream.start(&[0, 1, 2, 3]).unwrap();
        assert_eq!(flow.skip(row / 2).unwrap(), row / 2);
        // The second time the thread is running already.
        let between = u64::from(row > row / 2 && flow.next(&[]).unwrap().is_some());
        assert_eq!(flow.skip(row - row / 2 - between).unwrap(), row - row / 2 - between);
        let found = flow.next(&all).unwrap().unwrap();
        assert_eq!((&found.key, &found.shard), (&wanted.key, &wanted.shard));
        for (a, b) in
            found.record.as_ref().unwrap().fields.iter().zip(&wanted.record.as_ref().unwrap().fields)
        {
            assert!(matches!((a, b), (Value::Bytes(a), Value::Bytes(b)) if a == b));
        }
    }
    assert_eq!(stream.start(&[1, 2]).unwrap().skip(1000).unwrap(), 50);
}

#[test]
fn fields_are_those_of_the_first_rows() {
    let dir = tempfile::tempdir().unwrap();
    let empty = file(dir.path(), "0.tar", &[0; 10240]);
    let late = [("a.x", &b"1"[..]), ("b.x", b"2"), ("b.y", b"3"), ("c.Z", b"4")];
    let first = file(dir.path(), "1.tar", &tar_of(late));
    let other = file(dir.path(), "2.tar", &tar_of([("d.new", &b"5"[..])]));
    let stream = TarStream::open(vec![empty, first, other]).unwrap();
    let fields: Vec<&str> = stream.spec().fields.iter().map(|(name, _)| &**name).collect();
    assert_eq!(fields, ["x", "y", "z"]);
    let mut flow = stream.start(&[0, 1, 2]).unwrap();
    let mut table = Vec::new();
    while let Some(row) = flow.next(&names(&["new", "x", "y", "x"])).unwrap() {
        table.push(row.record.unwrap().fields.iter().map(text).collect::<Vec<_>>().join(" "));
    }
    assert_eq!(
        table,
        [
            "nothing 1 nothing 1",
            "nothing 2 3 2",
            "nothing nothing nothing nothing",
            "5 nothing nothing nothing"
        ]
    );
}

#[test]
fn what_cannot_be_opened_is_said_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let say = |openings: Vec<Opening>| TarStream::open(openings).unwrap_err();
    assert!(say(vec![]).to_string().contains("at least one"));
    let good = file(dir.path(), "x.tar", &numbered(0..3, 10));
    let lost = Opening::File(dir.path().join("lost.tar").to_str().unwrap().to_owned());
    assert!(matches!(say(vec![good, lost]), infeed_core::Error::NotFound { .. }));
    let folder = Opening::File(dir.path().to_str().unwrap().to_owned());
    assert!(say(vec![folder]).to_string().contains("it is a folder"));
    let input = || Opening::parse("-");
    assert!(say(vec![input(), input()]).to_string().contains("only once"));
    let bad = file(dir.path(), "bad.tar", b"this is no tar");
    assert!(say(vec![bad]).to_string().contains("bad.tar"));
}

#[test]
fn a_fault_in_a_later_part_is_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let good = file(dir.path(), "0.tar", &numbered(0..3, 10));
    let packed = pack(Packing::Zstd, &numbered(3..6, 1000));
    let bad = file(dir.path(), "1.tar.zst", &packed[..packed.len() / 2]);
    let stream = TarStream::open(vec![good, bad]).unwrap();
    let mut flow = stream.start(&[0, 1]).unwrap();
    let (found, end) = keys(&mut *flow);
    assert!(found.len() >= 3 && key_of(0..6).starts_with(&found));
    let error = end.unwrap_err().to_string();
    assert!(error.contains("1.tar.zst") && error.contains("cut off"), "{error}");
    assert_eq!(flow.next(&[]).unwrap_err().to_string(), error);
    let mut flow = stream.start(&[0, 1]).unwrap();
    assert_eq!(flow.skip(100).unwrap_err().to_string(), error);
    assert_eq!(flow.next(&[]).unwrap_err().to_string(), error);
}

/// Standard input behaves in the same way, but a test process has only one.
#[test]
fn a_named_pipe_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let writer = {
        let path = path.clone();
        std::thread::spawn(move || std::fs::write(path, pack(Packing::Xz, &numbered(0..200, 500))))
    };
    let stream = TarStream::open(vec![Opening::File(path.to_str().unwrap().to_owned())]).unwrap();
    assert_eq!(stream.spec().fields.len(), 2);
    assert!(stream.start(&[0, 7]).is_err());
    // Rows that were peeked at are not lost.
    let mut flow = stream.start(&[0]).unwrap();
    let first = flow.next(&names(&["cls"])).unwrap().unwrap();
    assert_eq!(text(&first.record.unwrap().fields[0]), "0");
    let (found, end) = keys(&mut *flow);
    end.unwrap();
    assert_eq!(found, key_of(1..200));
    writer.join().unwrap().unwrap();
    let error = stream.start(&[0]).unwrap_err().to_string();
    assert!(error.contains("can be read only once"), "{error}");
}

#[test]
fn a_silent_named_pipe_can_be_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Open for reading and writing: the pipe has a writer that stays silent and never closes.
    let mut writer = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let tar = numbered(0..70, 10);
    let filler = std::thread::spawn(move || {
        writer.write_all(&tar[..tar.len() - 1024]).unwrap();
        writer
    });
    let stream = TarStream::open(vec![Opening::File(path.to_str().unwrap().to_owned())]).unwrap();
    let mut flow = stream.start(&[0]).unwrap();
    for _ in 0..69 {
        assert!(flow.next(&[]).unwrap().is_some());
    }
    drop(flow);
    drop(filler.join().unwrap());
}
