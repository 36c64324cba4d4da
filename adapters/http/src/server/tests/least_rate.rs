//! The least rate at which exports are taken.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;

use super::{BIG, SHORT, Server, ServerLimits, generous, read_slowly};

#[tokio::test]
async fn an_export_read_more_slowly_than_the_least_rate_is_given_up() {
    let limits = ServerLimits { least_rate: u32::MAX, rate_window: SHORT, ..generous() };
    let server = Server::start(limits).await;
    assert!(read_slowly(&server, "/export").await.0 < BIG);
    assert!(read_slowly(&server, "/big").await.0 > BIG, "other responses have no least rate");
    let server = Server::start(ServerLimits { rate_window: SHORT, ..generous() }).await;
    assert!(read_slowly(&server, "/export").await.0 > BIG, "fast enough");
}

#[tokio::test]
async fn each_export_of_a_connection_is_measured_by_itself() {
    let limits = ServerLimits { least_rate: u32::MAX, rate_window: SHORT * 10, ..generous() };
    let server = Server::start(limits).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        client.write_all(b"GET /export HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        sleep(SHORT * 6).await;
        let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
        let is_whole = |received: &[u8]| {
            let end = received.windows(4).position(|end| end == b"\r\n\r\n");
            end.is_some_and(|end| received.len() == end + 4 + BIG)
        };
        while !is_whole(&received) {
            let n = client.read(&mut buffer).await.unwrap();
            assert_ne!(n, 0, "closed after {} bytes", received.len());
            received.extend_from_slice(&buffer[..n]);
        }
    }
}
