//! Without faults nothing changes.

use super::{
    super::{Faults, Options, Proxy},
    peers::{Client, bytes},
    settled, start,
};
use std::{
    io::Read,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

#[test]
fn bodies_pass_unchanged() {
    let (_server, proxy, mut client) = start(Faults::default());
    // Below, at and above the sizes of buffers and pipes.
    let sizes = [0, 1, 1000, 16 << 10, 64 << 10, (64 << 10) + 1, 300_000, 3 << 20];
    let mut sum = 0;
    for kind in ["object", "chunked", "close"] {
        for size in sizes {
            let reply = client.get(&format!("/{kind}/{size}")).unwrap();
            assert_eq!((reply.status, reply.broken), (200, None), "{kind} {size}");
            assert!(reply.body == bytes(0..size), "{kind} {size}");
            sum += size as u64;
        }
    }
    let stats = settled(&proxy);
    assert_eq!((stats.requests, stats.bytes), (24, sum));
    assert_eq!(stats.statuses, [(200, 24)].into());
    assert!(stats.faults.is_empty());
    // All on one connection, except that each body which ends with its connection needs a new one.
    assert_eq!(stats.connections, 8);
}

#[test]
fn ranges_heads_and_odd_fields_pass() {
    let (_server, proxy, mut client) = start(Faults::default());
    let reply = client.range("/object/1000", 10, 19).unwrap();
    assert_eq!((reply.status, &reply.body), (206, &bytes(10..20)));
    assert_eq!(reply.fields["content-range"], "bytes 10-19/1000");
    // Sent in UTF-8: two bytes that are not ASCII.
    assert_eq!(reply.fields["x-odd"], "caf\u{e9}");
    let reply = client.send("HEAD /object/1000 HTTP/1.1\r\n\r\n", b"").unwrap();
    assert_eq!((reply.status, reply.fields["content-length"].as_str()), (200, "1000"));
    assert_eq!(client.get("/missing").unwrap().status, 404);
    // As a client asks what it takes for a proxy.
    let reply = client.get("http://example.invalid/object/5").unwrap();
    assert_eq!(reply.body, bytes(0..5));
    let stats = proxy.stats();
    assert_eq!((stats.connections, stats.bytes), (1, 15));
    assert_eq!(stats.statuses, [(200, 2), (206, 1), (404, 1)].into());
}

#[test]
fn uploads_pass() {
    let (_server, _proxy, mut client) = start(Faults::default());
    let sent = bytes(0..200_000);
    let head = "PUT /new HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 200000\r\n\r\n";
    assert!(client.send(head, &sent).unwrap().body == sent);
    let head = "PUT /new HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let reply = client.send(head, b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n").unwrap();
    assert_eq!(reply.body, b"abcde");
    // What followed the body was not taken for a request.
    assert_eq!(client.get("/object/3").unwrap().body, bytes(0..3));
}

#[test]
fn connections_that_the_server_closed_are_replaced() {
    let (_server, proxy, mut client) = start(Faults::default());
    for _ in 0..20 {
        assert_eq!(client.get("/once").unwrap().body, b"ok");
    }
    assert_eq!(proxy.stats().statuses, [(200, 20)].into());
}

#[test]
fn clients_that_want_the_connection_closed_get_it_closed() {
    let (_server, _proxy, mut client) = start(Faults::default());
    let reply = client.send("GET /object/3 HTTP/1.1\r\nConnection: close\r\n\r\n", b"").unwrap();
    assert_eq!(reply.fields["connection"], "close");
    let reply = client.send("GET /object/3 HTTP/1.0\r\n\r\n", b"").unwrap();
    assert_eq!((reply.fields["connection"].as_str(), reply.body), ("close", bytes(0..3)));
}

#[test]
fn a_missing_server_is_told() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let proxy = Proxy::start(Options::new(format!("127.0.0.1:{free}"))).unwrap();
    let reply = Client::new(proxy.port()).get("/a").unwrap();
    assert_eq!(reply.status, 502);
    assert!(String::from_utf8_lossy(&reply.body).contains("does not answer"));
}

#[test]
fn what_is_no_http_is_closed() {
    let (_server, proxy, _) = start(Faults::default());
    for text in ["\r\n\r\n", "what?\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/2\r\n\r\n"] {
        let mut socket = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        std::io::Write::write_all(&mut socket, text.as_bytes()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(socket.read(&mut [0; 10]).unwrap(), 0, "{text}");
    }
    assert_eq!(proxy.stats().requests, 0);
}

#[test]
fn many_connections_at_once() {
    // The latency keeps all of them under way until the last has come.
    let (_server, proxy, _) = start(Faults { latency_ms: 300.0, ..Faults::default() });
    let port = proxy.port();
    let clients: Vec<_> = (0..128)
        .map(|i| {
            thread::spawn(move || {
                let first = i * 1000;
                let reply = Client::new(port).range("/object/1000000", first, first + 199_999).unwrap();
                assert!(reply.body == bytes(first..first + 200_000));
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let stats = settled(&proxy);
    assert_eq!((stats.requests, stats.bytes), (128, 128 * 200_000));
    assert!(stats.most_in_flight > 1, "{stats:?}");
}

#[test]
fn dropping_ends_everything() {
    let faults = Faults { tail: super::super::Tail { rate: 0.5, ms: 3.6e6 }, ..Faults::default() };
    let (_server, proxy, _) = start(faults);
    let port = proxy.port();
    // Some sleep in the tail, some wait for a server that says nothing, some have asked nothing yet.
    let clients: Vec<_> = (0..16).map(|_| thread::spawn(move || Client::new(port).get("/silent"))).collect();
    let idle = TcpStream::connect(("127.0.0.1", port)).unwrap();
    while proxy.stats().in_flight < 16 {
        thread::sleep(Duration::from_millis(5));
    }
    let before = Instant::now();
    drop(proxy);
    // Far below the hour that requests would take; threads that do not end are given 5 seconds.
    assert!(before.elapsed() < Duration::from_secs(5));
    for client in clients {
        assert!(client.join().unwrap().is_err());
    }
    assert_eq!((&idle).read(&mut [0]).unwrap_or(0), 0);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
