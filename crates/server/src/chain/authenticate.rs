//! Authentication: determines the user of a request.

use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderName, Version, header};
use keelson_authn::{Authenticated, Credentials, User};
use tracing::warn;

use crate::chain::{Facts, websocket_token};
use crate::error::{Error, Result};
use crate::openapi::Offered;
use crate::settings::FrontProxyHeaders;

/// Calls the authenticator, and returns when it was done. Credentials are removed from the request here.
pub(crate) async fn authenticate(facts: &Facts<'_>, parts: &mut Parts) -> Result<(Authenticated, Duration)> {
    let (clock, metrics) = (&facts.server.clock, &facts.server.metrics.authentication);
    let begun = clock.monotonic();
    if let Some(expires) = facts.peer.expires() {
        let left = expires - i64::try_from(clock.since_epoch().as_secs()).unwrap_or(i64::MAX);
        facts.server.metrics.client_certificate_expiration.observe(left as f64);
    }
    let by_protocol = websocket_token::read(&parts.headers);
    let headers = match &by_protocol {
        Ok(Some(token)) => &token.as_bearer,
        Ok(None) | Err(_) => &parts.headers,
    };
    let credentials = Credentials {
        peer_certificates: &facts.peer.certificates,
        headers,
        path: parts.uri.path(),
        audiences: &[],
    };
    let outcome = match (facts.server.authenticator.authenticate(&credentials).await, &by_protocol) {
        // A client with an unreadable token does not become anonymous.
        (Ok(Some(found)), Err(_)) if found.user.name == User::ANONYMOUS => Ok(None),
        (outcome, _) => outcome,
    };
    let done = clock.monotonic();
    let elapsed = done.saturating_sub(begun);
    facts.server.metrics.filters.authentication.observe(elapsed.as_secs_f64());
    facts.latencies.authentication.set(elapsed);
    let authenticated = match outcome {
        Ok(Some(authenticated)) => {
            metrics.success.count(elapsed);
            facts.server.metrics.users.count(&authenticated.user.name);
            facts.warnings.extend(authenticated.warnings.iter().map(|&it| it.to_owned()));
            authenticated
        }
        Ok(None) => {
            metrics.failure.count(elapsed);
            part_with(facts, parts);
            return Err(Error::Unauthorized);
        }
        Err(error) => {
            metrics.error.count(elapsed);
            warn!(%error, "unable to authenticate the request");
            part_with(facts, parts);
            return Err(Error::Unauthorized);
        }
    };
    if let Ok(Some(token)) = by_protocol {
        parts.headers.insert(header::SEC_WEBSOCKET_PROTOCOL, token.other_protocols);
    }
    remove_credentials(&mut parts.headers, &facts.server.settings.front_proxy);
    let user = &authenticated.user;
    if user.name == User::ANONYMOUS || user.is_in_group(User::ALL_UNAUTHENTICATED) {
        part_with(facts, parts);
    }
    Ok((authenticated, done))
}

/// Unauthenticated clients get one request per HTTP/2 connection, because such connections are expensive.
fn part_with(facts: &Facts<'_>, parts: &Parts) {
    let is_wanted = facts.server.settings.http2_mitigation == Offered::Yes;
    if is_wanted && parts.version == Version::HTTP_2 {
        facts.peer.go_away();
    }
}

const FRONT_PROXY: [HeaderName; 3] = [
    HeaderName::from_static("x-remote-user"),
    HeaderName::from_static("x-remote-uid"),
    HeaderName::from_static("x-remote-group"),
];

fn remove_credentials(headers: &mut HeaderMap, front_proxy: &FrontProxyHeaders) {
    headers.remove(header::AUTHORIZATION);
    for name in FRONT_PROXY {
        headers.remove(name);
    }
    let is_extra =
        |name: &&HeaderName| name.as_str().starts_with("x-remote-extra-") || front_proxy.contains(name);
    let extra: Vec<HeaderName> = headers.keys().filter(is_extra).cloned().collect();
    for name in extra {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{FrontProxyHeaders, remove_credentials};

    #[test]
    fn credentials_do_not_travel() {
        let names = [
            "authorization",
            "x-remote-user",
            "x-remote-group",
            "x-remote-extra-scopes",
            "accept",
            "x-who",
            "x-more-scopes",
        ];
        let mut headers: HeaderMap =
            names.iter().map(|it| (it.parse().unwrap(), "x".parse().unwrap())).collect();
        let list = |name: &str| [name.to_owned()];
        remove_credentials(&mut headers, &FrontProxyHeaders::new(&list("X-Who"), &list("X-More-")));
        assert_eq!(headers.keys().map(|it| it.as_str()).collect::<Vec<_>>(), ["accept"]);
    }
}
