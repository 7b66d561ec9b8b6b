//! CSIDriver: the capabilities of a storage driver.

use std::collections::HashSet;

use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::gated::{Feature, Off};
use crate::shared::{cells, immutable};

/// The policies for file ownership when a volume is mounted.
const GROUP_POLICIES: [&str; 3] = ["File", "None", "ReadWriteOnceWithFSType"];

/// The lifecycle modes of volumes.
const LIFECYCLE_MODES: [&str; 2] = ["Persistent", "Ephemeral"];

/// The shortest interval of updates of a node's allocatable volume count, in seconds.
const UPDATE_PERIOD_MIN: i64 = 10;

/// The shortest and the longest lifetime of tokens, in seconds.
const TOKEN_SECONDS: [i64; 2] = [600, 1 << 32];

const FEATURES: &[Feature] =
    &[Feature { gates: &["VolumeLimitScaling"], paths: &["spec.preventPodSchedulingIfMissing"], signs: &[] }];

/// Features that v1.36 has for good.
const GRADUATED: &[Feature] = &[
    Feature { gates: &["SELinuxMountReadWriteOncePod"], paths: &["spec.seLinuxMount"], signs: &[] },
    Feature {
        gates: &["MutableCSINodeAllocatableCount"],
        paths: &["spec.nodeAllocatableUpdatePeriodSeconds"],
        signs: &[],
    },
    Feature {
        gates: &["CSIServiceAccountTokenSecrets"],
        paths: &["spec.serviceAccountTokenInSecrets"],
        signs: &[],
    },
];

const TOKENS_IN_SECRETS: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, \
    set to true to prevent possible logging of tokens in volume attributes";

pub(crate) struct CsiDriver {
    off: Off,
    /// Whether the gate `VolumeLimitScaling` is on.
    limits: bool,
}

impl CsiDriver {
    pub(crate) fn new(settings: &Settings) -> CsiDriver {
        CsiDriver {
            off: Off::of(settings, FEATURES).and_missing(settings, GRADUATED),
            limits: settings.is_on("VolumeLimitScaling"),
        }
    }
}

pub(crate) fn columns() -> [Column; 8] {
    [
        Column::name(),
        cells::boolean("AttachRequired", |it| truth_or(it, "spec.attachRequired", true)),
        cells::boolean("PodInfoOnMount", |it| truth_or(it, "spec.podInfoOnMount", false)),
        cells::boolean("StorageCapacity", |it| truth_or(it, "spec.storageCapacity", false)),
        Column::computed("TokenRequests", tokens),
        cells::boolean("RequiresRepublish", |it| truth_or(it, "spec.requiresRepublish", false)),
        Column::computed("Modes", modes),
        Column::age(),
    ]
}

fn truth_or(object: &Object, path: &str, otherwise: bool) -> Cell {
    Cell::Bool(cells::truth(object, path).unwrap_or(otherwise))
}

fn tokens(object: &Object) -> Cell {
    let Some(requests) = object.fields.at("spec.tokenRequests").and_then(Value::as_list) else {
        return Cell::from("<unset>");
    };
    let audiences: Vec<&str> =
        requests.iter().filter_map(|it| Some(it.as_map()?.str("audience").unwrap_or_default())).collect();
    Cell::from(audiences.join(","))
}

fn modes(object: &Object) -> Cell {
    let spec = object.fields.map("spec");
    let modes: Vec<&str> =
        spec.into_iter().flat_map(|it| it.list("volumeLifecycleModes")).filter_map(Value::as_str).collect();
    Cell::from(if modes.is_empty() { String::from("<none>") } else { modes.join(",") })
}

impl Strategy for CsiDriver {
    /// Upstream: pkg/apis/storage/v1/defaults.go, SetDefaults_CSIDriver (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        spec.default_to("attachRequired", true);
        spec.default_to("podInfoOnMount", false);
        spec.default_to("storageCapacity", false);
        spec.default_to("fsGroupPolicy", "ReadWriteOnceWithFSType");
        if spec.list("volumeLifecycleModes").is_empty() {
            spec.set("volumeLifecycleModes", vec![Value::from("Persistent")]);
        }
        spec.default_to("requiresRepublish", false);
        spec.default_to("seLinuxMount", false);
        if self.limits {
            spec.default_to("preventPodSchedulingIfMissing", false);
        }
    }

    fn prepare_create(&self, context: &Context, object: &mut Object) {
        self.off.drop_new(&mut object.fields, None);
        recommend_secrets(context, object, None);
    }

    /// Upstream: pkg/registry/storage/csidriver/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, context: &Context, object: &mut Object, old: &Object) {
        self.off.drop_new(&mut object.fields, Some(&old.fields));
        generation::advance(object, old, &["spec"]);
        recommend_secrets(context, object, Some(old));
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(object.fields.map("spec").unwrap_or(&Map::new()), errors);
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateCSIDriverUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        // Upstream writes the first field otherwise than it is called.
        for (field, shown) in [
            ("spec.attachRequired", "spec.attachedRequired"),
            ("spec.volumeLifecycleModes", "spec.volumeLifecycleModes"),
        ] {
            let (new, old) = (object.fields.at(field), old.fields.at(field));
            immutable::value(new, old, &Path::root(shown), errors);
        }
    }
}

/// Fields with a default are always present.
///
/// Upstream: pkg/apis/storage/validation/validation.go, validateCSIDriverSpec (v1.36.4).
fn check(spec: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    if let Some(policy) = spec.str("fsGroupPolicy").filter(|it| !GROUP_POLICIES.contains(it)) {
        errors.not_supported(&at.key("fsGroupPolicy"), policy, &GROUP_POLICIES);
    }
    check_tokens(spec, &at.key("tokenRequests"), errors);
    for mode in spec.list("volumeLifecycleModes").iter().filter_map(Value::as_str) {
        if !LIFECYCLE_MODES.contains(&mode) {
            errors.not_supported(&at.key("volumeLifecycleModes"), mode, &LIFECYCLE_MODES);
        }
    }
    if let Some(period) = spec.int("nodeAllocatableUpdatePeriodSeconds").filter(|it| *it < UPDATE_PERIOD_MIN)
    {
        let detail = "must be greater than or equal to 10 seconds";
        errors.invalid(&at.key("nodeAllocatableUpdatePeriodSeconds"), period, detail);
    }
    if let Some(said) = spec.bool("serviceAccountTokenInSecrets")
        && spec.list("tokenRequests").is_empty()
    {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.invalid(&at.key("serviceAccountTokenInSecrets"), said, detail);
    }
}

/// Upstream: pkg/apis/storage/validation/validation.go, validateTokenRequests (v1.36.4).
fn check_tokens(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut audiences = HashSet::new();
    for (position, request) in spec.maps("tokenRequests").enumerate() {
        let at = at.index(position);
        let audience = request.str("audience").unwrap_or_default();
        if !audiences.insert(audience) {
            errors.duplicate(&at.key("audience"), audience);
            continue;
        }
        let at = at.key("expirationSeconds");
        match request.int("expirationSeconds") {
            Some(seconds) if seconds < TOKEN_SECONDS[0] => {
                errors.invalid(&at, seconds, "may not specify a duration less than 10 minutes");
            }
            Some(seconds) if seconds > TOKEN_SECONDS[1] => {
                errors.invalid(&at, seconds, "may not specify a duration larger than 2^32 seconds");
            }
            _ => {}
        }
    }
}

/// Warns authors who add token requests that drivers may log the tokens.
///
/// Upstream: pkg/registry/storage/csidriver/strategy.go, WarningsOnCreate and WarningsOnUpdate (v1.36.4).
fn recommend_secrets(context: &Context, object: &Object, old: Option<&Object>) {
    let requests = |it: &Object| it.fields.at("spec.tokenRequests").filter(|it| !it.is_empty()).cloned();
    let asked = requests(object);
    let is_new = asked.is_some() && old.and_then(requests) != asked;
    if is_new && cells::truth(object, "spec.serviceAccountTokenInSecrets").is_none() {
        context.warn(TOKENS_IN_SECRETS);
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;
    use keelson_registry::Strategy;

    use super::{CsiDriver, modes, tokens};
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, text, tree};

    fn driver(limits: bool) -> CsiDriver {
        let features = limits.then(|| String::from("VolumeLimitScaling")).into_iter().collect();
        CsiDriver::new(&Settings { features, ..Settings::default() })
    }

    const KIND: &str = "storage.k8s.io/v1 CSIDriver";

    #[test]
    fn a_driver_attaches_and_has_lasting_volumes_unless_it_says_otherwise() {
        let check = |limits: bool, spec: &str, expected: &str| {
            let object = decoded(&driver(limits), KIND, &format!(r#"{{"spec": {spec}}}"#));
            let found = object.fields.get("spec").cloned().unwrap_or_default();
            assert_eq!(found, tree(expected), "{spec} gives {}", text(&found));
        };
        check(
            false,
            "{}",
            r#"{"attachRequired": true, "podInfoOnMount": false, "storageCapacity": false,
                "fsGroupPolicy": "ReadWriteOnceWithFSType", "volumeLifecycleModes": ["Persistent"],
                "requiresRepublish": false, "seLinuxMount": false}"#,
        );
        check(
            true,
            r#"{"attachRequired": false, "volumeLifecycleModes": ["Ephemeral"], "fsGroupPolicy": "None"}"#,
            r#"{"attachRequired": false, "podInfoOnMount": false, "storageCapacity": false,
                "fsGroupPolicy": "None", "volumeLifecycleModes": ["Ephemeral"], "requiresRepublish": false,
                "seLinuxMount": false, "preventPodSchedulingIfMissing": false}"#,
        );
    }

    #[test]
    fn limits_are_dropped_while_the_feature_is_off() {
        let strategy = driver(false);
        let with = decoded(&strategy, KIND, r#"{"spec": {"preventPodSchedulingIfMissing": true}}"#);
        let check = |object: &keelson_object::Object, expected: bool| {
            assert_eq!(object.fields.at("spec.preventPodSchedulingIfMissing").is_some(), expected);
        };
        let mut new = with.clone();
        strategy.prepare_create(&context(), &mut new);
        check(&new, false);
        let mut kept = with.clone();
        strategy.prepare_update(&context(), &mut kept, &with);
        check(&kept, true);
    }

    #[test]
    fn new_tokens_come_with_a_recommendation() {
        let strategy = driver(false);
        let check = |new: &str, old: Option<&str>, expected: usize| {
            let (context, mut object) = (context(), decoded(&strategy, KIND, new));
            match old {
                None => strategy.prepare_create(&context, &mut object),
                Some(old) => strategy.prepare_update(&context, &mut object, &decoded(&strategy, KIND, old)),
            }
            assert_eq!(context.take_warnings().len(), expected, "{new} after {old:?}");
        };
        let asks = r#"{"spec": {"tokenRequests": [{"audience": "a"}]}}"#;
        check("{}", None, 0);
        check(asks, None, 1);
        check(asks, Some("{}"), 1);
        check(asks, Some(asks), 0);
        check(
            r#"{"spec": {"tokenRequests": [{"audience": "a"}], "serviceAccountTokenInSecrets": false}}"#,
            None,
            0,
        );
    }

    #[test]
    fn the_table_tells_audiences_and_modes() {
        let check = |body: &str, expected: [&str; 2]| {
            let object = decoded(&driver(false), KIND, body);
            assert_eq!([tokens(&object), modes(&object)], expected.map(Cell::from), "{body}");
        };
        check("{}", ["<unset>", "Persistent"]);
        check(
            r#"{"spec": {"tokenRequests": [{"audience": "a"}, {"audience": ""}],
                "volumeLifecycleModes": ["Persistent", "Ephemeral"]}}"#,
            ["a,", "Persistent,Ephemeral"],
        );
    }
}
