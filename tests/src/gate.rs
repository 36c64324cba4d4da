//! A way to a server that can be shut, or fall silent: what a lost database looks like from the
//! service.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use url::Url;

use crate::Service;
use crate::stores::TestDatabase;

/// Passes connections on to a server while it is open.
pub struct Gate {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_shut: AtomicBool,
    is_silent: AtomicBool,
    /// How often the connections that were open fell silent.
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
                // A shut gate closes at once what comes.
                if !shared.is_shut.load(Ordering::SeqCst) {
                    let _ = Arc::clone(&shared).pass(client, &server);
                }
            }
        });
        Self { address, state }
    }

    /// A service that reaches a database of its own on PostgreSQL through an open gate.
    #[must_use]
    pub fn before_service() -> (Self, Service) {
        let database = TestDatabase::postgres();
        let mut url = Url::parse(database.url()).expect("a URL");
        let host = url.host_str().expect("a host");
        let gate = Self::to(format!("{host}:{}", url.port().unwrap_or(5432)));
        url.set_ip_host(gate.address().ip()).expect("it takes an address");
        url.set_port(Some(gate.address().port())).expect("it takes a port");
        let service = Service::start_at(database, url.as_str(), &[]);
        (gate, service)
    }

    /// Where to connect instead of to the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks every connection and lets none pass.
    pub fn shut(&self) {
        self.state.is_shut.store(true, Ordering::SeqCst);
        for stream in self.state.passing.lock().expect("no thread panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The connections that are open now pass nothing on any more, and are not closed. New ones
    /// pass.
    pub fn silence_open_connections(&self) {
        self.state.silences.fetch_add(1, Ordering::SeqCst);
    }

    /// The same, and new ones pass nothing on either until the gate is open again.
    pub fn silence(&self) {
        self.state.is_silent.store(true, Ordering::SeqCst);
        self.silence_open_connections();
    }

    /// Lets new connections pass again.
    pub fn open(&self) {
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

    /// Copies until the end, or until the connection falls silent.
    fn copy(&self, mut from: TcpStream, mut to: TcpStream, silences: u64) -> io::Result<()> {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut bytes).unwrap_or_default();
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
