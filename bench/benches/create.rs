//! An object from the body of a request to what is kept: read, complete, check, freeze.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use keelson_apis::Settings;
use keelson_authn::User;
use keelson_bench::pod;
use keelson_codec::{json, stored};
use keelson_object::{FieldErrors, Frozen, Object, Value};
use keelson_registry::decode::{self, Draft};
use keelson_registry::lifecycle::meta_rules;
use keelson_registry::options::FieldValidation;
use keelson_registry::{Context, Resource};
use keelson_stdx::clock::Clock;

struct Kind {
    resource: Resource,
    context: Context,
}

impl Kind {
    fn new(kind: &str) -> Kind {
        let groups = keelson_apis::groups(&Settings::default());
        let mut resources = groups.into_iter().flat_map(|group| group.resources);
        let resource = resources.find(|it| it.kind == kind).expect("it is built in");
        Kind { resource, context: Context::new(User::new("bench", &[]), Clock::real()) }
    }

    fn read(&self, body: &[u8]) -> Object {
        let value = json::read(body).expect("it is JSON").value;
        let draft = Draft { value, ..Draft::default() };
        let version = &self.resource.versions[0];
        decode::object(&self.context, &self.resource, version, draft, FieldValidation::Strict)
            .expect("it is of its kind")
    }

    fn prepare(&self, object: &mut Object) {
        object.meta.namespace = "default".into();
        self.resource.strategy.prepare_create(&self.context, object);
    }

    fn check(&self, object: &Object) {
        let mut errors = FieldErrors::default();
        meta_rules::check(&object.meta, self.resource.scope, self.resource.strategy.name_rule(), &mut errors);
        self.resource.strategy.validate(&self.context, object, &mut errors);
        assert!(errors.is_empty(), "{}", errors.to_text());
    }

    fn freeze(&self, object: &Object) -> Frozen {
        stored::decode(&stored::encode(object), 7, &self.resource.selectable).expect("it was just encoded")
    }

    fn create(&self, body: &[u8]) -> Frozen {
        let mut object = self.read(body);
        self.prepare(&mut object);
        self.check(&object);
        self.freeze(&object)
    }
}

/// What a client sends: no status, and nothing about managers.
fn body(containers: usize) -> Bytes {
    let mut pod = pod::template("web").expect("the fixture is a pod");
    pod.remove("status");
    pod.map_mut("metadata").remove("managedFields");
    let spec = pod.map_mut("spec");
    let first = spec.list("containers").first().and_then(Value::as_map).expect("a container").clone();
    let own = spec.list("containers").len();
    let copies = (own..containers).map(|number| {
        let mut container = first.clone();
        container.set("name", format!("copy-{number}"));
        Value::Map(container)
    });
    let all: Vec<Value> = spec.list("containers").iter().cloned().chain(copies).collect();
    spec.set("containers", all);
    json::to_bytes(&Value::Map(pod))
}

fn steps(criterion: &mut Criterion) {
    let (pods, body) = (Kind::new("Pod"), body(0));
    let mut object = pods.read(&body);
    pods.prepare(&mut object);
    println!("a pod of {} bytes", body.len());
    let mut group = criterion.benchmark_group("create a pod");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("read and complete", |bencher| bencher.iter(|| pods.read(black_box(&body))));
    group.bench_function("check", |bencher| bencher.iter(|| pods.check(black_box(&object))));
    group.bench_function("freeze", |bencher| bencher.iter(|| pods.freeze(black_box(&object))));
    group.bench_function("all", |bencher| bencher.iter(|| pods.create(black_box(&body))));
    group.finish();
}

/// Three times the containers take three times as long, not nine times.
fn many_containers(criterion: &mut Criterion) {
    let pods = Kind::new("Pod");
    let mut group = criterion.benchmark_group("containers");
    for count in [100, 300] {
        let body = body(count);
        let mut object = pods.read(&body);
        pods.prepare(&mut object);
        group.bench_function(BenchmarkId::new("check", count), |bencher| {
            bencher.iter(|| pods.check(black_box(&object)));
        });
        group.bench_function(BenchmarkId::new("create", count), |bencher| {
            bencher.iter(|| pods.create(black_box(&body)));
        });
    }
    group.finish();
}

fn role(rules: usize) -> Bytes {
    let rule = |number: usize| {
        format!(
            r#"{{"apiGroups":["apps"],"resources":["deployments","deployments/status"],"resourceNames":["web-{number}"],"verbs":["get","patch"]}}"#
        )
    };
    let rules: Vec<String> = (0..rules).map(rule).collect();
    Bytes::from(format!(r#"{{"metadata":{{"name":"many"}},"rules":[{}]}}"#, rules.join(",")))
}

/// Ten times the rules take ten times as long.
fn many_rules(criterion: &mut Criterion) {
    let roles = Kind::new("Role");
    let mut group = criterion.benchmark_group("rules of a role");
    for count in [500, 5000] {
        let body = role(count);
        let mut object = roles.read(&body);
        roles.prepare(&mut object);
        group.bench_function(BenchmarkId::new("check", count), |bencher| {
            bencher.iter(|| roles.check(black_box(&object)));
        });
        group.bench_function(BenchmarkId::new("create", count), |bencher| {
            bencher.iter(|| roles.create(black_box(&body)));
        });
    }
    group.finish();
}

criterion_group!(benches, steps, many_containers, many_rules);
criterion_main!(benches);
