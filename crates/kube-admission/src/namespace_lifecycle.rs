//! NamespaceLifecycle: rejects creates in missing or terminating namespaces, and the deletion of system
//! namespaces.

use keelson_object::Object;
use keelson_registry::Error;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_status::{Cause, Status};

/// Namespaces that cannot be deleted.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go, Register (v1.36.4).
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The plugin.
pub(crate) struct NamespaceLifecycle;

impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    /// An access review does not tell whether a namespace exists.
    fn handles(&self, request: &Request<'_>) -> bool {
        let is_review = request.is_of("authorization.k8s.io", "localsubjectaccessreviews");
        match request.operation {
            Operation::Create | Operation::Update => {
                !request.place.namespace.is_empty() && !request.is_of("", "namespaces") && !is_review
            }
            Operation::Delete => request.is_of("", "namespaces"),
            Operation::Connect => false,
        }
    }

    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            if request.operation == Operation::Delete {
                return match IMMORTAL.contains(&request.place.name.as_str()) {
                    true => Err(request.forbidden(None, "this namespace may not be deleted")),
                    false => Ok(()),
                };
            }
            let name = &request.place.namespace;
            let namespaces = request.context.reach("", "namespaces")?;
            let Some(namespace) = namespaces.cache()?.find("", name).await? else {
                return Err(namespaces.not_found(name));
            };
            let phase = namespaces.selected(&namespace, "status.phase");
            if request.operation == Operation::Create && phase == Some("Terminating") {
                return Err(terminating(request, object.as_deref()));
            }
            Ok(())
        })
    }
}

/// Clients look for the cause, because it means that a retry is useless.
fn terminating(request: &Request<'_>, object: Option<&Object>) -> Error {
    let namespace = &request.place.namespace;
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let Error::Forbidden { resource, name, reason } = request.forbidden(object, why) else {
        return Error::Bug(String::from("a refusal is a refusal"));
    };
    let mut status = Status::forbidden(&resource.group, &resource.resource, &name, &reason);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: String::from("metadata.namespace"),
        });
    }
    Error::Rejected(Box::new(status))
}
