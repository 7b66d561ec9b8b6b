//! `admissionregistration.k8s.io`: admission webhooks and policies.

mod expressions;
mod matching;
mod param_access;
mod policy;
mod policy_binding;
mod rules;
mod webhooks;

use std::sync::Arc;

use keelson_registry::{Group, Guard, Resource, Version};

use crate::Settings;
use matching::ReservedNames;
use param_access::{ParamAccess, Policies, Refers};
use policy::Policy;
use policy_binding::PolicyBinding;
use webhooks::Webhooks;

const NO_POLICIES: &str = "admission policies are not evaluated yet";

pub(crate) fn group(settings: &Settings) -> Group {
    let reserves_names = settings.is_on("ManifestBasedAdmissionControlConfig");
    let mut group = kinds();
    for resource in &mut group.resources {
        let kind = resource.group_kind();
        let names = reserves_names.then(|| ReservedNames { kind: kind.clone() });
        resource.guard = match refers(&resource.kind) {
            Some(refers) => Some(Arc::new(ParamAccess { kind, refers, names })),
            None => names.map(|names| Arc::new(names) as Arc<dyn Guard>),
        };
    }
    group
}

/// How objects of a kind refer to parameters, if they do.
fn refers(kind: &str) -> Option<Refers> {
    match kind {
        "MutatingAdmissionPolicy" | "ValidatingAdmissionPolicy" => Some(Refers::Policy),
        "MutatingAdmissionPolicyBinding" => Some(Refers::Binding(Policies::Mutating)),
        "ValidatingAdmissionPolicyBinding" => Some(Refers::Binding(Policies::Validating)),
        _ => None,
    }
}

fn kinds() -> Group {
    Group::new("admissionregistration.k8s.io")
        .serve(
            in_three_versions(extension("MutatingAdmissionPolicy", "mutatingadmissionpolicies"))
                .columns(policy::columns("Mutations", |object| policy::count(object, "mutations")))
                .strategy(Policy::Mutating)
                .without_effect(NO_POLICIES),
        )
        .serve(
            in_three_versions(extension("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"))
                .columns(policy_binding::columns())
                .strategy(PolicyBinding::Mutating)
                .without_effect(NO_POLICIES),
        )
        .serve(
            extension("MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
                .version(Version::stored("v1"))
                .columns(webhooks::columns())
                .strategy(Webhooks::Mutating),
        )
        .serve(
            extension("ValidatingAdmissionPolicy", "validatingadmissionpolicies")
                .version(Version::stored("v1"))
                .columns(policy::columns("Validations", |object| policy::count(object, "validations")))
                .with_status()
                // Upstream: pkg/registry/admissionregistration/validatingadmissionpolicy/storage/storage.go,
                // StatusREST.Update, which passes on that an apply may create (v1.36.4).
                .creates_on_status_apply()
                .strategy(Policy::Validating)
                .without_effect(NO_POLICIES),
        )
        .serve(
            extension("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings")
                .version(Version::stored("v1"))
                .columns(policy_binding::columns())
                .strategy(PolicyBinding::Validating)
                .without_effect(NO_POLICIES),
        )
        .serve(
            extension("ValidatingWebhookConfiguration", "validatingwebhookconfigurations")
                .version(Version::stored("v1"))
                .columns(webhooks::columns())
                .strategy(Webhooks::Validating),
        )
}

fn extension(kind: &str, plural: &str) -> Resource {
    Resource::cluster(kind, plural).category("api-extensions").conditional_update()
}

/// Stored in the version that servers of the release before can read, too.
///
/// Upstream: pkg/kubeapiserver/default_storage_factory_builder.go, NewStorageFactoryConfigEffectiveVersion (v1.36.4).
fn in_three_versions(resource: Resource) -> Resource {
    resource
        .version(Version::served("v1"))
        .version(Version::stored("v1beta1"))
        .version(Version::served("v1alpha1"))
}
