//! NamespaceExists: rejects requests in namespaces that do not exist.

use keelson_object::Object;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

/// The plugin.
pub(crate) struct NamespaceExists;

impl Plugin for NamespaceExists {
    fn name(&self) -> &'static str {
        "NamespaceExists"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation != Operation::Connect
            && !request.place.namespace.is_empty()
            && !request.is_of("", "namespaces")
    }

    /// Upstream: plugin/pkg/admission/namespace/exists/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, _object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let name = &request.place.namespace;
            let namespaces = request.context.reach("", "namespaces")?;
            let found = namespaces.cache()?.find("", name).await?;
            if found.is_some() { Ok(()) } else { Err(namespaces.not_found(name)) }
        })
    }
}
