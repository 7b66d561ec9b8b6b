//! What hyper and rustls give on this machine when there is nothing to do: a server that answers every
//! path with bytes it was given. It runs as a process of its own, as the server it is compared with does.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use keelson_stdx::task;
use keelson_testkit::Credentials;
use keelson_testkit::pki::Authority;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The process that answers with files.
pub struct PlainServer {
    child: Child,
    port: u16,
}

impl PlainServer {
    /// Starts this program again as a plain server for the files of a folder: `/a` is the file `a`.
    pub fn start(folder: &Path) -> Result<PlainServer> {
        let program = std::env::current_exe().context("this program has no path")?;
        let mut child = Command::new(program)
            .arg("plain")
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the plain server does not start")?;
        let mut line = String::new();
        let output = child.stdout.take().context("its output is piped")?;
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse();
        Ok(PlainServer { child, port: port.context("the plain server names its port")? })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// It is local and ours, so anybody is believed.
    pub fn credentials(&self) -> Credentials {
        Credentials::default()
    }
}

impl Drop for PlainServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `keelson-bench plain FOLDER`: serves until it is killed, and prints its port first.
pub async fn serve(folder: PathBuf) -> Result<()> {
    let mut files = HashMap::new();
    for file in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let file = file?;
        let path = format!("/{}", file.file_name().to_string_lossy());
        files.insert(path, Bytes::from(std::fs::read(file.path())?));
    }
    let files = Arc::new(files);
    let acceptor = TlsAcceptor::from(Arc::new(tls()?));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    loop {
        let (socket, _) = listener.accept().await?;
        task::spawn("plain connection", connection(socket, acceptor.clone(), Arc::clone(&files)));
    }
}

async fn connection(socket: TcpStream, acceptor: TlsAcceptor, files: Arc<HashMap<String, Bytes>>) {
    let _ = socket.set_nodelay(true);
    let Ok(stream) = acceptor.accept(socket).await else {
        return;
    };
    let answer = service_fn(move |request| {
        let response = respond(&request, &files);
        async move { Ok::<_, Infallible>(response) }
    });
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await;
}

fn respond(request: &Request<Incoming>, files: &HashMap<String, Bytes>) -> Response<Full<Bytes>> {
    let Some(bytes) = files.get(request.uri().path()) else {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let mut response = Response::new(Full::new(bytes.clone()));
    // The headers that an API server sends.
    for (name, value) in [
        ("content-type", "application/json"),
        ("cache-control", "no-cache, private"),
        ("audit-id", "2f0c7d0e-6a5c-4a57-9f2c-0d8b6a0d7c11"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn tls() -> Result<ServerConfig> {
    let identity = Authority::new("plain")?.server(&["127.0.0.1", "localhost"])?;
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_reader_iter(Cursor::new(&identity.certificate)).collect();
    let key = PrivateKeyDer::from_pem_reader(Cursor::new(&identity.key))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates?, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
