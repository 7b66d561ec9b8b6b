//! Server-side apply: a client says what it wants, and owns what it says.

use std::borrow::Cow;

use super::create::{self, Owners};
use super::update::{Updated, check_address, check_version, ready, step};
use crate::commit::{self, Step};
use crate::context::Context;
use crate::decode::{self, Draft, Origin};
use crate::error::Result;
use crate::lifecycle::field_managers::{self, Apply};
use crate::live::{Live, Place};
use crate::options::{FieldValidation, Part};
use crate::resource::Version;

/// Makes the object at `place`, or changes it, so that it is as `apply` wants it.
pub async fn apply(
    live: &Live,
    context: &Context,
    version: &Version,
    (place, part): (&Place, Part),
    apply: &Apply<'_>,
) -> Result<Updated> {
    let outcome = commit::apply(live, context, place, |current| {
        if current.is_none() && part != Part::Main {
            return Err(live.not_found(&place.name));
        }
        let mut value = field_managers::apply(live, context, part, current.map(|it| &it.object), apply)?;
        field_managers::complain(context, apply)?;
        let owners = Owners::Known(field_managers::managed_fields(&mut value));
        let draft = Draft { value, origin: Origin::Patch, ..Draft::default() };
        let mut object = decode::object(context, &live.resource, version, draft, FieldValidation::Ignore)?;
        check_address(place, &object)?;
        let Some(current) = current else {
            if !object.meta.uid.is_empty() {
                let uid = &object.meta.uid;
                let reason = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(live.conflict(&place.name, reason));
            }
            create::ready(live, context, &place.namespace, &mut object, owners)?;
            return Ok(Step::Put(Cow::Owned(object)));
        };
        check_version(live, place, current, &mut object)?;
        ready(live, context, part, &mut object, (&current.object, owners))?;
        Ok(step(live, object, &current.object))
    })
    .await?;
    Ok(Updated { object: outcome.object, created: outcome.created })
}
