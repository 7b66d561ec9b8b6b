//! CertificateSigningRequest: a client requests a certificate, an approver approves it, a signer signs it.

mod conditions;
#[cfg(test)]
mod tests;
mod validation;

use keelson_authn::User;
use keelson_object::scalar::Time;
use keelson_object::{Cell, FieldErrors, Object};
use keelson_registry::column::human_age;
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, NameRule, Strategy};

use validation::Written;

pub(crate) struct SigningRequest;

/// The part that approvers write.
pub(crate) const APPROVAL: &str = "approval";

pub(crate) fn columns() -> [Column; 6] {
    [
        Column::name(),
        Column::age(),
        Column::computed("SignerName", |object| spec_text(object, "signerName", "<none>")),
        Column::computed("Requestor", |object| spec_text(object, "username", "")),
        Column::computed("RequestedDuration", requested_duration),
        Column::computed("Condition", conditions::summary),
    ]
}

fn spec_text(object: &Object, field: &str, default: &str) -> Cell {
    let text = object.fields.map("spec").and_then(|spec| spec.str(field)).filter(|text| !text.is_empty());
    Cell::from(text.unwrap_or(default))
}

fn requested_duration(object: &Object) -> Cell {
    match object.fields.map("spec").and_then(|spec| spec.int("expirationSeconds")) {
        Some(seconds) => Cell::from(human_age(Some(Time::from_unix(0)), Time::from_unix(seconds))),
        None => Cell::from("<none>"),
    }
}

impl Strategy for SigningRequest {
    /// Upstream: pkg/registry/certificates/certificates/strategy.go, GetResetFields (v1.36.4).
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        match part {
            Part::Main => Some(&["spec", "status"]),
            Part::Status => Some(&["spec", "status.conditions"]),
            Part::Named("approval") => Some(&["spec", "status.certificate"]),
            Part::Scale | Part::Named(_) => None,
        }
    }

    /// The server sets the requesting user.
    ///
    /// Upstream: pkg/registry/certificates/certificates/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, context: &Context, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        for field in User::FIELDS {
            spec.remove(field);
        }
        for (field, value) in context.user.info() {
            spec.set(field, value);
        }
        object.fields.remove("status");
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields = old.fields.clone();
    }

    /// A signer leaves approvals and denials as they are.
    ///
    /// Upstream: pkg/registry/certificates/certificates/strategy.go, csrStatusStrategy.PrepareForUpdate (v1.36.4).
    fn prepare_status_update(&self, context: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("spec", &old.fields);
        conditions::preserve(object, old, "Approved");
        conditions::preserve(object, old, "Denied");
        conditions::stamp(object, old, context.now());
    }

    /// An approver may change conditions only.
    ///
    /// Upstream: pkg/registry/certificates/certificates/strategy.go, csrApprovalStrategy.PrepareForUpdate (v1.36.4).
    fn prepare_part_update(&self, context: &Context, _: &'static str, object: &mut Object, old: &Object) {
        conditions::stamp(object, old, context.now());
        let new = object.fields.map("status").and_then(|it| it.get("conditions")).cloned();
        object.fields = old.fields.clone();
        match new {
            Some(new) => object.fields.map_mut("status").set("conditions", new),
            None if object.fields.contains("status") => {
                object.fields.map_mut("status").remove("conditions");
            }
            None => {}
        }
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        validation::check(object, None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        validation::check_change(object, old, Written::Main, errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        validation::check_change(object, old, Written::Status, errors);
    }

    fn validate_part_update(&self, _: &'static str, object: &Object, old: &Object, errors: &mut FieldErrors) {
        validation::check_change(object, old, Written::Approval, errors);
    }

    /// Upstream: pkg/apis/certificates/validation/validation.go, ValidateCertificateRequestName (v1.36.4).
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegmentLast
    }
}
