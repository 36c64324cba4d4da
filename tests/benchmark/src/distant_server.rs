//! A server that is further away than it is: what is sent to it and what it sends arrives later.

use std::io::Result;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep_until};

/// Listens on a free port; each way to the server takes `delay` longer. It ends with this process.
pub(super) fn start(server: String, delay: Duration) -> Result<SocketAddr> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // A separate thread, because the load generator keeps its own busy.
    thread::spawn(move || runtime.block_on(serve(listener, server, delay)));
    Ok(address)
}

async fn serve(listener: std::net::TcpListener, server: String, delay: Duration) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (client, _) = listener.accept().await?;
        let server = TcpStream::connect(&server).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::spawn(carry(from_client, to_server, delay));
        tokio::spawn(carry(from_server, to_client, delay));
    }
}

async fn carry(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    delay: Duration,
) -> Result<()> {
    let (way, mut arriving) = unbounded_channel();
    let departures = async move {
        loop {
            let mut bytes = BytesMut::with_capacity(1 << 16);
            if from.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
            // The receiver is gone if the other side has ended.
            let _ = way.send((Instant::now() + delay, bytes));
        }
    };
    let arrivals = async {
        while let Some((due, bytes)) = arriving.recv().await {
            sleep_until(due).await;
            to.write_all(&bytes).await?;
        }
        to.shutdown().await
    };
    tokio::try_join!(departures, arrivals).map(|_| ())
}
