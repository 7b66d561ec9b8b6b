//! Defaults of a schema: they validate, have no unknown fields, and result in valid metadata of resources.
//!
//! A default inside of `metadata` is tried out in an object that has nothing else: for the default of
//! `properties[metadata].properties[name]` that is `{"metadata": {"name": …}}`.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/{validation,prune,surroundingobject}.go (v1.36.4).

use std::ops::ControlFlow;
use std::sync::Arc;

use keelson_object::{FieldErrors, Map, Path, SmolStr, Value};

use crate::coerce::{self, Malformed, Root};
use crate::embedded::{self, MetaRules};
use crate::intern::Interner;
use crate::pattern::Patterns;
use crate::prune::{Report, prune, prune_value};
use crate::schema::{Additional, Schema};
use crate::validate::validate_default;
use crate::values::{Raw, same, shown};

/// Evaluates the rules about a default that is valid otherwise. It breaks when the budget of all rules is spent.
pub type Expressions<'e> = &'e dyn Fn(&DefaultValue<'_>, &mut FieldErrors) -> ControlFlow<()>;

/// A default, for those who evaluate rules about it.
#[derive(Clone, Copy, Debug)]
pub struct DefaultValue<'d> {
    /// The schema that has the default.
    pub schema: &'d Arc<Schema>,
    /// Whether the schema is that of a whole resource.
    pub root: Root,
    /// The default.
    pub value: &'d Value,
    /// Its path.
    pub at: &'d Path<'d>,
}

/// What checks of defaults need from others.
#[derive(Clone, Copy)]
pub struct Checks<'c> {
    /// Runs patterns.
    pub patterns: &'c dyn Patterns,
    /// Validates metadata.
    pub rules: MetaRules<'c>,
    /// Evaluates rules.
    pub expressions: Expressions<'c>,
    /// Whether unknown fields in defaults are reported: not for definitions that had them before.
    pub requires_pruned: bool,
}

/// A step from a resource to a value in it.
#[derive(Clone)]
enum Step {
    Field(SmolStr),
    Index,
}

/// Where a node is: in which resource, and how one gets there.
#[derive(Clone, Copy)]
struct Place<'p> {
    resource: &'p Schema,
    steps: &'p [Step],
    /// Below `apiVersion`, `kind` or `metadata` of the resource.
    is_meta: bool,
}

/// Checks the defaults of a version's schema.
pub fn check(schema: &Arc<Schema>, at: &Path<'_>, checks: Checks<'_>) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let place = Place { resource: schema, steps: &[], is_meta: false };
    // When the budget is spent, the errors say so.
    let _ = checks.node(schema, place, at, &mut errors);
    errors
}

impl Checks<'_> {
    fn node(
        self,
        schema: &Arc<Schema>,
        place: Place<'_>,
        at: &Path<'_>,
        errors: &mut FieldErrors,
    ) -> ControlFlow<()> {
        let nothing: [Step; 0] = [];
        let place =
            if schema.embedded { Place { resource: schema, steps: &nothing, is_meta: false } } else { place };
        let is_resource = place.steps.is_empty();
        if let Some(default) = schema.default.as_deref() {
            let at = at.key("default");
            match place.is_meta {
                true => self.in_metadata(default, schema, place, (&at, &mut *errors))?,
                false => self.plain(default, schema, (&at, is_resource), errors)?,
            }
        }
        if let Some(below) = &schema.items {
            let steps = with(place.steps, Step::Index);
            self.node(below, Place { steps: &steps, ..place }, &at.key("items"), errors)?;
        }
        let properties_at = at.key("properties");
        for (name, below) in &schema.properties {
            let steps = with(place.steps, Step::Field(name.clone()));
            let is_type = is_resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
            let place = Place { steps: &steps, is_meta: place.is_meta || is_type, ..place };
            self.node(below, place, &properties_at.entry(name), errors)?;
        }
        ControlFlow::Continue(())
    }

    fn plain(
        self,
        default: &Value,
        schema: &Arc<Schema>,
        (at, is_resource): (&Path<'_>, bool),
        errors: &mut FieldErrors,
    ) -> ControlFlow<()> {
        if self.requires_pruned {
            let mut pruned = default.clone();
            match is_resource {
                true => prune(&mut pruned, Some(schema), Report::Nothing),
                false => prune_value(&mut pruned, Some(schema), Report::Nothing),
            };
            if !same(&pruned, default) {
                errors.invalid(at, Raw(shown(default)), "must not have unknown fields");
            }
        }
        let root = if is_resource { Root::Resource } else { Root::Value };
        let mut coerced = default.clone();
        if let Err(error) = coerce::coerce_at(&mut coerced, schema, (at, root), Malformed::Refuse) {
            errors.push(*error);
            return ControlFlow::Continue(());
        }
        let found = embedded::validate_at(&coerced, schema, (at, root), self.rules);
        if !found.is_empty() {
            found.iter().cloned().for_each(|error| errors.push(error));
            return ControlFlow::Continue(());
        }
        self.value(DefaultValue { schema, root, value: &coerced, at }, errors)
    }

    /// Validates a default by the schema, then by its rules.
    fn value(self, default: DefaultValue<'_>, errors: &mut FieldErrors) -> ControlFlow<()> {
        let found = validate_default(default.value, default.schema, &default.at.to_string(), self.patterns);
        if found.is_empty() {
            return (self.expressions)(&default, errors);
        }
        found.iter().cloned().for_each(|error| errors.push(error));
        ControlFlow::Continue(())
    }

    fn in_metadata(
        self,
        default: &Value,
        schema: &Arc<Schema>,
        place: Place<'_>,
        (at, errors): (&Path<'_>, &mut FieldErrors),
    ) -> ControlFlow<()> {
        let mut object = surrounded(default.clone(), place.steps);
        if let Some(map) = object.as_map_mut() {
            map.default_to("kind", "Validation");
            map.default_to("apiVersion", "validation/v1");
        }
        let invalid = |errors: &mut FieldErrors, problem: String| {
            errors.invalid(at, Raw(shown(default)), format!("must result in valid metadata: {problem}"));
            ControlFlow::Continue(())
        };
        let resource = Some(place.resource);
        if let Err(error) = coerce::coerce(&mut object, resource, Root::Resource, Malformed::Refuse) {
            return invalid(errors, error.to_string());
        }
        let found = embedded::validate(&object, resource, Root::Resource, self.rules);
        if !found.is_empty() {
            return invalid(errors, found.aggregate());
        }
        let root = if place.steps.is_empty() { Root::Resource } else { Root::Value };
        self.value(DefaultValue { schema, root, value: default, at }, errors)
    }
}

fn with(steps: &[Step], step: Step) -> Vec<Step> {
    steps.iter().cloned().chain([step]).collect()
}

/// A resource that has nothing but a value at the end of the steps.
fn surrounded(value: Value, steps: &[Step]) -> Value {
    steps.iter().rev().fold(value, |value, step| match step {
        Step::Field(name) => Value::Map([(name.clone(), value)].into_iter().collect::<Map>()),
        Step::Index => Value::List(vec![value]),
    })
}

/// The value at the end of the steps.
fn extracted(object: Value, steps: &[Step]) -> Option<Value> {
    steps.iter().try_fold(object, |value, step| match (step, value) {
        (Step::Field(name), Value::Map(mut map)) => map.remove(name),
        (Step::Index, Value::List(items)) => items.into_iter().next(),
        _ => None,
    })
}

/// The schema of a version whose defaults have no fields that the server does not know: what is served uses it.
/// `None` if the default of the root is no object.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go, PruneDefaults (v1.36.4).
pub fn pruned(schema: &Arc<Schema>, interner: &mut Interner) -> Option<Arc<Schema>> {
    pruned_node(schema, schema, &mut Vec::new(), interner)
}

fn pruned_node(
    schema: &Arc<Schema>,
    root: &Schema,
    steps: &mut Vec<Step>,
    interner: &mut Interner,
) -> Option<Arc<Schema>> {
    let mut node = Schema::clone(schema);
    if let Some(default) = node.default.take() {
        let mut object = surrounded(*default, steps);
        object.as_map()?;
        coerce::coerce(&mut object, Some(root), Root::Resource, Malformed::Drop).ok()?;
        prune(&mut object, Some(root), Report::Nothing);
        node.default = extracted(object, steps).filter(|it| !it.is_null()).map(|mut default| {
            default.sort_all_keys();
            Box::new(default)
        });
    }
    let mut below = |schema: &Arc<Schema>, step: Step| {
        steps.push(step);
        let done = pruned_node(schema, root, steps, interner);
        steps.pop();
        done
    };
    if let Additional::Of(schema) = &node.additional {
        node.additional = Additional::Of(below(schema, Step::Field("*".into()))?);
    }
    if let Some(schema) = &node.items {
        node.items = Some(below(schema, Step::Index)?);
    }
    for (name, schema) in &mut node.properties {
        *schema = below(schema, Step::Field(name.clone()))?;
    }
    Some(interner.share(node))
}
