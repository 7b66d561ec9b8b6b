//! A small HTTPS client that shows a test the exact response.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::connect::{Connector, Credentials, Protocol, RequestBody};

/// Longer than anything that works, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Talks to one server and keeps its connections. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    connector: Connector,
    token: Option<Arc<str>>,
    idle: Arc<Idle>,
}

/// Connections that wait for the next request.
#[derive(Default)]
struct Idle {
    http1: Mutex<Vec<http1::SendRequest<RequestBody>>>,
    http2: Mutex<Option<http2::SendRequest<RequestBody>>>,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
}

/// A request that is being written.
pub struct Call {
    client: Client,
    method: String,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

/// A response whose body is still being received, one JSON document per line.
pub struct Stream {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    rest: BytesMut,
    /// Kept because an HTTP/1.1 connection ends when its last sender is dropped.
    _connection: Option<http1::SendRequest<RequestBody>>,
}

impl Client {
    /// A client for `https://127.0.0.1:6443`.
    pub fn new(url: &str, credentials: &Credentials, protocol: Protocol) -> Result<Client> {
        Ok(Client {
            connector: Connector::new(url, credentials, protocol)?,
            token: credentials.token.as_deref().map(Arc::from),
            idle: Arc::default(),
        })
    }

    /// Begins a request.
    pub fn call(&self, method: &str, path: &str) -> Call {
        Call {
            client: self.clone(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// GET
    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path).send().await
    }

    /// POST of JSON
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path).json(body).send().await
    }

    /// PUT of JSON
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call("PUT", path).json(body).send().await
    }

    /// PATCH with the media type of the patch
    pub async fn patch(&self, path: &str, media_type: &str, body: &Value) -> Answer {
        let call = self.call("PATCH", path).json(body);
        call.header("content-type", media_type).send().await
    }

    /// DELETE
    pub async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path).send().await
    }

    /// DELETE with options in the body
    pub async fn delete_with(&self, path: &str, options: &Value) -> Answer {
        self.call("DELETE", path).json(options).send().await
    }

    /// GET of a watch
    pub async fn watch(&self, path: &str) -> Stream {
        self.call("GET", path).stream().await
    }
}

/// How often a request is repeated that was not sent at all.
const RESENDS: usize = 3;

impl Call {
    /// Sets a header; one that was set before is replaced.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Call {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("tests write header names");
        let value = HeaderValue::from_str(value).expect("tests write header values");
        self.headers.insert(name, value);
        self
    }

    /// A body of any bytes; its media type is what the `content-type` header says.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Call {
        self.body = body.into();
        self
    }

    /// A body of JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Call {
        let call = self.body(body.to_string());
        if call.headers.contains_key("content-type") {
            return call;
        }
        call.header("content-type", "application/json")
    }

    /// Sends the request and reads the whole response.
    pub async fn send(self) -> Answer {
        let asked = format!("{} {}", self.method, self.path);
        match self.try_send().await {
            Ok(answer) => answer,
            Err(error) => panic!("{asked}: {error:#}"),
        }
    }

    /// The same for a test that expects connections to break.
    pub async fn try_send(self) -> Result<Answer> {
        let client = self.client.clone();
        let (response, connection) = timeout(PATIENCE, self.begin()).await.context("no answer in time")??;
        let (parts, body) = response.into_parts();
        let body = timeout(PATIENCE, body.collect()).await.context("the answer does not end")??.to_bytes();
        if let Some(mut connection) = connection {
            // A connection that the server closes never becomes ready; it is not kept.
            if connection.ready().await.is_ok() {
                client.idle.http1.lock().await.push(connection);
            }
        }
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }

    /// Sends the request and returns the body line by line.
    pub async fn stream(self) -> Stream {
        let asked = format!("{} {}", self.method, self.path);
        let begun = match timeout(PATIENCE, self.begin()).await {
            Ok(begun) => begun,
            Err(_) => panic!("{asked}: no answer in time"),
        };
        let (response, connection) = begun.unwrap_or_else(|error| panic!("{asked}: {error:#}"));
        let (parts, body) = response.into_parts();
        Stream {
            status: parts.status,
            headers: parts.headers,
            body,
            rest: BytesMut::new(),
            _connection: connection,
        }
    }

    async fn begin(self) -> Result<(Response<Incoming>, Option<http1::SendRequest<RequestBody>>)> {
        let client = self.client.clone();
        match client.connector.protocol() {
            Protocol::Http1 => {
                let authority = client.connector.authority().to_owned();
                let mut request = self.request(String::new())?;
                request.headers_mut().insert("host", HeaderValue::from_str(&authority)?);
                let mut connection = client.http1().await?;
                for _ in 0..RESENDS {
                    match connection.send_request(request.clone()).await {
                        Ok(response) => return Ok((response, Some(connection))),
                        // The server closed the connection before anything was sent: like every client, open
                        // another one.
                        Err(error) if error.is_canceled() => connection = client.connector.http1().await?,
                        Err(error) => return Err(error.into()),
                    }
                }
                let response = connection.send_request(request).await?;
                Ok((response, Some(connection)))
            }
            Protocol::Http2 => {
                let mut connection = client.http2().await?;
                let before_path = format!("https://{}", client.connector.authority());
                let request = self.request(before_path)?;
                for _ in 0..RESENDS {
                    match connection.send_request(request.clone()).await {
                        Ok(response) => return Ok((response, None)),
                        // A refusal ends the connection, and that may be noticed only now.
                        Err(error) if error.is_canceled() => {
                            client.idle.http2.lock().await.take();
                            connection = client.http2().await?;
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok((connection.send_request(request).await?, None))
            }
        }
    }

    fn request(self, before_path: String) -> Result<Request<RequestBody>> {
        let mut request = Request::builder()
            .method(self.method.as_str())
            .uri(before_path + &self.path)
            .body(Full::new(self.body))?;
        *request.headers_mut() = self.headers;
        if let Some(token) = &self.client.token {
            let value = HeaderValue::from_str(&format!("Bearer {token}"))?;
            request.headers_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

impl Client {
    async fn http1(&self) -> Result<http1::SendRequest<RequestBody>> {
        while let Some(connection) = self.idle.http1.lock().await.pop() {
            if connection.is_ready() {
                return Ok(connection);
            }
        }
        self.connector.http1().await
    }

    async fn http2(&self) -> Result<http2::SendRequest<RequestBody>> {
        let mut kept = self.idle.http2.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        let connection = self.connector.http2().await?;
        *kept = Some(connection.clone());
        Ok(connection)
    }
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("not JSON ({error}): {} {}", self.status, self.text()),
        }
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, or "".
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The body as JSON, if the status is as expected.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        self.json()
    }

    /// The body as JSON, if it is a Status with this code and reason.
    #[track_caller]
    pub fn refused(&self, code: u16, reason: &str) -> Value {
        let status = self.expect(code);
        let said = (&status["kind"], &status["status"], &status["code"]);
        assert_eq!(said, (&"Status".into(), &"Failure".into(), &code.into()), "{status}");
        assert_eq!(status["reason"].as_str().unwrap_or(""), reason, "{status}");
        status
    }
}

impl Stream {
    /// The next line; fails if none comes.
    pub async fn event(&mut self) -> Value {
        match self.try_event(PATIENCE).await {
            Ok(Some(event)) => event,
            Ok(None) => panic!("the stream ended, an event was expected"),
            Err(error) => panic!("an event was expected: {error:#}"),
        }
    }

    /// The next line that is not a bookmark.
    pub async fn change(&mut self) -> Value {
        loop {
            let event = self.event().await;
            if event["type"] != "BOOKMARK" {
                return event;
            }
        }
    }

    /// Waits for the end; fails on an event.
    pub async fn end(&mut self) {
        match self.try_event(PATIENCE).await {
            Ok(None) => (),
            Ok(Some(event)) => panic!("the end was expected, not {event}"),
            Err(error) => panic!("a clean end was expected: {error:#}"),
        }
    }

    /// The next line, `None` at the end, an error if the connection breaks or `time` passes.
    pub async fn try_event(&mut self, time: Duration) -> Result<Option<Value>> {
        match timeout(time, self.line()).await {
            Ok(line) => match line? {
                Some(line) => Ok(Some(serde_json::from_slice(&line).context("a line that is not JSON")?)),
                None => Ok(None),
            },
            Err(_) => bail!("nothing came within {time:?}"),
        }
    }

    /// The rest of the body, for a response that is not a stream of lines.
    pub async fn text(&mut self) -> Result<String> {
        while let Some(frame) = timeout(PATIENCE, self.body.frame()).await.context("no end")? {
            if let Ok(data) = frame?.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
        Ok(String::from_utf8_lossy(&self.rest.split()).into_owned())
    }

    async fn line(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.rest.split_to(end + 1).freeze()));
            }
            let Some(frame) = self.body.frame().await else {
                if self.rest.is_empty() {
                    return Ok(None);
                }
                return Ok(Some(self.rest.split().freeze()));
            };
            if let Ok(data) = frame?.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}
