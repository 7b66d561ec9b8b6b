//! Server-side apply: a client says what it wants, and owns what it says.

use super::create::Owners;
use super::create_permission::CreatePermission;
use super::update::{Draft, Updated, attempt, check_address, check_version};
use crate::commit::Race;
use crate::context::Context;
use crate::decode::{self, Origin};
use crate::error::Result;
use crate::lifecycle::field_managers::{self, Apply};
use crate::live::{Live, Place};
use crate::options::{FieldValidation, Part};
use crate::resource::{Resource, Version};

/// Makes the object at `place`, or changes it, so that it is as `apply` wants it.
pub async fn apply(
    live: &Live,
    context: &Context,
    version: &Version,
    (place, part): (&Place, Part),
    apply: &Apply<'_>,
) -> Result<Updated> {
    let mut race = Race::begin(live, place).await?;
    let permission = CreatePermission::default();
    loop {
        match apply_once(context, &mut race, (version, part), &permission, apply).await {
            Ok(Some(updated)) => return Ok(updated),
            Ok(None) => {}
            Err(error) => race.excuse(error).await?,
        }
    }
}

async fn apply_once(
    context: &Context,
    race: &mut Race<'_>,
    (version, part): (&Version, Part),
    permission: &CreatePermission,
    apply: &Apply<'_>,
) -> Result<Option<Updated>> {
    let (live, place, current) = (race.live(), race.place(), race.current());
    if current.is_none() && !creates(&live.resource, part) {
        return Err(live.missing(place).await);
    }
    let mut value = field_managers::apply(live, context, part, current.map(|it| &it.object), apply)?;
    field_managers::complain(context, apply)?;
    let owners = Owners::Known(field_managers::managed_fields(&mut value));
    let draft = decode::Draft { value, origin: Origin::Patch, ..decode::Draft::default() };
    let object = decode::object(context, &live.resource, version, draft, FieldValidation::Ignore)?;
    check_address(place, &object)?;
    match current {
        Some(current) => check_version(live, place, current, &object)?,
        None if !object.meta.uid.is_empty() => {
            let uid = &object.meta.uid;
            let reason = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(live.conflict(&place.name, reason));
        }
        None => {}
    }
    attempt(context, race, (place, part), permission, Draft { object, owners }).await
}

/// Whether an apply creates what is not there.
fn creates(resource: &Resource, part: Part) -> bool {
    match part {
        Part::Main => true,
        Part::Status => resource.create_on_update || resource.create_on_status_apply,
        Part::Scale | Part::Named(_) => false,
    }
}
