//! The JSON of an object with two gaps, so that a request costs a copy and not a serialization.

use anyhow::{Context, Result};
use bytes::Bytes;
use keelson_testkit::fixture;

use super::{Kind, MARK, Plan};

const NAME_GAP: &str = "@name@";
const MARK_GAP: &str = "@mark@";

/// `{"metadata":{"annotations":{"mark":"` mark `"},"name":"` name `"},…}`
#[derive(Clone, Debug)]
pub(super) struct Template {
    parts: [Bytes; 3],
}

impl Template {
    /// For the kind and size of a plan.
    pub(super) fn new(plan: &Plan) -> Result<Template> {
        let mut object = match plan.kind {
            Kind::ConfigMaps => fixture::config_map_of(NAME_GAP, plan.size),
            Kind::Pods => fixture::pod(NAME_GAP, plan.size),
        };
        object["metadata"]["annotations"][MARK] = MARK_GAP.into();
        let text = object.to_string();
        // Annotations come before the name, because serde_json sorts keys.
        let (first, rest) = text.split_once(MARK_GAP).context("the mark is in the text")?;
        let (second, third) = rest.split_once(NAME_GAP).context("the name is behind the mark")?;
        Ok(Template { parts: [first, second, third].map(|part| Bytes::copy_from_slice(part.as_bytes())) })
    }

    /// The object with a name and a mark.
    pub(super) fn fill(&self, name: &str, mark: &str) -> Bytes {
        let [first, second, third] = &self.parts;
        let pieces: [&[u8]; 5] = [first, mark.as_bytes(), second, name.as_bytes(), third];
        Bytes::from(pieces.concat())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_gaps_are_filled() {
        for kind in [Kind::ConfigMaps, Kind::Pods] {
            let plan = Plan {
                kind,
                objects: 1,
                size: 6000,
                lanes: 1,
                streams: 1,
                list_lanes: 1,
                time: Duration::ZERO,
                watchers: 0,
                watched_updates: 0,
            };
            let body = Template::new(&plan).unwrap().fill("a", "b");
            let object: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(object["metadata"]["name"], "a");
            assert_eq!(object["metadata"]["annotations"][MARK], "b");
        }
    }
}
