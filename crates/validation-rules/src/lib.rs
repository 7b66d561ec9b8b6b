//! Validation rules (`x-kubernetes-validations`) of custom resources: compile, cost limits, evaluation.
//!
//! - [`definition`] checks the rules of a CustomResourceDefinition when it is written.
//! - [`DefaultRules`] checks the defaults of its schemas.
//! - [`Rules`] checks an object when it is written: create, update and status update.
//!
//! Nothing here does IO and nothing is `async`. Objects are borrowed, not converted. Where upstream's order of errors is
//! that of a Go map, ours is that of the keys.
//!
//! ```
//! use keelson_object::{Map, Path, Value};
//! use keelson_structural::{Interner, Kind, Rule, Schema};
//! use keelson_validation_rules::{Check, Rules, Scope};
//!
//! let rule = Rule { rule: "self >= oldSelf".into(), ..Rule::default() };
//! let more = keelson_structural::schema::More { rules: [rule].into(), ..Default::default() };
//! let replicas = Schema { kind: Kind::Integer, more: Some(Box::new(more)), ..Schema::default() };
//! let properties = [("replicas".into(), replicas.into())].into();
//! let schema = Interner::new().share(Schema { kind: Kind::Object, properties, ..Schema::default() });
//!
//! let rules = Rules::new(&schema, Scope::Resource).expect("the schema has rules");
//! let object = |replicas: i64| Value::Map([("replicas".into(), replicas.into())].into_iter().collect::<Map>());
//! let outcome = rules.validate(&Path::empty(), Check::update(&object(2), &object(3)));
//! assert_eq!(outcome.errors.to_text(), "replicas: Invalid value: 2: failed rule: self >= oldSelf");
//! ```

#![deny(missing_docs)]

mod compile;
pub mod cost;
mod default_rules;
pub mod definition;
mod evaluate;
pub mod field_path;
mod ratchet;
mod rules;
mod walk;

pub use default_rules::DefaultRules;
pub use rules::{Rules, Scope};
pub use walk::{Check, Outcome, RUNTIME_BUDGET, blocking_error};
