//! Conversion of custom resources between the versions of a definition: strategies `None` and `Webhook`.

mod unchanged;

pub use unchanged::Unchanged;

use std::sync::Arc;

use keelson_registry::Convert;

use crate::definition::Definition;

/// Makes the converter of a definition.
#[derive(Clone, Default)]
pub struct Converters;

impl Converters {
    /// The converter of a definition.
    pub fn of(&self, _definition: &Definition) -> Arc<dyn Convert> {
        Arc::new(Unchanged)
    }
}
