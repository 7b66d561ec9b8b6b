//! PriorityLevelConfiguration: the concurrency limit of a level, and how other requests wait.

use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use super::{mandatory, rules};
use crate::shared::edit::{fill, is_set, part};
use crate::shared::go_form::{Field, Form, shown};
use crate::shared::{spec_and_status, status};

pub(crate) struct PriorityLevel;

pub(crate) fn columns() -> [Column; 7] {
    [
        Column::name(),
        Column::text("Type", "spec.type"),
        Column::computed("NominalConcurrencyShares", |object| {
            number(limited(object), "nominalConcurrencyShares")
        }),
        Column::computed("Queues", |object| number(queuing(object), "queues")),
        Column::computed("HandSize", |object| number(queuing(object), "handSize")),
        Column::computed("QueueLengthLimit", |object| number(queuing(object), "queueLengthLimit")),
        Column::age(),
    ]
}

fn limited(object: &Object) -> Option<&Map> {
    object.fields.map("spec")?.map("limited")
}

fn queuing(object: &Object) -> Option<&Map> {
    limited(object)?.map("limitResponse")?.map("queuing")
}

fn number(map: Option<&Map>, field: &str) -> Cell {
    map.map_or(Cell::from("<none>"), |map| Cell::Int(map.int(field).unwrap_or_default()))
}

impl Strategy for PriorityLevel {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    /// Upstream: pkg/apis/flowcontrol/v1/defaults.go, SetDefaults_LimitedPriorityLevelConfiguration,
    /// SetDefaults_ExemptPriorityLevelConfiguration, SetDefaults_QueuingConfiguration (v1.36.4).
    fn default(&self, object: &mut Object) {
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        if let Some(limited) = part(spec, "limited") {
            limited.default_to("nominalConcurrencyShares", 30);
            limited.default_to("lendablePercent", 0);
            if let Some(queuing) = part(limited, "limitResponse").and_then(|it| part(it, "queuing")) {
                fill(queuing, "queues", 64);
                fill(queuing, "handSize", 8);
                fill(queuing, "queueLengthLimit", 50);
            }
        }
        if let Some(exempt) = part(spec, "exempt") {
            exempt.default_to("nominalConcurrencyShares", 0);
            exempt.default_to("lendablePercent", 0);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        spec_and_status::prepare_update(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    /// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidatePriorityLevelConfiguration (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        if object.meta.annotations.get(ROUND_TRIP).is_some() {
            let detail = format!("annotation '{ROUND_TRIP}' is forbidden");
            errors.forbidden(&Path::root("metadata.annotations"), detail);
        }
        let at = Path::root("spec");
        let name = object.meta.name.as_str();
        let none = Value::Map(Map::new());
        let spec = object.fields.get("spec").unwrap_or(&none);
        check_spec(name, spec.as_map().unwrap_or(&Map::new()), &at, errors);
        check_mandatory(name, spec, &at, errors);
        rules::check_status(object.fields.map("status"), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        rules::check_status(object.fields.map("status"), errors);
    }
}

/// The spec as messages show it.
const SPEC: [Field; 3] = [
    Field("Type", "type", Form::Text),
    Field("Limited", "limited", Form::Maybe(&LIMITED)),
    Field("Exempt", "exempt", Form::Maybe(&EXEMPT)),
];
const LIMITED: [Field; 4] = [
    Field("NominalConcurrencyShares", "nominalConcurrencyShares", Form::Number),
    Field("LimitResponse", "limitResponse", Form::Struct(&RESPONSE)),
    Field("LendablePercent", "lendablePercent", Form::AsIs),
    Field("BorrowingLimitPercent", "borrowingLimitPercent", Form::AsIs),
];
const EXEMPT: [Field; 2] = [
    Field("NominalConcurrencyShares", "nominalConcurrencyShares", Form::AsIs),
    Field("LendablePercent", "lendablePercent", Form::AsIs),
];
const RESPONSE: [Field; 2] =
    [Field("Type", "type", Form::Text), Field("Queuing", "queuing", Form::Maybe(&QUEUING))];
const QUEUING: [Field; 3] = [
    Field("Queues", "queues", Form::Number),
    Field("HandSize", "handSize", Form::Number),
    Field("QueueLengthLimit", "queueLengthLimit", Form::Number),
];

/// The annotation for values that v1beta3 could not represent; stored objects do not have it.
const ROUND_TRIP: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const MAX_QUEUES: i64 = 10_000_000;
/// The largest number of hash bits that shuffle sharding may use.
const MAX_HASH_BITS: i64 = 60;

/// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateIfMandatoryPriorityLevelConfigurationObject
/// (v1.36.4).
fn check_mandatory(name: &str, spec: &Value, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(mut fixed) = mandatory::priority_level(name) else { return };
    // Administrators may set what the exempt level lends.
    if let (Value::Map(fixed), Value::Map(spec), "exempt") = (&mut fixed, spec, name) {
        fixed.keep("exempt", spec);
    }
    if !mandatory::is_same(spec, &fixed) {
        let except = if name == "exempt" { " except the 'spec.exempt' field" } else { "" };
        let shown = shown(spec.as_map().unwrap_or(&Map::new()), &SPEC);
        errors.invalid_as(at, shown, format!("spec of '{name}'{except} must equal the fixed value"));
    }
}

/// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidatePriorityLevelConfigurationSpec (v1.36.4).
fn check_spec(name: &str, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let kind = spec.str("type").unwrap_or_default();
    if (name == "exempt") != (kind == "Exempt") {
        errors.invalid(&at.key("type"), kind, "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    match kind {
        "Exempt" => {
            if is_set(spec, "limited") {
                errors.forbidden(&at.key("limited"), "must be nil if the type is not Limited");
            }
            if let Some(exempt) = spec.map("exempt") {
                let at = at.key("exempt");
                check_shares(exempt, &at, errors);
                check_lendable(exempt, &at, errors);
            }
        }
        "Limited" => {
            if is_set(spec, "exempt") {
                errors.forbidden(&at.key("exempt"), "must be nil if the type is Limited");
            }
            match spec.map("limited") {
                Some(limited) => check_limited(limited, &at.key("limited"), errors),
                None => errors.required(&at.key("limited"), "must not be empty when type is Limited"),
            }
        }
        "" => errors.required(&at.key("type"), ""),
        _ => errors.not_supported(&at.key("type"), kind, &["Exempt", "Limited"]),
    }
}

fn check_shares(level: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let shares = level.int("nominalConcurrencyShares").unwrap_or_default();
    if shares < 0 {
        errors.invalid(&at.key("nominalConcurrencyShares"), shares, "must be a non-negative integer");
    }
}

fn check_lendable(level: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let percent = level.int("lendablePercent").unwrap_or_default();
    if !(0..=100).contains(&percent) {
        errors.invalid(&at.key("lendablePercent"), percent, "must be between 0 and 100, inclusive");
    }
}

fn check_limited(limited: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_shares(limited, at, errors);
    check_response(limited.map("limitResponse").unwrap_or(&Map::new()), &at.key("limitResponse"), errors);
    check_lendable(limited, at, errors);
    let borrowed = limited.int("borrowingLimitPercent").unwrap_or_default();
    if borrowed < 0 {
        let detail = "if specified, must be a non-negative integer";
        errors.invalid(&at.key("borrowingLimitPercent"), borrowed, detail);
    }
}

/// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateLimitResponse (v1.36.4).
fn check_response(response: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let queuing_at = at.key("queuing");
    match response.str("type").unwrap_or_default() {
        "Reject" if is_set(response, "queuing") => {
            errors.forbidden(&queuing_at, "must be nil if limited.limitResponse.type is not Limited");
        }
        "Reject" => {}
        "Queue" => match response.map("queuing") {
            Some(queuing) => check_queuing(queuing, &queuing_at, errors),
            None => {
                errors.required(&queuing_at, "must not be empty if limited.limitResponse.type is Limited");
            }
        },
        "" => errors.required(&at.key("type"), ""),
        kind => errors.not_supported(&at.key("type"), kind, &["Queue", "Reject"]),
    }
}

/// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidatePriorityLevelQueuingConfiguration (v1.36.4).
fn check_queuing(queuing: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let number = |field| queuing.int(field).unwrap_or_default();
    let (limit, queues, hand) = (number("queueLengthLimit"), number("queues"), number("handSize"));
    if limit <= 0 {
        errors.invalid(&at.key("queueLengthLimit"), limit, "must be positive");
    }
    if queues <= 0 {
        errors.invalid(&at.key("queues"), queues, "must be positive");
    } else if queues > MAX_QUEUES {
        errors.invalid(&at.key("queues"), queues, format!("must not be greater than {MAX_QUEUES}"));
    }
    let at = at.key("handSize");
    if hand <= 0 {
        errors.invalid(&at, hand, "must be positive");
    } else if hand > queues {
        errors.invalid(&at, hand, format!("should not be greater than queues ({queues})"));
    } else if entropy_bits(queues, hand) > MAX_HASH_BITS as f64 {
        let detail = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        );
        errors.invalid(&at, hand, detail);
    }
}

/// Upstream: apiserver/pkg/util/shufflesharding/shufflesharding.go, RequiredEntropyBits (v1.36.4).
fn entropy_bits(queues: i64, hand: i64) -> f64 {
    ((queues as f64).log2() * hand as f64).ceil()
}

#[cfg(test)]
mod tests {
    use super::{PriorityLevel, columns};
    use crate::shared::testing::{cells, decoded, text, tree};

    #[track_caller]
    fn check(spec: &str, expected: &str, shown: [&str; 7]) {
        let body = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        let kind = "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration";
        let object = decoded(&PriorityLevel, kind, &body);
        let spec = object.fields.get("spec").cloned().unwrap_or_default();
        assert_eq!(spec, tree(expected), "{}", text(&spec));
        assert_eq!(cells(&columns(), &object), shown);
    }

    #[test]
    fn a_limited_level_has_shares_and_queues() {
        check(
            r#"{"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 0}}}}"#,
            r#"{"type": "Limited", "limited": {"nominalConcurrencyShares": 30, "lendablePercent": 0,
                "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}}}}"#,
            ["a", "Limited", "30", "64", "8", "50", "-"],
        );
        check(
            r#"{"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 9,
                "limitResponse": {"type": "Reject"}}}"#,
            r#"{"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 9,
                "limitResponse": {"type": "Reject"}}}"#,
            ["a", "Limited", "0", "<none>", "<none>", "<none>", "-"],
        );
    }

    #[test]
    fn an_exempt_level_has_none() {
        check(
            r#"{"type": "Exempt", "exempt": {}}"#,
            r#"{"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}"#,
            ["a", "Exempt", "<none>", "<none>", "<none>", "<none>", "-"],
        );
        check(
            r#"{"type": "Exempt"}"#,
            r#"{"type": "Exempt"}"#,
            ["a", "Exempt", "<none>", "<none>", "<none>", "<none>", "-"],
        );
    }
}
