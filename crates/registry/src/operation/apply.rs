//! Server-side apply: a client sends the fields that it wants, and owns them.

use super::update::{Updated, check_address, check_version};
use super::write::{self, Draft, ManagedFields, Proposal, Propose, WriteRequest};
use crate::context::Context;
use crate::decode::{self, Origin};
use crate::error::Result;
use crate::lifecycle::field_managers::{self, Applied, Apply, Conversion, Conversions};
use crate::live::{Live, Place};
use crate::optimistic_write::Current;
use crate::options::{FieldValidation, Part};
use crate::resource::{Resource, Version};

/// Creates the object at `place`, or changes it, so that it is as `apply` wants it.
pub async fn apply(
    live: &Live,
    context: &Context,
    version: &Version,
    (place, part): (&Place, Part),
    apply: &Apply<'_>,
) -> Result<Updated> {
    let request = WriteRequest { live, context, address: place, part };
    let written =
        write::write(request, Application { version, apply, known: Conversions::default() }).await?;
    Ok(Updated { object: written.object, created: written.created })
}

struct Application<'a> {
    version: &'a Version,
    apply: &'a Apply<'a>,
    /// The conversions that a webhook has done for this request.
    known: Conversions,
}

impl Propose for Application<'_> {
    fn propose(&mut self, request: &WriteRequest<'_>, current: Option<&Current>) -> Result<Proposal> {
        let WriteRequest { live, context, address, part } = *request;
        if current.is_none() && !creates(&live.resource, part) {
            return Ok(Proposal::NotFound);
        }
        let old = current.map(|it| &it.object);
        let applied = field_managers::apply(live, context, part, old, (self.apply, &self.known))?;
        let mut value = match applied {
            Applied::Object(value) => value,
            Applied::Wanted(wanted) => return Ok(Proposal::Convert(wanted)),
        };
        field_managers::complain(context, self.apply)?;
        let managed_fields = ManagedFields::Applied(field_managers::managed_fields(&mut value));
        let draft = decode::Draft { value, origin: Origin::Patch, ..decode::Draft::default() };
        let object = decode::object(context, &live.resource, self.version, draft, FieldValidation::Ignore)?;
        check_address(address, &object)?;
        match current {
            Some(current) => check_version(live, address, current, &object)?,
            None if !object.meta.uid.is_empty() => {
                let uid = &object.meta.uid;
                let reason = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(live.conflict(&address.name, reason));
            }
            None => {}
        }
        Ok(Proposal::Put(Draft { object, managed_fields }))
    }

    fn learn(&mut self, conversion: Conversion) {
        self.known.add(conversion);
    }
}

/// Whether an apply creates the object if it does not exist.
fn creates(resource: &Resource, part: Part) -> bool {
    match part {
        Part::Main => true,
        Part::Status => resource.create_on_update || resource.create_on_status_apply,
        Part::Scale | Part::Named(_) => false,
    }
}
