//! Comparisons in filters: of values of the same sort only.
//!
//! Upstream: client-go/third_party/forked/golang/template/funcs.go (v1.36.4).

use std::cmp::Ordering;

use keelson_object::Value;

/// Whether `left operator right` holds; an error for values that cannot be compared.
pub(super) fn holds(left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    let is_ordered = match operator {
        "==" | "!=" => false,
        "<" | ">" | "<=" | ">=" => true,
        _ => return Err(format!("unrecognized filter operator {operator}")),
    };
    let ordering = match (left, right) {
        (Value::Bool(_), Value::Bool(_)) if is_ordered => return Err(bad_type()),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Less),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ if is_basic(left) && is_basic(right) => {
            return Err(String::from("incompatible types for comparison"));
        }
        _ => return Err(bad_type()),
    };
    Ok(match operator {
        "==" => ordering.is_eq(),
        "!=" => ordering.is_ne(),
        "<" => ordering.is_lt(),
        ">" => ordering.is_gt(),
        "<=" => ordering.is_le(),
        _ => ordering.is_ge(),
    })
}

fn bad_type() -> String {
    String::from("invalid type for comparison")
}

fn is_basic(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_))
}
