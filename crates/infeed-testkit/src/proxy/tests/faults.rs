//! Every fault, as a client sees it.

use super::{
    super::{Address, Faults, Stalls},
    peers::bytes,
    start,
};
use std::io::ErrorKind;

const SIZE: usize = 400_000;

/// A fault that was counted once, and nothing else.
fn once(name: &str) -> std::collections::BTreeMap<String, u64> {
    [(name.to_owned(), 1)].into()
}

#[test]
fn early_resets_come_before_the_answer() {
    let (_server, proxy, mut client) = start(Faults { early_resets: 1.0, ..Faults::default() });
    assert_eq!(client.get("/object/10").unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(proxy.stats().faults, once("early_resets"));
    assert!(proxy.stats().statuses.is_empty());
}

#[test]
fn resets_and_truncation_come_within_the_body() {
    for kind in ["object", "chunked"] {
        for (faults, name, broken) in [
            (Faults { resets: 1.0, ..Faults::default() }, "resets", ErrorKind::ConnectionReset),
            (Faults { truncated: 1.0, ..Faults::default() }, "truncated", ErrorKind::UnexpectedEof),
        ] {
            let (_server, proxy, mut client) = start(faults);
            let reply = client.get(&format!("/{kind}/{SIZE}")).unwrap();
            assert_eq!((reply.status, reply.broken), (200, Some(broken)), "{kind} {name}");
            assert!(reply.body.len() < SIZE && reply.body == bytes(0..reply.body.len()));
            assert_eq!(proxy.stats().faults, once(name));
            assert!(proxy.stats().bytes < SIZE as u64);
        }
    }
}

#[test]
fn a_truncated_body_may_end_with_its_connection() {
    let (_server, proxy, mut client) = start(Faults { truncated: 1.0, ..Faults::default() });
    let reply = client.get(&format!("/close/{SIZE}")).unwrap();
    assert!(reply.body.len() < SIZE && reply.body == bytes(0..reply.body.len()));
    assert_eq!(proxy.stats().faults, once("truncated"));
    // Too short for the place of the fault: it comes at the end, before the chunk that would complete the body.
    let reply = client.get("/chunked/1").unwrap();
    assert_eq!(reply.broken, Some(ErrorKind::UnexpectedEof));
}

#[test]
fn stalled_bodies_go_on() {
    let (_server, proxy, mut client) =
        start(Faults { stalls: Stalls { rate: 1.0, seconds: 0.05 }, ..Faults::default() });
    let before = std::time::Instant::now();
    assert!(client.get(&format!("/object/{SIZE}")).unwrap().body == bytes(0..SIZE));
    assert!(client.get(&format!("/chunked/{SIZE}")).unwrap().body == bytes(0..SIZE));
    assert!(before.elapsed().as_secs_f64() >= 0.1);
    assert_eq!(proxy.stats().faults["stalls"], 2);
}

#[test]
fn errors_are_answered_by_the_proxy() {
    let (_server, proxy, mut client) = start(Faults { errors: [(503, 1.0)].into(), ..Faults::default() });
    let reply = client.get("/object/10?a=<b>").unwrap();
    let text = String::from_utf8(reply.body).unwrap();
    assert_eq!((reply.status, reply.fields["content-type"].as_str()), (503, "application/xml"));
    assert!(
        text.contains("<Code>SlowDown</Code>") && text.contains("<Resource>/object/10</Resource>"),
        "{text}"
    );
    // The connection stays, also after a request whose body nobody wanted.
    let head = "PUT /new HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(client.send(head, b"abc").unwrap().status, 503);
    assert_eq!(client.send("HEAD /object/10 HTTP/1.1\r\n\r\n", b"").unwrap().status, 503);
    proxy.set(Faults { errors: [(429, 0.5), (500, 0.5)].into(), ..Faults::default() }).unwrap();
    for _ in 0..20 {
        assert!([429, 500].contains(&client.get("/object/10").unwrap().status));
    }
    let stats = proxy.stats();
    assert_eq!((stats.connections, stats.bytes), (1, 0), "{stats:?}");
    assert_eq!(stats.faults["errors_429"] + stats.faults["errors_500"], 20);
}

#[test]
fn wrong_bytes_stand_under_the_right_head() {
    let (_server, proxy, mut client) = start(Faults { wrong_bytes: 1.0, ..Faults::default() });
    for (first, last) in [(0, 99), (1, 100), (50, 149), (900, 999)] {
        let reply = client.range("/object/1000", first, last).unwrap();
        assert_eq!((reply.status, reply.broken), (206, None));
        assert_eq!(reply.fields["content-range"], format!("bytes {first}-{last}/1000"));
        assert_eq!(reply.body.len(), 100);
        assert_ne!(reply.body, bytes(first..last + 1));
        let elsewhere = (0..901).any(|at| reply.body == bytes(at..at + 100));
        assert!(elsewhere, "they are bytes of the object");
    }
    assert_eq!(proxy.stats().faults["wrong_bytes"], 4);
    // The whole object has no other range as long as it, and without a range there is none to get wrong.
    assert_eq!(client.range("/object/1000", 0, 999).unwrap().body, bytes(0..1000));
    assert_eq!(client.get("/object/1000").unwrap().body, bytes(0..1000));
    assert_eq!(proxy.stats().missed, 2);
}

#[test]
fn wrong_heads_stand_over_the_right_bytes() {
    let (_server, proxy, mut client) = start(Faults { wrong_heads: 1.0, ..Faults::default() });
    let reply = client.range("/object/1000", 100, 199).unwrap();
    assert_eq!((reply.status, reply.fields["content-range"].as_str()), (206, "bytes 200-299/1000"));
    assert_eq!(reply.body, bytes(100..200));
    assert_eq!(client.get("/object/1000").unwrap().status, 200);
    assert_eq!((proxy.stats().faults, proxy.stats().missed), (once("wrong_heads"), 1));
}

#[test]
fn whole_objects_come_instead_of_ranges() {
    let (_server, proxy, mut client) = start(Faults { whole: 1.0, ..Faults::default() });
    let reply = client.range("/object/1000", 100, 199).unwrap();
    assert_eq!((reply.status, reply.body), (200, bytes(0..1000)));
    assert_eq!(proxy.stats().faults, once("whole"));
}

#[test]
fn one_byte_is_corrupted() {
    let (_server, proxy, mut client) = start(Faults { corrupted: 1.0, ..Faults::default() });
    for kind in ["object", "chunked", "close"] {
        for size in [1, 5000, SIZE] {
            let reply = client.get(&format!("/{kind}/{size}")).unwrap();
            let differ = reply.body.iter().zip(bytes(0..size)).filter(|(a, b)| **a != *b).count();
            assert_eq!((reply.body.len(), reply.broken), (size, None));
            // The place in a body of unknown length may lie behind its end.
            assert!(differ == 1 || size == 1 && kind != "object", "{kind} {size}: {differ}");
        }
    }
    let stats = proxy.stats();
    assert_eq!(stats.faults["corrupted"] + stats.missed, 9);
    // Errors of the server have no body worth it.
    assert_eq!(client.get("/missing").unwrap().status, 404);
}

/// The statuses of 60 requests for objects of different names.
fn statuses(faults: &Faults, order: impl Iterator<Item = usize>) -> Vec<(usize, u16)> {
    let (_server, _proxy, mut client) = start(faults.clone());
    let mut found: Vec<_> = order.map(|i| (i, client.get(&format!("/object/{i}")).unwrap().status)).collect();
    found.sort_unstable();
    found
}

#[test]
fn faults_are_a_function_of_seed_and_address() {
    let mut faults = Faults { seed: 7, errors: [(500, 0.3), (503, 0.2)].into(), ..Faults::default() };
    let first = statuses(&faults, 0..60);
    assert_eq!(first, statuses(&faults, 0..60));
    assert_ne!(first, statuses(&faults, (0..60).rev()), "by number: the order counts");
    assert_ne!(first, statuses(&Faults { seed: 8, ..faults.clone() }, 0..60));
    faults.address = Address::Key;
    let first = statuses(&faults, 0..60);
    assert_eq!(first, statuses(&faults, (0..60).rev()), "by key: it does not");
    // The second request for a key is another one.
    let (_server, _proxy, mut client) = start(faults);
    let again: Vec<u16> = (0..60).map(|_| client.get("/object/1").unwrap().status).collect();
    assert!(again.contains(&200) && again.contains(&500));
}

#[test]
fn faults_can_be_limited() {
    let errors = [(503, 1.0)].into();
    let only = Some("GET /object/2".to_owned());
    let (_server, proxy, mut client) =
        start(Faults { errors, skip: 2, limit: Some(2), only, ..Faults::default() });
    let mut ask = |path: &str| client.get(path).unwrap().status;
    assert_eq!([ask("/object/2"), ask("/object/2")], [200, 200], "the first two are spared");
    assert_eq!([ask("/object/1"), ask("/object/2"), ask("/object/1")], [200, 503, 200]);
    assert_eq!([ask("/object/2"), ask("/object/2")], [503, 200], "no more than two");
    proxy.reset();
    assert_eq!([ask("/object/2"), ask("/object/2"), ask("/object/2")], [200, 200, 503]);
    assert_eq!(proxy.stats().requests, 3);
}
