//! Gated: a plugin that does nothing while its feature gate is off.

use keelson_object::Object;
use keelson_registry::admission::{Plugin, Request, Ruling};

use crate::plugins::Settings;

/// A plugin behind features.
pub(crate) struct Gated<P> {
    plugin: P,
    is_on: bool,
}

impl<P: Plugin> Gated<P> {
    /// On if one of `features` is.
    pub(crate) fn boxed(plugin: P, features: &[&str], settings: &Settings) -> Box<dyn Plugin> {
        Box::new(Gated { plugin, is_on: features.iter().any(|it| settings.is_on(it)) })
    }
}

impl<P: Plugin> Plugin for Gated<P> {
    fn name(&self) -> &'static str {
        self.plugin.name()
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        self.is_on && self.plugin.handles(request)
    }

    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        self.plugin.mutate(request, object)
    }

    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        self.plugin.validate(request, object)
    }
}
