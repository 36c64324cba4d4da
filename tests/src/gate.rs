//! A way to a server that can be shut: what a lost database looks like from the service.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Passes connections on to a server while it is open.
pub struct Gate {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_shut: AtomicBool,
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
                    let _ = shared.pass(&client, &server);
                }
            }
        });
        Self { address, state }
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

    /// Lets connections pass again.
    pub fn open(&self) {
        self.state.is_shut.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn pass(&self, client: &TcpStream, server: &str) -> io::Result<()> {
        let server = TcpStream::connect(server)?;
        for (from, to) in [(client, &server), (&server, client)] {
            let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        self.passing.lock().expect("no thread panics").extend([client.try_clone()?, server]);
        Ok(())
    }
}
