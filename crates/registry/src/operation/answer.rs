//! Answers what is posted to a resource of which nothing is stored.

use keelson_object::Object;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::lifecycle::field_managers;
use crate::live::Live;
use crate::options::Part;

/// The answer to `body`, posted in `namespace` (empty for the cluster).
pub async fn answer(live: &Live, context: &Context, namespace: &str, mut body: Object) -> Result<Object> {
    let answers = live.resource.answers.as_ref();
    let answers = answers.ok_or_else(|| Error::Bug(format!("nobody answers {}", live.resource.plural)))?;
    field_managers::follow(live, context, Part::Main, &mut body, None);
    answers.answer(context, namespace, body).await
}
