//! Create: a new object, whose name may be generated.

use std::sync::Arc;

use keelson_object::{Frozen, Object};

use super::write::{self, Draft, ManagedFields, WriteRequest};
use crate::context::{Context, DryRun};
use crate::error::{Error, Result};
use crate::lifecycle::owners::{self, Seen};
use crate::live::{Live, Place};
use crate::options::Part;

/// Creates `object` in `namespace`, which is empty for cluster-scoped resources.
pub async fn create(
    live: &Live,
    context: &Context,
    namespace: &str,
    mut object: Object,
) -> Result<Arc<Frozen>> {
    owners::once(context, &mut object.meta, Seen::InRequest);
    // Upstream's store refuses a resourceVersion, and ignores one that is not a number. A dry run does not
    // reach the store.
    if context.dry_run == DryRun::Off
        && object.meta.resource_version.parse::<u64>().is_ok_and(|version| version != 0)
    {
        return Err(Error::Unclassified(
            "resourceVersion should not be set on objects to be created".to_owned(),
        ));
    }
    let address = Place::new(namespace, "");
    let request = WriteRequest { live, context, address: &address, part: Part::Main };
    let draft = Draft { object, managed_fields: ManagedFields::Tracked };
    Ok(write::create(request, draft).await?.object)
}
