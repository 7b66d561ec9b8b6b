//! ResourceClaimTemplate: the template of the claims of pods.

use keelson_object::{FieldErrors, Map, Object, Path};
use keelson_registry::{Context, Conversion, Strategy};

use super::claim_rules::{self, Constraints};
use super::{admin_access, claim_spec, forms};
use crate::catalog::Settings;
use crate::shared::edit::part;
use crate::shared::gated::Off;
use crate::shared::template_meta;

pub(crate) const V1BETA1: Conversion = Conversion {
    to_stored: |object| claim_spec_of(object).into_iter().for_each(claim_spec::from_v1beta1),
    from_stored: |object| claim_spec_of(object).into_iter().for_each(claim_spec::to_v1beta1),
};

pub(crate) struct ResourceClaimTemplate {
    off: Off,
    constraints: Constraints,
}

impl ResourceClaimTemplate {
    pub(crate) fn new(settings: &Settings) -> ResourceClaimTemplate {
        ResourceClaimTemplate {
            off: Off::of(settings, claim_spec::FEATURES).and_missing(settings, claim_spec::GRADUATED),
            constraints: Constraints::of(settings),
        }
    }
}

impl Strategy for ResourceClaimTemplate {
    fn default(&self, object: &mut Object) {
        claim_spec_of(object).into_iter().for_each(claim_spec::default);
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        claim_spec_of(object).into_iter().for_each(|spec| self.off.drop_new(spec, None));
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        let old = old.fields.map("spec").and_then(|it| it.map("spec"));
        claim_spec_of(object).into_iter().for_each(|spec| self.off.drop_new(spec, old));
    }

    fn validate(&self, context: &Context, object: &Object, errors: &mut FieldErrors) {
        let spec = object.fields.map("spec").and_then(|it| it.map("spec"));
        admin_access::check_requests(context, &object.meta.namespace, spec, errors);
        self.check(object, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.check(object, errors);
        if let Some(spec) = object.fields.map("spec")
            && old.fields.map("spec") != Some(spec)
        {
            errors.invalid_as(&Path::root("spec"), forms::template(spec), "field is immutable");
        }
    }
}

impl ResourceClaimTemplate {
    /// Upstream: pkg/apis/resource/validation/validation.go, validateResourceClaimTemplateSpec (v1.36.4).
    fn check(&self, object: &Object, errors: &mut FieldErrors) {
        let Some(template) = object.fields.map("spec") else { return };
        let at = Path::root("spec");
        if let Some(meta) = template.map("metadata") {
            template_meta::check(meta, &at.key("metadata"), errors);
        }
        if let Some(spec) = template.map("spec") {
            claim_rules::check(spec, self.constraints, &at.key("spec"), errors);
        }
    }
}

fn claim_spec_of(object: &mut Object) -> Option<&mut Map> {
    part(part(&mut object.fields, "spec")?, "spec")
}

#[cfg(test)]
mod tests {
    use super::{ResourceClaimTemplate, V1BETA1};
    use crate::catalog::Settings;
    use crate::shared::testing::{decoded, text, tree};

    #[test]
    fn a_template_is_filled_in_and_converted_like_its_claims() {
        let strategy = ResourceClaimTemplate::new(&Settings::default());
        let body =
            r#"{"spec": {"spec": {"devices": {"requests": [{"name": "a", "deviceClassName": "c"}]}}}}"#;
        let mut object = decoded(&strategy, "resource.k8s.io/v1beta1 ResourceClaimTemplate", body);
        (V1BETA1.to_stored)(&mut object);
        let found = object.fields.at("spec.spec.devices.requests").cloned().unwrap_or_default();
        let expected = r#"[{"name": "a", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}}]"#;
        assert_eq!(found, tree(expected), "{}", text(&found));
    }
}
