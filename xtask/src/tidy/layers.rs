//! The layering is a test: who may depend on whom.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::repo::{Repo, output};

/// From the ground up. A crate may depend only on crates of lower layers.
pub const LAYERS: &[&[&str]] = &[
    &["stdx", "object"],
    &["status", "schema", "store", "x509", "grpc"],
    &["structural"],
    &["codec", "merge", "cel", "store-mvcc", "store-etcd", "encryption", "watch-cache", "webhook-client"],
    &["authn", "authz", "flow-control", "audit", "validation-rules"],
    &["registry"],
    &["server"],
    &["apis", "kube-admission", "extensions", "aggregator", "node-proxy", "delegated-auth"],
    &["housekeeping"],
    &["keelson"],
];

/// They may use everything and nobody may use them, except in tests.
const DEV_ONLY: &[&str] = &["testkit", "bench", "tests", "xtask"];

/// No input or output, no `async`: no runtime, no network.
const PURE: &[&str] = &["object", "schema", "merge", "codec", "cel", "structural", "validation-rules"];
const IMPURE_CRATES: &[&str] =
    &["tokio", "tokio-util", "futures-util", "hyper", "hyper-util", "rustls", "redb"];

/// Storage and the resource engine know no HTTP.
const BEFORE_HTTP: &[&str] = &["store", "store-mvcc", "watch-cache", "registry"];
const HTTP_CRATES: &[&str] = &["http", "http-body", "http-body-util", "hyper", "hyper-util"];

/// A dependency that is built into the product (not one of tests): (crate, crate it depends on).
type Dependency = (String, String);

/// Asks cargo for the dependencies of the workspace and checks them.
pub fn violations_of(repo: &Repo) -> Result<Vec<String>> {
    let metadata = output(&mut repo.cargo(["metadata", "--no-deps", "--offline", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
    Ok(violations(&dependencies(&metadata)))
}

/// What is wrong with these dependencies.
pub fn violations(dependencies: &[Dependency]) -> Vec<String> {
    let ours: BTreeSet<&str> = dependencies.iter().map(|(user, _)| user.as_str()).collect();
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut found = Vec::new();
    for user in &ours {
        if layer(user).is_none() && !DEV_ONLY.contains(user) {
            found.push(format!("{user} has no layer"));
        }
    }
    for (user, used) in dependencies {
        let (user, used) = (user.as_str(), used.as_str());
        let allowed = match (layer(user), layer(used)) {
            (Some(upper), Some(lower)) => lower < upper,
            (Some(_), None) => !DEV_ONLY.contains(&used) && !is_forbidden(user, used),
            (None, _) => true,
        };
        if !allowed {
            found.push(format!("{user} must not depend on {used}"));
        }
    }
    found
}

fn is_forbidden(user: &str, used: &str) -> bool {
    (PURE.contains(&user) && (IMPURE_CRATES.contains(&used) || HTTP_CRATES.contains(&used)))
        || (BEFORE_HTTP.contains(&user) && HTTP_CRATES.contains(&used))
}

/// Our packages appear without their prefix; every package of ours appears at least once (as user of itself
/// under an empty name, when it depends on nothing).
fn dependencies(metadata: &Value) -> Vec<Dependency> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let user = short(package["name"].as_str().unwrap_or_default());
        found.push((user.clone(), String::new()));
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if dependency["kind"].is_null() {
                found.push((user.clone(), short(dependency["name"].as_str().unwrap_or_default())));
            }
        }
    }
    found
}

fn short(package: &str) -> String {
    package.strip_prefix("keelson-").unwrap_or(package).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pairs: &[(&str, &str)], expected: &[&str]) {
        let pairs: Vec<Dependency> =
            pairs.iter().map(|(user, used)| (String::from(*user), String::from(*used))).collect();
        assert_eq!(violations(&pairs), expected);
    }

    #[test]
    fn storage_knows_no_http() {
        check(&[("store-etcd", "server")], &["store-etcd must not depend on server"]);
        check(&[("store-mvcc", "hyper")], &["store-mvcc must not depend on hyper"]);
        check(&[("registry", "http")], &["registry must not depend on http"]);
        check(&[("server", "registry"), ("registry", "store"), ("server", "hyper")], &[]);
    }

    #[test]
    fn a_layer_does_not_use_itself() {
        check(&[("authn", "authz")], &["authn must not depend on authz"]);
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        check(&[("wheel", "object")], &["wheel has no layer"]);
    }

    #[test]
    fn pure_crates_have_no_runtime() {
        check(&[("codec", "tokio"), ("codec", "bytes")], &["codec must not depend on tokio"]);
    }

    #[test]
    fn only_tests_use_the_testkit() {
        check(&[("server", "testkit")], &["server must not depend on testkit"]);
        check(&[("tests", "testkit"), ("testkit", "keelson")], &[]);
        let metadata = json!({"packages": [
            {"name": "keelson-server", "dependencies": [
                {"name": "keelson-testkit", "kind": "dev"}, {"name": "keelson-registry", "kind": null},
            ]},
        ]});
        let pair = |used: &str| (String::from("server"), String::from(used));
        assert_eq!(dependencies(&metadata), [pair(""), pair("registry")]);
    }
}
