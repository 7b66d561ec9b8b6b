//! Validation of LimitRanges: names, and amounts that do not contradict each other.

use std::collections::{BTreeSet, HashSet};

use keelson_object::scalar::{Format, Quantity};
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, SmolStr};

use crate::shared::{amounts, resource_list, resource_names};

/// The types of limits.
const TYPES: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

/// The lists of an item, in the order in which they are checked.
const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

/// Above this, thousandths do not fit into 64 bits.
const MAX_MILLI_VALUE: i64 = i64::MAX / 1000;

/// Upstream: pkg/apis/core/validation/validation.go, ValidateLimitRange (v1.36.4).
pub(super) fn check(spec: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec.limits");
    let mut types = HashSet::new();
    for (position, item) in spec.maps("limits").enumerate() {
        let at = at.index(position);
        let kind = item.str("type").unwrap_or_default();
        check_type(kind, &at.key("type"), errors);
        if !types.insert(kind) {
            errors.duplicate(&at.key("type"), kind);
        }
        check_names(item, kind, &at, errors);
        check_amounts(item, kind, &at, errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateLimitRangeTypeName (v1.36.4).
fn check_type(kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let problems = name_rules::qualified_name(kind);
    if problems.is_empty() && !kind.contains('/') && !TYPES.contains(&kind) {
        errors.invalid(at, kind, "must be a standard limit type or fully qualified");
    }
    errors.invalid_each(at, kind, problems);
}

fn check_names(item: &Map, kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    for list in LISTS {
        if list == "maxLimitRequestRatio" && kind == "PersistentVolumeClaim" {
            let has_storage = |list| amounts::one(item, list, "storage").is_some();
            if !has_storage("min") && !has_storage("max") {
                let detail = "either minimum or maximum storage value is required, but neither was provided";
                errors.required(&at.key("limits"), detail);
            }
        }
        let at = at.key(list);
        if kind == "Pod" && list.starts_with("default") {
            if item.map(list).is_some_and(|it| !it.is_empty()) {
                errors.forbidden(&at, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        for (name, _) in item.map(list).into_iter().flat_map(Map::iter) {
            match kind {
                "Pod" | "Container" => resource_names::check_of_container(name, &at.entry(name), errors),
                _ => {
                    resource_names::check(name, &at.entry(name), errors);
                }
            }
        }
    }
}

fn check_amounts(item: &Map, kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let counts = |list: &str| kind != "Pod" || !list.starts_with("default");
    let lists = LISTS.map(|list| resource_list::read(item.map(list).filter(|_| counts(list))));
    let names: BTreeSet<&str> = lists.iter().flat_map(|list| list.keys()).map(SmolStr::as_str).collect();
    let [max, min, default, request, ratio] = &lists;
    for name in names {
        let limits = Limits {
            name,
            min: min.get(name),
            max: max.get(name),
            default: default.get(name),
            request: request.get(name),
            ratio: ratio.get(name),
        };
        limits.check(at, errors);
    }
}

/// All limits of an item for one resource.
struct Limits<'i> {
    name: &'i str,
    min: Option<&'i Quantity>,
    max: Option<&'i Quantity>,
    default: Option<&'i Quantity>,
    request: Option<&'i Quantity>,
    ratio: Option<&'i Quantity>,
}

impl Limits<'_> {
    fn check(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        let (min, max) = (("min value", self.min), ("max value", self.max));
        let (request, default) = (("default request value", self.request), ("default value", self.default));
        let default_limit = ("default limit value", self.default);
        // The pairs to compare, and the field to blame; the last two blame the wrong one, as upstream does.
        let pairs = [
            ("min", min, max, self.min),
            ("defaultRequest", min, request, self.request),
            ("defaultRequest", request, max, self.request),
            ("defaultRequest", request, default_limit, self.request),
            ("default", min, default, self.min),
            ("default", default, max, self.max),
        ];
        for (list, (less_name, less), (more_name, more), shown) in pairs {
            if let (Some(less), Some(more), Some(shown)) = (less, more, shown)
                && less > more
            {
                let detail = format!("{less_name} {less} is greater than {more_name} {more}");
                errors.invalid(&at.key(list).entry(self.name), format!("{shown}").as_str(), detail);
            }
        }
        self.check_ratio(at, errors);
        if let (Some(default), Some(request)) = (self.default, self.request)
            && default != request
            && !resource_names::may_be_overcommitted(self.name)
        {
            let at = at.key("defaultRequest");
            let detail = format!(
                "default value {default} must equal to defaultRequest value {request} in {}",
                self.name
            );
            errors.invalid(&at.entry(self.name), format!("{request}").as_str(), detail);
        }
    }

    fn check_ratio(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        let Some(ratio) = self.ratio else { return };
        let at = at.key("maxLimitRequestRatio");
        let at = at.entry(self.name);
        if *ratio < Quantity::from_int(1, Format::DecimalSi) {
            errors.invalid(&at, format!("{ratio}").as_str(), format!("ratio {ratio} is less than 1"));
        }
        let (Some(min), Some(max)) = (self.min, self.max) else { return };
        let is_small = |it: &Quantity| it.value() < MAX_MILLI_VALUE;
        let (value, limit) = if is_small(ratio) && is_small(min) && is_small(max) {
            (ratio.milli_value() as f64 / 1000.0, max.milli_value() as f64 / min.milli_value() as f64)
        } else {
            (ratio.value() as f64, max.value() as f64 / min.value() as f64)
        };
        if value > limit {
            let detail = format!("ratio {ratio} is greater than max/min = {limit:.6}");
            errors.invalid(&at, format!("{ratio}").as_str(), detail);
        }
    }
}
