//! DenyServiceExternalIPs: rejects new `externalIPs` of services.

use std::future::ready;

use keelson_object::{Object, Value};
use keelson_registry::admission::{Plugin, Request, Ruling};

/// The plugin.
pub(crate) struct DenyServiceExternalIps;

impl Plugin for DenyServiceExternalIps {
    fn name(&self) -> &'static str {
        "DenyServiceExternalIPs"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_object_of("", "services")
    }

    /// Upstream: plugin/pkg/admission/network/denyserviceexternalips/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        let answer = match object {
            Some(service) if !has_old_addresses(service, request.old) => {
                Err(request.forbidden(object, "Use of external IPs is denied by admission control"))
            }
            _ => Ok(()),
        };
        Box::pin(ready(answer))
    }
}

fn addresses(service: &Object) -> &[Value] {
    service.fields.map("spec").map(|it| it.list("externalIPs")).unwrap_or_default()
}

fn has_old_addresses(service: &Object, old: Option<&Object>) -> bool {
    let known = old.map(addresses).unwrap_or_default();
    addresses(service).iter().all(|it| known.contains(it))
}

#[cfg(test)]
mod tests {
    use super::has_old_addresses;
    use crate::testing::object;

    #[track_caller]
    fn check(new: &str, old: &str, expected: bool) {
        let service = |list: &str| object(&format!(r#"{{"spec":{{"externalIPs":{list}}}}}"#));
        assert_eq!(has_old_addresses(&service(new), Some(&service(old))), expected);
    }

    #[test]
    fn addresses_may_be_given_back_but_not_taken() {
        check("[]", "[]", true);
        check(r#"["1.2.3.4"]"#, r#"["1.2.3.4","1.2.3.5"]"#, true);
        check(r#"["1.2.3.4","1.2.3.6"]"#, r#"["1.2.3.4"]"#, false);
        assert!(has_old_addresses(&object("{}"), None));
    }
}
