//! TLS on both sides, with certificates made for the test.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use weir_proxy::{ApiKey, ClientTls, KeyRule, ServerTls, UpstreamHttp};

use crate::harness::http2::{Client2, Engine2, chat2};
use crate::harness::play::verdict;
use crate::harness::rig::Setup;
use crate::harness::{Rig, Upstream, guarded, request, response, until};

/// An authority, and a certificate for `weir.test` that it has issued.
struct Authority {
    folder: tempfile::TempDir,
    ca: String,
}

impl Authority {
    fn new() -> Self {
        let ca_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = params.self_signed(&ca_key).unwrap().pem();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["weir.test".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &Issuer::new(params, ca_key)).unwrap();
        let made = Self { folder: tempfile::tempdir().unwrap(), ca };
        for (name, pem) in [("ca", &made.ca), ("certificate", &leaf.pem()), ("key", &key.serialize_pem())] {
            std::fs::write(made.path(name), pem).unwrap();
        }
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.pem"))
    }

    fn server(&self) -> ServerTls {
        ServerTls::load(&self.path("certificate"), &self.path("key")).unwrap()
    }

    /// A client that trusts it, and what it chooses by ALPN.
    async fn connect(&self, rig: &Rig, alpn: &[&str]) -> std::io::Result<client::TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.ca.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let socket = TcpStream::connect(rig.address).await?;
        let name = ServerName::try_from("weir.test").unwrap();
        guarded(TlsConnector::from(Arc::new(config)).connect(name, socket)).await
    }

    /// An upstream's end, with what it offers by ALPN.
    async fn accept(
        &self,
        upstream: &Upstream,
        alpn: &[&str],
    ) -> std::io::Result<server::TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificate = CertificateDer::from_pem_file(self.path("certificate")).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.path("key")).unwrap();
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key);
        let mut config = config.unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let socket = upstream.accept().await.into_stream();
        guarded(TlsAcceptor::from(Arc::new(config)).accept(socket)).await
    }

    /// Directs a proxy at an upstream under TLS that this authority vouches for.
    fn direct(&self, setup: &mut Setup, name: &str) {
        let upstream = &mut setup.config.upstream;
        upstream.url = upstream.url.to_string().replace("http:", "https:").parse().unwrap();
        upstream.tls = Some(ClientTls::new(name, Some(&self.path("ca"))).unwrap());
    }
}

async fn exchange(
    socket: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin),
    send: &[u8],
    end: &[u8],
) -> Vec<u8> {
    guarded(socket.write_all(send)).await.unwrap();
    guarded(socket.flush()).await.unwrap();
    read_to(socket, end).await
}

async fn read_to(socket: &mut (impl AsyncReadExt + Unpin), end: &[u8]) -> Vec<u8> {
    let mut read = Vec::new();
    while !read.ends_with(end) {
        assert!(guarded(socket.read_buf(&mut read)).await.unwrap() > 0, "closed");
    }
    read
}

#[tokio::test]
async fn clients_choose_their_version_in_the_handshake() {
    let authority = Authority::new();
    let (mut rig, upstream) = Rig::with(|setup| {
        setup.config.listen.tls = Some(authority.server());
        setup.config.headers.forwarded = true;
    })
    .await;
    let _served = upstream.serve(|request| {
        assert_eq!(request.head.header("x-forwarded-proto"), Some("https"));
        response("200 OK", "", "{}").into()
    });
    for alpn in [&["http/1.1"][..], &[]] {
        let mut socket = authority.connect(&rig, alpn).await.unwrap();
        let answer = exchange(&mut socket, &request("GET /v1/models", "", ""), b"{}").await;
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{alpn:?}");
    }
    for alpn in [&["h2", "http/1.1"][..], &["http/1.1", "h2"]] {
        let socket = authority.connect(&rig, alpn).await.unwrap();
        let mut client = Client2::over(socket, &mut h2::client::Builder::new()).await;
        let mut answer = client.ask("{}").await.answer().await;
        answer.end().await.unwrap();
        assert_eq!(answer.bytes, b"{}", "{alpn:?}");
    }
    for _ in 0..4 {
        assert_eq!(rig.record().await.outcome.as_str(), "completed");
    }
}

#[tokio::test]
async fn what_is_not_tls_is_counted_and_closed() {
    let authority = Authority::new();
    let (rig, _upstream) = Rig::with(|setup| setup.config.listen.tls = Some(authority.server())).await;
    let mut client = rig.client().await;
    client.ask("{}").await;
    client.closed().await;
    let errors = &rig.tally.tls_handshake_errors;
    until(|| errors.load(Relaxed) == 1).await;
    assert!(authority.connect(&rig, &["unknown/1"]).await.is_err(), "no version in common");
    until(|| errors.load(Relaxed) == 2).await;
    assert!(Authority::new().connect(&rig, &[]).await.is_err(), "another authority's client");
}

#[tokio::test]
async fn an_upstream_under_tls_chooses_the_version() {
    let authority = Authority::new();
    for (http, alpn, http2) in [
        (UpstreamHttp::Auto, &["h2", "http/1.1"][..], true),
        (UpstreamHttp::Auto, &["http/1.1"], false),
        (UpstreamHttp::Auto, &[], false),
        (UpstreamHttp::Http1, &["h2", "http/1.1"], false),
        (UpstreamHttp::Http2, &["h2", "http/1.1"], true),
    ] {
        let (mut rig, upstream) = Rig::with(|setup| {
            authority.direct(setup, "weir.test");
            setup.config.upstream.http = http;
        })
        .await;
        let mut client = rig.client().await;
        client.ask("{}").await;
        let mut socket = authority.accept(&upstream, alpn).await.unwrap();
        assert_eq!(socket.get_ref().1.alpn_protocol() == Some(b"h2"), http2, "{http:?} {alpn:?}");
        let mut engine = None;
        if http2 {
            let engine = engine.insert(Engine2::over(socket, &h2::server::Builder::new()).await);
            let (request, mut respond) = engine.asked().await;
            assert_eq!(request.uri().scheme_str(), Some("https"));
            respond.send_response(http::Response::new(()), true).unwrap();
        } else {
            read_to(&mut socket, b"{}").await;
            exchange(&mut socket, &response("200 OK", "", ""), b"").await;
        }
        assert_eq!(client.response().await.status(), 200);
        assert_eq!(rig.record().await.outcome.as_str(), "completed");
    }
}

#[tokio::test]
async fn an_upstream_that_nobody_vouches_for_gets_nothing() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (shown, name) in [(&stranger, "weir.test"), (&authority, "other.test")] {
        let (mut rig, upstream) = Rig::with(|setup| authority.direct(setup, name)).await;
        let mut client = rig.client().await;
        client.ask("secret prompt").await;
        assert!(shown.accept(&upstream, &["http/1.1"]).await.is_err());
        assert_eq!(client.response().await.status(), 502);
        assert_eq!(verdict(&rig.record().await), ("upstream_unreachable", Some("upstream_connect")));
    }
    // One that speaks another version than the one asked for is as good as none.
    let (rig, upstream) = Rig::with(|setup| {
        authority.direct(setup, "weir.test");
        setup.config.upstream.http = UpstreamHttp::Http2;
    })
    .await;
    let mut client = rig.client().await;
    client.ask("{}").await;
    let _ = authority.accept(&upstream, &["http/1.1"]).await;
    assert_eq!(client.response().await.status(), 502);
}

#[tokio::test]
async fn the_upstream_gets_its_key_and_no_other() {
    let (rig, upstream) = Rig::with(|setup| {
        setup.config.upstream.api_key = Some(ApiKey::new("ours", "authorization", KeyRule::Replace).unwrap());
    })
    .await;
    let mut client = rig.client().await;
    client.send(request("GET /v1/models", "Authorization: Bearer theirs\r\n", "")).await;
    let (_engine, request) = upstream.asked().await;
    assert_eq!(request.head.header("authorization"), Some("Bearer ours"));
    let mut client = rig.http2_client().await;
    let _asked = client.send(chat2(), "{}").await;
    let (_engine, request) = upstream.asked().await;
    assert_eq!(request.head.header("authorization"), Some("Bearer ours"));
}
