//! The hidden command `proxy`.

use super::infeed;
use serde_json::Value as Json;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// A running proxy before a port where nobody listens, and its own port.
fn start(args: &[&str]) -> (Child, BufReader<std::process::ChildStdout>, u16) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_infeed"))
        .args(["proxy", "--to", "127.0.0.1:1", "--until-eof"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let port = line.trim().parse().unwrap();
    (child, out, port)
}

/// Status and body.
fn get(port: u16, path: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn it_runs_until_stdin_ends() {
    let (mut child, mut out, port) =
        start(&["--errors", "503:0.5", "--errors", "429:0.5", "--bandwidth", "100MB"]);
    assert!([429, 503].contains(&get(port, "/a").0));
    let (status, faults) = get(port, "/__proxy/faults");
    let faults: Json = serde_json::from_str(&faults).unwrap();
    assert_eq!((status, faults["bandwidth"].as_f64()), (200, Some(1e8)));
    drop(child.stdin.take());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("1 requests, 0 bytes\n", Some(0)));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn faults_are_given_as_json() {
    let (mut child, _out, port) = start(&["--faults", r#"{"errors": {"404": 1}}"#]);
    assert_eq!(get(port, "/a").0, 404);
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn mistakes_are_told_and_the_command_is_hidden() {
    for (args, what) in [
        (&["--to", "127.0.0.1:1", "--faults", "{\"a\": 1}"][..], "unknown field `a`"),
        (&["--to", "192.0.2.1:80"], "not on this machine"),
        (&["--to", "127.0.0.1:1", "--resets", "2"], "resets: 2 is no probability"),
        (&["--to", "127.0.0.1:1", "--tail", "2"], "two numbers"),
        (&[], "--to"),
    ] {
        let output = infeed(&[&["proxy"], args].concat());
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && err.contains(what), "{args:?}: {err}");
    }
    assert!(!super::text(&["--help"]).contains("proxy"));
}
