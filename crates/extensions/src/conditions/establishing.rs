//! Established: the resource of a definition is served.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/establish/establishing_controller.go (v1.36.4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::scalar::Time;
use keelson_object::{Condition, Map, Object, Value};
use keelson_x509::bundle;

use super::{ESTABLISHED, NAMES_ACCEPTED, is_true, spec, status_of};

/// The status of a definition whose resource is served now; `None` if it has that status already, or if its names are
/// not accepted.
pub fn establish(definition: &Object, now: Time) -> Option<Map> {
    if !is_true(definition, NAMES_ACCEPTED) || is_true(definition, ESTABLISHED) {
        return None;
    }
    let (status, reason, message) = match has_bad_bundle(definition) {
        true => ("False", "InvalidCABundle", "The conversion webhook CABundle is invalid"),
        false => ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    };
    let condition = Condition { kind: ESTABLISHED, status, reason, message: message.to_owned() };
    let mut status = status_of(definition);
    condition.set(&mut status, now).then_some(status)
}

/// Whether the conversion webhook cannot be trusted.
fn has_bad_bundle(definition: &Object) -> bool {
    let bundle = spec(definition).at("conversion.webhook.clientConfig.caBundle").and_then(Value::as_str);
    let is_bad =
        |bundle: &str| STANDARD.decode(bundle).map_or(true, |bytes| bundle::problem(&bytes).is_some());
    bundle.is_some_and(is_bad)
}
