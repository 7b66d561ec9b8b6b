//! PodTolerationRestriction: adds the default tolerations of a namespace to pods, and enforces its whitelist.

use std::sync::LazyLock;

use keelson_codec::config_file::ConfigKind;
use keelson_codec::json;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::{Error, Result};
use keelson_schema::Schema;

use crate::pods::{self, Toleration};
use crate::{configuration, namespaces};

const DEFAULT: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// The plugin.
pub(crate) struct PodTolerationRestriction(Configuration);

impl PodTolerationRestriction {
    /// A plugin with this configuration.
    pub(crate) fn new(configuration: Configuration) -> PodTolerationRestriction {
        PodTolerationRestriction(configuration)
    }
}

impl Plugin for PodTolerationRestriction {
    fn name(&self) -> &'static str {
        "PodTolerationRestriction"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_object_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/podtolerationrestriction/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object else { return Ok(()) };
            let mut added = match request.operation {
                Operation::Create => {
                    let own = of_namespace(request, DEFAULT).await?;
                    own.unwrap_or_else(|| self.0.default.clone())
                }
                _ => Vec::new(),
            };
            if !pods::is_best_effort(pod) {
                added.push(MEMORY_PRESSURE.to_value());
            }
            if !added.is_empty() {
                let spec = pod.fields.map_mut("spec");
                let merged = pods::merge_tolerations(spec.list("tolerations"), &added);
                spec.set("tolerations", merged);
            }
            self.check(request, pod).await
        })
    }

    /// Upstream: plugin/pkg/admission/podtolerationrestriction/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            match object {
                Some(pod) => self.check(request, pod).await,
                None => Ok(()),
            }
        })
    }
}

/// A node with memory pressure accepts no pods without memory requests.
const MEMORY_PRESSURE: Toleration<'static> = Toleration {
    key: "node.kubernetes.io/memory-pressure",
    operator: "Exists",
    value: "",
    effect: "NoSchedule",
    seconds: None,
};

impl PodTolerationRestriction {
    async fn check(&self, request: &Request<'_>, pod: &Object) -> Result<()> {
        let tolerations = pod.fields.map("spec").map(|it| it.list("tolerations")).unwrap_or_default();
        if tolerations.is_empty() {
            return Ok(());
        }
        let own = of_namespace(request, ALLOWED).await?;
        let (allowed, scope) = match &own {
            Some(list) => (list, "namespace"),
            None => (&self.0.allowed, "cluster"),
        };
        if is_within(tolerations, allowed) {
            return Ok(());
        }
        Err(Error::Unclassified(format!(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
        )))
    }
}

/// Upstream: pkg/util/tolerations/tolerations.go, VerifyAgainstWhitelist (v1.36.4).
fn is_within(tolerations: &[Value], allowed: &[Value]) -> bool {
    let covers = |one: &Toleration<'_>| allowed.iter().any(|it| Toleration::read(it).covers(one));
    allowed.is_empty() || tolerations.iter().map(Toleration::read).all(|it| covers(&it))
}

/// Upstream: plugin/pkg/admission/podtolerationrestriction/admission.go, extractNSTolerations (v1.36.4).
async fn of_namespace(request: &Request<'_>, annotation: &str) -> Result<Option<Vec<Value>>> {
    let namespaces = request.context.reach("", "namespaces")?;
    let Some(namespace) = namespaces::of(request).await? else {
        return Err(namespaces.not_found(&request.place.namespace));
    };
    let text = namespace.meta.annotations.get(annotation);
    text.map(read_list).transpose().map_err(Error::Unclassified)
}

fn read_list(text: &str) -> std::result::Result<Vec<Value>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let cannot = |value: &Value, of: &str| {
        format!("json: cannot unmarshal {} into Go value of type {of}", value.json_type())
    };
    let mut items = match json::read(text.as_bytes()).map_err(|error| error.to_string())?.value {
        Value::List(items) => items,
        Value::Null => Vec::new(),
        other => return Err(cannot(&other, "[]v1.Toleration")),
    };
    for item in &mut items {
        match item {
            Value::Null => *item = Value::Map(Map::new()),
            Value::Map(_) => drop(TOLERATION.conform(item).map_err(|error| error.to_string())?),
            other => return Err(cannot(other, "v1.Toleration")),
        }
    }
    Ok(items)
}

const STRUCTS: [(&str, &str); 2] = [
    (
        "Toleration",
        "key string; operator TolerationOperator=string; value string; effect TaintEffect=string; \
         tolerationSeconds *int64",
    ),
    ("Configuration", "kind string; apiVersion string; default []Toleration; whitelist []Toleration"),
];

static TOLERATION: LazyLock<Schema> = LazyLock::new(|| Schema::by_hand("v1", &STRUCTS[..1]));
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::by_hand("v1", &STRUCTS));

/// The defaults for namespaces without annotations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    default: Vec<Value>,
    allowed: Vec<Value>,
}

impl Configuration {
    /// Reads the configuration, or returns all errors.
    ///
    /// Upstream: plugin/pkg/admission/podtolerationrestriction/config.go, loadConfiguration (v1.36.4).
    pub(crate) fn read(document: &Map) -> std::result::Result<Configuration, String> {
        let kind = ConfigKind {
            api_version: "podtolerationrestriction.admission.k8s.io/v1alpha1",
            kind: "Configuration",
            schema: &SCHEMA,
        };
        let map = configuration::read(document, &[kind]).map_err(|error| error.to_string())?;
        let mut errors = FieldErrors::default();
        let root = Path::root("podtolerationrestriction");
        for key in ["default", "whitelist"] {
            for (position, toleration) in map.list(key).iter().enumerate() {
                validate(&Toleration::read(toleration), &root.key(key).index(position), &mut errors);
            }
        }
        if !errors.is_empty() {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return Err(format!("invalid config: [{}]", texts.join(" ")));
        }
        Ok(Configuration { default: map.list("default").to_vec(), allowed: map.list("whitelist").to_vec() })
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateTolerations without options (v1.36.4).
fn validate(toleration: &Toleration<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Toleration { key, operator, value, effect, seconds } = *toleration;
    if !key.is_empty() {
        let problems = name_rules::qualified_name(key);
        errors.invalid_each(&at.key("key"), key, problems);
    } else if operator != "Exists" {
        let rule =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid(&at.key("operator"), operator, rule);
    }
    if seconds.is_some() && effect != "NoExecute" {
        errors.invalid(
            &at.key("effect"),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    match operator {
        "Equal" | "" => {
            let problems = name_rules::label_value(value);
            if !problems.is_empty() {
                errors.invalid(&at.key("operator"), value, problems.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            errors.invalid(&at.key("operator"), value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        "Lt" | "Gt" => {
            errors.not_supported(&at.key("operator"), operator, &["Equal", "Exists", "Lt", "Gt"]);
        }
        _ => errors.not_supported(&at.key("operator"), operator, &["Equal", "Exists"]),
    }
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if !effect.is_empty() && !effects.contains(&effect) {
        errors.not_supported(&at.key("effect"), effect, &effects);
    }
}

#[cfg(test)]
mod tests {
    use super::{Configuration, is_within, read_list};
    use crate::testing::map;

    #[track_caller]
    fn check_annotation(text: &str, expected: Result<usize, &str>) {
        let found = read_list(text);
        assert_eq!(found.as_ref().map(Vec::len).map_err(String::as_str), expected);
    }

    #[test]
    fn an_annotation_is_a_list_of_tolerations() {
        check_annotation("", Ok(0));
        check_annotation("null", Ok(0));
        check_annotation(r#"[{"key":"a"},{"operator":"Exists"}]"#, Ok(2));
        check_annotation("{}", Err("json: cannot unmarshal object into Go value of type []v1.Toleration"));
        check_annotation("[1]", Err("json: cannot unmarshal number into Go value of type v1.Toleration"));
        check_annotation(
            r#"[{"key":1}]"#,
            Err("json: cannot unmarshal number into Go struct field Toleration.key of type string"),
        );
    }

    #[track_caller]
    fn check_list(tolerations: &str, allowed: &str, expected: bool) {
        let list = |text| read_list(text).expect("tolerations");
        assert_eq!(is_within(&list(tolerations), &list(allowed)), expected);
    }

    #[test]
    fn every_toleration_is_one_of_the_allowed() {
        let two = r#"[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"}]"#;
        check_list(two, "[]", true);
        check_list(two, two, true);
        check_list(two, r#"[{"operator":"Exists"}]"#, true);
        check_list(two, r#"[{"key":"a","operator":"Exists"}]"#, false);
    }

    #[test]
    fn everything_that_is_wrong_is_said_in_upstreams_words() {
        let head =
            r#""apiVersion":"podtolerationrestriction.admission.k8s.io/v1alpha1","kind":"Configuration""#;
        let text = format!(
            r#"{{{head},"default":[{{"key":"a","operator":"Foo"}}],"whitelist":[{{"operator":"Equal"}},
            {{"key":"a","operator":"Gt","value":"1"}},{{"key":"a","effect":"X","tolerationSeconds":3}}]}}"#
        );
        assert_eq!(
            Configuration::read(&map(&text)),
            Err(String::from(
                "invalid config: [podtolerationrestriction.default[0].operator: Unsupported value: \"Foo\": \
                 supported values: \"Equal\", \"Exists\" podtolerationrestriction.whitelist[0].operator: Invalid \
                 value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and \
                 all keys\" podtolerationrestriction.whitelist[1].operator: Unsupported value: \"Gt\": supported \
                 values: \"Equal\", \"Exists\", \"Lt\", \"Gt\" podtolerationrestriction.whitelist[2].effect: Invalid \
                 value: \"X\": effect must be 'NoExecute' when `tolerationSeconds` is set \
                 podtolerationrestriction.whitelist[2].effect: Unsupported value: \"X\": supported values: \
                 \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"]"
            ))
        );
        assert_eq!(
            Configuration::read(&map(r#"{"default":[]}"#)),
            Err(String::from("Object 'Kind' is missing in '{\"default\":[]}'"))
        );
    }
}
