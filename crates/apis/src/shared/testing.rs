//! Test helpers: objects from text, and the results of strategies.

use std::sync::Arc;

use futures_util::FutureExt as _;
use keelson_authn::User;
use keelson_object::{Cell, FieldErrors, Object, Value};
use keelson_registry::live::Ground;
use keelson_registry::{Answer, Column, Context, Result, Strategy};
use keelson_schema::Schema;
use keelson_stdx::clock::Clock;
use keelson_store::{Layout, MemoryStore};

/// The object that `text` describes, as it is after decoding: in its one form and with defaults.
///
/// `kind` is `apps/v1 Deployment`.
pub(crate) fn decoded(strategy: &dyn Strategy, kind: &str, text: &str) -> Object {
    let (api_version, kind) = kind.split_once(' ').expect("a version and a kind");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let schema = Schema::builtin(group, version, kind).expect("a built-in kind");
    let mut value = tree(text);
    let unknown = schema.conform(&mut value).expect("an object of its kind");
    assert!(unknown.is_empty(), "unknown fields {unknown:?}");
    let mut object = Object::from_value(value).expect("an object");
    object.api_version = api_version.into();
    strategy.default(&mut object);
    object
}

/// The stored object after creating the one that `text` describes.
pub(crate) fn created(strategy: &dyn Strategy, kind: &str, text: &str) -> Object {
    let mut object = decoded(strategy, kind, text);
    strategy.prepare_create(&context(), &mut object);
    object
}

/// The stored object after replacing `old` by `new`.
pub(crate) fn changed(strategy: &dyn Strategy, kind: &str, old: &str, new: &str) -> Object {
    let old = created(strategy, kind, old);
    let mut object = decoded(strategy, kind, new);
    object.meta.generation = old.meta.generation;
    strategy.prepare_update(&context(), &mut object, &old);
    object
}

/// A row of a table as text; `-` for empty cells and times.
pub(crate) fn cells(columns: &[Column], object: &Object) -> Vec<String> {
    let text = |cell| match cell {
        Cell::Text(text) => text.to_string(),
        Cell::Int(number) => number.to_string(),
        Cell::Bool(truth) => truth.to_string(),
        _ => "-".to_owned(),
    };
    columns.iter().map(|column| text(column.cell(object))).collect()
}

/// The errors of the object that `text` describes, message by message.
pub(crate) fn errors_of(strategy: &dyn Strategy, kind: &str, text: &str) -> Vec<String> {
    let mut object = decoded(strategy, kind, text);
    let context = context();
    strategy.prepare_create(&context, &mut object);
    let mut errors = FieldErrors::default();
    strategy.validate(&context, &object, &mut errors);
    errors.iter().map(|error| format!("{error}")).collect()
}

/// The response to a POST of `text` in `namespace`.
pub(crate) fn answer(answers: &dyn Answer, namespace: &str, text: &str) -> Result<Object> {
    let body = Object::from_value(tree(text)).expect("an object");
    answers.answer(&context(), namespace, body).now_or_never().expect("nothing waits")
}

/// A store in memory.
pub(crate) fn ground() -> Ground {
    let clock = Clock::manual().0;
    let store = Arc::new(MemoryStore::new(clock.clone()));
    Ground::new(store, Layout::default(), clock)
}

/// The context of a test user.
pub(crate) fn context() -> Context {
    Context::new(User::new("tester", &[]), Clock::manual().0)
}

/// A document of JSON as a tree.
pub(crate) fn tree(text: &str) -> Value {
    keelson_codec::json::read(text.as_bytes()).expect("a document").value
}

/// A tree as JSON: how tests show what they found.
pub(crate) fn text(value: &Value) -> String {
    String::from_utf8_lossy(&keelson_codec::json::to_bytes(value)).into_owned()
}
