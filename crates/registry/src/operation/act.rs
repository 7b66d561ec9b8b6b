//! Actions: a POST to a subresource such as `eviction` or `binding`.

use std::sync::Arc;

use keelson_object::Object;

use crate::admission::{self, Operation, Request};
use crate::context::Context;
use crate::error::Result;
use crate::lifecycle::owners::{self, Seen};
use crate::lifecycle::{field_managers, system_fields};
use crate::live::{Live, Place};
use crate::subresource::{Action, Call};

/// Runs admission for `body`, which is posted to a subresource of the object at `place`, then runs `action`.
pub async fn act(
    live: &Arc<Live>,
    context: &Context,
    place: &Place,
    (subresource, action): (&str, &dyn Action),
    mut body: Object,
) -> Result<Object> {
    system_fields::settle_namespace(&live.resource, &place.namespace, &mut body)?;
    owners::once(context, &mut body.meta, Seen::InRequest);
    field_managers::note_foreign(context, subresource, &mut body);
    let request = Request { subresource, ..Request::new(Operation::Create, live, context, place) };
    admission::mutate(&request, Some(&mut body)).await?;
    let mut call = Call { live, context, place, body };
    action.prepare(&mut call).await?;
    admission::validate(&request, Some(&call.body)).await?;
    action.act(call).await
}
