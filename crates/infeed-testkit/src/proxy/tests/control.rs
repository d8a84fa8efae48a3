//! The proxy as other processes use it.

use super::{
    super::{Faults, Options, Proxy, Tail},
    start,
};
use serde_json::{Value as Json, json};

fn parse(body: &[u8]) -> Json {
    serde_json::from_slice(body).unwrap()
}

#[test]
fn counters_are_served_and_reset() {
    let (_server, _proxy, mut client) = start(Faults { keys: true, ..Faults::default() });
    for _ in 0..2 {
        client.range("/object/1000", 0, 99).unwrap();
    }
    client.get("/object/5?x=1").unwrap();
    let stats = parse(&client.get("/__proxy/stats").unwrap().body);
    assert_eq!((&stats["requests"], &stats["bytes"]), (&json!(3), &json!(205)));
    assert_eq!(stats["statuses"], json!({"200": 1, "206": 2}));
    assert_eq!(stats["keys"], json!({"GET /object/1000 bytes=0-99": 2, "GET /object/5?x=1": 1}));
    assert_eq!(client.post("/__proxy/reset", "").unwrap().status, 200);
    let stats = parse(&client.get("/__proxy/stats").unwrap().body);
    assert_eq!((&stats["requests"], &stats["bytes"], &stats["keys"]), (&json!(0), &json!(0), &json!({})));
}

#[test]
fn faults_are_changed_while_it_runs() {
    let (_server, _proxy, mut client) = start(Faults::default());
    assert_eq!(client.get("/object/5").unwrap().status, 200);
    let reply = client.post("/__proxy/faults", r#"{"errors": {"500": 1}, "seed": 3}"#).unwrap();
    assert_eq!((reply.status, &parse(&reply.body)["errors"]), (200, &json!({"500": 1.0})));
    assert_eq!(client.get("/object/5").unwrap().status, 500);
    assert_eq!(parse(&client.get("/__proxy/faults").unwrap().body)["seed"], 3);
    for (wrong, what) in [
        (r#"{"reset": 1}"#, "unknown field `reset`"),
        (r#"{"resets": 2}"#, "resets: 2 is no probability"),
        (r#"{"resets": 0.6, "whole": 0.6}"#, "add up to 1.2"),
        (r#"{"errors": {"200": 0.1}}"#, "200 is no status of an error"),
        (r#"{"bandwidth": 10}"#, "at least 1000"),
        (r#"{"latency_ms": -1}"#, "latency_ms"),
        (r#"{"tail": {"rate": -1, "ms": 1}}"#, "tail"),
        ("[", "EOF"),
    ] {
        let reply = client.post("/__proxy/faults", wrong).unwrap();
        let said = parse(&reply.body)["error"].as_str().unwrap().to_owned();
        assert!(reply.status == 400 && said.contains(what), "{wrong}: {said}");
    }
    assert_eq!(client.get("/object/5").unwrap().status, 500, "what is wrong changes nothing");
    assert_eq!(client.get("/__proxy/other").unwrap().status, 404);
    assert_eq!(client.post("/__proxy/faults", "{}").unwrap().status, 200);
    assert_eq!(client.get("/object/5").unwrap().status, 200);
}

#[test]
fn delays_are_counted() {
    let tail = Tail { rate: 0.5, ms: 1.0 };
    let (_server, proxy, mut client) =
        start(Faults { latency_ms: 1.0, tail, limit: Some(0), ..Faults::default() });
    for _ in 0..100 {
        client.get("/object/1").unwrap();
    }
    let slow = proxy.stats().faults["tail"];
    assert!((20..80).contains(&slow), "{slow}");
}

#[test]
fn limits_of_bandwidth_hold() {
    for faults in [
        Faults { bandwidth: Some(1e6), ..Faults::default() },
        Faults { connection_bandwidth: Some(1e6), ..Faults::default() },
    ] {
        let (_server, _proxy, mut client) = start(faults);
        let before = std::time::Instant::now();
        client.get("/object/100000").unwrap();
        client.get("/object/100000").unwrap();
        // No faster than the link; how much slower depends on the machine.
        assert!(before.elapsed().as_secs_f64() > 0.15);
    }
}

#[test]
fn both_sides_are_on_this_machine() {
    let refused = |options| Proxy::start(options).unwrap_err().to_string();
    let outside = Options { listen: "0.0.0.0:0".parse().unwrap(), ..Options::new("127.0.0.1:1") };
    assert!(refused(outside).contains("not a loopback address"));
    assert!(refused(Options::new("192.0.2.1:80")).contains("not on this machine"));
    assert!(refused(Options::new("127.0.0.1")).contains("HOST:PORT"));
    let faults = Faults { resets: 1.5, ..Faults::default() };
    assert!(refused(Options::new("127.0.0.1:1").faults(faults)).contains("probability"));
}
