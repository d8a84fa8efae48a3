use super::*;
use std::time::{Duration, Instant};

fn path(opening: &Opening) -> &str {
    match opening {
        Opening::File(path) | Opening::Pipe(path) => path,
    }
}

/// Whether a process exists and runs. A zombie does not run.
fn running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_output_of_a_command_is_a_part() {
    let dir = tempfile::tempdir().unwrap();
    let tar = file(dir.path(), "x.tar.gz", &pack(Packing::Gzip, &numbered(0..100, 100)));
    for command in ["cat", "gzip -dc"] {
        let opening = Opening::parse(&format!("pipe:{command} {}", path(&tar)));
        let stream = TarStream::open(vec![opening]).unwrap();
        assert_eq!(stream.describe(), "tar stream of 1 command, read from front to back");
        for _ in 0..2 {
            let mut flow = stream.start(&[0]).unwrap();
            let first = flow.next(&names(&["cls"])).unwrap().unwrap();
            assert_eq!(*first.shard, format!("pipe:{command} {}", path(&tar)));
            let (rest, end) = keys(&mut *flow);
            end.unwrap();
            assert_eq!(rest, key_of(1..100));
        }
    }
}

#[test]
fn a_command_that_fails_is_an_error_with_its_last_words() {
    let dir = tempfile::tempdir().unwrap();
    let tar = file(dir.path(), "x.tar", &numbered(0..100, 100));
    let stream =
        TarStream::open(vec![Opening::Pipe(format!("cat {}; echo it broke >&2; exit 3", path(&tar)))])
            .unwrap();
    let mut flow = stream.start(&[0]).unwrap();
    let (found, end) = keys(&mut *flow);
    assert!(key_of(0..100).starts_with(&found));
    let error = end.unwrap_err().to_string();
    assert!(error.starts_with("cannot read `pipe:cat "), "{error}");
    assert!(error.ends_with("the command failed (exit status: 3); it said: it broke"), "{error}");
    assert_eq!(flow.next(&[]).unwrap_err().to_string(), error, "an error is no end");
    // A short stream is read to its end when it is opened.
    for command in ["exit 4", "cat /nowhere/at/all", "nothing-of-that-name"] {
        let error = TarStream::open(vec![Opening::Pipe(command.to_owned())]).unwrap_err().to_string();
        assert!(error.contains("the command failed"), "{error}");
    }
}

#[test]
fn the_failure_of_a_command_explains_data_that_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let tar = file(dir.path(), "x.tar.gz", &pack(Packing::Gzip, &numbered(0..3, 1000)));
    let command = format!("head -c 200 {}; echo connection lost >&2; exit 9", path(&tar));
    let error = TarStream::open(vec![Opening::Pipe(command)]).unwrap_err().to_string();
    assert!(error.contains("connection lost"), "{error}");
    let command = format!("head -c 200 {}", path(&tar));
    let error = TarStream::open(vec![Opening::Pipe(command)]).unwrap_err().to_string();
    assert!(error.contains("the gzip data is cut off here"), "{error}");
}

#[test]
fn a_talkative_command_does_not_stand_still() {
    let dir = tempfile::tempdir().unwrap();
    let tar = file(dir.path(), "x.tar", &numbered(0..3, 10));
    let talk = "head -c 500000 /dev/zero | tr '\\0' x >&2";
    let stream = TarStream::open(vec![Opening::Pipe(format!("{talk}; cat {}; {talk}", path(&tar)))]).unwrap();
    let (found, end) = keys(&mut *stream.start(&[0]).unwrap());
    end.unwrap();
    assert_eq!(found, key_of(0..3));
}

#[test]
fn a_flow_that_is_dropped_leaves_no_process() {
    let dir = tempfile::tempdir().unwrap();
    let tar = file(dir.path(), "x.tar", &numbered(0..100, 1000));
    let pids = dir.path().join("pids");
    // The shell waits for a child that holds the pipe open, so the end never comes.
    let command = format!(
        "sleep 1000 & echo $$ > {pids}.new; echo $! >> {pids}.new; mv {pids}.new {pids}; cat {tar}; wait",
        pids = pids.display(),
        tar = path(&tar)
    );
    let stream = TarStream::open(vec![Opening::Pipe(command)]).unwrap();
    let gone = || {
        let pids = std::fs::read_to_string(&pids).unwrap();
        let pids: Vec<&str> = pids.lines().collect();
        assert_eq!(pids.len(), 2);
        // The shell is our child and must be reaped. The other one is reaped by whatever process inherits it.
        !Path::new(&format!("/proc/{}", pids[0])).exists() && !running(pids[1])
    };
    wait_for("after looking", gone);
    for rows in [1, 50, 99] {
        let mut flow = stream.start(&[0]).unwrap();
        for _ in 0..rows {
            assert!(flow.next(&[]).unwrap().is_some());
        }
        assert!(!gone());
        drop(flow);
        wait_for("after dropping", gone);
    }
    // A flow from which nothing was read has started nothing.
    drop(stream.start(&[0]).unwrap());
}
