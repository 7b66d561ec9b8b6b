//! Tests of chains of authorizers, from flags and files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keelson_authz::rbac::Rbac;
use keelson_authz::{Attributes, Selectors, Subject, Target};
use keelson_stdx::clock::Clock;

use super::Authz;
use crate::config::{Config, Environment};
use crate::flags::{Face, parse};

fn config(line: &str) -> Config {
    let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
    let flags = parse(Face::Standalone, &arguments).expect("flags");
    let environment = Environment { home: Some("/root-of-x".into()), ..Environment::default() };
    Config::new(&flags, &environment).expect("a config")
}

fn authz(line: &str, clock: &Clock) -> Authz {
    Authz::new(&config(line), &Arc::new(Rbac::default()), clock).expect("an authorizer")
}

/// The decision for a member of `group` about `path`, and its reason.
async fn ask(authz: &Authz, group: &str, path: &str) -> (bool, String) {
    let groups = [group.to_owned()];
    let user = Subject { name: "x", uid: "", groups: &groups, extra: &BTreeMap::new() };
    let attributes =
        Attributes { user, verb: "get", target: Target::Path, path, selectors: Selectors::default() };
    let decision = authz.authorizer.authorize(&attributes).await.decision;
    (decision.is_allowed(), decision.reason().to_owned())
}

async fn check(line: &str, group: &str, expected: (bool, &str)) {
    let authz = authz(line, &Clock::real());
    let (is_allowed, reason) = ask(&authz, group, "/metrics").await;
    assert_eq!((is_allowed, reason.as_str()), expected, "{line} {group}");
}

#[tokio::test]
async fn modes_decide_and_masters_may_everything() {
    check("--authorization-mode=AlwaysAllow", "any", (true, "")).await;
    check("--authorization-mode=AlwaysDeny", "any", (false, "Everything is forbidden.")).await;
    check("--authorization-mode=AlwaysDeny", "system:masters", (true, "")).await;
    check("--authorization-mode=AlwaysDeny,AlwaysAllow", "any", (true, "")).await;
    check("", "any", (false, "")).await;
    check("", "system:nodes", (false, "")).await;
}

#[tokio::test]
async fn policies_are_read_from_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("policy.jsonl");
    fs::write(&path, r#"{"group":"ops","nonResourcePath":"*"}"#).expect("a file");
    let line = format!("--authorization-mode=ABAC --authorization-policy-file={}", path.display());
    check(&line, "ops", (true, "")).await;
    check(&line, "dev", (false, "No policy matched.")).await;
    fs::write(&path, "rubbish").expect("a file");
    let refused = Authz::new(&config(&line), &Arc::default(), &Clock::real()).err().expect("it is wrong");
    let start = format!(
        "invalid authorization config: error reading policy file {}, line 1: rubbish: ",
        path.display()
    );
    assert!(refused.to_string().starts_with(&start), "{refused}");
}

fn write(path: &Path, authorizers: &str) {
    let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n";
    fs::write(path, format!("{head}{authorizers}")).expect("a file");
}

/// Lets the loop check the file until there were this many reloads with this status.
async fn until(authz: &Authz, hand: &keelson_stdx::clock::ManualClock, (status, count): (&str, u64)) {
    let is_it = |line: &str| {
        line.starts_with("apiserver_authorization_config_controller_automatic_reloads_total")
            && line.contains(&format!("status=\"{status}\""))
            && line.ends_with(&format!(" {count}"))
    };
    for _ in 0..500 {
        hand.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut text = String::new();
        authz.metrics().iter().for_each(|it| it.write(&mut text));
        if text.lines().any(is_it) {
            return;
        }
    }
    panic!("there were not {count} reloads with {status}");
}

#[tokio::test]
async fn files_change_the_chain_while_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("authz.yaml");
    write(&path, "- {type: AlwaysDeny, name: alwaysdeny}\n");
    let (clock, hand) = Clock::manual();
    let mut authz = authz(&format!("--authorization-config={}", path.display()), &clock);
    keelson_stdx::task::spawn("reload", authz.reload());
    assert_eq!(ask(&authz, "any", "/x").await, (false, "Everything is forbidden.".to_owned()));
    // Modes that were configured at the start must stay: a file without them changes nothing.
    write(&path, "- {type: AlwaysAllow, name: alwaysallow}\n");
    until(&authz, &hand, ("failure", 1)).await;
    assert!(!ask(&authz, "any", "/x").await.0);
    write(&path, "- {type: AlwaysAllow, name: alwaysallow}\n- {type: AlwaysDeny, name: alwaysdeny}\n");
    until(&authz, &hand, ("success", 1)).await;
    assert!(ask(&authz, "any", "/x").await.0);
    // RBAC was not configured at the start.
    write(&path, "- {type: RBAC, name: rbac}\n- {type: AlwaysDeny, name: alwaysdeny}\n");
    until(&authz, &hand, ("failure", 2)).await;
    assert!(ask(&authz, "any", "/x").await.0);
}
