//! ServiceAccount: the identity of pods.

pub(crate) mod token;

use keelson_object::{Map, Object, Value};
use keelson_registry::{Context, Strategy};

use crate::shared::edit::parts;

pub(crate) struct ServiceAccount;

/// The old annotation that kept pods from mounting secrets of other accounts.
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";

impl Strategy for ServiceAccount {
    fn prepare_create(&self, context: &Context, object: &mut Object) {
        name_secrets_only(object);
        warn(context, object);
    }

    fn prepare_update(&self, context: &Context, object: &mut Object, old: &Object) {
        name_secrets_only(object);
        if old.meta.annotations.get(ENFORCE).is_none() {
            warn(context, object);
        }
    }
}

/// Upstream: pkg/registry/core/serviceaccount/strategy.go, cleanSecretReferences (v1.36.4).
fn name_secrets_only(object: &mut Object) {
    for secret in parts(&mut object.fields, "secrets") {
        let name = secret.remove("name");
        *secret = Map::new();
        secret.set("name", name.unwrap_or_else(|| Value::from("")));
    }
}

/// Upstream: pkg/registry/core/serviceaccount/strategy.go, warnIfHasEnforceMountableSecretsAnnotation (v1.36.4).
fn warn(context: &Context, object: &Object) {
    if object.meta.annotations.get(ENFORCE).is_some() {
        context.warn(format!(
            "metadata.annotations[{ENFORCE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to \
             mounted secrets"
        ));
    }
}

#[cfg(test)]
mod tests {
    use keelson_registry::Strategy as _;

    use super::{ENFORCE, ServiceAccount};
    use crate::shared::testing::{context, decoded, tree};

    #[test]
    fn of_secrets_only_the_name_is_kept() {
        let text = r#"{"secrets": [{"name": "a", "namespace": "n", "uid": "u"}, {"name": "b"}]}"#;
        let mut object = decoded(&ServiceAccount, "v1 ServiceAccount", text);
        ServiceAccount.prepare_create(&context(), &mut object);
        assert_eq!(object.fields.get("secrets"), Some(&tree(r#"[{"name": "a"}, {"name": "b"}]"#)));
    }

    #[test]
    fn who_newly_enforces_mountable_secrets_is_warned() {
        let plain = decoded(&ServiceAccount, "v1 ServiceAccount", "{}");
        let mut enforcing = plain.clone();
        enforcing.meta.annotations.set(ENFORCE, "true");
        let warned = |old: &keelson_object::Object| {
            let context = context();
            ServiceAccount.prepare_update(&context, &mut enforcing.clone(), old);
            context.take_warnings().len()
        };
        assert_eq!((warned(&plain), warned(&enforcing)), (1, 0));
    }
}
