//! Websocket watches: the server's side of RFC 6455, as far as a client needs it that only receives.
//!
//! ```text
//!  client                                          server
//!  GET … Upgrade: websocket, Origin: …    ──────►
//!                                         ◄──────  101 Switching Protocols
//!                                         ◄──────  81 7e 02 20 {"type":"ADDED",…   one message per event
//!  89 82 mask "hi"                        ──────►
//!                                         ◄──────  8a 02 "hi"
//!                                         ◄──────  88 02 03 e8                     over: 1000
//! ```
//!
//! Upstream: apiserver/pkg/endpoints/handlers/watch.go, HandleWS, and what it takes from golang.org/x/net/websocket
//! (v1.36.4).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use http::uri::Uri;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use keelson_stdx::clock::Clock;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tracing::debug;

use crate::chain::audit::Recorded;
use crate::negotiate::text;
use crate::response::{Body, Response};

/// The type of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Text.
    Text,
    /// Bytes.
    Binary,
}

/// Whether the client wants a websocket.
pub(crate) fn is_asked_for(headers: &HeaderMap) -> bool {
    let is_upgrade =
        |value: &HeaderValue| value.to_str().is_ok_and(|it| it.to_ascii_lowercase().contains("upgrade"));
    text(headers, header::UPGRADE).eq_ignore_ascii_case("websocket")
        && headers.get_all(header::CONNECTION).iter().any(is_upgrade)
}

/// The handshake response: 101, or an error.
pub(crate) fn shake_hands(headers: &HeaderMap) -> Result<Response, Box<Response>> {
    let key = text(headers, header::SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return Err(Box::new(refusal(StatusCode::BAD_REQUEST, "mismatch challenge/response")));
    }
    if text(headers, header::SEC_WEBSOCKET_VERSION) != "13" {
        let mut response = refusal(StatusCode::BAD_REQUEST, "missing or bad WebSocket Version");
        response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return Err(Box::new(response));
    }
    if !is_url(text(headers, header::ORIGIN)) {
        return Err(Box::new(refusal(StatusCode::FORBIDDEN, "")));
    }
    let protocol = text(headers, header::SEC_WEBSOCKET_PROTOCOL).trim();
    // The server does not choose between protocols.
    if protocol.contains(',') {
        return Err(Box::new(refusal(StatusCode::BAD_REQUEST, "")));
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    set(header::UPGRADE, "websocket");
    set(header::CONNECTION, "Upgrade");
    set(header::SEC_WEBSOCKET_ACCEPT, &accept(key));
    if !protocol.is_empty() {
        set(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    Ok(response)
}

fn refusal(code: StatusCode, message: &'static str) -> Response {
    let mut response = Response::new(Body::full(message));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Browsers send the origin of a script; other clients must send any valid URL.
fn is_url(origin: &str) -> bool {
    let is_absolute = origin.starts_with('/') || origin.contains("://");
    is_absolute && origin.parse::<Uri>().is_ok()
}

/// The `Sec-WebSocket-Accept` for a key.
fn accept(key: &str) -> String {
    let proof = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, proof.as_bytes()))
}

/// A connection that begins when the handshake response is sent.
pub(crate) struct Conversation<M> {
    /// The upgraded connection.
    pub(crate) upgrade: OnUpgrade,
    /// The messages to send.
    pub(crate) messages: M,
    pub(crate) framing: Framing,
    pub(crate) clock: Clock,
    /// The timeout.
    pub(crate) timeout: Duration,
    /// The audit record, complete when the connection ends.
    pub(crate) record: Option<Arc<Recorded>>,
}

/// The extra time for a client that does not read, after the timeout of its watch.
const PATIENCE: Duration = Duration::from_secs(30);

impl<M: Stream<Item = io::Result<Bytes>> + Send + 'static> Conversation<M> {
    /// Runs the connection to its end, in a separate task.
    pub(crate) fn begin(self) {
        let Conversation { upgrade, messages, framing, clock, timeout, record } = self;
        keelson_stdx::task::spawn("websocket", async move {
            let whole = async {
                let connection = match upgrade.await {
                    Ok(connection) => TokioIo::new(connection),
                    Err(error) => return debug!(%error, "no websocket came of it"),
                };
                if let Err(error) = converse(connection, messages, framing).await {
                    debug!(%error, "a websocket broke");
                }
            };
            if clock.timeout(timeout.saturating_add(PATIENCE), Box::pin(whole)).await.is_none() {
                debug!("a websocket whose client reads nothing is cut");
            }
            drop(record);
        });
    }
}

/// Sends the messages, answers pings, and ends when either side closes.
async fn converse(
    connection: impl AsyncRead + AsyncWrite,
    messages: impl Stream<Item = io::Result<Bytes>>,
    framing: Framing,
) -> io::Result<()> {
    let (mut reader, mut writer) = tokio::io::split(connection);
    let mut messages = std::pin::pin!(messages);
    let mut ear = Ear::default();
    let opcode = match framing {
        Framing::Text => TEXT,
        Framing::Binary => BINARY,
    };
    let code = loop {
        let frame = tokio::select! {
            biased;
            heard = ear.listen(&mut reader) => match heard? {
                Heard::Ping(payload) => frame(PONG, &payload),
                Heard::End(code) => break code,
            },
            message = messages.next() => match message {
                Some(message) => frame(opcode, &message?),
                None => break NORMAL,
            },
        };
        writer.write_all(&frame).await?;
        writer.flush().await?;
    };
    writer.write_all(&frame(CLOSE, &code.to_be_bytes())).await?;
    writer.shutdown().await
}

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

const NORMAL: u16 = 1000;
const PROTOCOL_ERROR: u16 = 1002;

/// A whole message in one frame, unmasked, as servers send them.
fn frame(opcode: u8, payload: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(payload.len() + 10);
    out.put_u8(0x80 | opcode);
    let length = payload.len();
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length), _) if usize::from(length) <= CONTROL_BYTES => out.put_u8(length),
        (_, Ok(length)) => {
            out.put_u8(126);
            out.put_u16(length);
        }
        _ => {
            out.put_u8(127);
            out.put_u64(length as u64);
        }
    }
    out.put_slice(payload);
    out.freeze()
}

/// The longest payload of a control frame, and the longest whose length fits into the second byte.
const CONTROL_BYTES: usize = 125;
/// The limit of a frame that is skipped.
const FRAME_BYTES: u64 = 32 << 20;

/// Reads what the client sends: only pings and the close matter, and nothing else is kept.
#[derive(Default)]
struct Ear {
    buffer: BytesMut,
    /// The number of payload bytes that are still to be skipped.
    skip: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// A ping, whose payload is to be sent back.
    Ping(Bytes),
    /// The client has closed, or violates the protocol; with the code to close with.
    End(u16),
}

impl Ear {
    /// Waits for a ping or the end. Cancel-safe: it may be dropped and called again.
    async fn listen(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Heard> {
        loop {
            if let Some(heard) = self.hear() {
                return Ok(heard);
            }
            self.buffer.reserve(512);
            if reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(Heard::End(NORMAL));
            }
        }
    }

    fn hear(&mut self) -> Option<Heard> {
        loop {
            let passed = usize::try_from(self.skip).unwrap_or(usize::MAX).min(self.buffer.len());
            self.buffer.advance(passed);
            self.skip -= passed as u64;
            if self.skip > 0 {
                return None;
            }
            let head = Head::read(&self.buffer)?;
            let Some(mask) = head.mask else { return Some(Heard::End(PROTOCOL_ERROR)) };
            if head.length > FRAME_BYTES || head.opcode == CLOSE {
                return Some(Heard::End(NORMAL));
            }
            if head.opcode == PING {
                let kept = usize::try_from(head.length).unwrap_or(usize::MAX).min(CONTROL_BYTES);
                let payload = self.buffer.get(head.size..head.size + kept)?;
                let payload: Bytes =
                    payload.iter().zip(mask.iter().cycle()).map(|(it, mask)| it ^ mask).collect();
                self.pass(&head);
                return Some(Heard::Ping(payload));
            }
            self.pass(&head);
        }
    }

    fn pass(&mut self, head: &Head) {
        self.buffer.advance(head.size);
        self.skip = head.length;
    }
}

/// The beginning of a frame.
struct Head {
    opcode: u8,
    length: u64,
    /// The mask; clients must send one.
    mask: Option<[u8; 4]>,
    /// The size of the head, mask included.
    size: usize,
}

impl Head {
    /// Parses the head; `None` if it is incomplete.
    fn read(mut bytes: &[u8]) -> Option<Head> {
        let before = bytes.len();
        let opcode = bytes.try_get_u8().ok()? & 0x0f;
        let second = bytes.try_get_u8().ok()?;
        let length = match second & 0x7f {
            126 => u64::from(bytes.try_get_u16().ok()?),
            127 => bytes.try_get_u64().ok()?,
            short => u64::from(short),
        };
        let mask = if second & 0x80 != 0 { Some(bytes.try_get_u32().ok()?.to_be_bytes()) } else { None };
        Some(Head { opcode, length, mask, size: before - bytes.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_websocket_is_asked_for_in_two_headers() {
        let check = |upgrade: &str, connection: &str, expected: bool| {
            let headers = headers(&[("upgrade", upgrade), ("connection", connection)]);
            assert_eq!(is_asked_for(&headers), expected, "{upgrade} {connection}");
        };
        check("websocket", "Upgrade", true);
        check("WebSocket", "keep-alive, upgrade", true);
        check("websocket", "keep-alive", false);
        check("SPDY/3.1", "Upgrade", false);
    }

    #[test]
    fn hands_are_shaken_as_upstream_does() {
        let good = [("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="), ("sec-websocket-version", "13")];
        let check = |more: &[(&'static str, &str)], expected: &str| {
            let mut all = headers(&good);
            headers(more).iter().for_each(|(name, value)| drop(all.insert(name, value.clone())));
            let response = shake_hands(&all).unwrap_or_else(|refusal| *refusal);
            let said =
                |name: &str| response.headers().get(name).map_or("", |it| it.to_str().unwrap()).to_owned();
            let line = format!(
                "{} {} {}",
                response.status().as_u16(),
                said("sec-websocket-accept"),
                said("sec-websocket-protocol")
            );
            assert_eq!(line.trim(), expected, "{more:?}");
        };
        let origin = ("origin", "http://localhost");
        check(&[origin], "101 s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        check(&[origin, ("sec-websocket-protocol", "foo")], "101 s3pPLMBiTxaQ9kYGzzhZRbK+xOo= foo");
        check(&[origin, ("sec-websocket-protocol", "foo, bar")], "400");
        check(&[origin, ("sec-websocket-version", "8")], "400");
        check(&[origin, ("sec-websocket-key", "")], "400");
        check(&[], "403");
        check(&[("origin", "foo")], "403");
    }

    #[test]
    fn lengths_have_three_forms() {
        let start = |size: usize| frame(TEXT, &vec![b'x'; size])[..4].to_vec();
        assert_eq!(start(5), b"\x81\x05xx");
        assert_eq!(start(125), b"\x81\x7dxx");
        assert_eq!(start(126), b"\x81\x7e\x00\x7e");
        assert_eq!(start(65_535), b"\x81\x7e\xff\xff");
        assert_eq!(start(65_536), b"\x81\x7f\x00\x00");
        assert_eq!(frame(TEXT, &vec![0; 65_536]).len(), 65_536 + 10);
    }

    /// A frame as a client sends it, with a mask that differs from no mask.
    fn sent(opcode: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = frame(opcode, payload).to_vec();
        let at = out.len() - payload.len();
        out[1] |= 0x80;
        let masked = payload.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(it, mask)| it ^ mask);
        let masked: Vec<u8> = [1, 2, 3, 4].into_iter().chain(masked).collect();
        out.splice(at.., masked);
        out
    }

    #[track_caller]
    fn check_heard(bytes: &[u8], expected: impl Into<Option<Heard>>) {
        let expected = expected.into();
        for size in [1, 3, bytes.len()] {
            let mut ear = Ear::default();
            let mut found = None;
            for piece in bytes.chunks(size) {
                ear.buffer.extend_from_slice(piece);
                found = found.or(ear.hear());
                assert!(ear.buffer.len() <= size + CONTROL_BYTES + 14, "what means nothing is not kept");
            }
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn only_pings_and_the_end_mean_anything() {
        check_heard(&sent(TEXT, b"hello"), None);
        check_heard(&sent(BINARY, &[7; 70_000]), None);
        check_heard(&sent(3, b"hello"), None);
        check_heard(&sent(PING, b"hi"), Some(Heard::Ping(Bytes::from_static(b"hi"))));
        check_heard(&sent(PING, &[b'x'; 200]), Some(Heard::Ping(Bytes::from(vec![b'x'; 125]))));
        let both = [sent(TEXT, &[1; 300]), sent(PING, b"hi")].concat();
        check_heard(&both, Some(Heard::Ping(Bytes::from_static(b"hi"))));
        check_heard(&sent(CLOSE, &1000_u16.to_be_bytes()), Some(Heard::End(NORMAL)));
    }

    #[test]
    fn nonsense_ends_it() {
        check_heard(&frame(TEXT, b"unmasked"), Some(Heard::End(PROTOCOL_ERROR)));
        let mut long = vec![0x82, 0xff];
        long.extend_from_slice(&(FRAME_BYTES + 1).to_be_bytes());
        long.extend_from_slice(&[1, 2, 3, 4]);
        check_heard(&long, Some(Heard::End(NORMAL)));
    }

    #[tokio::test]
    async fn a_conversation_is_messages_pongs_and_an_end() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let (tell, told) = tokio::sync::mpsc::channel::<io::Result<Bytes>>(4);
        let messages = futures_util::stream::unfold(told, |mut told| async move {
            let next = told.recv().await?;
            Some((next, told))
        });
        let talk = keelson_stdx::task::spawn("talk", converse(ours, messages, Framing::Text));
        tell.send(Ok(Bytes::from_static(b"one"))).await.unwrap();
        let mut found = [0; 5];
        theirs.read_exact(&mut found).await.unwrap();
        assert_eq!(&found, b"\x81\x03one");
        theirs.write_all(&sent(PING, b"x")).await.unwrap();
        let mut found = [0; 3];
        theirs.read_exact(&mut found).await.unwrap();
        assert_eq!(&found, b"\x8a\x01x");
        drop(tell);
        let mut rest = Vec::new();
        theirs.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"\x88\x02\x03\xe8");
        talk.await.unwrap().unwrap();
    }
}
