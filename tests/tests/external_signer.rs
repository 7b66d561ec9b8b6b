//! External signers of service account tokens: one dialogue with Keelson and with the real kube-apiserver.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keelson_stdx::clock::Clock;
use keelson_testkit::signer::{Behaviour, TokenSigner};
use keelson_testkit::{Client, Credentials, Options, Protocol, RunningServer};
use keelson_tests::upstream::{Accounts, Upstream};
use serde_json::{Value, json};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const WHOAMI: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// A server and its administrator.
struct Asked<'s> {
    url: &'s str,
    credentials: &'s Credentials,
    client: Client,
}

impl<'s> Asked<'s> {
    fn new(url: &'s str, credentials: &'s Credentials) -> Asked<'s> {
        let client = Client::new(url, credentials, Protocol::Http1).expect("a client");
        Asked { url, credentials, client }
    }

    /// The status, the warning and what matters of the body of a request for a token.
    async fn token(&self, spec: Value) -> (String, String) {
        let answer = self.client.post(&format!("{ACCOUNTS}/robot/token"), &json!({"spec": spec})).await;
        let warning =
            answer.headers.get("warning").and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        let status = answer.status;
        let body: Value = serde_json::from_str(&answer.text()).expect("JSON");
        let token = body["status"]["token"].as_str().unwrap_or_default().to_owned();
        let told = match body["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("{} {}", body["spec"]["expirationSeconds"], claims(&token)),
        };
        (format!("{status} {warning} {told}"), token)
    }

    async fn whoami(&self, token: &str) -> String {
        let credentials = self.credentials.with_token(token);
        let client = Client::new(self.url, &credentials, Protocol::Http1).expect("a client");
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let answer = client.post(WHOAMI, &review).await;
        let status = answer.status;
        let body: Value = serde_json::from_str(&answer.text()).expect("JSON");
        format!("{status} {}", body["status"]["userInfo"]["username"].as_str().unwrap_or_default())
    }

    /// The identifiers of the published keys, and for how many minutes they hold.
    async fn published(&self) -> String {
        let answer = self.client.get("/openid/v1/jwks").await;
        let kept = answer.headers["cache-control"].to_str().expect("a text").to_owned();
        let seconds: u64 = kept.trim_start_matches("public, max-age=").parse().expect("seconds");
        let keys: Value = serde_json::from_str(&answer.text()).expect("JSON");
        let ids: Vec<&str> =
            keys["keys"].as_array().into_iter().flatten().filter_map(|it| it["kid"].as_str()).collect();
        format!("{} for {} minutes", ids.join(" "), seconds.div_ceil(60))
    }

    /// The lines about the signer without what depends on time.
    async fn counted(&self) -> Vec<String> {
        let text = self.client.get("/metrics").await.text();
        let lines = text.lines().filter(|it| it.starts_with("apiserver_externaljwt_"));
        let lines = lines.filter(|it| !it.contains("_bucket{") && !it.contains("_sum{"));
        let mut lines: Vec<String> =
            lines.filter(|it| !it.contains("fetch_keys_success_timestamp")).map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// The header of a token, and its claims without the parts that differ each time.
fn claims(token: &str) -> String {
    let part = |at: usize| -> Value {
        let text = token.split('.').nth(at).expect("three parts");
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).expect("base64")).expect("JSON")
    };
    let (header, claims) = (part(0), part(1));
    let lives = claims["exp"].as_i64().unwrap_or(0) - claims["iat"].as_i64().unwrap_or(0);
    format!("{header} {} {} {} {lives}", claims["iss"], claims["sub"], claims["aud"])
}

/// Describes what happens, line by line.
async fn dialogue(asked: &Asked<'_>, signer: &TokenSigner) -> Vec<String> {
    let mut said = Vec::new();
    asked.client.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await.expect(201);
    let (text, first) = asked.token(json!({})).await;
    said.push(text);
    said.push(asked.whoami(&first).await);
    said.push(asked.published().await);
    said.push(asked.token(json!({"expirationSeconds": 1_000_000})).await.0);

    // A new key is fetched when it signs, and published.
    signer.rotate("key-2").expect("a key");
    let before = signer.fetches();
    let (text, second) = asked.token(json!({})).await;
    said.push(text);
    said.push(asked.whoami(&second).await);
    said.push(asked.whoami(&first).await);
    said.push(format!("{} fetches", signer.fetches() - before));
    // Upstream publishes a moment after it has fetched.
    let mut published = asked.published().await;
    for _ in 0..100 {
        if published.starts_with("key-2") {
            break;
        }
        Clock::real().sleep(Duration::from_millis(20)).await;
        published = asked.published().await;
    }
    said.push(published);

    signer.behave(Behaviour { signs_with_hidden_key: true, ..Behaviour::default() });
    said.push(asked.token(json!({})).await.0);
    signer.behave(Behaviour { refusal: Some("not today".to_owned()), ..Behaviour::default() });
    said.push(asked.token(json!({})).await.0);
    said.push(asked.whoami("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.AA").await);
    said.extend(asked.counted().await);
    said
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("signer.sock")
}

fn endpoint(folder: &Path) -> String {
    format!("--service-account-signing-endpoint={}", socket(folder).display())
}

fn flags(folder: &Path) -> Vec<String> {
    vec![endpoint(folder), format!("--service-account-issuer={ISSUER}")]
}

async fn ask_keelson() -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let signer = TokenSigner::start(&socket(folder.path()), Behaviour::default()).expect("a signer");
    let options = flags(folder.path()).into_iter().fold(Options::default(), Options::argument);
    let server = RunningServer::start(options).await;
    let url = server.url();
    dialogue(&Asked::new(&url, server.credentials()), &signer).await
}

#[tokio::test]
async fn tokens_are_signed_elsewhere() {
    let said = ask_keelson().await;
    let robot = "system:serviceaccount:default:robot";
    let token = |id: &str, seconds: u64| {
        format!(
            r#"{seconds} {{"alg":"ES256","kid":"{id}","typ":"JWT"}} "{ISSUER}" "{robot}" ["{ISSUER}"] {seconds}"#
        )
    };
    let failed = "500 Internal Server Error  Internal error occurred: failed to generate token:";
    let expected = [
        format!("201 Created  {}", token("key-1", 3600)),
        format!("201 Created {robot}"),
        "key-1 for 60 minutes".to_owned(),
        format!(
            "201 Created 299 - \"requested expiration of 1000000 seconds shortened to 86400 seconds\" {}",
            token("key-1", 86_400)
        ),
        format!("201 Created  {}", token("key-2", 3600)),
        format!("201 Created {robot}"),
        format!("201 Created {robot}"),
        "1 fetches".to_owned(),
        "key-2 key-1 for 60 minutes".to_owned(),
        format!("{failed} while validating header: key used for signing JWT (kid: old) is excluded from OIDC discovery docs"),
        format!("{failed} while signing jwt: rpc error: code = InvalidArgument desc = not today"),
        "401 Unauthorized ".to_owned(),
        "apiserver_externaljwt_fetch_keys_data_timestamp 1.7e+09".to_owned(),
        "apiserver_externaljwt_fetch_keys_request_total{code=\"OK\"} 2".to_owned(),
        "apiserver_externaljwt_request_duration_seconds_count{code=\"InvalidArgument\",method=\"/v1.ExternalJWTSigner/Sign\"} 1".to_owned(),
        "apiserver_externaljwt_request_duration_seconds_count{code=\"OK\",method=\"/v1.ExternalJWTSigner/FetchKeys\"} 2".to_owned(),
        "apiserver_externaljwt_request_duration_seconds_count{code=\"OK\",method=\"/v1.ExternalJWTSigner/Metadata\"} 1".to_owned(),
        "apiserver_externaljwt_request_duration_seconds_count{code=\"OK\",method=\"/v1.ExternalJWTSigner/Sign\"} 4".to_owned(),
        "apiserver_externaljwt_sign_request_total{code=\"InvalidArgument\"} 1".to_owned(),
        "apiserver_externaljwt_sign_request_total{code=\"OK\"} 3".to_owned(),
        "apiserver_externaljwt_sign_request_total{code=\"unknown-non-grpc\"} 1".to_owned(),
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn the_real_server_says_the_same_with_the_same_signer() {
    let folder = tempfile::tempdir().expect("a folder");
    let signer = TokenSigner::start(&socket(folder.path()), Behaviour::default()).expect("a signer");
    let test = "the_real_server_says_the_same_with_the_same_signer";
    // Its issuer is the same.
    let flags = [endpoint(folder.path())];
    let Some(upstream) = Upstream::with(test, Accounts::Free, &flags).await else { return };
    let said = dialogue(&Asked::new(upstream.url(), upstream.credentials()), &signer).await;
    assert_eq!(ask_keelson().await, said);
}

#[tokio::test]
async fn a_signer_that_allows_too_little_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let signer = TokenSigner::start(&socket(folder.path()), Behaviour::default()).expect("a signer");
    let check = async |more: &[&str], expected: &str| {
        let flags = flags(folder.path()).into_iter().chain(more.iter().copied().map(String::from));
        let options = flags.fold(Options::default(), Options::argument);
        let error = format!("{:#}", RunningServer::try_start(options).await.err().expect("refused"));
        assert!(error.contains(expected), "{error}");
    };
    check(
        &["--service-account-max-token-expiration=48h"],
        "service-account-max-token-expiration cannot be set longer than the token expiration supported by \
         service-account-signing-endpoint: 48h0m0s > 24h0m0s",
    )
    .await;
    signer.behave(Behaviour { max_seconds: 599, ..Behaviour::default() });
    check(&[], "max token life supported by external-jwt-signer (599s) is less than acceptable (min 600s)")
        .await;
    signer.behave(Behaviour { refresh_seconds: 0, ..Behaviour::default() });
    check(
        &[],
        "while setting up external-jwt-signer: while initially filling key cache: while performing initial cache fill: \
         while fetching token verification keys: found invalid refresh hint (0s)",
    )
    .await;
}
