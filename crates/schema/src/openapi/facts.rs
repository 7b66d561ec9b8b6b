//! What the tables do not say: unions, required fields, fields without a description, and the types with a form
//! of their own.

use keelson_object::{Map, Value};

use super::Form;

/// A union: the field that says which member is set, if there is one, and the members (JSON name, value).
struct Union {
    /// `core/v1.SeccompProfile`.
    owner: (&'static str, &'static str),
    discriminator: Option<&'static str>,
    members: &'static [(&'static str, &'static str)],
}

/// Published as `x-kubernetes-unions`.
const UNIONS: &[Union] = &[
    Union {
        owner: ("core/v1", "AppArmorProfile"),
        discriminator: Some("type"),
        members: &[("localhostProfile", "LocalhostProfile")],
    },
    Union {
        owner: ("core/v1", "PodSchedulingGroup"),
        discriminator: None,
        members: &[("podGroupName", "PodGroupName")],
    },
    Union {
        owner: ("core/v1", "SeccompProfile"),
        discriminator: Some("type"),
        members: &[("localhostProfile", "LocalhostProfile")],
    },
    Union {
        owner: ("flowcontrol/v1", "LimitResponse"),
        discriminator: Some("type"),
        members: &[("queuing", "Queuing")],
    },
    Union {
        owner: ("flowcontrol/v1", "PriorityLevelConfigurationSpec"),
        discriminator: Some("type"),
        members: &[("exempt", "Exempt"), ("limited", "Limited")],
    },
    Union {
        owner: ("flowcontrol/v1", "Subject"),
        discriminator: Some("kind"),
        members: &[("group", "Group"), ("serviceAccount", "ServiceAccount"), ("user", "User")],
    },
    Union {
        owner: ("scheduling/v1alpha2", "PodGroupSchedulingPolicy"),
        discriminator: None,
        members: &[("basic", "Basic"), ("gang", "Gang")],
    },
    Union {
        owner: ("scheduling/v1alpha2", "PodGroupTemplateReference"),
        discriminator: None,
        members: &[("workload", "Workload")],
    },
];

/// The value of `x-kubernetes-unions`, if the struct is one.
pub(super) fn unions(owner: (&str, &str)) -> Option<Value> {
    let union = UNIONS.iter().find(|it| it.owner == owner)?;
    let mut map = Map::new();
    if let Some(name) = union.discriminator {
        map.push_new("discriminator", name);
    }
    let members: Map =
        union.members.iter().map(|(name, value)| ((*name).into(), Value::from(*value))).collect();
    map.push_new("fields-to-discriminateBy", members);
    Some(Value::List(vec![map.into()]))
}

/// Fields that refer to a type and have no description upstream: only then is a reference not wrapped.
const UNDESCRIBED: &[(&str, &str, &[&str])] = &[
    (
        "apiextensions/v1",
        "JSONSchemaProps",
        &["additionalItems", "additionalProperties", "example", "externalDocs", "items", "not"],
    ),
    ("networking/v1", "IngressRule", &["http"]),
];

/// Whether upstream publishes a description of the field.
pub(super) fn is_described(owner: (&str, &str), field: &str) -> bool {
    !UNDESCRIBED.iter().any(|(path, name, fields)| (*path, *name) == owner && fields.contains(&field))
}

/// Fields that a client must send although they are left out when they are empty: `+required` beside `omitempty`.
const REQUIRED: &[(&str, &str, &[&str])] = &[
    ("admissionregistration/v1", "ValidatingAdmissionPolicyBinding", &["spec"]),
    (
        "admissionregistration/v1",
        "ValidatingAdmissionPolicyBindingSpec",
        &["policyName", "validationActions"],
    ),
    (
        "apiserverinternal/v1alpha1",
        "ServerStorageVersion",
        &["apiServerID", "encodingVersion", "decodableVersions"],
    ),
    ("apiserverinternal/v1alpha1", "StorageVersion", &["metadata"]),
    ("apiserverinternal/v1alpha1", "StorageVersionCondition", &["message"]),
    ("authentication/v1", "TokenReviewSpec", &["token"]),
    ("autoscaling/v1", "HorizontalPodAutoscaler", &["spec"]),
    ("autoscaling/v2", "HorizontalPodAutoscaler", &["spec"]),
    ("batch/v1", "CronJob", &["spec"]),
    ("coordination/v1alpha2", "LeaseCandidate", &["spec"]),
    ("coordination/v1alpha2", "LeaseCandidateSpec", &["strategy"]),
    ("coordination/v1beta1", "LeaseCandidate", &["spec"]),
    ("coordination/v1beta1", "LeaseCandidateSpec", &["strategy"]),
    ("core/v1", "ContainerRestartRule", &["action"]),
    ("core/v1", "ContainerRestartRuleOnExitCodes", &["operator"]),
    ("core/v1", "ImageVolumeStatus", &["imageRef"]),
    ("core/v1", "PodCertificateProjection", &["signerName", "keyType"]),
    ("networking/v1", "IPAddress", &["spec"]),
    ("networking/v1", "IPAddressSpec", &["parentRef"]),
    ("networking/v1", "ParentReference", &["resource", "name"]),
    ("networking/v1beta1", "IPAddress", &["spec"]),
    ("networking/v1beta1", "IPAddressSpec", &["parentRef"]),
    ("networking/v1beta1", "ParentReference", &["resource", "name"]),
    ("resource/v1", "CapacityRequestPolicyRange", &["min"]),
    ("resource/v1", "CounterSet", &["counters"]),
    ("resource/v1", "DeviceCounterConsumption", &["counters"]),
    ("resource/v1alpha3", "DeviceTaintRuleSpec", &["taint"]),
    ("resource/v1alpha3", "PoolStatus", &["driver", "poolName"]),
    ("resource/v1alpha3", "ResourcePoolStatusRequest", &["metadata"]),
    ("resource/v1alpha3", "ResourcePoolStatusRequestStatus", &["poolCount"]),
    ("resource/v1beta1", "CapacityRequestPolicyRange", &["min"]),
    ("resource/v1beta1", "CounterSet", &["counters"]),
    ("resource/v1beta1", "DeviceCounterConsumption", &["counters"]),
    ("resource/v1beta2", "CapacityRequestPolicyRange", &["min"]),
    ("resource/v1beta2", "CounterSet", &["counters"]),
    ("resource/v1beta2", "DeviceCounterConsumption", &["counters"]),
    ("resource/v1beta2", "DeviceTaintRuleSpec", &["taint"]),
];

/// Whether a field is required whatever its table says.
pub(super) fn is_required(owner: (&str, &str), field: &str) -> bool {
    REQUIRED.iter().any(|(path, name, fields)| (*path, *name) == owner && fields.contains(&field))
}

/// Types with a form of their own, which no table describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Quantity,
    Time,
    MicroTime,
    Duration,
    IntOrString,
    RawExtension,
    FieldsV1,
    Json,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
    Patch,
    Version,
}

impl Fixed {
    pub(super) fn name(self) -> &'static str {
        match self {
            Fixed::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
            Fixed::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
            Fixed::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
            Fixed::Duration => "io.k8s.apimachinery.pkg.apis.meta.v1.Duration",
            Fixed::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            Fixed::RawExtension => "io.k8s.apimachinery.pkg.runtime.RawExtension",
            Fixed::FieldsV1 => "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
            Fixed::Json => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            Fixed::SchemaOrArray => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray"
            }
            Fixed::SchemaOrBool => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"
            }
            Fixed::SchemaOrStrings => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray"
            }
            Fixed::Patch => "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
            Fixed::Version => "io.k8s.apimachinery.pkg.version.Info",
        }
    }

    pub(super) fn schema(self, form: Form) -> Map {
        match self {
            Fixed::Quantity => either(form, None, ["string", "number"]),
            Fixed::IntOrString => either(form, Some("int-or-string"), ["integer", "string"]),
            Fixed::Time | Fixed::MicroTime => texts(&[("format", "date-time"), ("type", "string")]),
            Fixed::Duration => texts(&[("type", "string")]),
            Fixed::RawExtension | Fixed::FieldsV1 | Fixed::Patch => texts(&[("type", "object")]),
            Fixed::Json | Fixed::SchemaOrArray | Fixed::SchemaOrBool | Fixed::SchemaOrStrings => Map::new(),
            Fixed::Version => version(form),
        }
    }
}

/// A value of one of two types; the second OpenAPI knows only text.
fn either(form: Form, format: Option<&str>, types: [&str; 2]) -> Map {
    let mut map = Map::new();
    if let Some(format) = format {
        map.push_new("format", format);
    }
    match form {
        Form::V2 => map.push_new("type", "string"),
        Form::V3 => {
            let types = types.iter().map(|it| Value::from(texts(&[("type", it)]))).collect::<Vec<_>>();
            map.push_new("oneOf", types);
        }
    }
    map
}

fn texts(pairs: &[(&'static str, &str)]) -> Map {
    pairs.iter().map(|(key, value)| ((*key).into(), Value::from(*value))).collect()
}

/// What `/version` answers with.
fn version(form: Form) -> Map {
    const ALWAYS: &[&str] = &[
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ];
    const SOMETIMES: &[&str] =
        &["emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"];
    let mut properties = Map::new();
    for name in ALWAYS {
        let mut property = Map::new();
        if form == Form::V3 {
            property.push_new("default", "");
        }
        property.push_new("type", "string");
        properties.push_new(*name, property);
    }
    for name in SOMETIMES {
        properties.push_new(*name, texts(&[("type", "string")]));
    }
    properties.sort_keys();
    let mut map = Map::new();
    map.push_new("properties", properties);
    map.push_new("required", ALWAYS.iter().map(|it| Value::from(*it)).collect::<Vec<_>>());
    map.push_new("type", "object");
    map
}
