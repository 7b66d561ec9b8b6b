//! Configuration: which limits there are.

use std::sync::LazyLock;

use keelson_codec::config_file::ConfigKind;
use keelson_object::{FieldErrors, Map, Path};
use keelson_schema::Schema;

use crate::configuration;

/// The scope of a limit: which events share a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Server,
    Namespace,
    User,
    SourceAndObject,
}

const TYPES: [Of; 4] = [Of::Server, Of::Namespace, Of::User, Of::SourceAndObject];

impl Of {
    pub(super) fn name(self) -> &'static str {
        match self {
            Of::Server => "Server",
            Of::Namespace => "Namespace",
            Of::User => "User",
            Of::SourceAndObject => "SourceAndObject",
        }
    }
}

/// A limit: events per second, burst, and the number of cached buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) of: Of,
    pub(super) qps: u32,
    pub(super) burst: u32,
    pub(super) cache_size: usize,
}

/// Upstream: plugin/pkg/admission/eventratelimit/limitenforcer.go, defaultCacheSize (v1.36.4).
const CACHE_SIZE: usize = 4096;

/// The limits; there is one at least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub(super) limits: Vec<Limit>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::by_hand(
        "v1alpha1",
        &[
            ("Limit", "type LimitType=string; qps int32; burst int32; cacheSize int32"),
            ("Configuration", "kind string; apiVersion string; limits []Limit"),
        ],
    )
});

impl Configuration {
    /// Reads the configuration, or returns all errors. Without a document there are no limits, which is an
    /// error, too.
    ///
    /// Upstream: plugin/pkg/admission/eventratelimit/config.go, LoadConfiguration (v1.36.4).
    pub(crate) fn read(document: Option<&Map>) -> Result<Configuration, String> {
        let kind = ConfigKind {
            api_version: "eventratelimit.admission.k8s.io/v1alpha1",
            kind: "Configuration",
            schema: &SCHEMA,
        };
        let map = document.map(|it| configuration::read(it, &[kind])).transpose();
        let map = map.map_err(|error| error.to_string())?.unwrap_or_default();
        let mut errors = FieldErrors::default();
        let at = Path::root("limits");
        if map.list("limits").is_empty() {
            let shown = if document.is_some_and(|it| it.get("limits").is_some_and(|it| !it.is_null())) {
                "[]"
            } else {
                "null"
            };
            errors.invalid_as(&at, shown.to_owned(), "must not be empty");
        }
        let limits = map.maps("limits").enumerate();
        let limits =
            limits.filter_map(|(position, it)| limit(it, &at.index(position), &mut errors)).collect();
        if errors.is_empty() { Ok(Configuration { limits }) } else { Err(errors.aggregate()) }
    }
}

/// Upstream: plugin/pkg/admission/eventratelimit/apis/eventratelimit/validation/validation.go (v1.36.4).
fn limit(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) -> Option<Limit> {
    let name = map.str("type").unwrap_or_default();
    let of = TYPES.into_iter().find(|it| it.name() == name);
    if of.is_none() {
        errors.not_supported(&at.key("type"), name, &TYPES.map(Of::name));
    }
    let mut positive = |key: &str| {
        let number = map.int(key).unwrap_or_default();
        if number <= 0 {
            errors.invalid(&at.key(key), number, "must be positive");
        }
        u32::try_from(number).unwrap_or_default()
    };
    let (burst, qps) = (positive("burst"), positive("qps"));
    let size = map.int("cacheSize").unwrap_or_default();
    if of != Some(Of::Server) && size < 0 {
        errors.invalid(&at.key("cacheSize"), size, "must not be negative");
    }
    let cache_size = match usize::try_from(size) {
        _ if of == Some(Of::Server) => 1,
        Ok(0) | Err(_) => CACHE_SIZE,
        Ok(size) => size,
    };
    Some(Limit { of: of?, qps, burst, cache_size })
}

#[cfg(test)]
mod tests {
    use super::{Configuration, Limit, Of};
    use crate::testing::map;

    const HEAD: &str = r#""apiVersion":"eventratelimit.admission.k8s.io/v1alpha1","kind":"Configuration""#;

    #[track_caller]
    fn check(limits: &str, expected: Result<&[Limit], &str>) {
        let read = Configuration::read(Some(&map(&format!("{{{HEAD},{limits}}}"))));
        assert_eq!(read.as_ref().map(|it| it.limits.as_slice()).map_err(String::as_str), expected);
    }

    #[test]
    fn limits_have_a_size() {
        check(
            r#""limits":[{"type":"Server","qps":1,"burst":2,"cacheSize":9},{"type":"User","qps":3,"burst":4},
            {"type":"Namespace","qps":5,"burst":6,"cacheSize":7}]"#,
            Ok(&[
                Limit { of: Of::Server, qps: 1, burst: 2, cache_size: 1 },
                Limit { of: Of::User, qps: 3, burst: 4, cache_size: 4096 },
                Limit { of: Of::Namespace, qps: 5, burst: 6, cache_size: 7 },
            ]),
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said_in_upstreams_words() {
        check(r#""limits":[]"#, Err("limits: Invalid value: []: must not be empty"));
        check(r#""x":1"#, Err("limits: Invalid value: null: must not be empty"));
        check(
            r#""limits":[{"type":"Foo","qps":0,"burst":-1},{"type":"User","qps":1,"burst":1,"cacheSize":-1}]"#,
            Err(
                "[limits[0].type: Unsupported value: \"Foo\": supported values: \"Server\", \"Namespace\", \"User\", \"SourceAndObject\", limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[1].cacheSize: Invalid value: -1: must not be negative]",
            ),
        );
        check(
            r#""limits":[{"type":"User","qps":"ten","burst":1}]"#,
            Err("json: cannot unmarshal string into Go struct field Limit.limits.qps of type int32"),
        );
        let read = |text| Configuration::read(Some(&map(text))).expect_err("it is wrong");
        assert_eq!(read(r#"{"limits":[]}"#), "Object 'Kind' is missing in '{\"limits\":[]}'");
        assert_eq!(
            read(r#"{"apiVersion":"eventratelimit.admission.k8s.io/v1","kind":"Configuration"}"#),
            "no kind \"Configuration\" is registered for version \"eventratelimit.admission.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\""
        );
        assert_eq!(
            Configuration::read(None),
            Err(String::from("limits: Invalid value: null: must not be empty"))
        );
    }
}
