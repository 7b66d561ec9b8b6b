//! TokenRequest: a service account token with an expiry, optionally bound to an object.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use keelson_authn::service_account::{ISSUED_CREDENTIAL_ID, Order, Ref, WARN_ONLY_SECONDS};
use keelson_object::scalar::{Time, quote};
use keelson_object::{FieldErrors, GroupKind, GroupResource, Map, Object, Path, Value};
use keelson_registry::subresource::{Action, Call, Subresource};
use keelson_registry::{Context, Error, Live, Result};
use keelson_status::Status;
use keelson_stdx::offload;

use crate::access::Tokens;
use crate::catalog::Settings;

/// `serviceaccounts/token`.
pub(crate) fn subresource(settings: &Settings) -> Subresource {
    let (name, version, kind) = ("token", "authentication.k8s.io/v1", "TokenRequest");
    let Some(tokens) = settings.access.tokens.clone() else {
        return Subresource::not_here(name, version, kind, "no key that signs tokens is configured");
    };
    let uid_must_match = settings.is_on("TokenRequestServiceAccountUIDValidation");
    let audiences = settings.access.api_audiences.clone();
    Subresource::action(name, version, kind, TokenRequests { tokens, audiences, uid_must_match })
}

/// POST to the token of a service account.
struct TokenRequests {
    tokens: Tokens,
    /// The default audiences.
    audiences: Vec<String>,
    uid_must_match: bool,
}

impl Action for TokenRequests {
    fn default(&self, body: &mut Object) {
        body.fields.map_mut("spec").default_to("expirationSeconds", DEFAULT_SECONDS);
    }

    fn prepare<'a>(&'a self, call: &'a mut Call<'_>) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.settle(call))
    }

    fn act<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Object>> {
        Box::pin(self.create(call))
    }
}

/// The shortest lifetime of a token, in seconds.
///
/// Upstream: pkg/apis/authentication/validation/validation.go (v1.36.4).
const MIN_SECONDS: i64 = 10 * 60;
const MAX_SECONDS: i64 = 1 << 32;
/// Upstream: pkg/apis/authentication/v1/defaults.go, SetDefaults_TokenRequestSpec (v1.36.4).
const DEFAULT_SECONDS: i64 = 60 * 60;

impl TokenRequests {
    /// Upstream: pkg/registry/core/serviceaccount/storage/token.go, Create (v1.36.4), up to its validation.
    async fn settle(&self, call: &mut Call<'_>) -> Result<()> {
        let (context, place, body) = (call.context, call.place, &mut call.body);
        check_name(body, &place.name)?;
        let account = find(call.live, &place.namespace, &place.name).await?;
        self.check_uid(context, body, &account)?;
        body.meta.name = account.meta.name;
        body.meta.namespace = account.meta.namespace;
        if body.meta.uid.is_empty() {
            body.meta.uid = account.meta.uid;
        }
        body.meta.creation_timestamp = Some(context.now());
        let mut status = Map::new();
        status.push_new("token", "");
        status.push_new("expirationTimestamp", Value::Null);
        body.fields.set("status", status);
        let spec = body.fields.map_mut("spec");
        if spec.list("audiences").is_empty() {
            let audiences: Vec<Value> = self.audiences.iter().map(|it| Value::from(it.as_str())).collect();
            spec.set("audiences", audiences);
        }
        check_seconds(spec.int("expirationSeconds").unwrap_or(DEFAULT_SECONDS))
    }

    /// Upstream: pkg/registry/core/serviceaccount/storage/token.go, Create (v1.36.4), from its validation on.
    async fn create(&self, call: Call<'_>) -> Result<Object> {
        let (context, place, mut body) = (call.context, call.place, call.body);
        let (namespace, name) = (place.namespace.as_str(), place.name.as_str());
        let account = find(call.live, namespace, name).await?;
        let now = context.now();
        let spec = body.fields.map_mut("spec");
        let audiences: Vec<String> =
            spec.list("audiences").iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let asked = spec.int("expirationSeconds").unwrap_or(DEFAULT_SECONDS);
        let bound = Bound::find(context, &body, namespace, name).await?;
        let seconds = match self.tokens.max_seconds {
            Some(most) if asked > most => {
                context.warn(format!("requested expiration of {asked} seconds shortened to {most} seconds"));
                most
            }
            _ => asked,
        };
        let mut order = Order {
            namespace: namespace.to_owned(),
            account: reference(&account),
            audiences,
            seconds,
            pod: bound.pod,
            node: bound.node,
            secret: bound.secret,
            warn_after: None,
        };
        self.extend(&mut order);
        // Signing with a long RSA key takes milliseconds. Waiting for an external signer needs no slot.
        let issue = async {
            offload::expect(offload::LARGE).await;
            self.tokens.issuer.issue(&order, now.unix()).await
        };
        let issued = offload::scope(issue).await.map_err(|error| {
            let message = format!("failed to generate token: {error}");
            Error::Rejected(Box::new(Status::internal_error(&message)))
        })?;
        context.annotate(ISSUED_CREDENTIAL_ID, issued.credential_id);
        let spec = body.fields.map_mut("spec");
        spec.set("expirationSeconds", seconds);
        spec.default_to("boundObjectRef", Value::Null);
        let status = body.fields.map_mut("status");
        status.set("token", issued.token);
        status.set("expirationTimestamp", Time::from_unix(now.unix().saturating_add(seconds)).to_string());
        Ok(body)
    }

    fn check_uid(&self, context: &Context, body: &Object, account: &Object) -> Result<()> {
        let (asked, there) = (&body.meta.uid, &account.meta.uid);
        if asked.is_empty() || asked == there {
            return Ok(());
        }
        let reason = format!(
            "the UID in the token request ({asked}) does not match the UID of the service account ({there})"
        );
        if self.uid_must_match {
            let resource = GroupResource::new("authentication.k8s.io", "TokenRequest");
            return Err(Error::Conflict { resource, name: account.meta.name.to_string(), reason });
        }
        context.annotate("authentication.k8s.io/token-request-uid-mismatch", reason.clone());
        context.warn(format!(
            "{reason} but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a \
             conflict error"
        ));
        Ok(())
    }

    /// Clients in pods that never read their token again are warned before they fail.
    fn extend(&self, order: &mut Order) {
        let is_ours = order.audiences.iter().all(|it| self.audiences.contains(it));
        if self.tokens.extended && order.pod.is_some() && order.seconds == WARN_ONLY_SECONDS && is_ours {
            order.warn_after = Some(order.seconds);
            order.seconds = self.tokens.extended_seconds;
        }
    }
}

fn check_name(body: &Object, name: &str) -> Result<()> {
    if !body.meta.name.is_empty() && body.meta.name != name {
        let mut errors = FieldErrors::default();
        let at = Path::root("metadata");
        errors.invalid(&at.key("name"), &*body.meta.name, "must match the service account name if specified");
        return Err(invalid(name, errors));
    }
    Ok(())
}

/// Upstream: pkg/apis/authentication/validation/validation.go, ValidateTokenRequest (v1.36.4).
fn check_seconds(seconds: i64) -> Result<()> {
    let detail = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_SECONDS..=MAX_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let mut errors = FieldErrors::default();
    errors.invalid(&Path::root("spec").key("expirationSeconds"), seconds, detail);
    Err(invalid("", errors))
}

fn invalid(name: &str, errors: FieldErrors) -> Error {
    let kind = GroupKind { group: "authentication.k8s.io".into(), kind: "TokenRequest".into() };
    Error::Invalid { kind, name: name.to_owned(), errors }
}

/// The objects that a token is bound to.
#[derive(Default)]
struct Bound {
    pod: Option<Ref>,
    node: Option<Ref>,
    secret: Option<Ref>,
}

impl Bound {
    async fn find(context: &Context, body: &Object, namespace: &str, account: &str) -> Result<Bound> {
        let Some(asked) = body.fields.map("spec").and_then(|it| it.map("boundObjectRef")) else {
            return Ok(Bound::default());
        };
        let text = |key: &str| asked.str(key).unwrap_or_default();
        let (version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
        let (group, number) = version.split_once('/').unwrap_or(("", version));
        let mut bound = Bound::default();
        let object = match (group, kind) {
            ("", "Pod") => {
                let pod = find(context.reach("", "pods")?, namespace, name).await?;
                if pod.text_at("spec.serviceAccountName").unwrap_or_default() != account {
                    return Err(Error::BadRequest(format!(
                        "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                        quote(account)
                    )));
                }
                bound.pod = Some(reference(&pod));
                bound.node = node_of(context, &pod).await?;
                pod
            }
            ("", "Node") => {
                let node = find(context.reach("", "nodes")?, "", name).await?;
                bound.node = Some(reference(&node));
                node
            }
            ("", "Secret") => {
                let secret = find(context.reach("", "secrets")?, namespace, name).await?;
                bound.secret = Some(reference(&secret));
                secret
            }
            _ => {
                let text = format!("cannot bind token to object of type {group}/{number}, Kind={kind}");
                return Err(Error::BadRequest(text));
            }
        };
        let uid = text("uid");
        if !uid.is_empty() && object.meta.uid != uid {
            let resource = GroupResource::new(group, kind);
            let reason = format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            );
            return Err(Error::Conflict { resource, name: name.to_owned(), reason });
        }
        Ok(bound)
    }
}

/// The node of a pod; if it does not exist, only its name.
async fn node_of(context: &Context, pod: &Object) -> Result<Option<Ref>> {
    let Some(name) = pod.text_at("spec.nodeName").filter(|it| !it.is_empty()) else { return Ok(None) };
    match find(context.reach("", "nodes")?, "", name).await {
        Ok(node) => Ok(Some(reference(&node))),
        Err(Error::NotFound { .. }) => Ok(Some(Ref::new(name, ""))),
        Err(error) => Err(error),
    }
}

async fn find(live: &Arc<Live>, namespace: &str, name: &str) -> Result<Object> {
    let snapshot = live.cache()?.fresh().await?;
    let frozen = snapshot.get(namespace, name).ok_or_else(|| live.not_found(name))?;
    live.thaw(frozen)
}

fn reference(object: &Object) -> Ref {
    Ref::new(object.meta.name.as_str(), object.meta.uid.as_str())
}
