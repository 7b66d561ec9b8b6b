//! The JSON of an object with two gaps, so that a request costs a copy and not a serialization.

use anyhow::{Context, Result};
use bytes::Bytes;
use keelson_codec::json;
use keelson_testkit::fixture;

use super::{Kind, MARK, Plan};
use crate::pod;

const NAME_GAP: &str = "@name@";
const MARK_GAP: &str = "@mark@";

/// `{"metadata":{"name":"` name `","annotations":{"mark":"` mark `"}},…}`, or the mark first.
#[derive(Clone, Debug)]
pub(super) struct Template {
    parts: [Bytes; 3],
    name_first: bool,
}

impl Template {
    /// For the kind and size of a plan.
    pub(super) fn new(plan: &Plan) -> Result<Template> {
        let text = match plan.kind {
            Kind::ConfigMaps => {
                let mut object = fixture::config_map_of(NAME_GAP, plan.size);
                object["metadata"]["annotations"][MARK] = MARK_GAP.into();
                object.to_string()
            }
            Kind::Pods => {
                let mut object = pod::template(NAME_GAP)?;
                object.map_mut("metadata").map_mut("annotations").set(MARK, MARK_GAP);
                String::from_utf8(json::to_bytes(&object.into()).into())?
            }
        };
        let name_first = text.find(NAME_GAP) < text.find(MARK_GAP);
        let gaps = if name_first { [NAME_GAP, MARK_GAP] } else { [MARK_GAP, NAME_GAP] };
        let (first, rest) = text.split_once(gaps[0]).context("there is a first gap")?;
        let (second, third) = rest.split_once(gaps[1]).context("there is a second gap")?;
        let parts = [first, second, third].map(|part| Bytes::copy_from_slice(part.as_bytes()));
        Ok(Template { parts, name_first })
    }

    /// The object with a name and a mark.
    pub(super) fn fill(&self, name: &str, mark: &str) -> Bytes {
        let [first, second, third] = &self.parts;
        let gaps = if self.name_first { [name, mark] } else { [mark, name] };
        let pieces: [&[u8]; 5] = [first, gaps[0].as_bytes(), second, gaps[1].as_bytes(), third];
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
                watched_rate: 0,
            };
            let body = Template::new(&plan).unwrap().fill("a", "b");
            let object: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(object["metadata"]["name"], "a");
            assert_eq!(object["metadata"]["annotations"][MARK], "b");
        }
    }
}
