//! Ingress: how requests from outside find a service.

mod rules;

use keelson_object::{Cell, FieldErrors, Object, Path};
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::addresses::{self, address_warning};
use crate::shared::read::sub;
use crate::shared::{cells, spec_and_status};
use rules::Tolerance;

/// The annotation for the class, from before there was a field.
const CLASS: &str = "kubernetes.io/ingress.class";

/// More hosts than these are only counted.
const SHOWN: usize = 3;

/// Ingresses, with feature gates.
pub(crate) struct Ingress {
    tolerance: Tolerance,
    /// Whether addresses must be in the strict form.
    strict_addresses: bool,
}

pub(crate) fn columns() -> [Column; 6] {
    [
        Column::name(),
        Column::computed("Class", class),
        Column::computed("Hosts", hosts),
        Column::computed("Address", |object| Cell::from(cells::load_balancers(object))),
        Column::computed("Ports", ports),
        Column::age(),
    ]
}

fn class(object: &Object) -> Cell {
    let spec = object.fields.map("spec");
    Cell::from(spec.and_then(|it| it.str("ingressClassName")).unwrap_or("<none>"))
}

/// Rules after the first hosts are only counted, with a host or without.
///
/// Upstream: pkg/printers/internalversion/printers.go, formatHosts (v1.36.4).
fn hosts(object: &Object) -> Cell {
    let spec = object.fields.map("spec");
    let rules: Vec<&str> = spec
        .into_iter()
        .flat_map(|it| it.maps("rules"))
        .map(|rule| rule.str("host").unwrap_or_default())
        .collect();
    let full = rules.iter().enumerate().filter(|(_, host)| !host.is_empty()).nth(SHOWN - 1);
    let more = full.is_some_and(|(last, _)| last + 1 < rules.len());
    let shown: Vec<&str> = rules.iter().copied().filter(|host| !host.is_empty()).take(SHOWN).collect();
    match shown.join(",") {
        shown if shown.is_empty() => Cell::from("*"),
        shown if more => Cell::from(format!("{shown} + {} more...", rules.len() - SHOWN)),
        shown => Cell::from(shown),
    }
}

fn ports(object: &Object) -> Cell {
    let encrypted = object.fields.map("spec").is_some_and(|it| !it.list("tls").is_empty());
    Cell::from(if encrypted { "80, 443" } else { "80" })
}

impl Strategy for Ingress {
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        spec_and_status::prepare_update(object, old);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check_new(object, self.tolerance, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let tolerance = self.tolerance.after(sub(&old.fields, "spec"));
        rules::check(sub(&object.fields, "spec"), tolerance, errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let problem =
            if self.strict_addresses { addresses::strict_problem } else { addresses::sloppy_problem };
        rules::check_status(object, old, problem, errors);
    }

    /// Upstream: pkg/registry/networking/ingress/strategy.go, WarningsOnCreate (v1.36.4).
    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let is_named = sub(&object.fields, "spec").str("ingressClassName").is_some();
        if old.is_some() || is_named || object.meta.annotations.get(CLASS).is_none() {
            return Vec::new();
        }
        vec![format!("annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead")]
    }

    /// Upstream: pkg/registry/networking/ingress/strategy.go, WarningsOnUpdate of the status (v1.36.4).
    fn status_warnings(&self, object: &Object) -> Vec<String> {
        let at = Path::root("status.loadBalancer.ingress");
        let points = sub(sub(&object.fields, "status"), "loadBalancer").maps("ingress").enumerate();
        points.filter_map(|(i, point)| address_warning(&at.index(i), point.str("ip")?)).collect()
    }
}

impl Ingress {
    pub(crate) fn new(settings: &Settings) -> Ingress {
        let service_names = settings.is_on("RelaxedServiceNameValidation");
        Ingress {
            tolerance: Tolerance { service_names, ..Tolerance::default() },
            strict_addresses: settings.is_on("StrictIPCIDRValidation"),
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{Ingress, class, hosts, ports};
    use crate::catalog::Settings;
    use crate::shared::cells::load_balancers;
    use crate::shared::testing::decoded;

    const KIND: &str = "networking.k8s.io/v1 Ingress";

    #[track_caller]
    fn check(text: &str, expected: [&str; 4]) {
        let object = decoded(&Ingress::new(&Settings::default()), KIND, text);
        let found = [class(&object), hosts(&object), Cell::from(load_balancers(&object)), ports(&object)];
        assert_eq!(found, expected.map(Cell::from), "{text}");
    }

    #[test]
    fn an_ingress_shows_class_hosts_addresses_and_ports() {
        check("{}", ["<none>", "*", "", "80"]);
        check(
            r#"{"spec": {"ingressClassName": "n", "rules": [{"host": "a"}, {}, {"host": "b"}], "tls": [{}]}}"#,
            ["n", "a,b", "", "80, 443"],
        );
        check(
            r#"{"spec": {"rules": [{"host": "a"}, {"host": "b"}, {"host": "c"}, {}, {"host": "e"}]}}"#,
            ["<none>", "a,b,c + 2 more...", "", "80"],
        );
        check(
            r#"{"status": {"loadBalancer": {"ingress": [{"hostname": "lb.example"}, {"ip": "192.0.2.1"}]}}}"#,
            ["<none>", "*", "192.0.2.1,lb.example", "80"],
        );
    }
}
