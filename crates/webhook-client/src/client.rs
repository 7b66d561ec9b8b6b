//! HTTP client: sends requests and returns the replies.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use keelson_object::{Map, Value};
use keelson_status::{ServerResponse, Status};
use keelson_stdx::clock::Clock;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;

use crate::bearer::Tokens;
use crate::certificate::Flaws;
use crate::connect::{Connector, broken};
use crate::identity::Shown;
use crate::{Error, Failure, Protocols, Target, trust};

/// Sends requests to one target, on connections that are kept. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    http: legacy::Client<Connector, Full<Bytes>>,
    url: String,
    /// The origin that credentials are for: they are not sent to any other.
    origin: (Scheme, Authority),
    tokens: Tokens,
    basic: Option<String>,
    timeout: Duration,
    max_reply: usize,
    clock: Clock,
    agent: &'static str,
}

/// The reply, whatever its status.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The duration of the call.
    pub elapsed: Duration,
}

impl Reply {
    /// The reply if its status is 2xx.
    pub fn ok(self) -> Result<Reply, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let (status, message) = (self.status, self.complaint());
        Err(Error::Status { status, message, retry_after: self.retry_after() })
    }

    /// The message of Go's client for a status that is not a success.
    ///
    /// Upstream: staging/src/k8s.io/client-go/rest/request.go, newUnstructuredResponseError (v1.36.4).
    #[must_use]
    pub fn complaint(&self) -> String {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let body = String::from_utf8_lossy(&self.body);
        let is_text = kind.is_empty() || kind.starts_with("text/");
        let message = if is_text { body.trim() } else { "unknown" };
        let response =
            ServerResponse { code: self.status, verb: "POST", message, ..ServerResponse::default() };
        Status::generic_server_response(&response).message
    }

    /// The object in the reply, or the status code and the message of Go's client if there is none. `read`
    /// reads JSON.
    ///
    /// Upstream: staging/src/k8s.io/client-go/rest/request.go, Result.Into and Result.Error (v1.36.4).
    pub fn object(&self, read: impl FnOnce(&[u8]) -> Result<Value, String>) -> Result<Map, (u16, String)> {
        let tree = read(&self.body);
        let is_success = (200..300).contains(&self.status);
        if let Ok(Value::Map(map)) = &tree
            && map.str("kind") == Some("Status")
            && map.str("status") != Some("Success")
            && !is_success
        {
            let status = Status::from_map(map);
            return Err((status.code, status.message));
        }
        if !is_success {
            return Err((self.status, self.complaint()));
        }
        match tree {
            Ok(Value::Map(map)) => Ok(map),
            Ok(_) => Err((503, "couldn't get version/kind; json parse error: not an object".to_owned())),
            Err(error) => Err((503, format!("couldn't get version/kind; json parse error: {error}"))),
        }
    }

    /// The `Retry-After` of the reply, in seconds.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        self.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
    }
}

/// An unused connection is closed after this time, as Go does.
const IDLE: Duration = Duration::from_secs(90);

impl Client {
    /// Reads the files that `target` names; does not connect yet.
    pub fn new(target: Target, clock: &Clock) -> Result<Client, Error> {
        let origin = origin(&target.url)?;
        let server_name = target.server_name.as_ref().filter(|name| !name.is_empty());
        let server_name = server_name.map(|name| {
            ServerName::try_from(name.clone())
                .map_err(|error| Error::BadTarget { field: "tls-server-name", reason: error.to_string() })
        });
        let connector = Connector {
            tls: Arc::new(tls(&target, clock)?),
            resolver: target.resolver.clone(),
            proxy: target.proxy.clone(),
            server_name: server_name.transpose()?,
        };
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        let basic = target.basic.as_ref();
        let basic = basic.map(|(user, word)| format!("Basic {}", STANDARD.encode(format!("{user}:{word}"))));
        let shared = Shared {
            http,
            origin,
            tokens: Tokens::new(target.bearer),
            basic,
            timeout: target.timeout,
            max_reply: target.max_reply,
            clock: clock.clone(),
            agent: target.agent.unwrap_or(concat!("keelson/", env!("CARGO_PKG_VERSION"))),
            url: target.url,
        };
        Ok(Client { shared: Arc::new(shared) })
    }

    /// The URL of the target.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// Sends JSON to the target's URL with `path` appended (nothing, or `/…`, or `?…`).
    pub async fn post_json(
        &self,
        path: &str,
        body: impl Into<Bytes> + Send,
        timeout: Option<Duration>,
    ) -> Result<Reply, Error> {
        let url = self.under(path);
        let mut request = self.request(Method::POST, &url)?;
        *request.body_mut() = Full::new(body.into());
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(request, &url, timeout).await
    }

    /// Sends a GET to the target's URL with `path` appended.
    pub async fn get(&self, path: &str, timeout: Option<Duration>) -> Result<Reply, Error> {
        self.get_url(&self.under(path), timeout).await
    }

    /// Sends a GET to another URL, with the same trust. Credentials are sent only if scheme, host and port
    /// are the target's.
    pub async fn get_url(&self, url: &str, timeout: Option<Duration>) -> Result<Reply, Error> {
        let request = self.request(Method::GET, url)?;
        self.send(request, url, timeout).await
    }

    /// As [`Client::get_url`], with another token instead of the target's own.
    pub async fn get_url_as(
        &self,
        url: &str,
        token: &str,
        timeout: Option<Duration>,
    ) -> Result<Reply, Error> {
        let mut request = self.request(Method::GET, url)?;
        insert_authorization(&mut request, &format!("Bearer {token}"))?;
        self.send(request, url, timeout).await
    }

    fn under(&self, path: &str) -> String {
        if path.is_empty() {
            return self.shared.url.clone();
        }
        format!("{}{path}", self.shared.url.trim_end_matches('/'))
    }

    fn request(&self, method: Method, url: &str) -> Result<Request<Full<Bytes>>, Error> {
        let uri = parsed(url)?;
        let is_target =
            (uri.scheme(), uri.authority()) == (Some(&self.shared.origin.0), Some(&self.shared.origin.1));
        let mut request = Request::new(Full::default());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*"));
        headers.insert(USER_AGENT, HeaderValue::from_static(self.shared.agent));
        if is_target {
            let bearer = self.shared.tokens.current(&self.shared.clock).map(|it| format!("Bearer {it}"));
            if let Some(value) = bearer.or_else(|| self.shared.basic.clone()) {
                insert_authorization(&mut request, &value)?;
            }
        }
        Ok(request)
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        url: &str,
        timeout: Option<Duration>,
    ) -> Result<Reply, Error> {
        let shared = &self.shared;
        let method = if request.method() == Method::GET { "Get" } else { "Post" };
        // Webhooks are called by POST; calls to token issuers are not counted.
        let count = |flaws: Flaws| {
            if method == "Post" {
                flaws.count()
            }
        };
        let started = shared.clock.monotonic();
        let work = async {
            let response = shared.http.request(request).await.map_err(|error| {
                let failure = failure(&error);
                count(Flaws::of_failure(&failure));
                failure
            })?;
            let (head, body) = response.into_parts();
            let flaws = head.extensions.get::<Flaws>().copied().unwrap_or_default();
            count(flaws);
            let body = read(body, shared.max_reply).await?;
            Ok(Reply {
                status: head.status.as_u16(),
                headers: head.headers,
                body,
                elapsed: shared.clock.monotonic().saturating_sub(started),
            })
        };
        let done = shared.clock.timeout(timeout.unwrap_or(shared.timeout), work).await;
        done.unwrap_or(Err(Failure::Timeout)).map_err(|failure| Error::NoReply {
            method,
            url: url.to_owned(),
            failure,
        })
    }
}

fn insert_authorization(request: &mut Request<Full<Bytes>>, value: &str) -> Result<(), Error> {
    let bad = |_| Error::BadTarget { field: "token", reason: "it cannot stand in a header".to_owned() };
    let mut value = HeaderValue::from_str(value).map_err(bad)?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

fn parsed(url: &str) -> Result<Uri, Error> {
    let bad = |reason: String| Error::BadTarget { field: "server", reason };
    let uri: Uri = url.parse().map_err(|error| bad(format!("parse \"{url}\": {error}")))?;
    match uri.scheme_str() {
        Some("http" | "https") if uri.host().is_some_and(|host| !host.is_empty()) => Ok(uri),
        Some("http" | "https") => Err(bad(format!("\"{url}\" names no host"))),
        _ => Err(bad(format!("\"{url}\" is neither http nor https"))),
    }
}

fn origin(url: &str) -> Result<(Scheme, Authority), Error> {
    let parts = parsed(url)?.into_parts();
    let missing = || Error::BadTarget { field: "server", reason: format!("\"{url}\" names no host") };
    Ok((parts.scheme.ok_or_else(missing)?, parts.authority.ok_or_else(missing)?))
}

pub(crate) fn tls(target: &Target, clock: &Clock) -> Result<ClientConfig, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = target.trust.verifier(&provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::BadTarget { field: "server", reason: error.to_string() })?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &target.identity {
        Some(identity) => {
            let shown = Shown::new(identity.clone(), clock.clone())?;
            builder.with_client_cert_resolver(Arc::new(shown))
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = match target.protocols {
        Protocols::Any => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Protocols::Http1 => vec![b"http/1.1".to_vec()],
    };
    Ok(config)
}

/// Reads a body that is not longer than `limit`, neither by its announced length nor in fact.
async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, Failure> {
    let announced = body.size_hint();
    let too_large = Failure::TooLarge { limit };
    if usize::try_from(announced.lower()).unwrap_or(usize::MAX) > limit {
        return Err(too_large);
    }
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| of_hyper(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > limit {
            return Err(too_large);
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}

fn failure(error: &legacy::Error) -> Failure {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(failure) = error.downcast_ref::<Failure>() {
            return failure.clone();
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            return of_hyper(error);
        }
        source = error.source();
    }
    Failure::Broken { reason: error.to_string() }
}

fn of_hyper(error: &hyper::Error) -> Failure {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<std::io::Error>() {
            // With TLS 1.3 a client learns only now that its certificate was refused. HTTP/2 passes on only
            // the text of the error.
            let reason = broken(error);
            return match reason.strip_prefix("received fatal alert: ") {
                Some(alert) => Failure::Tls { reason: trust::remote_alert(alert) },
                None if reason.starts_with("remote error: tls: ") => Failure::Tls { reason },
                None => Failure::Broken { reason },
            };
        }
        source = cause.source();
    }
    let reason = if error.is_incomplete_message() { "EOF".to_owned() } else { error.to_string() };
    Failure::Broken { reason }
}

#[cfg(test)]
pub(crate) mod tests;
