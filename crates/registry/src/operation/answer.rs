//! Answers: a POST to a resource of which nothing is stored, such as SubjectAccessReview.

use keelson_object::Object;

use crate::admission::{self, Operation, Request};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::lifecycle::field_managers;
use crate::lifecycle::owners::{self, Seen};
use crate::lifecycle::system_fields;
use crate::live::{Live, Place};
use crate::options::Part;

/// The answer to `body`, posted in `namespace` (empty for the cluster).
pub async fn answer(live: &Live, context: &Context, namespace: &str, mut body: Object) -> Result<Object> {
    let answers = live.resource.answers.as_ref();
    let answers = answers.ok_or_else(|| Error::Bug(format!("nobody answers {}", live.resource.plural)))?;
    system_fields::wipe(&mut body.meta);
    system_fields::settle_namespace(&live.resource, namespace, &mut body)?;
    owners::once(context, &mut body.meta, Seen::InRequest);
    field_managers::follow(live, context, Part::Main, &mut body, None).await;
    let place = Place::new(namespace, body.meta.name.clone());
    let request = Request::new(Operation::Create, live, context, &place);
    admission::mutate(&request, Some(&mut body)).await?;
    admission::validate(&request, Some(&body)).await?;
    answers.answer(context, namespace, body).await
}
