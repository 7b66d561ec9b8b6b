//! Behavior: how fast the scale may change, and its form in an annotation of `v1`.
//!
//! Upstream writes its internal type there, whose fields have no JSON names:
//!
//! ```json
//! {"ScaleUp": null, "ScaleDown": {"StabilizationWindowSeconds": 300, "SelectPolicy": "Max",
//!  "Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 60}], "Tolerance": null}}
//! ```

use keelson_object::scalar::Quantity;
use keelson_object::{Map, Value};

use super::metrics::{Unreadable, field};

/// The two directions: as upstream calls them, and as `v2` does.
const GO_RULES: [(&str, &str); 2] = [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")];

/// The default period of a policy, in seconds.
const PERIOD: i64 = 15;

/// Fills in whatever rules leave out.
///
/// Upstream: pkg/apis/autoscaling/v2/defaults.go, SetDefaults_HorizontalPodAutoscalerBehavior (v1.36.4).
pub(super) fn default(behavior: &mut Map) {
    let percent = policy("Percent", 100);
    let up = behavior.map_mut("scaleUp");
    up.default_to("stabilizationWindowSeconds", 0);
    up.default_to("selectPolicy", "Max");
    up.default_to("policies", vec![policy("Pods", 4), percent.clone()]);
    let down = behavior.map_mut("scaleDown");
    down.default_to("selectPolicy", "Max");
    down.default_to("policies", vec![percent]);
}

fn policy(kind: &str, value: i64) -> Value {
    let mut policy = Map::new();
    policy.push_new("type", kind);
    policy.push_new("value", value);
    policy.push_new("periodSeconds", PERIOD);
    Value::Map(policy)
}

/// The JSON of upstream's internal type.
pub(super) fn to_annotation(behavior: &Map) -> Value {
    let copy = |from: &Map, field: &str| from.get(field).cloned().unwrap_or_default();
    let policy = |policy: &Map| {
        let mut go = Map::new();
        go.push_new("Type", copy(policy, "type"));
        go.push_new("Value", copy(policy, "value"));
        go.push_new("PeriodSeconds", copy(policy, "periodSeconds"));
        Value::Map(go)
    };
    let mut all = Map::new();
    for (name, rules) in GO_RULES {
        let Some(rules) = behavior.map(rules) else {
            all.push_new(name, Value::Null);
            continue;
        };
        let mut go = Map::new();
        go.push_new("StabilizationWindowSeconds", copy(rules, "stabilizationWindowSeconds"));
        go.push_new("SelectPolicy", copy(rules, "selectPolicy"));
        let policies = rules.get("policies").and_then(Value::as_list);
        let policies = policies.map(|_| Value::List(rules.maps("policies").map(policy).collect()));
        go.push_new("Policies", policies.unwrap_or_default());
        go.push_new("Tolerance", copy(rules, "tolerance"));
        all.push_new(name, go);
    }
    Value::Map(all)
}

/// Reads an annotation; `None` if it is null.
pub(super) fn from_annotation(value: &Value) -> Result<Option<Map>, Unreadable> {
    let mut behavior = Map::new();
    let all = match value {
        Value::Null => return Ok(None),
        value => value.as_map().ok_or(Unreadable)?,
    };
    for (name, rules) in GO_RULES {
        match field(all, name) {
            None | Some(Value::Null) => {}
            Some(Value::Map(go)) => behavior.push_new(rules, read_rules(go)?),
            Some(_) => return Err(Unreadable),
        }
    }
    Ok((!behavior.is_empty()).then_some(behavior))
}

fn read_rules(go: &Map) -> Result<Map, Unreadable> {
    let mut rules = Map::new();
    if let Some(seconds) = number(go, "StabilizationWindowSeconds")? {
        rules.push_new("stabilizationWindowSeconds", seconds);
    }
    if let Some(select) = text(go, "SelectPolicy")? {
        rules.push_new("selectPolicy", select);
    }
    match field(go, "Policies") {
        None | Some(Value::Null) => {}
        Some(Value::List(items)) => {
            let policies: Result<Vec<Value>, Unreadable> = items.iter().map(read_policy).collect();
            rules.push_new("policies", policies?);
        }
        Some(_) => return Err(Unreadable),
    }
    match field(go, "Tolerance") {
        None | Some(Value::Null) => {}
        Some(value) => {
            let quantity = Quantity::from_value(value).map_err(|_| Unreadable)?;
            rules.push_new("tolerance", quantity.to_string());
        }
    }
    Ok(rules)
}

fn read_policy(go: &Value) -> Result<Value, Unreadable> {
    let empty = Map::new();
    let go = match go {
        Value::Null => &empty,
        go => go.as_map().ok_or(Unreadable)?,
    };
    let mut policy = Map::new();
    policy.push_new("type", text(go, "Type")?.unwrap_or_default());
    policy.push_new("value", number(go, "Value")?.unwrap_or_default());
    policy.push_new("periodSeconds", number(go, "PeriodSeconds")?.unwrap_or_default());
    Ok(Value::Map(policy))
}

fn number(map: &Map, name: &str) -> Result<Option<i64>, Unreadable> {
    match field(map, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Int(number)) if i32::try_from(*number).is_ok() => Ok(Some(*number)),
        Some(_) => Err(Unreadable),
    }
}

fn text<'m>(map: &'m Map, name: &str) -> Result<Option<&'m str>, Unreadable> {
    match field(map, name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or(Unreadable),
    }
}
