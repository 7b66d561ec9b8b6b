//! Bearer tokens of browsers, which can set no headers of a websocket except its protocols.
//!
//! Upstream: apiserver/pkg/authentication/request/websocket/protocol.go (v1.36.4).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, header};

use crate::stream::websocket;

/// The prefix of the protocol that contains the token.
const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// A token among the protocols that a client offers.
pub(crate) struct Token {
    /// The headers with the token as a bearer token.
    pub(crate) as_bearer: HeaderMap,
    /// The protocols without the token.
    pub(crate) other_protocols: HeaderValue,
}

/// The token is malformed, or there are no other protocols.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Looks for a token. A token in the Authorization header takes precedence.
pub(crate) fn read(headers: &HeaderMap) -> Result<Option<Token>, Malformed> {
    if !websocket::is_asked_for(headers) || headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let names = lines.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(',')).map(str::trim);
    let (tokens, others): (Vec<&str>, Vec<&str>) = names.partition(|it| it.starts_with(PREFIX));
    let encoded = match tokens[..] {
        [] => return Ok(None),
        [token] => &token[PREFIX.len()..],
        _ => return Err(Malformed),
    };
    if encoded.is_empty() {
        return Ok(None);
    }
    if others.is_empty() {
        return Err(Malformed);
    }
    let token = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| Malformed)?;
    if token.contains(&b' ') || std::str::from_utf8(&token).is_err() {
        return Err(Malformed);
    }
    let bearer = HeaderValue::from_bytes(&[b"Bearer ", &token[..]].concat()).map_err(|_| Malformed)?;
    let mut as_bearer = headers.clone();
    as_bearer.insert(header::AUTHORIZATION, bearer);
    let other_protocols = HeaderValue::from_str(&others.join(",")).map_err(|_| Malformed)?;
    Ok(Some(Token { as_bearer, other_protocols }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(protocols: &[&str], expected: &str) {
        let mut headers = HeaderMap::new();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        for protocol in protocols {
            headers.append(header::SEC_WEBSOCKET_PROTOCOL, protocol.parse().unwrap());
        }
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        let found = match read(&headers) {
            Ok(None) => "none".to_owned(),
            Err(Malformed) => "malformed".to_owned(),
            Ok(Some(token)) => {
                format!("{} {}", text(&token.as_bearer["authorization"]), text(&token.other_protocols))
            }
        };
        assert_eq!(found, expected, "{protocols:?}");
    }

    #[test]
    fn a_protocol_may_be_a_token() {
        let secret = "base64url.bearer.authorization.k8s.io.c2VjcmV0";
        check(&[], "none");
        check(&["a"], "none");
        check(&[&format!("{secret}, a")], "Bearer secret a");
        check(&["a", secret, "b"], "Bearer secret a,b");
        check(&[secret], "malformed");
        check(&[&format!("{secret}, {secret}, a")], "malformed");
        check(&["base64url.bearer.authorization.k8s.io.!, a"], "malformed");
        check(&["base64url.bearer.authorization.k8s.io.YSBi, a"], "malformed");
        check(&["base64url.bearer.authorization.k8s.io., a"], "none");
    }
}
