use super::*;
use proptest::prelude::*;
use std::{sync::Mutex, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// What a server does with one connection: pieces that it sends for each request, and then it closes.
type Script = Vec<Vec<&'static [u8]>>;

/// Starts a server that plays one script for each connection. Returns its address, and what it was asked.
async fn server(scripts: Vec<Script>) -> (Uri, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        for (number, script) in scripts.into_iter().enumerate() {
            let (mut stream, _) = listener.accept().await.unwrap();
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                for answer in script {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        request.push(byte);
                    }
                    seen.lock().unwrap().push(format!("{number}: {}", String::from_utf8(request).unwrap()));
                    for piece in answer {
                        stream.write_all(piece).await.unwrap();
                        stream.flush().await.unwrap();
                        // So that it comes by itself.
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                }
            });
        }
    });
    (format!("http://{address}/bucket/key?part=1").parse().unwrap(), asked)
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn client() -> Direct {
    Direct { connections: Connections::new(4) }
}

async fn body(client: &Direct, uri: &Uri) -> io::Result<Vec<u8>> {
    let Answered::Body(status, _, mut body) = client.get(uri, &HeaderMap::new()).await? else {
        panic!("no body");
    };
    assert_eq!(status, StatusCode::PARTIAL_CONTENT);
    let mut out = [0; 7];
    let mut all = Vec::new();
    loop {
        match body.read(&mut out).await? {
            0 => return Ok(all),
            count => all.extend_from_slice(&out[..count]),
        }
    }
}

const HEAD: &[u8] = b"HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\n\r\n";

#[test]
fn bodies_come_whole_however_they_are_cut_and_connections_are_used_again() {
    run(async {
        let (uri, asked) = server(vec![vec![
            vec![HEAD, b"0123456789"],
            vec![b"HTTP/1.1 206 Part", b"ial Content\r\nContent-Length: 10\r", b"\n\r\n01234", b"56789"],
            vec![b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 206 ok\r\ncontent-length: 10\r\n\r\n0123456789"],
        ]])
        .await;
        let client = client();
        for _ in 0..3 {
            assert_eq!(body(&client, &uri).await.unwrap(), b"0123456789");
        }
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 3, "all over the first connection");
        let host = uri.authority().unwrap();
        let wanted = format!("0: GET /bucket/key?part=1 HTTP/1.1\r\nhost: {host}\r\n");
        assert!(asked.iter().all(|request| request.starts_with(&wanted)), "{asked:?}");
    });
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_replaced() {
    run(async {
        let (uri, asked) = server(vec![
            vec![vec![HEAD, b"0123456789"]],
            vec![vec![b"HTTP/1.1 206 x\r\nconnection: Close\r\ncontent-length: 1\r\n\r\nx"]],
            vec![vec![HEAD, b"9876543210"]],
        ])
        .await;
        let client = client();
        assert_eq!(body(&client, &uri).await.unwrap(), b"0123456789");
        assert_eq!(body(&client, &uri).await.unwrap(), b"x");
        assert_eq!(body(&client, &uri).await.unwrap(), b"9876543210");
        let places: Vec<u8> = asked.lock().unwrap().iter().map(|request| request.as_bytes()[0]).collect();
        assert_eq!(places, b"012", "the second one said that it closes");
    });
}

#[test]
fn what_is_no_plain_body_is_left_to_the_library() {
    let answers: [&[u8]; 5] = [
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 206 x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        b"HTTP/1.1 206 x\r\n\r\nto the end of the connection",
        b"HTTP/1.1 206 x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 206 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    ];
    run(async {
        for answer in answers {
            let (uri, _) = server(vec![vec![vec![answer]]]).await;
            let answered = client().get(&uri, &HeaderMap::new()).await.unwrap();
            assert!(matches!(answered, Answered::NotHere), "{}", String::from_utf8_lossy(answer));
        }
        for uri in ["https://127.0.0.1/x", "http://user:word@127.0.0.1/x", "http://127.0.0.1:1/x"] {
            let answered = client().get(&uri.parse().unwrap(), &HeaderMap::new()).await.unwrap();
            assert!(matches!(answered, Answered::NotHere), "{uri}");
        }
    });
}

#[test]
fn a_host_that_is_not_reached_is_left_to_the_library() {
    run(async {
        // An address that no other test listens on.
        let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
        let uri: Uri = format!("http://{}/x", listener.local_addr().unwrap()).parse().unwrap();
        drop(listener);
        let (client, headers) = (client(), HeaderMap::new());
        assert!(matches!(client.get(&uri, &headers).await.unwrap(), Answered::NotHere));
        // It is there now, and not asked yet.
        let _listener = TcpListener::bind(uri.authority().unwrap().as_str()).await.unwrap();
        let asked = tokio::time::timeout(Duration::from_millis(200), client.get(&uri, &headers));
        assert!(matches!(asked.await.unwrap().unwrap(), Answered::NotHere));
    });
}

#[test]
fn errors_have_the_words_of_the_server() {
    run(async {
        let answer: &[u8] = b"HTTP/1.1 503 Slow\r\nContent-Length: 8\r\n\r\nSlowDown";
        let (uri, asked) = server(vec![vec![vec![answer], vec![HEAD, b"0123456789"]]]).await;
        let client = client();
        let Answered::Message(status, _, message) = client.get(&uri, &HeaderMap::new()).await.unwrap() else {
            panic!("no message");
        };
        assert_eq!((status.as_u16(), &message[..]), (503, &b"SlowDown"[..]));
        assert_eq!(body(&client, &uri).await.unwrap(), b"0123456789");
        assert_eq!(asked.lock().unwrap().len(), 2);
    });
}

#[test]
fn answers_that_end_too_early_or_too_late_are_errors() {
    run(async {
        let cases: [(Vec<&'static [u8]>, &str); 4] = [
            (vec![HEAD, b"01234"], "closed 5 bytes too early"),
            (vec![b"HTTP/1.1 206 x\r\nContent-Length: 2\r\n\r\nabc"], "more came"),
            (vec![b"HTTP/1.1 206"], "before an answer came"),
            (vec![b"SSH-2.0-OpenSSH_9.2\r\n\r\n"], "no HTTP answer"),
        ];
        for (answer, expected) in cases {
            let (uri, _) = server(vec![vec![answer]]).await;
            let error = body(&client(), &uri).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    });
}

#[test]
fn a_head_without_end_is_refused() {
    run(async {
        let line: &'static [u8] = Box::leak(vec![b'x'; 80_000].into_boxed_slice());
        let (uri, _) = server(vec![vec![vec![b"HTTP/1.1 206 x\r\nlong: ", line]]]).await;
        let error = body(&client(), &uri).await.unwrap_err().to_string();
        assert!(error.contains("too long"), "{error}");
    });
}

/// A socket that gathers bytes must not keep those of a slow server to itself: the second half comes only when the first was read.
#[test]
fn bytes_that_come_slowly_are_handed_on() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri: Uri = format!("http://{}/x", listener.local_addr().unwrap()).parse().unwrap();
        let (go, mut wait) = tokio::sync::mpsc::channel::<()>(1);
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            for piece in [HEAD, b"01234", b"56789"] {
                stream.write_all(piece).await.unwrap();
                wait.recv().await.unwrap();
            }
        });
        let Answered::Body(_, _, mut body) = client().get(&uri, &HeaderMap::new()).await.unwrap() else {
            panic!("no body");
        };
        let (mut out, mut all) = ([0; 10], Vec::new());
        for half in [5, 5] {
            go.send(()).await.unwrap();
            let mut got = 0;
            while got < half {
                // Not a measurement: a socket that keeps them would keep them for ever.
                let read = tokio::time::timeout(Duration::from_secs(60), body.read(&mut out));
                let count = read.await.expect("the bytes are handed on").unwrap();
                all.extend_from_slice(&out[..count]);
                got += count;
            }
            assert_eq!(got, half);
        }
        assert_eq!(all, b"0123456789");
    });
}

proptest! {
    #[test]
    fn any_bytes_give_a_head_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(Some((_, len))) = head::parse(&bytes) {
            prop_assert!(len <= bytes.len());
        }
    }

    #[test]
    fn damaged_heads_give_a_head_or_an_error(at in 0..52usize, byte in any::<u8>(), cut in 0..60usize) {
        let mut bytes = HEAD.to_vec();
        bytes[at] = byte;
        bytes.truncate(cut);
        if let Ok(Some((answer, len))) = head::parse(&bytes) {
            prop_assert!(len <= bytes.len() && answer.begun.is_empty());
        }
    }
}
