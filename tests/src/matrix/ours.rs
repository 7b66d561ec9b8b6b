//! The authorizers of a matrix, without a server around them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use keelson_authz::node::{Features, Feed, Graph, NodeAuthorizer};
use keelson_authz::rbac::Rbac;
use keelson_authz::rbac::bootstrap::Policy;
use keelson_authz::{
    Abac, AlwaysAllow, AlwaysDeny, Authorizer, OnFailure, PrivilegedGroup, ReviewVersion, Union, Webhook,
    WebhookObserver, WebhookSettings,
};
use keelson_codec::json;
use keelson_object::{Follower as _, Object};
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Client, Retry, Target, Trust};

use super::{Matrix, Stage};

/// The modes of a matrix over its objects and the roles of every cluster.
pub(super) fn authorizer(matrix: &Matrix, stage: &Stage) -> Result<Arc<dyn Authorizer>> {
    let mut all: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup::masters())];
    for mode in matrix.modes.split(',') {
        all.push(match mode {
            "RBAC" => Arc::new(rbac(matrix)),
            "Node" => Arc::new(nodes(matrix)),
            "ABAC" => Arc::new(Abac::parse("policy.jsonl", &matrix.policy_file())?),
            "Webhook" => Arc::new(webhook(matrix, stage)?),
            "AlwaysAllow" => Arc::new(AlwaysAllow),
            "AlwaysDeny" => Arc::new(AlwaysDeny),
            _ => bail!("no such mode: {mode}"),
        });
    }
    Ok(Arc::new(Union::new(all)))
}

fn objects(matrix: &Matrix) -> impl Iterator<Item = Object> {
    matrix.objects.iter().map(|object| {
        let bytes = serde_json::to_vec(object).expect("it was read from JSON");
        let document = json::read(&bytes).expect("it is JSON");
        Object::from_value(document.value).expect("it is an object")
    })
}

fn rbac(matrix: &Matrix) -> Rbac {
    let rbac = Rbac::default();
    let policy = Policy::new(is_on);
    rbac.change(|tables| {
        policy.cluster_roles.iter().chain(&policy.roles).for_each(|it| tables.put_role(it));
        let bindings = policy.cluster_role_bindings.iter().chain(&policy.role_bindings);
        bindings.for_each(|it| tables.put_binding(it));
        for object in objects(matrix) {
            match object.kind.as_str() {
                "RoleBinding" | "ClusterRoleBinding" => tables.put_binding(&object),
                "Role" | "ClusterRole" => tables.put_role(&object),
                _ => (),
            }
        }
    });
    rbac
}

fn nodes(matrix: &Matrix) -> NodeAuthorizer {
    let graph = Arc::new(Graph::new());
    for (_, plural, feed) in Feed::all(&graph) {
        let is_followed = |it: &Object| format!("{}s", it.kind.to_lowercase()) == plural;
        objects(matrix).filter(is_followed).for_each(|it| feed.put(it));
    }
    let features = Features { credential_provider_tokens: true, pod_certificates: true, trust_bundles: true };
    NodeAuthorizer::new(graph, features)
}

fn webhook(matrix: &Matrix, stage: &Stage) -> Result<Webhook> {
    let (url, ca) = stage.webhook();
    let clock = Clock::real();
    let target = Target { trust: Trust::Bundle(ca.as_bytes().to_vec()), ..Target::new(url) };
    let is_configured = matrix.on_failure.is_some();
    let settings = WebhookSettings {
        name: "hook".to_owned(),
        version: matrix.review.as_deref().and_then(ReviewVersion::parse).unwrap_or(ReviewVersion::V1beta1),
        authorized_ttl: Duration::ZERO,
        unauthorized_ttl: Duration::ZERO,
        timeout: Duration::from_secs(if is_configured { 3 } else { 30 }),
        on_failure: match matrix.on_failure.as_deref() {
            Some("Deny") => OnFailure::Deny,
            _ => OnFailure::NoOpinion,
        },
        retry: Retry::default(),
    };
    Ok(Webhook::new(Client::new(target, &clock)?, settings, Arc::new(Nobody), clock))
}

/// Metrics that count nothing.
struct Nobody;

impl WebhookObserver for Nobody {
    fn asked(&self, _: &str, _: &'static str, _: Duration) {}
    fn failed_open(&self, _: &str, _: &'static str) {}
}

/// The feature gates of the flags in [`crate::upstream::EVERYTHING`], on top of the defaults.
fn is_on(feature: &str) -> bool {
    let off = [
        "DRADeviceTaintRules",
        "DRAResourcePoolStatus",
        "DRAWorkloadResourceClaims",
        "StorageVersionAPI",
        "WorkloadWithJob",
    ];
    !off.contains(&feature)
}
