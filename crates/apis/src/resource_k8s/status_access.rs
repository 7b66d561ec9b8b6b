//! ResourceClaim status permissions: a client that allocates devices must be allowed to bind claims, a client that
//! reports on devices must be allowed to act for their driver.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_authn::service_account::{NODE_NAME, split_username};
use keelson_authz::{Attributes, Selectors, Target, deny_message};
use keelson_object::selector::name_rules::dns1123_subdomain;
use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Context, Guard, Write};

use super::GROUP;
use super::admin_access;
use super::claim::{DEVICE_STATUS, identity};
use crate::catalog::Settings;

/// The guard of claims.
pub(super) struct StatusAccess {
    is_on: bool,
    /// Whether drivers may report the status of devices.
    has_devices: bool,
}

impl StatusAccess {
    pub(super) fn of(settings: &Settings) -> StatusAccess {
        StatusAccess {
            is_on: settings.is_on("DRAResourceClaimGranularStatusAuthorization"),
            has_devices: settings.is_on(DEVICE_STATUS),
        }
    }
}

impl Guard for StatusAccess {
    /// Upstream: pkg/registry/resource/resourceclaim/strategy.go, resourceclaimStatusStrategy.ValidateUpdate (v1.36.4).
    fn judge<'g>(&'g self, write: &'g Write<'g>, errors: &'g mut FieldErrors) -> BoxFuture<'g, ()> {
        async move {
            let (Part::Status, Some(old)) = (write.part, write.old) else { return };
            admin_access::check_results(write.context, write.object, old, errors);
            if !self.is_on {
                return;
            }
            check_binding(write, old, errors).await;
            if self.has_devices && write.object.fields.at("status.allocation").is_some() {
                check_devices(write, old, errors).await;
            }
        }
        .boxed()
    }
}

/// Upstream: pkg/registry/resource/utils.go, AuthorizedForBinding (v1.36.4).
async fn check_binding(write: &Write<'_>, old: &Object, errors: &mut FieldErrors) {
    let is_same = |path| write.object.fields.at(path) == old.fields.at(path);
    if is_same("status.allocation") && is_same("status.reservedFor") {
        return;
    }
    let verb = &write.context.verb;
    if let Err(why) = ask(write.context, verb, target("", "binding", "")).await {
        errors.forbidden(
            &Path::root("status.allocation"),
            format!(
                "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
                 verb=\"{verb}\" permission: {why}"
            ),
        );
    }
}

/// Upstream: pkg/registry/resource/utils.go, AuthorizedForDeviceStatus (v1.36.4).
async fn check_devices(write: &Write<'_>, old: &Object, errors: &mut FieldErrors) {
    let drivers = changed_drivers(write.object, old);
    if drivers.is_empty() {
        return;
    }
    let verb = &write.context.verb;
    let mut verbs = vec![format!("arbitrary-node:{verb}")];
    if runs_beside(write.context, write.object) {
        verbs.insert(0, format!("associated-node:{verb}"));
    }
    for driver in drivers {
        if let Some(why) = ask_any(write, &verbs, driver).await {
            errors.forbidden(
                &Path::root("status.devices"),
                format!(
                    "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" \
                     permission: {why}",
                    verbs.join(" ")
                ),
            );
        }
    }
}

/// Why none of the verbs is allowed: the reason for the first.
async fn ask_any(write: &Write<'_>, verbs: &[String], driver: &str) -> Option<String> {
    let mut first = None;
    for verb in verbs {
        match ask(write.context, verb, target(write.namespace, "driver", driver)).await {
            Ok(()) => return None,
            Err(why) => first = first.or(Some(why)),
        }
    }
    first
}

async fn ask(context: &Context, verb: &str, target: Target<'_>) -> std::result::Result<(), String> {
    let verdict = context.authorize(verb, target).await;
    if verdict.decision.is_allowed() {
        return Ok(());
    }
    let attributes =
        Attributes { user: context.subject(), verb, target, path: "", selectors: Selectors::default() };
    Err(deny_message(&attributes, &verdict.explained()))
}

fn target<'t>(namespace: &'t str, subresource: &'t str, name: &'t str) -> Target<'t> {
    Target::Resource {
        namespace,
        api_group: GROUP,
        api_version: "*",
        resource: "resourceclaims",
        subresource,
        name,
    }
}

/// The drivers of all devices whose status changes.
fn changed_drivers<'o>(object: &'o Object, old: &'o Object) -> BTreeSet<&'o str> {
    let (now, before) = (devices(object), devices(old));
    let differs = |device: &Map, others: &[&Map]| {
        !others.iter().any(|other| identity(other) == identity(device) && *other == device)
    };
    let added = now.iter().filter(|it| differs(it, &before));
    let gone = before.iter().filter(|it| differs(it, &now));
    added.chain(gone).filter_map(|it| it.str("driver")).collect()
}

fn devices(object: &Object) -> Vec<&Map> {
    object.fields.map("status").into_iter().flat_map(|it| it.maps("devices")).collect()
}

/// Whether the user is a service account on the one node of the devices.
fn runs_beside(context: &Context, object: &Object) -> bool {
    let Some(node) = node_of(object) else { return false };
    let names = context.user.extra.get(NODE_NAME).map(Vec::as_slice).unwrap_or_default();
    split_username(&context.user.name).is_some()
        && matches!(names, [name] if *name == node && dns1123_subdomain(name).is_empty())
}

/// The node that the allocation names: by its name alone.
///
/// Upstream: pkg/registry/resource/utils.go, nodeNameFromAllocation (v1.36.4).
fn node_of(object: &Object) -> Option<&str> {
    let selector = object.fields.at("status.allocation.nodeSelector").and_then(Value::as_map)?;
    let [term] = &*selector.maps("nodeSelectorTerms").collect::<Vec<_>>() else { return None };
    let [field] = &*term.maps("matchFields").collect::<Vec<_>>() else { return None };
    let is_name = field.str("key") == Some("metadata.name") && field.str("operator") == Some("In");
    let [Value::String(name)] = field.list("values") else { return None };
    (is_name && term.list("matchExpressions").is_empty() && !name.is_empty()).then_some(name)
}
