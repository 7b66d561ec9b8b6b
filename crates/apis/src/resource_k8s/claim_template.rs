//! ResourceClaimTemplate: what the claims of pods are made from.

use keelson_object::{FieldErrors, Map, Object};
use keelson_registry::{Context, Conversion, Strategy};

use super::claim_spec;
use crate::catalog::Settings;
use crate::shared::edit::part;
use crate::shared::gated::Off;

pub(crate) const V1BETA1: Conversion = Conversion {
    to_stored: |object| claim_spec_of(object).into_iter().for_each(claim_spec::from_v1beta1),
    from_stored: |object| claim_spec_of(object).into_iter().for_each(claim_spec::to_v1beta1),
};

pub(crate) struct ResourceClaimTemplate(Off);

impl ResourceClaimTemplate {
    pub(crate) fn new(settings: &Settings) -> ResourceClaimTemplate {
        ResourceClaimTemplate(Off::of(settings, claim_spec::FEATURES))
    }
}

impl Strategy for ResourceClaimTemplate {
    fn default(&self, object: &mut Object) {
        claim_spec_of(object).into_iter().for_each(claim_spec::default);
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        claim_spec_of(object).into_iter().for_each(|spec| self.0.drop_new(spec, None));
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        let old = old.fields.map("spec").and_then(|it| it.map("spec"));
        claim_spec_of(object).into_iter().for_each(|spec| self.0.drop_new(spec, old));
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        claim_spec::refuse_admin_access(object.fields.map("spec").and_then(|it| it.map("spec")), errors);
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
