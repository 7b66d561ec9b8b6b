//! Label selectors that may change.

use keelson_object::selector::{name_rules, validate_label_selector, validate_label_selector_keys};
use keelson_object::{FieldErrors, Map, Path, Value};

/// Checks a selector; invalid label values are accepted if the old one has such values already.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateLabelSelector with
/// AllowInvalidLabelValueInSelector (v1.36.4).
pub(crate) fn check_changed(selector: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    if old.is_some_and(has_bad_values) {
        validate_label_selector_keys(selector, at, errors);
    } else {
        validate_label_selector(selector, at, errors);
    }
}

/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, LabelSelectorHasInvalidLabelValue (v1.36.4).
fn has_bad_values(selector: &Map) -> bool {
    let values = selector.maps("matchExpressions").flat_map(|it| it.list("values"));
    values.filter_map(Value::as_str).any(|it| !name_rules::label_value(it).is_empty())
}

#[cfg(test)]
mod tests {
    use keelson_object::{FieldErrors, Path};

    use super::check_changed;
    use crate::shared::testing::tree;

    #[test]
    fn bad_values_stay_where_there_were_some() {
        let bad = tree(r#"{"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}"#);
        let worse = tree(r#"{"matchExpressions": [{"key": "-", "operator": "In", "values": ["-"]}]}"#);
        let good = tree("{}");
        let found = |new: &keelson_object::Value, old: &keelson_object::Value| {
            let mut errors = FieldErrors::default();
            check_changed(new.as_map().unwrap(), old.as_map(), &Path::root("s"), &mut errors);
            errors.iter().map(|it| it.field.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found(&bad, &good), ["s.matchExpressions[0].values[0]"]);
        assert!(found(&bad, &bad).is_empty());
        assert_eq!(found(&worse, &bad), ["s.matchExpressions[0].key"]);
    }
}
