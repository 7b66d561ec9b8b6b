//! PodCertificateRequest: a node's request for a certificate of a pod.

mod creation;
mod decision;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_object::scalar::quote;
use keelson_object::{Cell, FieldErrors, GroupKind, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Error, Guard, Result, Strategy, Write, signers};

use crate::shared::go_form::{Field, Form, shown};
use crate::shared::immutable::IMMUTABLE;
use crate::shared::status;
use decision::Change;

pub(crate) struct PodCertificateRequest;

pub(crate) fn columns() -> [Column; 7] {
    [
        Column::name(),
        Column::text("PodName", "spec.podName"),
        Column::text("ServiceAccountName", "spec.serviceAccountName"),
        Column::text("NodeName", "spec.nodeName"),
        Column::text("SignerName", "spec.signerName"),
        Column::computed("State", state),
        Column::computed("UnverifiedUserAnnotations", annotations),
    ]
}

/// The last condition that decides.
fn state(object: &Object) -> Cell {
    let conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let decisions =
        conditions.filter_map(|it| it.str("type")).filter(|it| matches!(*it, "Issued" | "Denied" | "Failed"));
    Cell::from(decisions.last().unwrap_or("Pending"))
}

/// `a=1,b=2`, or `<none>`.
fn annotations(object: &Object) -> Cell {
    let annotations = object.fields.map("spec").and_then(|it| it.map("unverifiedUserAnnotations"));
    Cell::from(crate::shared::workload_columns::labels(annotations))
}

impl Strategy for PodCertificateRequest {
    /// Upstream: pkg/registry/certificates/podcertificaterequest/strategy.go, which resets nothing (v1.36.4).
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        matches!(part, Part::Main).then_some(&[])
    }

    /// Upstream: pkg/apis/certificates/v1beta1/zz_generated.defaults.go, SetObjectDefaults_PodCertificateRequest
    /// (v1.36.4).
    fn default(&self, object: &mut Object) {
        object.fields.map_mut("spec").default_to("maxExpirationSeconds", 86400);
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        status::clear(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::keep(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        creation::check(object.fields.map("spec").unwrap_or(&Map::new()), errors);
    }

    /// Upstream: pkg/apis/certificates/validation/validation.go, ValidatePodCertificateRequestUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let spec = object.fields.get("spec");
        if spec != old.fields.get("spec") {
            let shown = shown(spec.and_then(Value::as_map).unwrap_or(&Map::new()), &SPEC);
            errors.invalid_as(&Path::root("spec"), shown, IMMUTABLE);
        }
    }

    fn validate_status_update(
        &self,
        context: &Context,
        object: &Object,
        old: &Object,
        errors: &mut FieldErrors,
    ) {
        let nothing = Map::new();
        let change = Change {
            spec: old.fields.map("spec").unwrap_or(&nothing),
            new: object.fields.map("status").unwrap_or(&nothing),
            old: old.fields.map("status").unwrap_or(&nothing),
            now: context.now(),
        };
        change.check(errors);
    }
}

/// Changing the status requires the permission to sign for the signer.
pub(crate) struct SignerOnly;

impl Guard for SignerOnly {
    /// Upstream: pkg/registry/certificates/podcertificaterequest/strategy.go, StatusStrategy.ValidateUpdate (v1.36.4).
    fn confirm<'g>(&'g self, write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        async move {
            let (Part::Status, Some(old)) = (write.part, write.old) else { return Ok(()) };
            let signer = old.fields.map("spec").and_then(|it| it.str("signerName")).unwrap_or_default();
            let is_same = write.object.fields.get("status") == old.fields.get("status");
            if is_same || signers::may(write.context, "sign", signer).await {
                return Ok(());
            }
            let user = quote(&write.context.user.name);
            let mut errors = FieldErrors::default();
            let why = format!("User {user} is not permitted to \"sign\" for signer {}", quote(signer));
            errors.forbidden(&Path::root("spec.signerName"), why);
            let kind =
                GroupKind { group: "certificates.k8s.io".into(), kind: "PodCertificateRequest".into() };
            Err(Error::Invalid { kind, name: write.name.to_owned(), errors })
        }
        .boxed()
    }
}

/// The spec as messages show it.
const SPEC: [Field; 12] = [
    Field("SignerName", "signerName", Form::Text),
    Field("PodName", "podName", Form::Text),
    Field("PodUID", "podUID", Form::Text),
    Field("ServiceAccountName", "serviceAccountName", Form::Text),
    Field("ServiceAccountUID", "serviceAccountUID", Form::Text),
    Field("NodeName", "nodeName", Form::Text),
    Field("NodeUID", "nodeUID", Form::Text),
    Field("MaxExpirationSeconds", "maxExpirationSeconds", Form::AsIs),
    Field("PKIXPublicKey", "pkixPublicKey", Form::AsIs),
    Field("ProofOfPossession", "proofOfPossession", Form::AsIs),
    Field("StubPKCS10Request", "stubPKCS10Request", Form::AsIs),
    Field("UnverifiedUserAnnotations", "unverifiedUserAnnotations", Form::AsIs),
];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use keelson_authz::{AlwaysAllow, AlwaysDeny, Authorizer};
    use keelson_registry::options::Part;
    use keelson_registry::{Error, Guard, Write};

    use super::{PodCertificateRequest, SignerOnly, columns};
    use crate::shared::testing::{cells, context, created, decoded};

    const KIND: &str = "certificates.k8s.io/v1beta1 PodCertificateRequest";

    fn request(spec: &str, conditions: &str) -> String {
        format!(
            r#"{{"metadata": {{"name": "a"}}, "spec": {{{spec}}}, "status": {{"conditions": [{conditions}]}}}}"#
        )
    }

    #[test]
    fn a_certificate_lasts_a_day_unless_said_otherwise() {
        let seconds = |spec: &str| {
            let object = created(&PodCertificateRequest, KIND, &request(spec, ""));
            assert!(!object.fields.contains("status"));
            object.fields.map("spec").and_then(|it| it.int("maxExpirationSeconds"))
        };
        assert_eq!(seconds(""), Some(86400));
        assert_eq!(seconds(r#""maxExpirationSeconds": 3600"#), Some(3600));
    }

    #[test]
    fn pod_and_state_are_shown() {
        let spec = r#""podName": "p", "serviceAccountName": "s", "nodeName": "n", "signerName": "a.b/c",
            "unverifiedUserAnnotations": {"b": "2", "a": "1"}"#;
        let shown = |spec: &str, conditions: &str| {
            cells(&columns(), &decoded(&PodCertificateRequest, KIND, &request(spec, conditions)))
        };
        assert_eq!(shown(spec, ""), ["a", "p", "s", "n", "a.b/c", "Pending", "a=1,b=2"]);
        let issued = r#"{"type": "Other"}, {"type": "Issued"}, {"type": "Other"}"#;
        assert_eq!(shown("", issued), ["a", "", "", "", "", "Issued", "<none>"]);
    }

    #[test]
    fn who_may_not_sign_writes_no_status() {
        let check = |authorizer: Option<Arc<dyn Authorizer>>, conditions: &str, expected: &str| {
            let object = |conditions| {
                decoded(&PodCertificateRequest, KIND, &request(r#""signerName": "a.b/c""#, conditions))
            };
            let (old, new) = (object(""), object(conditions));
            let mut context = context();
            context.authorizer = authorizer;
            let (context, object, old) = (&context, &new, Some(&old));
            let write = Write { context, namespace: "ns", name: "a", part: Part::Status, object, old };
            let done = SignerOnly.confirm(&write).now_or_never().expect("nobody is waited for");
            let message = match done {
                Err(Error::Invalid { errors, .. }) => errors.iter().map(ToString::to_string).collect(),
                done => format!("{done:?}"),
            };
            assert_eq!(message, expected);
        };
        let issued = r#"{"type": "Issued", "status": "True"}"#;
        let refusal =
            r#"spec.signerName: Forbidden: User "tester" is not permitted to "sign" for signer "a.b/c""#;
        check(Some(Arc::new(AlwaysDeny)), issued, refusal);
        check(Some(Arc::new(AlwaysDeny)), "", "Ok(())");
        check(Some(Arc::new(AlwaysAllow)), issued, "Ok(())");
    }
}
