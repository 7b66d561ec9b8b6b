//! Objects from text and what a strategy makes of them, for tests.

use keelson_authn::User;
use keelson_object::{Cell, FieldErrors, Object, Value};
use keelson_registry::{Column, Context, Strategy};
use keelson_schema::Schema;
use keelson_stdx::clock::Clock;

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
    strategy.default(&mut object);
    object
}

/// What is wrong with the object that `text` describes, message by message.
pub(crate) fn errors_of(strategy: &dyn Strategy, kind: &str, text: &str) -> Vec<String> {
    let mut object = decoded(strategy, kind, text);
    let context = context();
    strategy.prepare_create(&context, &mut object);
    let mut errors = FieldErrors::default();
    strategy.validate(&context, &object, &mut errors);
    errors.iter().map(|error| format!("{error}")).collect()
}

/// What a row shows, as text; times are not told.
pub(crate) fn cells(columns: &[Column], object: &Object) -> Vec<String> {
    let shown = |cell: Cell| match cell {
        Cell::Null => "null".to_owned(),
        Cell::Text(text) | Cell::Since(text, _) => text.to_string(),
        Cell::Int(number) => number.to_string(),
        Cell::Bool(truth) => truth.to_string(),
        Cell::Age(_) => "age".to_owned(),
    };
    columns.iter().map(|column| shown(column.cell(object))).collect()
}

/// Somebody at some time.
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
