//! Allowed topologies of storage classes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

/// The largest number of reported errors: every term can conflict with every other.
const MANY: usize = 1000;

/// The content of a term, independent of its order.
type Said<'t> = BTreeMap<&'t str, BTreeSet<&'t str>>;

/// Checks that every term is valid, and that no two are equal.
///
/// Upstream: pkg/apis/storage/validation/validation.go, validateAllowedTopologies (v1.36.4).
pub(super) fn check(class: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    // Upstream begins with as many empty terms as the class has.
    let mut seen: HashMap<Said<'_>, usize> = [(Said::new(), class.list("allowedTopologies").len())].into();
    for (position, term) in class.maps("allowedTopologies").enumerate() {
        let at = at.index(position);
        let at = at.key("matchLabelExpressions");
        let said = check_term(term, &at, errors);
        let count = seen.entry(said).or_default();
        for _ in 0..(*count).min(MANY.saturating_sub(errors.iter().len())) {
            errors.duplicate(&at, "");
        }
        *count += 1;
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateTopologySelectorTerm (v1.36.4).
fn check_term<'t>(term: &'t Map, at: &Path<'_>, errors: &mut FieldErrors) -> Said<'t> {
    let mut said = Said::new();
    for (position, expression) in term.maps("matchLabelExpressions").enumerate() {
        let at = at.index(position);
        let (key, values) = (expression.str("key").unwrap_or_default(), expression.list("values"));
        let values_at = at.key("values");
        if values.is_empty() {
            errors.required(&values_at, "");
        }
        let mut seen = HashSet::new();
        for (position, value) in values.iter().filter_map(Value::as_str).enumerate() {
            if !seen.insert(value) {
                errors.duplicate(&values_at.index(position), value);
            }
        }
        errors.invalid_each(&at.key("key"), key, name_rules::qualified_name(key));
        if said.insert(key, seen.into_iter().collect()).is_some() {
            errors.duplicate(&at.key("key"), key);
        }
    }
    said
}
