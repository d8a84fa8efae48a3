//! The end of a proxy: every sleep and every blocked read or write ends at once.

use std::{
    collections::HashMap,
    net::{Shutdown, TcpStream},
    ops::Deref,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Who is at work, and whether all should end.
#[derive(Debug, Default)]
pub(super) struct Life {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ended: bool,
    /// Connections of clients that have a thread.
    threads: usize,
    sockets: HashMap<u64, Arc<TcpStream>>,
    next: u64,
}

impl Life {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the proxy is ending.
    pub(super) fn ended(&self) -> bool {
        self.lock().ended
    }

    /// Sleeps, but not beyond the end.
    pub(super) fn sleep(&self, time: Duration) {
        // Short sleeps are most, and cheaper without a lock.
        if time <= Duration::from_millis(100) {
            return std::thread::sleep(time);
        }
        let until = Instant::now() + time;
        let mut state = self.lock();
        while !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes a socket into account.
    pub(super) fn socket(self: &Arc<Self>, socket: TcpStream) -> Socket {
        // Heads and small bodies must not wait for more to send.
        let _ = socket.set_nodelay(true);
        let socket = Arc::new(socket);
        let mut state = self.lock();
        if state.ended {
            let _ = socket.shutdown(Shutdown::Both);
        }
        let id = state.next;
        state.next += 1;
        state.sockets.insert(id, Arc::clone(&socket));
        Socket { socket, id, life: Arc::clone(self) }
    }

    /// Takes a thread into account until the result is dropped.
    pub(super) fn thread(self: &Arc<Self>) -> Thread {
        self.lock().threads += 1;
        Thread(Arc::clone(self))
    }

    /// Ends everything. Returns when no thread is left, or after 5 seconds.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        for socket in state.sockets.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
        let until = Instant::now() + Duration::from_secs(5);
        while state.threads > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A socket that ends with the proxy.
#[derive(Debug)]
pub(super) struct Socket {
    socket: Arc<TcpStream>,
    id: u64,
    life: Arc<Life>,
}

impl Deref for Socket {
    type Target = TcpStream;

    fn deref(&self) -> &TcpStream {
        &self.socket
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.life.lock().sockets.remove(&self.id);
    }
}

/// A thread that [`Life::end`] waits for.
#[derive(Debug)]
pub(super) struct Thread(Arc<Life>);

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.lock().threads -= 1;
        self.0.changed.notify_all();
    }
}
