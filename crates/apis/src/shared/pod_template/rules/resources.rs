//! Validation of requests and limits of containers and pods.

mod claims;
pub(crate) mod names;

use keelson_object::scalar::Quantity;
use keelson_object::{FieldErrors, Map, Path};
use std::cmp::Ordering;

use super::{Around, PodRules, visit};
use crate::shared::lookup::Lookup;

/// The resources that can be set at the pod level.
///
/// Upstream: component-helpers/resource/helpers.go, SupportedPodLevelResources (v1.36.4).
const OF_POD: [&str; 3] = ["cpu", "hugepages-", "memory"];

/// The owner of the resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A container.
    Container,
    /// The pod as a whole.
    Pod,
}

/// Checks a `resources` field.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateResourceRequirements (v1.36.4). Upstream's order of the
/// names is by chance, ours is that of the list.
pub(crate) fn check(
    resources: &Map,
    owner: Owner,
    around: &Around<'_>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let limits = resources.map("limits");
    let lists = Lists { limits, limit_of: Lookup::of(limits), requests: resources.map("requests"), owner };
    lists.check(around.rules, at, errors);
    claims::check(resources.list("claims"), &around.claims, &at.key("claims"), errors);
}

/// Checks the overhead of a pod, like limits.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateOverhead (v1.36.4).
pub(crate) fn check_overhead(overhead: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let lists =
        Lists { limits: Some(overhead), limit_of: Lookup::of(None), requests: None, owner: Owner::Container };
    lists.check(rules, at, errors);
}

struct Lists<'s> {
    limits: Option<&'s Map>,
    limit_of: Lookup<'s>,
    requests: Option<&'s Map>,
    owner: Owner,
}

impl Lists<'_> {
    fn check(&self, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
        let limits_at = at.key("limits");
        for (name, amount) in amounts(self.limits) {
            let at = limits_at.entry(name);
            self.check_name(name, &at, errors);
            check_value(name, &amount, &at, errors);
            check_pages(name, &amount, rules, &at, errors);
        }
        let requests_at = at.key("requests");
        for (name, amount) in amounts(self.requests) {
            let at = requests_at.entry(name);
            self.check_name(name, &at, errors);
            check_value(name, &amount, &at, errors);
            self.check_request(name, &amount, (&limits_at, &requests_at), errors);
            check_pages(name, &amount, rules, &at, errors);
        }
        let has = |test: fn(&str) -> bool| {
            [self.limits, self.requests].into_iter().flatten().flat_map(Map::iter).any(|(name, _)| test(name))
        };
        if has(names::is_huge_pages) && !has(|name| matches!(name, "cpu" | "memory")) {
            errors.forbidden(at, "HugePages require cpu or memory");
        }
    }

    fn check_name(&self, name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
        match self.owner {
            Owner::Container => names::check_of_container(name, at, errors),
            Owner::Pod if !names::check(name, at, errors) => {}
            Owner::Pod if matches!(name, "cpu" | "memory") || names::is_huge_pages(name) => {}
            Owner::Pod => errors.not_supported(at, name, &OF_POD),
        }
    }

    /// A request must not exceed its limit; for resources that cannot be overcommitted it must equal the
    /// limit.
    fn check_request(
        &self,
        name: &str,
        amount: &Quantity,
        at: (&Path<'_>, &Path<'_>),
        errors: &mut FieldErrors,
    ) {
        let limit = self.limit_of.get(name).and_then(|it| Quantity::from_value(it).ok());
        let can_promise_more = names::is_native(name) && !names::is_huge_pages(name);
        let (limits_at, requests_at) = at;
        match limit {
            Some(limit) if !can_promise_more && *amount != limit => {
                let detail = format!("must be equal to {name} limit of {limit}");
                errors.invalid(requests_at, amount.to_string().as_str(), detail);
            }
            Some(limit) if *amount > limit => {
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                errors.invalid(requests_at, amount.to_string().as_str(), detail);
            }
            None if !can_promise_more => {
                errors.required(limits_at, "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
    }
}

fn amounts(list: Option<&Map>) -> impl Iterator<Item = (&str, Quantity)> {
    let pairs = list.into_iter().flat_map(Map::iter);
    pairs.filter_map(|(name, value)| Some((name.as_str(), Quantity::from_value(value).ok()?)))
}

/// Checks that an amount is not negative, and whole where the resource comes in pieces.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateResourceQuantityValue (v1.36.4).
pub(crate) fn check_value(name: &str, amount: &Quantity, at: &Path<'_>, errors: &mut FieldErrors) {
    if amount.sign() == Ordering::Less {
        errors.invalid(at, amount.to_string().as_str(), "must be greater than or equal to 0");
    }
    if names::is_counted(name) && amount.milli_value() % 1000 != 0 {
        errors.invalid(at, amount.to_string().as_str(), "must be an integer");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateResourceQuantityHugePageValue (v1.36.4).
fn check_pages(name: &str, amount: &Quantity, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    if names::is_huge_pages(name) && !rules.indivisible_huge_pages && !is_whole_pages(name, amount) {
        let detail = format!("{amount} is not positive integer multiple of {name}");
        errors.invalid(at, amount.to_string().as_str(), detail);
    }
}

/// Upstream: pkg/apis/core/helper/helpers.go, IsHugePageResourceValueDivisible (v1.36.4).
fn is_whole_pages(name: &str, amount: &Quantity) -> bool {
    let size = name.strip_prefix(names::HUGE_PAGES).and_then(|size| Quantity::parse(size).ok());
    size.is_some_and(|size| {
        size.sign() == Ordering::Greater
            && size.milli_value() % 1000 == 0
            && amount.value() % size.value() == 0
    })
}

/// Whether the pod has huge page amounts that are not whole pages.
///
/// Upstream: pkg/api/pod/util.go, usesIndivisibleHugePagesValues (v1.36.4).
pub(super) fn has_broken_pages(spec: &Map) -> bool {
    let of_containers = visit::containers(spec).filter_map(|it| it.map("resources"));
    let lists = of_containers.flat_map(|it| [it.map("limits"), it.map("requests")]);
    lists
        .chain([spec.map("overhead")])
        .flat_map(amounts)
        .any(|(name, amount)| names::is_huge_pages(name) && !is_whole_pages(name, &amount))
}
