//! Shared parameters of `/openapi/v2`: parameters of many operations are written once, under `parameters`,
//! and referred to.
//!
//! Upstream: kube-openapi/pkg/builder/parameters.go (v1.36.4). A name is that of the parameter and a hash of its JSON:
//! `watch-XNNPZGbK`. The JSON contains the description, which is not upstream's here, so most hashes differ from
//! upstream's; clients follow the references.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use keelson_codec::json;
use keelson_object::{Map, Value};

use super::write::map;

/// The parameters that operations refer to.
#[derive(Default)]
pub(super) struct SharedParameters {
    /// Each parameter and its name, by its JSON.
    by_json: BTreeMap<Vec<u8>, (String, Map)>,
}

impl SharedParameters {
    /// Shares those of `parameters` that are not specific to an operation.
    pub(super) fn collect(parameters: impl Iterator<Item = Map>) -> SharedParameters {
        let mut shared = SharedParameters::default();
        for parameter in parameters.filter(is_shared) {
            shared.by_json.entry(to_json(&parameter)).or_insert_with(|| (String::new(), parameter));
        }
        let mut taken = BTreeSet::new();
        for (json, (name, parameter)) in &mut shared.by_json {
            let base = parameter.str("name").unwrap_or("param");
            *name = format!("{base}-{}", hash(json));
            let mut next = 1;
            while !taken.insert(name.clone()) {
                *name = format!("{base}-{next}");
                next += 1;
            }
        }
        shared
    }

    /// A reference to `parameter`, or the parameter itself if it is not shared.
    pub(super) fn refer(&self, parameter: Map) -> Map {
        match self.by_json.get(&to_json(&parameter)) {
            Some((name, _)) => map([("$ref", Value::from(format!("#/parameters/{name}")))]),
            None => parameter,
        }
    }

    /// Every shared parameter with its name, sorted by name.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &Map)> {
        let mut named: Vec<_> = self.by_json.values().map(|(name, it)| (name.as_str(), it)).collect();
        named.sort_by_key(|it| it.0);
        named.into_iter()
    }
}

/// Parameters `name` and bodies belong to one kind. `dryRun` and `fieldValidation` stay in place because old
/// versions of kubectl look for them there.
fn is_shared(parameter: &Map) -> bool {
    let is_of_meta = |schema: &Map| {
        let reference = schema.str("$ref");
        reference.is_some_and(|it| it.starts_with("#/definitions/io.k8s.apimachinery"))
    };
    match parameter.str("name") {
        Some("name") => false,
        Some("fieldValidation" | "dryRun") => parameter.str("in") != Some("query"),
        Some("body") => parameter.map("schema").is_none_or(is_of_meta),
        _ => true,
    }
}

fn to_json(parameter: &Map) -> Vec<u8> {
    let mut out = Vec::new();
    json::write_map(parameter, &mut out);
    out
}

/// Six bytes of the FNV-1 hash, as eight letters.
fn hash(json: &[u8]) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let sum = json.iter().fold(OFFSET, |sum, byte| sum.wrapping_mul(PRIME) ^ u64::from(*byte));
    URL_SAFE.encode(&sum.to_be_bytes()[..6])
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Map;

    use super::SharedParameters;

    fn parameter(text: &str) -> Map {
        let value = json::read(text.replace('\'', "\"").as_bytes()).expect("JSON").value;
        value.as_map().expect("a map").clone()
    }

    /// How an operation names the parameter: a reference, or in place.
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let shared = SharedParameters::collect([parameter(text)].into_iter());
        let reference = shared.refer(parameter(text));
        assert_eq!(reference.str("$ref"), expected.map(|it| format!("#/parameters/{it}")).as_deref());
        let names: Vec<&str> = shared.named().map(|it| it.0).collect();
        assert_eq!(names, expected.into_iter().collect::<Vec<_>>());
    }

    /// These have no description, or the one that upstream's hash was computed with.
    #[test]
    fn names_are_computed_as_upstream_does() {
        let body = "{'name':'body','in':'body','schema':{'$ref':'#/definitions/\
                    io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'}}";
        check(body, Some("body-2Y1dVQaQ"));
        let path = "{'uniqueItems':true,'type':'string','description':'path to the log','name':'logpath',\
                    'in':'path','required':true}";
        check(path, Some("logpath-Noq7euwC"));
    }

    #[test]
    fn what_belongs_to_one_kind_stays_in_place() {
        check("{'name':'name','in':'path'}", None);
        check("{'name':'dryRun','in':'query'}", None);
        check("{'name':'fieldValidation','in':'query'}", None);
        check("{'name':'body','in':'body','schema':{'$ref':'#/definitions/io.k8s.api.core.v1.Pod'}}", None);
    }

    #[test]
    fn a_parameter_that_many_take_is_there_once() {
        let watch = || parameter("{'name':'watch','in':'query'}");
        let other = parameter("{'name':'watch','in':'query','description':'other'}");
        let shared = SharedParameters::collect([watch(), other, watch()].into_iter());
        assert_eq!(shared.named().count(), 2);
    }
}
