//! A lane: one connection, or one of the streams on it, that sends one request after the other.

use anyhow::Result;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use keelson_testkit::connect::RequestBody;
use keelson_testkit::{Connector, Credentials, Protocol};

/// Where requests go and how.
#[derive(Clone)]
pub struct Target {
    connector: Connector,
    headers: HeaderMap,
    before_path: String,
}

/// One request at a time.
pub struct Lane {
    sender: Sender,
    target: Target,
}

enum Sender {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

/// How an answer began and how long it was.
pub struct Received {
    /// The status code.
    pub status: StatusCode,
    /// Bytes of the body.
    pub bytes: u64,
}

impl Target {
    /// A server and who asks it.
    pub fn new(url: &str, credentials: &Credentials, protocol: Protocol) -> Result<Target> {
        let connector = Connector::new(url, credentials, protocol)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &credentials.token {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}"))?);
        }
        let before_path = match protocol {
            Protocol::Http1 => {
                headers.insert(HOST, HeaderValue::from_str(connector.authority())?);
                String::new()
            }
            Protocol::Http2 => format!("https://{}", connector.authority()),
        };
        Ok(Target { connector, headers, before_path })
    }

    /// Sends this header with every request of lanes that are opened from now on.
    pub fn set_header(&mut self, name: &'static str, value: &'static str) {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }

    /// `lanes` lanes. HTTP/2 puts `streams` of them on each connection.
    pub async fn lanes(&self, lanes: usize, streams: usize) -> Result<Vec<Lane>> {
        let mut open = Vec::with_capacity(lanes);
        match self.connector.protocol() {
            Protocol::Http1 => {
                for _ in 0..lanes {
                    open.push(self.lane(Sender::Http1(self.connector.http1().await?)));
                }
            }
            Protocol::Http2 => {
                while open.len() < lanes {
                    let connection = self.connector.http2().await?;
                    let streams = streams.clamp(1, lanes - open.len());
                    open.extend((0..streams).map(|_| self.lane(Sender::Http2(connection.clone()))));
                }
            }
        }
        Ok(open)
    }

    /// The address of a path, to be used many times.
    pub fn uri(&self, path: &str) -> Result<Uri> {
        Ok(format!("{}{path}", self.before_path).parse()?)
    }

    fn lane(&self, sender: Sender) -> Lane {
        Lane { sender, target: self.clone() }
    }
}

impl Lane {
    /// Sends, and counts the answer's body without keeping it.
    pub async fn count(&mut self, method: Method, uri: Uri, body: Bytes) -> Result<Received> {
        let response = self.send(method, uri, body).await?;
        let status = response.status();
        let mut incoming = response.into_body();
        let mut bytes = 0;
        while let Some(frame) = incoming.frame().await {
            if let Some(data) = frame?.data_ref() {
                bytes += data.len() as u64;
            }
        }
        Ok(Received { status, bytes })
    }

    /// Sends, and gives status and whole body.
    pub async fn fetch(&mut self, method: Method, uri: Uri, body: Bytes) -> Result<(StatusCode, Bytes)> {
        let response = self.send(method, uri, body).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    /// Sends, and gives the answer as soon as it begins.
    pub async fn send(&mut self, method: Method, uri: Uri, body: Bytes) -> Result<Response<Incoming>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.target.headers.clone();
        Ok(match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        })
    }
}
