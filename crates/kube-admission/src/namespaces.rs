//! What several plugins ask of namespaces.

use keelson_object::Object;
use keelson_registry::Result;
use keelson_registry::admission::Request;

/// The namespace in which something happens, if it is there.
pub(crate) async fn of(request: &Request<'_>) -> Result<Option<Object>> {
    let namespaces = request.context.reach("", "namespaces")?;
    let snapshot = namespaces.cache()?.fresh().await?;
    snapshot.get("", &request.place.namespace).map(|it| namespaces.thaw(it)).transpose()
}
