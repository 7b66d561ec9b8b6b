//! Admission chain: the plugins, in the order in which they are called.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keelson_object::Object;

use super::measure::{Laps, Measure, Phase};
use super::{Plugin, Request};
use crate::error::Result;

/// The plugins, in the order in which they are called.
#[derive(Default)]
pub struct Chain {
    links: Vec<Link>,
    measure: Option<Arc<dyn Measure>>,
}

struct Link {
    plugin: Box<dyn Plugin>,
    /// Whether the plugin is known never to mutate, or never to validate, anything.
    is_idle: [AtomicBool; 2],
}

impl Link {
    fn is_asked(&self, phase: Phase, request: &Request<'_>) -> bool {
        !self.is_idle[phase as usize].load(Ordering::Relaxed) && self.plugin.handles(request)
    }

    /// Whether the plugin only ran the default method; then it is not called again.
    fn was_idle(&self, phase: Phase, request: &Request<'_>) -> bool {
        let was_idle = request.rounds.is_idle.swap(false, Ordering::Relaxed);
        if was_idle {
            self.is_idle[phase as usize].store(true, Ordering::Relaxed);
        }
        was_idle
    }
}

impl Chain {
    /// A chain of these plugins.
    pub fn new(plugins: Vec<Box<dyn Plugin>>) -> Chain {
        let link = |plugin| Link { plugin, is_idle: Default::default() };
        Chain { links: plugins.into_iter().map(link).collect(), measure: None }
    }

    /// Reports all durations to `measure`.
    #[must_use]
    pub fn measured(mut self, measure: Arc<dyn Measure>) -> Chain {
        self.measure = Some(measure);
        self
    }

    /// The names of the plugins, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.links.iter().map(|it| it.plugin.name())
    }

    pub(super) async fn mutate(&self, request: &Request<'_>, mut object: Option<&mut Object>) -> Result<()> {
        const PHASE: Phase = Phase::Mutate;
        let mut laps = Laps::start(self.measure.as_deref(), request, PHASE);
        loop {
            for (position, link) in
                self.links.iter().enumerate().filter(|(_, it)| it.is_asked(PHASE, request))
            {
                let done = link.plugin.mutate(request, object.as_deref_mut()).await;
                if !link.was_idle(PHASE, request) {
                    laps.plugin(position, done.is_err());
                }
                laps.stop_if_refused(done)?;
            }
            if !request.rounds.begins_second() {
                laps.stop(false);
                return Ok(());
            }
        }
    }

    pub(super) async fn validate(&self, request: &Request<'_>, object: Option<&Object>) -> Result<()> {
        const PHASE: Phase = Phase::Validate;
        let mut laps = Laps::start(self.measure.as_deref(), request, PHASE);
        let mut shown: Option<Box<Object>> = None;
        for (position, link) in self.links.iter().enumerate().filter(|(_, it)| it.is_asked(PHASE, request)) {
            let done = link.plugin.validate(request, shown.as_deref().or(object)).await;
            if !link.was_idle(PHASE, request) {
                laps.plugin(position, done.is_err());
            }
            laps.stop_if_refused(done)?;
            if let Some(changed) = request.rounds.shown.lock().take() {
                shown = Some(changed);
            }
        }
        laps.stop(false);
        Ok(())
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
