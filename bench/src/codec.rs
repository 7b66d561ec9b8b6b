//! `keelson-bench codec`: what a pod costs on its way between bytes and tree, as ratios to something well known.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use keelson_codec::{cbor, json, protobuf, stored, yaml};
use keelson_object::{Object, Value};
use keelson_schema::Schema;
use keelson_stdx::clock::Clock;

use crate::pod;
use crate::report::Report;

/// A pod in every form.
pub struct Forms {
    /// What a pod is.
    pub schema: Schema,
    /// As JSON, compact.
    pub json: Bytes,
    /// As YAML.
    pub yaml: Bytes,
    /// As protobuf, in its envelope.
    pub protobuf: Bytes,
    /// As CBOR.
    pub cbor: Vec<u8>,
    /// As a tree.
    pub tree: Value,
    /// As an object that can be edited.
    pub object: Object,
}

impl Forms {
    /// The pod of this crate.
    pub fn of_pod() -> Result<Forms> {
        let tree = Value::Map(pod::tree());
        let schema = Schema::builtin("", "v1", "Pod").context("pods are built in")?;
        let mut cbor = Vec::new();
        cbor::write_as(&tree, schema.root(), &mut cbor);
        Ok(Forms {
            cbor,
            schema,
            json: pod::json(),
            yaml: Bytes::from(yaml::to_text(tree.clone())),
            protobuf: protobuf::encode(&tree, "v1", "Pod")?,
            object: Object::from_value(tree.clone())?,
            tree,
        })
    }

    /// A body of JSON, read and brought to its form.
    pub fn from_json(&self) -> Value {
        self.conform(json::read(&self.json).expect("it is JSON").value)
    }

    /// A body of YAML, read and brought to its form.
    pub fn from_yaml(&self) -> Value {
        self.conform(yaml::read(&self.yaml).expect("it is YAML").value)
    }

    /// A body of protobuf: the reader gives the form by itself.
    pub fn from_protobuf(&self) -> Value {
        protobuf::decode(&self.protobuf).expect("it is protobuf")
    }

    /// A body of CBOR, read by its schema and brought to its form.
    pub fn from_cbor(&self) -> Value {
        let document = cbor::read_object(&self.cbor, Some(self.schema.root()));
        self.conform(document.expect("it is CBOR").value)
    }

    /// The tree as CBOR.
    pub fn to_cbor(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 << 10);
        cbor::write_as(black_box(&self.tree), self.schema.root(), &mut out);
        out
    }

    fn conform(&self, mut value: Value) -> Value {
        let unknown = self.schema.conform(&mut value).expect("it is a pod");
        debug_assert!(unknown.is_empty(), "{unknown:?}");
        value
    }
}

/// Something that is timed.
type Subject<'f> = (&'static str, Box<dyn Fn() + 'f>);

/// Measures everything. Takes some seconds.
pub fn run() -> Result<Report> {
    let forms = Forms::of_pod()?;
    let foreign: serde_json::Value = serde_json::from_slice(&forms.json)?;
    let subjects = subjects(&forms, &foreign);
    let times = best(&subjects);
    let time = |name: &str| {
        let at = subjects.iter().position(|(it, _)| *it == name);
        at.map(|at| times[at].as_secs_f64() * 1e6).with_context(|| format!("{name} was not measured"))
    };
    let mut report = Report::default();
    report.times("JSON to tree / serde_json", 1.2, time("read JSON")?, time("serde_json reads")?);
    report.times("JSON to checked tree / serde_json", 1.2, time("decode JSON")?, time("serde_json reads")?);
    report.times(
        "protobuf to tree / JSON to checked tree",
        1.0,
        time("decode protobuf")?,
        time("decode JSON")?,
    );
    report.times("tree to JSON / serde_json", 1.2, time("write JSON")?, time("serde_json writes")?);
    let (json, yaml, protobuf) = (forms.json.len(), forms.yaml.len(), forms.protobuf.len());
    let cbor = forms.cbor.len();
    report.say(format!(
        "a pod of {json} bytes of JSON, {yaml} of YAML, {protobuf} of protobuf, {cbor} of CBOR"
    ));
    for ((name, _), time) in subjects.iter().zip(&times) {
        report.say(format!("{name}: {:.1} µs", time.as_secs_f64() * 1e6));
    }
    Ok(report)
}

fn subjects<'f>(forms: &'f Forms, foreign: &'f serde_json::Value) -> Vec<Subject<'f>> {
    fn subject<'f, T>(name: &'static str, work: impl Fn() -> T + 'f) -> Subject<'f> {
        (name, Box::new(move || drop(black_box(work()))))
    }
    let object = &forms.object;
    vec![
        subject("serde_json reads", || {
            serde_json::from_slice::<serde_json::Value>(black_box(&forms.json)).expect("it is JSON")
        }),
        subject("read JSON", || json::read(black_box(&forms.json)).expect("it is JSON")),
        subject("decode JSON", || forms.from_json()),
        subject("decode YAML", || forms.from_yaml()),
        subject("decode protobuf", || forms.from_protobuf()),
        subject("decode CBOR", || forms.from_cbor()),
        subject("clone the tree", || forms.tree.clone()),
        subject("clone and arrange", || {
            let mut object = object.clone();
            forms.schema.arrange(&mut object);
            object
        }),
        subject("serde_json writes", || serde_json::to_vec(black_box(foreign)).expect("it was read")),
        subject("write JSON", || json::to_bytes(black_box(&forms.tree))),
        subject("write YAML", || yaml::to_text(black_box(&forms.tree).clone())),
        subject("write protobuf", || protobuf::encode(black_box(&forms.tree), "v1", "Pod").expect("a pod")),
        subject("write CBOR", || forms.to_cbor()),
        subject("encode for the store", || stored::encode(black_box(object))),
    ]
}

/// The shortest time of one call of each. They take turns, so that a busy moment of the machine hits all alike.
fn best(subjects: &[Subject<'_>]) -> Vec<Duration> {
    const ROUNDS: usize = 60;
    const CALLS: u32 = 50;
    let clock = Clock::real();
    let mut best = vec![Duration::MAX; subjects.len()];
    for _ in 0..ROUNDS {
        for ((_, work), best) in subjects.iter().zip(&mut best) {
            let begun = clock.monotonic();
            (0..CALLS).for_each(|_| work());
            *best = (*best).min((clock.monotonic() - begun) / CALLS);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::Forms;

    #[test]
    fn every_form_gives_the_same_tree() {
        let forms = Forms::of_pod().unwrap();
        assert_eq!(forms.from_json(), forms.tree);
        assert_eq!(forms.from_yaml(), forms.tree);
        assert_eq!(forms.from_protobuf(), forms.tree);
        assert_eq!(forms.from_cbor(), forms.tree);
    }
}
