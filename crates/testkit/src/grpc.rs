//! gRPC plugins on a unix socket, for tests.
//!
//! gRPC over a unix socket is little more than HTTP/2: a message is a flag byte, four bytes of length, and protobuf;
//! the outcome comes in the trailers.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// The methods of a plugin.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers a call of `v1.Service/Method` with the fields of a message, or refuses it.
    fn call(&self, method: &str, message: &[(u64, Vec<u8>)]) -> Result<Vec<u8>, String>;
}

/// Answers until it is dropped.
pub(crate) struct Plugin {
    socket: PathBuf,
    listener: AbortHandle,
}

impl Plugin {
    /// Listens on `socket`; a file that is there already is replaced.
    pub(crate) fn start(socket: &Path, service: Arc<dyn Service>) -> Result<Plugin> {
        let _ = fs::remove_file(socket);
        let listener = UnixListener::bind(socket).with_context(|| format!("{}", socket.display()))?;
        Ok(Plugin::serve(listener, socket.to_owned(), service))
    }

    /// Listens on an abstract socket.
    pub(crate) fn start_abstract(name: &str, service: Arc<dyn Service>) -> Result<Plugin> {
        let listener = UnixListener::bind(format!("\0{name}")).with_context(|| name.to_owned())?;
        Ok(Plugin::serve(listener, PathBuf::from(format!("/@{name}")), service))
    }

    fn serve(listener: UnixListener, socket: PathBuf, service: Arc<dyn Service>) -> Plugin {
        let listener = task::spawn("grpc plugin", async move {
            // Connections end with their listener: a plugin that has stopped does not answer.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let service = service.clone();
                let answer = service_fn(move |request| answer(service.clone(), request));
                let connection =
                    http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer);
                connections.spawn(async move { drop(connection.await) });
            }
        });
        Plugin { socket, listener: listener.abort_handle() }
    }

    /// The path of the socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        self.listener.abort();
        let _ = fs::remove_file(&self.socket);
    }
}

type Body = BoxBody<Bytes, Infallible>;

async fn answer(
    service: Arc<dyn Service>,
    request: Request<Incoming>,
) -> Result<Response<Body>, hyper::Error> {
    let method = request.uri().path().trim_start_matches('/').to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let message = body.get(5..).map(fields).unwrap_or_default();
    Ok(match service.call(&method, &message) {
        Ok(answer) => response("0", "", Some(answer)),
        Err(problem) => response("3", &problem, None),
    })
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

/// Adds a text, bytes or a message.
pub(crate) fn put(message: &mut Vec<u8>, number: u8, value: &[u8]) {
    message.push(number << 3 | 2);
    put_varint(message, value.len() as u64);
    message.extend_from_slice(value);
}

/// Adds a number that is not negative.
pub(crate) fn put_number(message: &mut Vec<u8>, number: u8, value: u64) {
    message.push(number << 3);
    put_varint(message, value);
}

fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}
