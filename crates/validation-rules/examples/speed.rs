//! Speed of validation rules: how long compiling and evaluating a typical rule takes.
//!
//! `cargo run --release -p keelson-validation-rules --example speed`

use std::hint::black_box;
use std::sync::Arc;

use keelson_object::{Map, Path, Value};
use keelson_stdx::clock::Clock;
use keelson_structural::schema::More;
use keelson_structural::{Kind, Rule, Schema};
use keelson_validation_rules::{Check, Rules, Scope};

const RULES: [&str; 4] = [
    "self.replicas <= self.maxReplicas",
    "self.replicas >= oldSelf.replicas",
    "self.containers.all(c, c.startsWith('registry.example.com/'))",
    "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
];
const TIMES: u32 = 20_000;

fn of(kind: Kind) -> Arc<Schema> {
    Arc::new(Schema { kind, ..Schema::default() })
}

/// `{"spec": {…}}` with these rules about `spec`.
fn schema(rules: &[&str]) -> Arc<Schema> {
    let rules = rules.iter().map(|rule| Rule { rule: (*rule).into(), ..Rule::default() }).collect();
    let items = Some(of(Kind::String));
    let spec = Schema {
        kind: Kind::Object,
        properties: [
            ("containers".into(), Arc::new(Schema { kind: Kind::Array, items, ..Schema::default() })),
            ("maxReplicas".into(), of(Kind::Integer)),
            ("name".into(), of(Kind::String)),
            ("replicas".into(), of(Kind::Integer)),
        ]
        .into(),
        more: Some(Box::new(More { rules, ..More::default() })),
        ..Schema::default()
    };
    let properties = [("spec".into(), Arc::new(spec))].into();
    Arc::new(Schema { kind: Kind::Object, properties, ..Schema::default() })
}

fn object(replicas: i64) -> Value {
    let mut spec = Map::new();
    let image = |number: usize| Value::from(format!("registry.example.com/app:{number}").as_str());
    spec.set("containers", (0..10).map(image).collect::<Vec<_>>());
    spec.set("maxReplicas", 5);
    spec.set("name", "web-frontend");
    spec.set("replicas", replicas);
    let mut object = Map::new();
    object.set("spec", spec);
    Value::Map(object)
}

fn measure(what: &str, mut run: impl FnMut()) {
    let clock = Clock::real();
    let start = clock.monotonic();
    (0..TIMES).for_each(|_| run());
    println!("{what:75} {:>9.0} ns", (clock.monotonic() - start).as_nanos() as f64 / f64::from(TIMES));
}

fn main() {
    let (old, new) = (object(2), object(3));
    let all: Vec<&[&str]> = RULES.iter().map(std::slice::from_ref).chain([&RULES[..]]).collect();
    for rules in all {
        let schema = schema(rules);
        let name = if rules.len() == 1 { rules[0] } else { "all of them" };
        let validate = |rules: &Rules| rules.validate(&Path::empty(), Check::update(&new, &old));
        let ready = Rules::new(&schema, Scope::Resource).expect("there are rules");
        assert!(validate(&ready).errors.is_empty());
        measure(&format!("compile and evaluate: {name}"), || {
            let rules = Rules::new(&schema, Scope::Resource).expect("there are rules");
            black_box(validate(&rules));
        });
        measure(&format!("evaluate:             {name}"), || {
            black_box(validate(&ready));
        });
    }
}
