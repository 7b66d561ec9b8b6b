//! How long expressions take, with cost tracking.

use criterion::{Criterion, criterion_group, criterion_main};
use keelson_cel::Env;
use keelson_cel::program::Program;
use keelson_cel::run::{Options, PER_CALL_LIMIT};
use keelson_cel::types::Type;
use keelson_cel::value::Val;
use keelson_object::{Map, Value};

/// A pod-like object with ten containers.
fn object() -> Value {
    let containers = (0..10).map(|number| {
        let mut container = Map::new();
        container.set("name", format!("c{number}"));
        container.set("image", format!("registry.example.com/app:{number}"));
        Value::Map(container)
    });
    let mut spec = Map::new();
    spec.set("replicas", 3);
    spec.set("containers", containers.collect::<Vec<_>>());
    spec.set("numbers", (0..10_000).map(Value::Int).collect::<Vec<_>>());
    let mut object = Map::new();
    object.set("spec", spec);
    Value::Map(object)
}

fn evaluate(c: &mut Criterion) {
    let object = object();
    let variables = [("object", Val::json(&object))];
    let env = Env::stored().with_variable("object", Type::Dyn);
    for (name, expression) in [
        ("compare", "object.spec.replicas <= 5"),
        ("all", "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))"),
        ("matches", "object.spec.containers.all(c, c.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))"),
        ("map", "object.spec.containers.map(c, c.name).join(',') != ''"),
        ("units", "object.spec.numbers.all(n, n < 20000 && n >= 0)"),
    ] {
        let program =
            Program::new(&env.compile(expression).expect("it compiles")).expect("it can be planned");
        let options = Options { cost_limit: Some(PER_CALL_LIMIT), ..Options::default() };
        let evaluated = program.evaluate(&variables, options);
        println!("{name}: {} cost units", evaluated.cost);
        assert_eq!(evaluated.outcome.ok().and_then(|value| value.as_bool()), Some(true));
        c.bench_function(name, |b| b.iter(|| program.evaluate(&variables, options).cost));
    }
    c.bench_function("compile", |b| {
        b.iter(|| Program::new(&env.compile("object.spec.replicas <= 5").expect("it compiles")))
    });
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
