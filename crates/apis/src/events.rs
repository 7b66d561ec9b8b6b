//! `events.k8s.io`: the events of the core group under the names that they should have had.

mod event;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;
use crate::core::event as core_event;

pub(crate) fn group(settings: &Settings) -> Group {
    let ttl = settings.event_ttl;
    Group::new("events.k8s.io").serve(
        event::selectable(Resource::namespaced("Event", "events").short_name("ev"))
            .stands_for("", "events")
            .version(Version::served("v1").converts(event::CONVERSION))
            .columns(core_event::columns())
            .creates_on_update()
            .strategy(core_event::Event::Events)
            .lives(move |_| ttl),
    )
}
