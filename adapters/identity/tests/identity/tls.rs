//! Keys are fetched over TLS, and the certificate is that of a known authority.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::{Answer, Issuer, Signer, World, configuration_of};

const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/identity/certificates");

/// Puts TLS before an issuer; returns its URL by this name.
async fn secured(issuer: &Issuer, host: &str) -> String {
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("sound test data");
    let url = format!("https://{host}:{}", listener.local_addr().expect("sound test data").port());
    let pem = |name: &str| format!("{CERTIFICATES}/{name}");
    let certificate = CertificateDer::from_pem_file(pem("server.pem")).expect("sound test data");
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).expect("sound test data");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("sound test data")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("sound test data");
    let acceptor = TlsAcceptor::from(Arc::new(configuration));
    let behind = issuer.url.trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await?;
                let mut plain = TcpStream::connect(behind).await?;
                tokio::io::copy_bidirectional(&mut stream, &mut plain).await
            });
        }
    });
    issuer.set_configuration(Answer::json(&configuration_of(&url)));
    url
}

#[tokio::test]
async fn a_configured_authority_is_trusted_for_the_name_of_its_certificate_alone() {
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let ca = format!("  ca: {CERTIFICATES}/ca.pem\n");
    for (host, lines, is_reached) in [
        ("localhost", &*ca, true),
        ("127.0.0.1", &*ca, true),
        ("localhost", "", false),
        ("127.0.0.2", &*ca, false),
    ] {
        let url = secured(&issuer, host).await;
        let token = issuer.token_with(&signer, &json!({"iss": url}));
        let world = World::new(&issuer.file(lines).replace(&issuer.url, &url));
        let expected = if is_reached { "accepted as agency:ana" } else { "unavailable" };
        assert_eq!(world.refusal(&token).await, expected, "{host} {lines}");
    }
}
