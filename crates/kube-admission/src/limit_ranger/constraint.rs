//! The least, the most, and how far limits are above requests.

use keelson_object::Map;
use keelson_object::scalar::Quantity;

use crate::amounts::{self, Amounts};

/// Above this thousandths do not fit.
///
/// Upstream: apimachinery/pkg/api/resource/quantity.go, MaxMilliValue (v1.36.4).
const MAX_MILLI: i64 = i64::MAX / 1000;

/// The requests and limits of a container, a pod or a claim.
pub(super) struct Asked {
    pub(super) requests: Amounts,
    pub(super) limits: Amounts,
}

impl Asked {
    /// Reads the field `resources`.
    pub(super) fn of(resources: &Map) -> Asked {
        Asked {
            requests: amounts::read(resources.map("requests")),
            limits: amounts::read(resources.map("limits")),
        }
    }
}

/// One rule of a limit range.
struct Rule<'r> {
    of: &'r str,
    resource: &'r str,
    enforced: &'r Quantity,
    request: Option<&'r Quantity>,
    limit: Option<&'r Quantity>,
}

/// Checks requests and limits.
pub(super) fn check(limit: &Map, asked: &Asked, problems: &mut Vec<String>) {
    each(limit, "min", asked, least, problems);
    each(limit, "max", asked, most, problems);
    each(limit, "maxLimitRequestRatio", asked, ratio, problems);
}

/// Checks requests only, for objects without limits.
pub(super) fn check_requests(limit: &Map, asked: &Asked, problems: &mut Vec<String>) {
    each(limit, "min", asked, least, problems);
    each(limit, "max", asked, most_requested, problems);
}

fn each(
    limit: &Map,
    field: &str,
    asked: &Asked,
    judge: fn(&Rule<'_>) -> Option<String>,
    problems: &mut Vec<String>,
) {
    let of = limit.str("type").unwrap_or_default();
    for (resource, enforced) in &amounts::read(limit.map(field)) {
        let (request, limit) = (asked.requests.get(resource), asked.limits.get(resource));
        problems.extend(judge(&Rule { of, resource, enforced, request, limit }));
    }
}

impl Rule<'_> {
    /// Request, limit and enforced value, at a common precision.
    ///
    /// Upstream: plugin/pkg/admission/limitranger/admission.go, requestLimitEnforcedValues (v1.36.4).
    fn numbers(&self) -> (i64, i64, i64) {
        let nothing = Quantity::default();
        let all = [self.request.unwrap_or(&nothing), self.limit.unwrap_or(&nothing), self.enforced];
        let [request, limit, enforced] = match all.iter().all(|it| it.value() <= MAX_MILLI) {
            true => all.map(Quantity::milli_value),
            false => all.map(Quantity::value),
        };
        (request, limit, enforced)
    }

    fn most_is(&self) -> String {
        format!("maximum {} usage per {} is {}", self.resource, self.of, self.enforced)
    }
}

/// Upstream: plugin/pkg/admission/limitranger/admission.go, minConstraint (v1.36.4).
fn least(rule: &Rule<'_>) -> Option<String> {
    let (asked, allowed, enforced) = rule.numbers();
    let Rule { of, resource, enforced: least, .. } = rule;
    let begin = format!("minimum {resource} usage per {of} is {least}");
    match (rule.request, rule.limit) {
        (None, _) => Some(format!("{begin}.  No request is specified")),
        (Some(request), _) if asked < enforced => Some(format!("{begin}, but request is {request}")),
        (_, Some(limit)) if allowed < enforced => Some(format!("{begin}, but limit is {limit}")),
        _ => None,
    }
}

/// Upstream: plugin/pkg/admission/limitranger/admission.go, maxConstraint (v1.36.4).
fn most(rule: &Rule<'_>) -> Option<String> {
    let (asked, allowed, enforced) = rule.numbers();
    let begin = rule.most_is();
    match (rule.limit, rule.request) {
        (None, _) => Some(format!("{begin}.  No limit is specified")),
        (Some(limit), _) if allowed > enforced => Some(format!("{begin}, but limit is {limit}")),
        (_, Some(request)) if asked > enforced => Some(format!("{begin}, but request is {request}")),
        _ => None,
    }
}

/// Upstream: plugin/pkg/admission/limitranger/admission.go, maxRequestConstraint (v1.36.4).
fn most_requested(rule: &Rule<'_>) -> Option<String> {
    let (asked, _, enforced) = rule.numbers();
    let begin = rule.most_is();
    match rule.request {
        None => Some(format!("{begin}.  No request is specified")),
        Some(request) if asked > enforced => Some(format!("{begin}, but request is {request}")),
        _ => None,
    }
}

/// Upstream: plugin/pkg/admission/limitranger/admission.go, limitRequestRatioConstraint (v1.36.4).
#[expect(clippy::cast_precision_loss, reason = "upstream computes with floats")]
fn ratio(rule: &Rule<'_>) -> Option<String> {
    let (asked, allowed, _) = rule.numbers();
    let Rule { of, resource, enforced, .. } = rule;
    let begin = format!("{resource} max limit to request ratio per {of} is {enforced}");
    if asked == 0 {
        return Some(format!("{begin}, but no request is specified or request is 0"));
    }
    if allowed == 0 {
        return Some(format!("{begin}, but no limit is specified or limit is 0"));
    }
    let ratio = allowed as f64 / asked as f64;
    let (seen, most) = match enforced.value() <= MAX_MILLI {
        true => (ratio * 1000.0, enforced.milli_value() as f64),
        false => (ratio, enforced.value() as f64),
    };
    (seen > most).then(|| format!("{begin}, but provided ratio is {ratio:.6}"))
}
