//! NamespaceAutoProvision: creates the namespace of a new object if it does not exist.

use keelson_authn::User;
use keelson_object::{Object, ObjectMeta};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::context::DryRun;
use keelson_registry::{Context, Error, operation};
use keelson_status::Status;

/// The plugin.
pub(crate) struct NamespaceAutoProvision;

impl Plugin for NamespaceAutoProvision {
    fn name(&self) -> &'static str {
        "NamespaceAutoProvision"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
            && request.context.dry_run == DryRun::Off
            && !request.place.namespace.is_empty()
            && !request.is_of("", "namespaces")
    }

    /// Upstream: plugin/pkg/admission/namespace/autoprovision/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let name = &request.place.namespace;
            let namespaces = request.context.reach("", "namespaces")?;
            if namespaces.cache()?.find("", name).await?.is_some() {
                return Ok(());
            }
            let namespace = Object {
                kind: namespaces.resource.kind.clone(),
                api_version: namespaces.resource.stored_version().api_version.clone(),
                meta: ObjectMeta { name: name.clone(), ..ObjectMeta::default() },
                ..Object::default()
            };
            match operation::create(namespaces, &as_server(request.context), "", namespace).await {
                Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
                Err(Error::Forbidden { resource, name, reason }) => {
                    Err(Error::Forbidden { resource, name, reason })
                }
                Err(Error::Invalid { kind, name, errors }) => {
                    let status = Status::invalid(&kind.group, &kind.kind, &name, &errors);
                    Err(request.forbidden(object.as_deref(), status.message))
                }
                Err(error) => Err(request.forbidden(object.as_deref(), error.to_string())),
            }
        })
    }
}

/// The server creates the namespace, not the client.
fn as_server(context: &Context) -> Context {
    let user = User::new("system:apiserver", &["system:masters"]);
    let mut own = Context::new(user, context.clock.clone());
    own.catalog.clone_from(&context.catalog);
    own.field_manager = "kube-apiserver".into();
    own
}
