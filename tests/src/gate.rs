//! A connection to a server that a test can close or silence, as a lost database does.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::Service;
use crate::stores::TestDatabase;

/// A proxy that forwards connections to a server while it is open.
pub struct Gate {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_shut: AtomicBool,
    is_silent: AtomicBool,
    is_held: AtomicBool,
    /// How often the open connections were silenced.
    silences: AtomicU64,
    passing: Mutex<Vec<TcpStream>>,
}

impl Gate {
    /// An open gate to the server at `host:port`.
    pub fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A shut gate closes each new connection immediately.
                if !shared.is_shut.load(Ordering::SeqCst) {
                    let _ = Arc::clone(&shared).pass(client, &server);
                }
            }
        });
        Self { address, state }
    }

    /// An open gate to a database on PostgreSQL, and the URL through it.
    pub fn before(database: &TestDatabase) -> (Self, String) {
        let gate = Self::to(database.server());
        let url = database.url_through(gate.address);
        (gate, url)
    }

    /// A service that reaches a new database on PostgreSQL through an open gate.
    pub fn before_service() -> (Self, Service) {
        let database = TestDatabase::postgres();
        let (gate, url) = Self::before(&database);
        let service = Service::start_at(database, &url, &[]);
        (gate, service)
    }

    /// The address to connect to instead of the server's.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks every connection and refuses new ones.
    pub fn shut(&self) {
        self.state.is_shut.store(true, Ordering::SeqCst);
        for stream in self.state.passing.lock().expect("no thread panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Stops forwarding on the open connections without closing them. New connections work.
    pub fn silence_open_connections(&self) {
        self.state.silences.fetch_add(1, Ordering::SeqCst);
    }

    /// Stops forwarding on open and new connections until the gate is opened again.
    pub fn silence(&self) {
        self.state.is_silent.store(true, Ordering::SeqCst);
        self.silence_open_connections();
    }

    /// Keeps all bytes back until the gate is opened again, as a partition that heals.
    pub fn hold(&self) {
        self.state.is_held.store(true, Ordering::SeqCst);
    }

    /// Forwards new connections again, and the bytes that were kept back.
    pub fn open(&self) {
        self.state.is_held.store(false, Ordering::SeqCst);
        self.state.is_shut.store(false, Ordering::SeqCst);
        self.state.is_silent.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn pass(self: Arc<Self>, client: TcpStream, server: &str) -> io::Result<()> {
        if self.is_silent.load(Ordering::SeqCst) {
            self.passing.lock().expect("no thread panics").push(client);
            return Ok(());
        }
        let server = TcpStream::connect(server)?;
        let silences = self.silences.load(Ordering::SeqCst);
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (from, to, state) = (from.try_clone()?, to.try_clone()?, Arc::clone(&self));
            thread::spawn(move || drop(state.copy(from, to, silences)));
        }
        self.passing.lock().expect("no thread panics").extend([client, server]);
        Ok(())
    }

    /// Copies until the end, or until the connection is silenced.
    fn copy(&self, mut from: TcpStream, mut to: TcpStream, silences: u64) -> io::Result<()> {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut bytes).unwrap_or_default();
            while self.is_held.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(5));
            }
            if self.silences.load(Ordering::SeqCst) != silences {
                return Ok(());
            }
            if read == 0 {
                return to.shutdown(Shutdown::Both);
            }
            to.write_all(&bytes[..read])?;
        }
    }
}
