//! A key management service of versions 1 and 2: what a KMS plugin is to an API server, in one process and with a XOR for a
//! cipher.
//!
//! gRPC over a unix socket is little more than HTTP/2: a message is a flag byte, four bytes of length, and protobuf;
//! the outcome comes in the trailers.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use keelson_stdx::task;
use tokio::net::UnixListener;
use tokio::task::AbortHandle;

/// A plugin that answers until it is dropped.
pub struct KmsPlugin {
    state: Arc<State>,
    socket: PathBuf,
    listener: AbortHandle,
}

struct State {
    /// The number of the key that encrypts.
    key: AtomicUsize,
    is_well: AtomicBool,
    decrypted: AtomicUsize,
    encrypted: AtomicUsize,
}

impl KmsPlugin {
    /// Listens on `socket`; a file that is there already is replaced.
    pub fn start(socket: &Path) -> Result<KmsPlugin> {
        let _ = fs::remove_file(socket);
        let listener = UnixListener::bind(socket).with_context(|| format!("{}", socket.display()))?;
        Ok(KmsPlugin::serve(listener, socket.to_owned()))
    }

    /// Listens on a socket that is no file. Upstream calls plugins of version 1 by the name of their socket, and the
    /// path of a file is no name that our library takes for one.
    pub fn start_abstract(name: &str) -> Result<KmsPlugin> {
        let listener = UnixListener::bind(format!("\0{name}")).with_context(|| name.to_owned())?;
        Ok(KmsPlugin::serve(listener, PathBuf::from(format!("/@{name}"))))
    }

    fn serve(listener: UnixListener, socket: PathBuf) -> KmsPlugin {
        let state = Arc::new(State {
            key: AtomicUsize::new(1),
            is_well: AtomicBool::new(true),
            decrypted: AtomicUsize::new(0),
            encrypted: AtomicUsize::new(0),
        });
        let served = state.clone();
        let listener = task::spawn("kms plugin", async move {
            // Connections end with their listener: nobody answers for a plugin that is gone.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = served.clone();
                let answer = service_fn(move |request| answer(state.clone(), request));
                let connection =
                    http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer);
                connections.spawn(async move { drop(connection.await) });
            }
        });
        KmsPlugin { state, socket, listener: listener.abort_handle() }
    }

    /// What to write into a configuration.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// Encrypts with another key from now on; the old ones still decrypt.
    pub fn rotate(&self) {
        self.state.key.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it says that it is well.
    pub fn set_well(&self, is_well: bool) {
        self.state.is_well.store(is_well, Ordering::Relaxed);
    }

    /// How many keys were decrypted.
    pub fn decrypted(&self) -> usize {
        self.state.decrypted.load(Ordering::Relaxed)
    }

    /// How many keys were encrypted.
    pub fn encrypted(&self) -> usize {
        self.state.encrypted.load(Ordering::Relaxed)
    }
}

impl Drop for KmsPlugin {
    fn drop(&mut self) {
        self.listener.abort();
        let _ = fs::remove_file(&self.socket);
    }
}

type Body = BoxBody<Bytes, Infallible>;

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let method = request.uri().path().trim_start_matches('/').to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let message = body.get(5..).map(fields).unwrap_or_default();
    Ok(match state.call(&method, &message) {
        Ok(answer) => response("0", "", Some(answer)),
        Err(problem) => response("3", &problem, None),
    })
}

impl State {
    fn call(&self, method: &str, message: &[(u64, Vec<u8>)]) -> Result<Vec<u8>, String> {
        let field =
            |number| message.iter().find(|it| it.0 == number).map(|it| it.1.clone()).unwrap_or_default();
        let key = self.key.load(Ordering::Relaxed);
        let mut answer = Vec::new();
        match method {
            "v1beta1.KeyManagementService/Version" => put(&mut answer, 1, b"v1beta1"),
            "v1beta1.KeyManagementService/Encrypt" => {
                self.encrypted.fetch_add(1, Ordering::Relaxed);
                put(&mut answer, 1, &turned(&field(2), key));
            }
            "v1beta1.KeyManagementService/Decrypt" => {
                self.decrypted.fetch_add(1, Ordering::Relaxed);
                put(&mut answer, 1, &turned(&field(2), key));
            }
            "v2.KeyManagementService/Status" => {
                let healthz = if self.is_well.load(Ordering::Relaxed) { "ok" } else { "it hurts" };
                put(&mut answer, 1, b"v2");
                put(&mut answer, 2, healthz.as_bytes());
                put(&mut answer, 3, format!("key-{key}").as_bytes());
            }
            "v2.KeyManagementService/Encrypt" => {
                self.encrypted.fetch_add(1, Ordering::Relaxed);
                put(&mut answer, 1, &turned(&field(1), key));
                put(&mut answer, 2, format!("key-{key}").as_bytes());
                let mut annotation = Vec::new();
                put(&mut annotation, 1, b"version.encryption.example.com");
                put(&mut annotation, 2, b"1");
                put(&mut answer, 3, &annotation);
            }
            "v2.KeyManagementService/Decrypt" => {
                self.decrypted.fetch_add(1, Ordering::Relaxed);
                let id = String::from_utf8_lossy(&field(3)).into_owned();
                let number = id.strip_prefix("key-").and_then(|it| it.parse().ok());
                let number = number.filter(|it| *it <= key).ok_or_else(|| format!("there is no key {id}"))?;
                if field(4).is_empty() {
                    return Err("the annotation is missing".to_owned());
                }
                put(&mut answer, 1, &turned(&field(1), number));
            }
            other => return Err(format!("there is no {other}")),
        }
        Ok(answer)
    }
}

/// The cipher of the plugin: it is its own inverse.
fn turned(bytes: &[u8], key: usize) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ (0xa5 ^ key as u8)).collect()
}

fn response(status: &str, problem: &str, message: Option<Vec<u8>>) -> Response<Body> {
    let mut trailers = HeaderMap::new();
    let header = |text: &str| HeaderValue::from_str(text).expect("the texts of the plugin are plain");
    trailers.insert("grpc-status", header(status));
    trailers.insert("grpc-message", header(problem));
    let framed = message.map(|message| {
        let mut framed = BytesMut::with_capacity(5 + message.len());
        framed.extend_from_slice(&[0]);
        framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
        framed.extend_from_slice(&message);
        Frame::data(framed.freeze())
    });
    let frames = framed.into_iter().chain([Frame::trailers(trailers)]).map(Ok);
    let body = StreamBody::new(futures_util::stream::iter(frames.collect::<Vec<_>>())).boxed();
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

/// The fields of a message that has only texts, bytes and messages.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let length = usize::try_from(varint(&mut message)).unwrap_or(usize::MAX).min(message.len());
        let (value, rest) = message.split_at(length);
        fields.push((tag >> 3, value.to_vec()));
        message = rest;
    }
    fields
}

fn varint(message: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let Some((byte, rest)) = message.split_first() else { break };
        *message = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

fn put(message: &mut Vec<u8>, number: u8, value: &[u8]) {
    message.push(number << 3 | 2);
    let mut length = value.len();
    while length > 0x7f {
        message.push(length as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(value);
}
