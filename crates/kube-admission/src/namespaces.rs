//! Namespaces: helpers of several plugins.

use keelson_object::Object;
use keelson_registry::Result;
use keelson_registry::admission::Request;

/// The namespace of the request, if it exists.
pub(crate) async fn of(request: &Request<'_>) -> Result<Option<Object>> {
    let namespaces = request.context.reach("", "namespaces")?;
    let found = namespaces.cache()?.find("", &request.place.namespace).await?;
    found.map(|it| namespaces.thaw(&it)).transpose()
}
