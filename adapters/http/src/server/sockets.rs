//! The listening socket, and the limit of open files.

use std::io;
use std::net::{self, SocketAddr};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};

use super::RESERVED_CONNECTIONS;

/// The system may allow fewer.
const BACKLOG: u32 = 4096;

/// Files of the runtime, the standard streams and a margin.
const OWN_FILES: u32 = 128;

/// SQLite: the file, its log and the log's index.
const FILES_PER_DATABASE_CONNECTION: u32 = 3;

pub struct Port {
    address: SocketAddr,
    socket: Socket,
    option: &'static str,
}

enum Socket {
    Bound(TcpSocket),
    /// From socket activation: the system queues connections already.
    Listening(net::TcpListener),
}

impl Port {
    /// Binds the port, so that no other process can. The system refuses connections for now.
    pub(crate) fn take_for(option: &'static str, address: SocketAddr) -> Result<Self, ListenError> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let taken = socket.and_then(|socket| {
            // A restart must not wait for old connections in TIME_WAIT.
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            // With port 0 the system chose the port.
            Ok(Self { address: socket.local_addr()?, socket: Socket::Bound(socket), option })
        });
        taken.map_err(|cause| listen_error(option, address, &cause))
    }

    pub fn of(
        handed_over: Option<net::TcpListener>,
        address: SocketAddr,
    ) -> Result<Self, ListenError> {
        match handed_over {
            Some(listener) => {
                Self::inherited(listener).map_err(|cause| listen_error("--listen", address, &cause))
            }
            None => Self::take_for("--listen", address),
        }
    }

    fn inherited(listener: net::TcpListener) -> Result<Self, io::Error> {
        listener.set_nonblocking(true)?;
        let (address, socket) = (listener.local_addr()?, Socket::Listening(listener));
        Ok(Self { address, socket, option: "--listen" })
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn open(self) -> Result<TcpListener, ListenError> {
        let Self { address, socket, option } = self;
        let opened = match socket {
            Socket::Bound(socket) => socket.listen(BACKLOG),
            Socket::Listening(listener) => TcpListener::from_std(listener),
        };
        opened.map_err(|cause| listen_error(option, address, &cause))
    }
}

#[derive(Debug, Error)]
#[error("cannot listen on {address}: {fix}")]
pub struct ListenError {
    address: SocketAddr,
    fix: String,
}

fn listen_error(option: &str, address: SocketAddr, cause: &io::Error) -> ListenError {
    let fix = match cause.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "another process uses it; stop that process, or choose another port with {option}"
            )
        }
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "this machine does not have this address; {option} 0.0.0.0:PORT uses all addresses"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("ports below 1024 need a privilege; choose another port with {option}")
        }
        _ => cause.to_string(),
    };
    ListenError { address, fix }
}

/// Raises the limit of open files to its maximum. Returns how many of the `wanted` connections it
/// allows.
pub fn affordable_connections(wanted: u32, database_connections: u32) -> u32 {
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    match raised.map(|()| limit.maximum.unwrap_or(u64::MAX)) {
        Ok(files) => {
            let connections = wanted.min(share_of(files, database_connections));
            if connections < wanted {
                tracing::warn!(
                    "the limit of {files} open files allows {connections} connections, not {wanted}; raise it with `ulimit -n`"
                );
            }
            connections
        }
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files");
            wanted
        }
    }
}

/// Leaves clients at least half of a small limit.
fn share_of(files: u64, database_connections: u32) -> u32 {
    let files = u32::try_from(files).unwrap_or(u32::MAX);
    let reserved = (OWN_FILES + RESERVED_CONNECTIONS)
        .saturating_add(database_connections.saturating_mul(FILES_PER_DATABASE_CONNECTION));
    files.saturating_sub(reserved).max(files / 2)
}

#[cfg(test)]
mod tests {
    use super::share_of;

    #[test]
    fn connections_leave_files_for_the_rest() {
        for (files, connections) in [(u64::MAX, u32::MAX - 240), (1024, 784), (352, 176), (100, 50)]
        {
            assert_eq!(share_of(files, 16), connections, "of {files}");
        }
    }
}
