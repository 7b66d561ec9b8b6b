//! Conversion of custom resources between the versions of a definition: strategies `None` and `Webhook`.

mod unchanged;
pub mod webhook;

pub use unchanged::Unchanged;

use std::sync::Arc;

use keelson_registry::Convert;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::Services;

use crate::definition::Definition;
use webhook::{Observer, Webhook};

/// Makes the converter of a definition.
#[derive(Clone)]
pub struct Converters {
    /// How webhooks behind services are reached.
    pub services: Services,
    /// What time it is.
    pub clock: Clock,
    /// Who counts what comes of conversions by webhooks.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Converters {
    /// Reaches webhooks at URLs only, and counts nothing.
    pub fn new(clock: Clock) -> Converters {
        Converters { services: Services::default(), clock, observer: None }
    }

    /// The converter of a definition.
    pub fn of(&self, definition: &Definition) -> Arc<dyn Convert> {
        match &definition.webhook {
            Some(webhook) => Arc::new(Webhook::new(&definition.name, webhook, self.clone())),
            None => Arc::new(Unchanged),
        }
    }
}
