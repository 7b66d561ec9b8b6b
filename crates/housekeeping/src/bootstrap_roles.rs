//! Bootstrap roles and bindings, which exist in every cluster: created if they are missing, completed if
//! parts are missing. Additions by operators are kept; an object with the annotation `autoupdate: "false"` is
//! not changed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use keelson_authz::rbac::bootstrap::{AUTO_UPDATE, MOVED, Policy, SPLIT};
use keelson_authz::rbac::{Rbac, Rule, uncovered};
use keelson_object::meta::StringMap;
use keelson_object::{Map, Object, ObjectMeta, Value};
use keelson_registry::options::{DeleteOptions, Part};
use keelson_registry::{CatalogHandle, Context, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// How long the index may take to see the created objects, and how often it is checked.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Tries until all of them exist, and `rbac` knows them.
pub async fn run(catalog: &CatalogHandle, clock: &Clock, policy: &Policy, rbac: &Rbac) {
    // Without the group there are no roles.
    if catalog.load().group(GROUP).is_none_or(|it| it.resources.is_empty()) {
        return;
    }
    while let Err(error) = ensure(catalog, clock, policy).await {
        tracing::warn!(%error, "the roles of every cluster could not be made");
        clock.sleep(RETRY).await;
    }
    let begun = clock.monotonic();
    while !knows(rbac, policy) && clock.monotonic().saturating_sub(begun) < KNOWN_WITHIN {
        clock.sleep(LOOK).await;
    }
}

fn knows(rbac: &Rbac, policy: &Policy) -> bool {
    let tables = rbac.tables();
    let bindings = policy.cluster_role_bindings.iter().chain(&policy.role_bindings);
    policy.cluster_roles.iter().all(|it| tables.has_cluster_role(&it.meta.name))
        && bindings.map(|it| &it.meta).all(|it| tables.has_binding(&it.namespace, &it.name))
}

/// Makes and completes them.
///
/// Upstream: pkg/registry/rbac/rest/storage_rbac.go, ensureRBACPolicy (v1.36.4).
pub async fn ensure(catalog: &CatalogHandle, clock: &Clock, policy: &Policy) -> Result<()> {
    let desk = Desk { catalog, context: crate::context(catalog, clock) };
    desk.move_rules().await?;
    desk.split_binding(policy).await?;
    let kinds = [
        ("clusterroles", &policy.cluster_roles, completed_role as Complete),
        ("clusterrolebindings", &policy.cluster_role_bindings, completed_binding),
        ("roles", &policy.roles, completed_role),
        ("rolebindings", &policy.role_bindings, completed_binding),
    ];
    // All at once, because each mostly waits for the disk. A failure does not keep the others from being
    // created.
    let each = kinds
        .into_iter()
        .flat_map(|(plural, objects, complete)| objects.iter().map(move |object| (plural, object, complete)));
    let outcomes = join_all(each.map(async |(plural, object, complete)| {
        let outcome = desk.reconcile(plural, object, complete).await;
        if let Err(error) = &outcome {
            tracing::warn!(%error, plural, name = %object.meta.name, "not as it has to be");
        }
        outcome
    }));
    outcomes.await.into_iter().collect()
}

/// What to do with an existing object: nothing, complete it, or replace it.
enum Completed {
    Same,
    Changed(Box<Object>),
    Other,
}

type Complete = fn(&Object, &Object) -> Completed;

struct Desk<'d> {
    catalog: &'d CatalogHandle,
    context: Context,
}

impl Desk<'_> {
    fn live(&self, plural: &str) -> Result<Arc<Live>> {
        let live = self.catalog.load().live(GROUP, plural).cloned();
        live.ok_or_else(|| Error::Bug(format!("{plural} are not served")))
    }

    async fn read(&self, live: &Live, meta: &ObjectMeta) -> Result<Option<Object>> {
        let snapshot = live.cache()?.fresh().await?;
        snapshot.get(&meta.namespace, &meta.name).map(|it| live.thaw(it)).transpose()
    }

    async fn create(&self, live: &Live, object: &Object) -> Result<()> {
        let (namespace, object) = (object.meta.namespace.clone(), object.clone());
        match operation::create(live, &self.context, &namespace, object).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn reconcile(&self, plural: &str, wanted: &Object, complete: Complete) -> Result<()> {
        let live = self.live(plural)?;
        let Some(there) = self.read(&live, &wanted.meta).await? else {
            return self.create(&live, wanted).await;
        };
        let is_protected = there.meta.annotations.get(AUTO_UPDATE) == Some("false");
        let place = Place::new(wanted.meta.namespace.clone(), wanted.meta.name.clone());
        match complete(&there, wanted) {
            Completed::Same => Ok(()),
            Completed::Changed(_) | Completed::Other if is_protected => {
                tracing::warn!(plural, name = %place.name, "skipped what is protected and lacks something");
                Ok(())
            }
            Completed::Changed(object) => {
                operation::update(&live, &self.context, &place, Part::Main, *object).await.map(drop)
            }
            Completed::Other => {
                let options = DeleteOptions::default();
                operation::delete(&live, &self.context, &place, &options).await?;
                self.create(&live, wanted).await
            }
        }
    }

    /// Keeps rules that operators added to roles of old releases, before these roles became aggregated.
    ///
    /// Upstream: pkg/registry/rbac/rest/storage_rbac.go, primeAggregatedClusterRoles (v1.36.4).
    async fn move_rules(&self) -> Result<()> {
        let live = self.live("clusterroles")?;
        for (old, new) in MOVED {
            let named = |name: &str| ObjectMeta { name: name.into(), ..ObjectMeta::default() };
            if self.read(&live, &named(new)).await?.is_some() {
                continue;
            }
            let Some(mut role) = self.read(&live, &named(old)).await? else { continue };
            if role.fields.map("aggregationRule").is_some() {
                return Ok(());
            }
            role.meta = copied(&role.meta, new);
            self.create(&live, &role).await?;
        }
        Ok(())
    }

    /// The subjects of the old binding also get the binding that was split off.
    ///
    /// Upstream: pkg/registry/rbac/rest/storage_rbac.go, primeSplitClusterRoleBindings (v1.36.4).
    async fn split_binding(&self, policy: &Policy) -> Result<()> {
        let live = self.live("clusterrolebindings")?;
        let (old, new) = SPLIT;
        let Some(template) = policy.cluster_role_bindings.iter().find(|it| it.meta.name == new) else {
            return Ok(());
        };
        let named = |name: &str| ObjectMeta { name: name.into(), ..ObjectMeta::default() };
        let Some(source) = self.read(&live, &named(old)).await? else { return Ok(()) };
        if self.read(&live, &named(new)).await?.is_some() {
            return Ok(());
        }
        let mut binding = template.clone();
        binding.meta = copied(&source.meta, new);
        binding.fields.keep("subjects", &source.fields);
        self.create(&live, &binding).await
    }
}

/// Another name, the same labels and annotations.
fn copied(meta: &ObjectMeta, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: name.into(),
        labels: meta.labels.clone(),
        annotations: meta.annotations.clone(),
        ..ObjectMeta::default()
    }
}

/// Upstream: component-helpers/auth/rbac/reconciliation/reconcile_role.go, computeReconciledRole (v1.36.4).
fn completed_role(there: &Object, wanted: &Object) -> Completed {
    let mut object = there.clone();
    let mut changed = complete_meta(&mut object.meta, &wanted.meta);
    let rules = |object: &Object| object.fields.maps("rules").map(Rule::of).collect::<Vec<_>>();
    let missing = uncovered(&rules(there), &rules(wanted));
    if !missing.is_empty() {
        append(&mut object.fields, "rules", missing.iter().map(|it| Value::Map(it.to_map())));
        changed = true;
    }
    let selectors = |object: &Object| {
        let rule = object.fields.map("aggregationRule");
        rule.map(|it| it.list("clusterRoleSelectors").to_vec())
    };
    match (selectors(there), selectors(wanted)) {
        (Some(_), None) => {
            object.fields.remove("aggregationRule");
            changed = true;
        }
        (there, Some(wanted)) => {
            let there = there.unwrap_or_default();
            let missing: Vec<Value> = wanted.into_iter().filter(|it| !there.contains(it)).collect();
            if !missing.is_empty() {
                let aggregation = object.fields.map_mut("aggregationRule");
                append(aggregation, "clusterRoleSelectors", missing.into_iter());
                changed = true;
            }
        }
        (None, None) => {}
    }
    if changed { Completed::Changed(Box::new(object)) } else { Completed::Same }
}

/// Upstream: component-helpers/auth/rbac/reconciliation/reconcile_rolebindings.go, computeReconciledRoleBinding (v1.36.4).
fn completed_binding(there: &Object, wanted: &Object) -> Completed {
    if there.fields.get("roleRef") != wanted.fields.get("roleRef") {
        return Completed::Other;
    }
    let mut object = there.clone();
    let mut changed = complete_meta(&mut object.meta, &wanted.meta);
    let has = there.fields.list("subjects");
    let missing: Vec<Value> =
        wanted.fields.list("subjects").iter().filter(|it| !has.contains(it)).cloned().collect();
    if !missing.is_empty() {
        append(&mut object.fields, "subjects", missing.into_iter());
        changed = true;
    }
    if changed { Completed::Changed(Box::new(object)) } else { Completed::Same }
}

/// Adds missing labels and annotations; existing ones are kept.
fn complete_meta(meta: &mut ObjectMeta, wanted: &ObjectMeta) -> bool {
    let complete = |there: &mut StringMap, wanted: &StringMap| {
        let before = there.len();
        for (key, value) in wanted.iter() {
            if there.get(key).is_none() {
                there.set(key, value);
            }
        }
        there.len() > before
    };
    let annotated = complete(&mut meta.annotations, &wanted.annotations);
    complete(&mut meta.labels, &wanted.labels) || annotated
}

fn append(fields: &mut Map, key: &str, items: impl Iterator<Item = Value>) {
    match fields.get_mut(key) {
        Some(Value::List(list)) => list.extend(items),
        _ => fields.set(key, items.collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use keelson_authz::rbac::bootstrap::Policy;
    use keelson_object::{Map, Object, Value};

    use super::{Completed, completed_binding, completed_role};

    fn role(name: &str) -> Object {
        let roles = Policy::new(|_| true).cluster_roles;
        roles.into_iter().find(|it| it.meta.name == name).expect("it is there")
    }

    fn binding(name: &str) -> Object {
        let bindings = Policy::new(|_| true).cluster_role_bindings;
        bindings.into_iter().find(|it| it.meta.name == name).expect("it is there")
    }

    #[track_caller]
    fn changed(completed: Completed) -> Object {
        match completed {
            Completed::Changed(object) => *object,
            Completed::Same => panic!("it stays the same"),
            Completed::Other => panic!("it is replaced"),
        }
    }

    #[test]
    fn what_is_complete_stays_the_same() {
        let (role, binding) = (role("system:discovery"), binding("system:discovery"));
        assert!(matches!(completed_role(&role, &role), Completed::Same));
        assert!(matches!(completed_binding(&binding, &binding), Completed::Same));
    }

    #[test]
    fn missing_rules_are_added_piece_by_piece_and_others_stay() {
        let role = role("system:kube-dns");
        let mut there = role.clone();
        let mut rule = Map::new();
        rule.set("verbs", vec![Value::from("list")]);
        rule.set("apiGroups", vec![Value::from("")]);
        rule.set("resources", vec![Value::from("endpoints"), Value::from("services"), Value::from("mine")]);
        there.fields.set("rules", vec![Value::Map(rule.clone())]);
        let object = changed(completed_role(&there, &role));
        let rules: Vec<&Map> = object.fields.maps("rules").collect();
        assert_eq!(rules.len(), 3, "what was there, and two pieces");
        assert_eq!(*rules[0], rule);
        assert_eq!(rules[1].list("verbs"), [Value::from("watch")]);
        assert_eq!(rules[1].list("resources"), [Value::from("endpoints")]);
    }

    #[test]
    fn labels_are_added_and_not_changed() {
        let role = role("edit");
        let mut there = role.clone();
        there.meta.labels.remove("kubernetes.io/bootstrapping");
        there.meta.labels.set("rbac.authorization.k8s.io/aggregate-to-admin", "false");
        let object = changed(completed_role(&there, &role));
        assert_eq!(object.meta.labels.get("kubernetes.io/bootstrapping"), Some("rbac-defaults"));
        assert_eq!(object.meta.labels.get("rbac.authorization.k8s.io/aggregate-to-admin"), Some("false"));
    }

    #[test]
    fn a_role_gathers_rules_only_if_it_should() {
        let plain = role("system:kube-dns");
        let mut there = plain.clone();
        there.fields.map_mut("aggregationRule").set("clusterRoleSelectors", Vec::new());
        assert!(!changed(completed_role(&there, &plain)).fields.contains("aggregationRule"));
        let edit = role("edit");
        let mut there = edit.clone();
        there.fields.remove("aggregationRule");
        let object = changed(completed_role(&there, &edit));
        assert_eq!(object.fields.get("aggregationRule"), edit.fields.get("aggregationRule"));
    }

    #[test]
    fn missing_subjects_are_added_and_another_role_makes_another_binding() {
        let binding = binding("system:public-info-viewer");
        let mut there = binding.clone();
        there.fields.set("subjects", Vec::new());
        assert_eq!(changed(completed_binding(&there, &binding)).fields.list("subjects").len(), 2);
        there.fields.map_mut("roleRef").set("name", "other");
        assert!(matches!(completed_binding(&there, &binding), Completed::Other));
    }
}
