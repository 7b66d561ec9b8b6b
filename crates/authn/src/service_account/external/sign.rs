//! Signing: claims go to the signer, and what comes back is checked before it becomes a token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keelson_codec::json;
use keelson_object::scalar::quote;
use keelson_object::{Map, Value};

use super::keys::MAX_KEY_ID;
use super::messages::{SignRequest, SignResponse};
use super::{ExternalSigner, SIGN, SIGN_TIMEOUT, SignerError, code};

/// Upstream: pkg/serviceaccount/externaljwt/plugin/plugin.go, validateJWTHeader (v1.36.4).
const ALGORITHMS: [&str; 4] = ["RS256", "ES256", "ES384", "ES512"];

impl ExternalSigner {
    /// A token that makes these claims.
    pub(in crate::service_account) async fn sign(&self, claims: &Map) -> Result<String, SignerError> {
        let token = self.token(claims).await;
        self.meter.signed(code(&token));
        token
    }

    /// Upstream: pkg/serviceaccount/externaljwt/plugin/plugin.go, signAndAssembleJWT (v1.36.4).
    async fn token(&self, claims: &Map) -> Result<String, SignerError> {
        let claims = URL_SAFE_NO_PAD.encode(json::to_bytes(&Value::Map(claims.clone())));
        let answer = self.call(SIGN, SignRequest { claims: claims.clone() }, SIGN_TIMEOUT).await;
        let answer: SignResponse =
            answer.map_err(|failure| SignerError::Call { doing: "while signing jwt", failure })?;
        let invalid = |why| SignerError::Answer(format!("while validating header: {why}"));
        let key_id = key_id(&answer.header).map_err(invalid)?;
        self.check_signing_key(&key_id).await.map_err(invalid)?;
        if answer.signature.is_empty() {
            return Err(SignerError::Answer("empty signature returned".to_owned()));
        }
        Ok(format!("{}.{claims}.{}", answer.header, answer.signature))
    }

    /// A key that is left out of discovery verifies old tokens only.
    async fn check_signing_key(&self, id: &str) -> Result<(), String> {
        // An unknown key may be a new one.
        self.find(Some(id)).await;
        if self.fetched.load().called(Some(id)).any(|it| it.is_hidden) {
            return Err(format!("key used for signing JWT (kid: {id}) is excluded from OIDC discovery docs"));
        }
        Ok(())
    }
}

/// The key that a header names, if it is the header of a token of ours.
fn key_id(header: &str) -> Result<String, String> {
    let bytes =
        URL_SAFE_NO_PAD.decode(header).map_err(|error| format!("while unwrapping header: {error}"))?;
    let document = json::read(&bytes).map_err(|error| format!("while parsing header JSON: {error}"))?;
    let Value::Map(header) = document.value else {
        return Err("while parsing header JSON: json: cannot unmarshal".to_owned());
    };
    if let Some((unknown, _)) = header.iter().find(|(key, _)| !["alg", "kid", "typ"].contains(&key.as_str()))
    {
        return Err(format!("while parsing header JSON: json: unknown field {}", quote(unknown)));
    }
    let text = |key: &str| header.str(key).unwrap_or_default();
    if text("typ") != "JWT" {
        return Err("bad type".to_owned());
    }
    match text("kid").len() {
        0 => return Err("key id missing".to_owned()),
        1..=MAX_KEY_ID => {}
        _ => return Err("key id longer than 1 kb".to_owned()),
    }
    if !ALGORITHMS.contains(&text("alg")) {
        return Err(format!("bad signing algorithm {}", quote(text("alg"))));
    }
    Ok(text("kid").to_owned())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::key_id;

    #[track_caller]
    fn check(header: &str, expected: &str) {
        let outcome = key_id(&URL_SAFE_NO_PAD.encode(header));
        assert_eq!(outcome.unwrap_or_else(|error| format!("error: {error}")), expected, "{header}");
    }

    #[test]
    fn headers_have_three_fields() {
        check(r#"{"alg":"ES256","kid":"k","typ":"JWT"}"#, "k");
        check(r#"{"alg":"ES256","kid":"k"}"#, "error: bad type");
        check(r#"{"alg":"ES256","typ":"JWT"}"#, "error: key id missing");
        check(r#"{"alg":"none","kid":"k","typ":"JWT"}"#, "error: bad signing algorithm \"none\"");
        check(r#"{"alg":"HS256","kid":"k","typ":"JWT"}"#, "error: bad signing algorithm \"HS256\"");
        check(
            r#"{"alg":"ES256","kid":"k","typ":"JWT","crit":[]}"#,
            "error: while parsing header JSON: json: unknown field \"crit\"",
        );
        let long = format!(r#"{{"alg":"ES256","kid":"{}","typ":"JWT"}}"#, "k".repeat(1025));
        check(&long, "error: key id longer than 1 kb");
    }
}
