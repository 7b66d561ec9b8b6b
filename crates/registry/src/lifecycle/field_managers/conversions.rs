//! Conversions that the evaluation of managedFields needs, where a webhook converts the objects.
//!
//! The evaluation compares objects in the versions of all managers, and it is synchronous, while a webhook
//! call is not. So the evaluation is repeated: each time it stops at the first conversion that is not known
//! yet, and the webhook is then called for that one. Built-in kinds and custom resources of strategy `None`
//! know all conversions, and are evaluated once.

use keelson_merge::apply::ConvertError;
use keelson_object::{Object, SmolStr, Value};

use crate::live::Live;

/// How many conversions one write needs at most: a few for each version that a manager has used.
pub(crate) const MAX_CONVERSIONS: usize = 64;

/// Conversions that a webhook has done.
#[derive(Default)]
pub(crate) struct Conversions(Vec<Conversion>);

/// A conversion that is done.
pub(crate) struct Conversion {
    wanted: Wanted,
    result: Result<Value, String>,
}

/// A conversion that is needed.
pub(crate) struct Wanted {
    object: Value,
    api_version: SmolStr,
}

impl Wanted {
    /// `object` in another version.
    pub(super) fn new(object: &Value, api_version: &str) -> Wanted {
        Wanted { object: object.clone(), api_version: api_version.into() }
    }

    /// Calls the webhook.
    pub(crate) async fn convert(self, live: &Live) -> Conversion {
        let result = converted(live, &self).await;
        Conversion { wanted: self, result }
    }
}

async fn converted(live: &Live, wanted: &Wanted) -> Result<Value, String> {
    let object = Object::from_value(wanted.object.clone()).map_err(|error| error.to_string())?;
    let object = live.convert_to(&wanted.api_version, object).await.map_err(|error| error.to_string())?;
    Ok(object.into_value())
}

impl Conversions {
    /// Remembers a conversion.
    pub(crate) fn add(&mut self, conversion: Conversion) {
        self.0.push(conversion);
    }

    /// `object` in another version; `None` if that conversion has not been requested yet.
    pub(super) fn find(&self, object: &Value, api_version: &str) -> Option<Result<Value, ConvertError>> {
        let is_it = |it: &&Conversion| it.wanted.api_version == api_version && it.wanted.object == *object;
        let found = self.0.iter().find(is_it)?;
        Some(found.result.clone().map_err(ConvertError::Failed))
    }
}
