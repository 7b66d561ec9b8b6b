//! DeviceClass: a named class of devices for requests.

use keelson_object::selector::name_rules::qualified_name;
use keelson_object::{FieldErrors, Map, Object, Path};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Context, NameRule, Strategy};

use super::claim_rules::{MAX_CONFIGS, Since, check_config, check_selectors};
use super::rules::is_short;
use crate::catalog::Settings;
use crate::shared::gated::{Feature, Off};

const FEATURES: &[Feature] =
    &[Feature { gates: &["DRAExtendedResource"], paths: &["spec.extendedResourceName"], signs: &[] }];

pub(crate) struct DeviceClass(Off);

impl DeviceClass {
    pub(crate) fn new(settings: &Settings) -> DeviceClass {
        DeviceClass(Off::of(settings, FEATURES))
    }
}

impl Strategy for DeviceClass {
    fn name_rule(&self) -> NameRule {
        NameRule::FinalSubdomain
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
        self.0.drop_new(&mut object.fields, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.0.drop_new(&mut object.fields, Some(&old.fields));
        generation::advance(object, old, &["spec"]);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(object, None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check(object, Some(old), errors);
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceClassSpec (v1.36.4).
fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let Some(spec) = object.fields.map("spec") else { return };
    let at = Path::root("spec");
    check_selectors(spec, &at.key("selectors"), errors);
    let old = old.and_then(|it| it.fields.map("spec"));
    let since = match old {
        Some(old) if old.list("config") == spec.list("config") => Since::Stored,
        _ => Since::Now,
    };
    if is_short(spec.list("config"), MAX_CONFIGS, &at.key("config"), errors) {
        for (position, config) in spec.maps("config").enumerate() {
            check_config(config, since, &at.key("config").index(position), errors);
        }
    }
    check_extended_name(spec, &at.key("extendedResourceName"), errors);
}

fn check_extended_name(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(name) = spec.str("extendedResourceName")
        && !is_extended_resource(name)
    {
        errors.invalid(at, name, "must be a valid extended resource name");
    }
}

/// Upstream: pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName (v1.36.4).
fn is_extended_resource(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.") && qualified_name(&format!("requests.{name}")).is_empty()
}
