//! Continue token: upstream's format, so that a client can continue a list at another server.

use base64::DecodeError;
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use keelson_codec::json;
use keelson_object::{Map, Value};

use crate::error::{Error, Result};

/// The position at which a list continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The revision of the first page; `None` continues with the current objects.
    pub(crate) revision: Option<u64>,
    /// The first key of the next page, without the prefix of the list: `name\0`, `namespace/name\0`.
    pub(crate) start: String,
}

/// The source of a page. In tokens of a cache the start has a slash before it, in those of a store it has
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Upstream: apiserver/pkg/storage/cacher/cacher.go, GetList (v1.36.4).
    Cache,
    /// Upstream: apiserver/pkg/storage/etcd3/store.go, GetList (v1.36.4).
    Store,
}

impl Token {
    /// The token as it is sent to clients.
    pub(crate) fn encode(&self, origin: Origin) -> String {
        let slash = match origin {
            Origin::Cache => "/",
            Origin::Store => "",
        };
        let mut map = Map::new();
        map.push_new("v", "meta.k8s.io/v1");
        map.push_new("rv", self.revision.map_or(-1, |it| i64::try_from(it).unwrap_or(i64::MAX)));
        map.push_new("start", format!("{slash}{}", self.start));
        let mut text = Vec::new();
        json::write(&Value::Map(map), &mut text);
        URL_SAFE_NO_PAD.encode(text)
    }

    /// Reads a token that a client sent.
    ///
    /// Upstream: apiserver/pkg/storage/continue.go, DecodeContinue (v1.36.4).
    pub(crate) fn decode(text: &str) -> Result<Token> {
        let invalid = |detail: &str| {
            Error::BadRequest(format!("invalid continue token: continue key is not valid{detail}"))
        };
        let text = text.replace(['\r', '\n'], "");
        let bytes = AS_GO_READS.decode(&text).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. } => at,
                DecodeError::InvalidPadding => text.find('=').unwrap_or(text.len()),
                DecodeError::InvalidLength(length) => length.saturating_sub(1),
            };
            invalid(&format!(": illegal base64 data at input byte {at}"))
        })?;
        let document = json::read(&bytes).map_err(|error| invalid(&format!(": {error}")))?;
        let wrong = |value: &Value, place: &str| {
            // The error shows a number that is not an integer.
            let shown = match value {
                Value::Float(_) if place.ends_with("int64") => {
                    format!(" {}", String::from_utf8_lossy(&json::to_bytes(value)))
                }
                _ => String::new(),
            };
            invalid(&format!(": json: cannot unmarshal {}{shown} into Go {place}", value.json_type()))
        };
        let map = match document.value {
            Value::Map(map) => in_lower_case(map),
            Value::Null => Map::new(),
            other => return Err(wrong(&other, "value of type storage.continueToken")),
        };
        let field = |key: &str, kind: &str, fits: fn(&Value) -> bool| match map.get(key) {
            Some(value) if !value.is_null() && !fits(value) => {
                Err(wrong(value, &format!("struct field continueToken.{key} of type {kind}")))
            }
            _ => Ok(()),
        };
        field("v", "string", |value| value.as_str().is_some())?;
        field("rv", "int64", |value| value.as_int().is_some())?;
        field("start", "string", |value| value.as_str().is_some())?;
        let version = map.str("v").unwrap_or_default();
        if version != "meta.k8s.io/v1" {
            return Err(invalid(&format!(": server does not recognize this encoded version {version}")));
        }
        let revision = match map.int("rv").unwrap_or_default() {
            0 => return Err(invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")),
            revision => u64::try_from(revision).ok(),
        };
        let start = map.str("start").unwrap_or_default();
        if start.is_empty() {
            return Err(invalid(": encoded start key empty (version meta.k8s.io/v1)"));
        }
        let relative = start.strip_prefix('/').unwrap_or(start);
        if !relative.is_empty() && relative.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid(&format!(": {start}")));
        }
        Ok(Token { revision, start: relative.to_owned() })
    }
}

/// Bits after the last byte do not matter.
const AS_GO_READS: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Names in a token may be in any case, as Go reads JSON; the last one counts.
fn in_lower_case(map: Map) -> Map {
    let mut lower = Map::new();
    for (key, value) in map {
        lower.set(key.to_ascii_lowercase(), value);
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::{Origin, Token};

    #[test]
    fn a_token_survives_the_wire() {
        for origin in [Origin::Cache, Origin::Store] {
            let token = Token { revision: Some(42), start: "default/web\0".to_owned() };
            assert_eq!(Token::decode(&token.encode(origin)).unwrap(), token);
            let token = Token { revision: None, start: "web\0".to_owned() };
            assert_eq!(Token::decode(&token.encode(origin)).unwrap(), token);
        }
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
        assert_eq!(Token::decode(&encoded).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_token_cannot_leave_its_list() {
        refused(
            r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets/a"}"#,
            "invalid continue token: continue key is not valid: ../secrets/a",
        );
        refused(
            r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#,
            "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        );
        refused(
            r#"{"v":"v2","rv":1,"start":"a"}"#,
            "invalid continue token: continue key is not valid: server does not recognize this encoded version v2",
        );
    }
}
