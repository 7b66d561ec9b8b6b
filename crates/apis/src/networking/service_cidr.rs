//! ServiceCIDR: where addresses of services come from.

use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::services::Family;
use crate::shared::addresses::{Strictness, check_canonical_range, range_problem, sloppy};
use crate::shared::status;

pub(crate) struct ServiceCidr {
    /// Whether writes of the main resource leave the status alone, as everywhere else.
    wipes_status: bool,
}

impl ServiceCidr {
    pub(crate) fn new(settings: &Settings) -> ServiceCidr {
        ServiceCidr { wipes_status: settings.is_on("ServiceCIDRStatusFieldWiping") }
    }
}

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("CIDRs", ranges), Column::age()]
}

fn ranges(object: &Object) -> Cell {
    let spec = object.fields.map("spec");
    let ranges: Vec<&str> =
        spec.into_iter().flat_map(|it| it.list("cidrs")).filter_map(Value::as_str).collect();
    Cell::from(ranges.join(","))
}

/// Upstream: pkg/registry/networking/servicecidr/strategy.go (v1.36.4).
impl Strategy for ServiceCidr {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        match part {
            Part::Main if !self.wipes_status => Some(&[]),
            _ => status::reset_alone(part),
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        if self.wipes_status {
            status::clear(object);
        }
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        if self.wipes_status {
            status::keep(object, old);
        }
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(cidrs(object), errors);
    }

    /// A second family may be added; nothing else may change.
    ///
    /// Upstream: pkg/apis/networking/validation/validation.go, ValidateServiceCIDRUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let (at, now, before) = (Path::root("spec.cidrs"), cidrs(object), cidrs(old));
        let is_added = before.len() == 1 && now.len() == 2;
        if now.len() != before.len() && !is_added {
            errors.invalid(&at, &Value::List(now.to_vec()), "field is immutable");
            return;
        }
        for (i, (now, before)) in now.iter().zip(before).enumerate() {
            if now != before {
                errors.invalid(&at.index(i), now, "field is immutable");
            }
        }
        if is_added {
            check(now, errors);
        }
    }
}

fn cidrs(object: &Object) -> &[Value] {
    object.fields.map("spec").map(|it| it.list("cidrs")).unwrap_or_default()
}

/// Upstream: pkg/apis/networking/validation/validation.go, validateServiceCIDRSpec (v1.36.4).
fn check(cidrs: &[Value], errors: &mut FieldErrors) {
    let at = Path::root("spec.cidrs");
    if cidrs.is_empty() {
        errors.required(&at, "at least one CIDR required");
        return;
    }
    let all = Value::List(cidrs.to_vec());
    if cidrs.len() > 2 {
        let mut spec = Map::new();
        spec.set("CIDRs", all);
        errors.invalid(&at, &Value::Map(spec), "may only hold up to 2 values");
        return;
    }
    for (i, cidr) in cidrs.iter().enumerate() {
        check_canonical_range(cidr.as_str().unwrap_or_default(), &at.index(i), errors);
    }
    if let [first, second] = cidrs
        && let (Some(first), Some(second)) = (family(first), family(second))
        && first == second
    {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(&at, &all, detail);
    }
}

fn family(cidr: &Value) -> Option<Family> {
    let (host, _) = cidr.as_str()?.split_once('/')?;
    range_problem(cidr.as_str()?, Strictness::Sloppy).is_none().then_some(())?;
    sloppy(host).map(Family::of)
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;
    use keelson_registry::Strategy;

    use super::{ServiceCidr, ranges};
    use crate::shared::testing::{context, decoded};

    const TEXT: &str = r#"{"metadata": {"name": "a"}, "spec": {"cidrs": ["192.0.2.0/24", "2001:db8::/64"]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#;

    #[test]
    fn the_status_of_a_new_range_counts_only_where_it_always_did() {
        let check = |wipes_status: bool, expected: bool| {
            let strategy = ServiceCidr { wipes_status };
            let mut object = decoded(&strategy, "networking.k8s.io/v1 ServiceCIDR", TEXT);
            strategy.prepare_create(&context(), &mut object);
            assert_eq!(object.fields.at("status.conditions").is_some(), expected);
        };
        check(true, false);
        check(false, true);
    }

    #[test]
    fn the_table_tells_the_ranges() {
        let object =
            decoded(&ServiceCidr { wipes_status: true }, "networking.k8s.io/v1beta1 ServiceCIDR", TEXT);
        assert_eq!(ranges(&object), Cell::from("192.0.2.0/24,2001:db8::/64"));
    }
}
