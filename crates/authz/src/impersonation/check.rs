//! Checks of one impersonation mode.

use std::collections::BTreeMap;

use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Path, domain_path};

use super::mode::{Mode, Order, node, service_account};
use super::{Acting, Refused, Wanted, refusal};
use crate::{Attributes, Authorizer, Selectors, Subject, Target};

/// The check of one mode for one user.
pub(super) struct Check<'c> {
    pub(super) authorizer: &'c dyn Authorizer,
    pub(super) mode: Mode,
    /// The user that sent the request.
    pub(super) user: Subject<'c>,
}

/// From this number of questions on, a single question about all of them is tried first.
const MANY: usize = 4;
/// The group of the resources that are not of the core group.
const GROUP: &str = "authentication.k8s.io";
const NODES: &str = "system:nodes";
const MASTERS: &str = "system:masters";
const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

impl Check<'_> {
    /// Whether the request itself may be made in this mode.
    pub(super) async fn request(&self, request: &Attributes<'_>) -> Result<(), Refused> {
        let Some(prefix) = self.mode.request_verb() else { return Ok(()) };
        let verb = format!("{prefix}{}", request.verb);
        self.ask(&Attributes { user: self.user, verb: &verb, ..*request }).await
    }

    /// Checks every part of `wanted`; returns the impersonated user if all are allowed.
    pub(super) async fn parts(&self, wanted: &Wanted, order: Order) -> Result<Acting, Refused> {
        let mut user = wanted.clone();
        self.name(wanted, &mut user.groups).await?;
        match order {
            Order::UidFirst => {
                self.uid(wanted).await?;
                self.groups(wanted).await?;
                self.extra(wanted).await?;
            }
            Order::GroupsFirst => {
                self.groups(wanted).await?;
                self.extra(wanted).await?;
                self.uid(wanted).await?;
            }
        }
        let is_in = |group: &str| user.groups.iter().any(|it| it == group);
        let missing = match &*user.name {
            ANONYMOUS => Some(UNAUTHENTICATED),
            _ if is_in(UNAUTHENTICATED) => None,
            _ => Some(AUTHENTICATED),
        };
        if let Some(group) = missing.filter(|group| !is_in(group)) {
            user.groups.push(group.to_owned());
        }
        let constraint = if self.mode.is_constrained() { self.mode.verb() } else { "" };
        Ok(Acting { user, constraint })
    }

    /// Nodes and service accounts have groups of their own.
    async fn name(&self, wanted: &Wanted, groups: &mut Vec<String>) -> Result<(), Refused> {
        let api_group = self.core_or_not();
        if let Some(name) = node(&wanted.name).filter(|_| self.mode.is_constrained()) {
            *groups = vec![NODES.to_owned()];
            // The answer is the same for every node, so the question is about all of them.
            let name = if self.mode == Mode::AssociatedNode { "*" } else { name };
            return self.ask(&self.attributes(api_group, ("nodes", ""), name)).await;
        }
        let Some((namespace, name)) = service_account(&wanted.name) else {
            return self.ask(&self.attributes(api_group, ("users", ""), &wanted.name)).await;
        };
        if groups.is_empty() {
            let of_namespace = format!("system:serviceaccounts:{namespace}");
            *groups = vec!["system:serviceaccounts".to_owned(), of_namespace];
        }
        let mut attributes = self.attributes(api_group, ("serviceaccounts", ""), name);
        if let Target::Resource { namespace: at, .. } = &mut attributes.target {
            *at = namespace;
        }
        self.ask(&attributes).await
    }

    async fn uid(&self, wanted: &Wanted) -> Result<(), Refused> {
        if wanted.uid.is_empty() {
            return Ok(());
        }
        self.ask(&self.attributes(GROUP, ("uids", ""), &wanted.uid)).await
    }

    async fn groups(&self, wanted: &Wanted) -> Result<(), Refused> {
        let about = |name| self.attributes(self.core_or_not(), ("groups", ""), name);
        if self.mode.is_constrained() {
            if wanted.groups.iter().any(String::is_empty) {
                return Err(refusal(&about(""), "impersonating the empty string group is not allowed"));
            }
            if wanted.groups.iter().any(|it| it == MASTERS) {
                let reason = "impersonating the system:masters group is not allowed";
                return Err(refusal(&about(MASTERS), reason));
            }
            if wanted.groups.len() >= MANY && self.ask(&about("*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in &wanted.groups {
            self.ask(&about(group)).await?;
        }
        Ok(())
    }

    async fn extra(&self, wanted: &Wanted) -> Result<(), Refused> {
        let about = |key, value| self.attributes(GROUP, ("userextras", key), value);
        if self.mode.is_constrained() {
            check_extra(&wanted.extra).map_err(|problem| refusal(&about("", ""), &problem))?;
            let is_many =
                wanted.extra.len() >= MANY || wanted.extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if is_many && self.ask(&about("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in &wanted.extra {
            for value in values {
                self.ask(&about(key, value)).await?;
            }
        }
        Ok(())
    }

    fn core_or_not(&self) -> &'static str {
        if self.mode.is_constrained() { GROUP } else { "" }
    }

    fn attributes<'a>(
        &'a self,
        api_group: &'a str,
        (resource, subresource): (&'a str, &'a str),
        name: &'a str,
    ) -> Attributes<'a> {
        let target =
            Target::Resource { namespace: "", api_group, api_version: "v1", resource, subresource, name };
        let selectors = Selectors::default();
        Attributes { user: self.user, verb: self.mode.verb(), target, path: "", selectors }
    }

    /// Upstream: mode.go, checkAuthorization (v1.36.4).
    async fn ask(&self, attributes: &Attributes<'_>) -> Result<(), Refused> {
        let verdict = self.authorizer.authorize(attributes).await;
        if verdict.decision.is_allowed() {
            return Ok(());
        }
        Err(refusal(attributes, &verdict.explained()))
    }
}

/// The extra of a service account whose node is to be impersonated, reduced to its keys.
pub(super) fn keys_only(extra: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let keys = extra.keys().cloned().collect();
    BTreeMap::from([("authentication.kubernetes.io/associated-node-keys".to_owned(), keys)])
}

/// Upstream: mode.go, validateExtra (v1.36.4).
fn check_extra(extra: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    for (key, values) in extra {
        if key.is_empty() {
            return Err("impersonating the empty string key in extra is not allowed".to_owned());
        }
        let mut errors = FieldErrors::default();
        domain_path::check(key, &Path::root("extra.key"), &mut errors);
        if !errors.is_empty() {
            let problem = errors.aggregate();
            return Err(format!("impersonating an invalid key in extra is not allowed: {problem}"));
        }
        if key.chars().any(char::is_uppercase) {
            let key = quote(key);
            return Err(format!("impersonating a non-lowercase key in extra is not allowed: {key}"));
        }
        if values.is_empty() {
            return Err("impersonating empty values in extra is not allowed".to_owned());
        }
        if values.iter().any(String::is_empty) {
            return Err("impersonating the empty string value in extra is not allowed".to_owned());
        }
    }
    Ok(())
}
