//! Listening socket passed by the parent process, as with systemd socket units
//! (`sd_listen_fds(3)`).

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use listenfd::ListenFd;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum InheritedSocketError {
    #[error(
        "{0} sockets were inherited (LISTEN_FDS), but only one is supported: give the socket unit one ListenStream="
    )]
    Several(usize),
    #[error(
        "the inherited socket (LISTEN_FDS) does not listen for TCP: give the socket unit ListenStream=ADDRESS:PORT and Accept=no ({0})"
    )]
    Unsuitable(io::Error),
}

/// Takes the passed listening TCP socket, if any. Call it once and before other threads start: it
/// changes the environment.
pub fn inherited_listener() -> Result<Option<TcpListener>, InheritedSocketError> {
    let mut handed_over = ListenFd::from_env();
    if handed_over.len() > 1 {
        return Err(InheritedSocketError::Several(handed_over.len()));
    }
    let listener = handed_over.take_tcp_listener(0).map_err(InheritedSocketError::Unsuitable)?;
    listener.map(require_listening).transpose().map_err(InheritedSocketError::Unsuitable)
}

/// Refuses a connected socket, which a socket unit with `Accept=yes` passes.
fn require_listening(listener: TcpListener) -> io::Result<TcpListener> {
    let stream = TcpStream::from(OwnedFd::from(listener));
    match stream.peer_addr() {
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a connection")),
        Err(_) => Ok(TcpListener::from(OwnedFd::from(stream))),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;

    use super::require_listening;

    #[test]
    fn a_connection_is_not_taken_for_a_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connection = TcpStream::connect(address).unwrap();
        assert!(require_listening(TcpListener::from(OwnedFd::from(connection))).is_err());
        assert_eq!(require_listening(listener).unwrap().local_addr().unwrap(), address);
    }
}
