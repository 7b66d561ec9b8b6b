//! AuthenticationConfiguration: the file of `--authentication-config`.

mod validate;

use std::sync::LazyLock;

use keelson_authn::oidc::{
    ClaimMappings, ClaimOrExpression, ClaimValidationRule, ExtraMapping, IssuerSettings, JwtSettings,
    PrefixedClaimOrExpression, UserValidationRule,
};
use keelson_codec::config_file::{self, ConfigKind};
use keelson_object::{FieldErrors, Map};
use keelson_schema::Schema;

/// Token issuers, and the settings of anonymous requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticationConfiguration {
    /// The issuers.
    pub jwt: Vec<JwtSettings>,
    /// The settings of anonymous requests; `None` leaves them to the flag.
    pub anonymous: Option<AnonymousSettings>,
}

/// The settings of anonymous requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnonymousSettings {
    /// Whether they are allowed at all.
    pub enabled: bool,
    /// The paths where they are allowed; empty means all paths.
    pub paths: Vec<String>,
}

const KIND: &str = "AuthenticationConfiguration";
const VERSIONS: [(&str, &str); 3] = [
    ("apiserver.config.k8s.io/v1", "v1"),
    ("apiserver.config.k8s.io/v1beta1", "v1beta1"),
    ("apiserver.config.k8s.io/v1alpha1", "v1alpha1"),
];
/// Other kinds of the group, which upstream recognizes.
const NEIGHBOURS: [&str; 4] = [
    "AdmissionConfiguration",
    "AuthorizationConfiguration",
    "EncryptionConfiguration",
    "TracingConfiguration",
];

/// Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/v1/types.go (v1.36.4).
const STRUCTS: [(&str, &str); 11] = [
    ("AnonymousAuthCondition", "path string"),
    ("AnonymousAuthConfig", "enabled bool; conditions []AnonymousAuthCondition"),
    (
        "Issuer",
        "url string; discoveryURL *string; certificateAuthority string; audiences []string; \
         audienceMatchPolicy AudienceMatchPolicyType=string; egressSelectorType EgressSelectorType=string",
    ),
    ("ClaimValidationRule", "claim string; requiredValue string; expression string; message string"),
    ("PrefixedClaimOrExpression", "claim string; prefix *string; expression string"),
    ("ClaimOrExpression", "claim string; expression string"),
    ("ExtraMapping", "key string; valueExpression string"),
    (
        "ClaimMappings",
        "username PrefixedClaimOrExpression; groups PrefixedClaimOrExpression; uid ClaimOrExpression; \
         extra []ExtraMapping",
    ),
    ("UserValidationRule", "expression string; message string"),
    (
        "JWTAuthenticator",
        "issuer Issuer; claimValidationRules []ClaimValidationRule; claimMappings ClaimMappings; \
         userValidationRules []UserValidationRule",
    ),
    (KIND, "kind string; apiVersion string; jwt []JWTAuthenticator; anonymous *AnonymousAuthConfig"),
];

static SCHEMAS: LazyLock<[Schema; 3]> =
    LazyLock::new(|| VERSIONS.map(|(_, package)| Schema::by_hand(package, &STRUCTS)));

impl AuthenticationConfiguration {
    /// Reads the file, or returns an error in upstream's words.
    ///
    /// Upstream: pkg/kubeapiserver/options/authentication.go, loadAuthenticationConfigFromData (v1.36.4).
    pub fn parse(data: &[u8]) -> Result<AuthenticationConfiguration, String> {
        if data.is_empty() {
            return Err("empty config data".to_owned());
        }
        let kinds: Vec<ConfigKind<'_>> = VERSIONS
            .iter()
            .zip(SCHEMAS.iter())
            .map(|((api_version, _), schema)| ConfigKind { api_version, kind: KIND, schema })
            .collect();
        match config_file::read(data, &kinds) {
            Ok((_, map)) => Ok(AuthenticationConfiguration {
                jwt: map.maps("jwt").map(jwt).collect(),
                anonymous: map.map("anonymous").map(anonymous),
            }),
            Err(config_file::Error::OtherKind { kind, api_version })
                if api_version == VERSIONS[0].0 && NEIGHBOURS.contains(&kind.as_str()) =>
            {
                Err(format!("expected {KIND}, got *apiserver.{kind}"))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// All errors of the configuration. An issuer must not be one of `disallowed`.
    #[must_use]
    pub fn validate(&self, disallowed: &[String]) -> FieldErrors {
        validate::configuration(self, disallowed)
    }
}

/// The error of an issuer that also signs service account tokens; `None` if it does not.
#[must_use]
pub fn overlap(jwt: &JwtSettings, disallowed: &[String]) -> Option<String> {
    validate::overlap(jwt, disallowed)
}

fn text(map: &Map, key: &str) -> String {
    map.str(key).unwrap_or_default().to_owned()
}

fn optional(map: &Map, key: &str) -> Option<String> {
    map.str(key).map(str::to_owned)
}

/// For Go, a null in a list and an absent value are an empty struct.
fn part<'m>(map: &'m Map, key: &str) -> &'m Map {
    static NOTHING: Map = Map::new();
    map.map(key).unwrap_or(&NOTHING)
}

fn anonymous(map: &Map) -> AnonymousSettings {
    AnonymousSettings {
        enabled: map.bool("enabled").unwrap_or_default(),
        paths: map.maps("conditions").map(|it| text(it, "path")).collect(),
    }
}

fn jwt(map: &Map) -> JwtSettings {
    let (issuer, mappings) = (part(map, "issuer"), part(map, "claimMappings"));
    let prefixed = |map: &Map| PrefixedClaimOrExpression {
        claim: text(map, "claim"),
        prefix: optional(map, "prefix"),
        expression: text(map, "expression"),
    };
    let uid = part(mappings, "uid");
    JwtSettings {
        issuer: IssuerSettings {
            url: text(issuer, "url"),
            discovery_url: optional(issuer, "discoveryURL").filter(|url| !url.is_empty()),
            certificate_authority: text(issuer, "certificateAuthority"),
            audiences: issuer
                .list("audiences")
                .iter()
                .filter_map(|it| it.as_str())
                .map(str::to_owned)
                .collect(),
            audience_match_policy: text(issuer, "audienceMatchPolicy"),
            egress_selector_type: text(issuer, "egressSelectorType"),
        },
        claim_validation_rules: map.maps("claimValidationRules").map(claim_rule).collect(),
        claim_mappings: ClaimMappings {
            username: prefixed(part(mappings, "username")),
            groups: prefixed(part(mappings, "groups")),
            uid: ClaimOrExpression { claim: text(uid, "claim"), expression: text(uid, "expression") },
            extra: mappings
                .maps("extra")
                .map(|it| ExtraMapping {
                    key: text(it, "key"),
                    value_expression: text(it, "valueExpression"),
                })
                .collect(),
        },
        user_validation_rules: map
            .maps("userValidationRules")
            .map(|it| UserValidationRule { expression: text(it, "expression"), message: text(it, "message") })
            .collect(),
    }
}

fn claim_rule(map: &Map) -> ClaimValidationRule {
    ClaimValidationRule {
        claim: text(map, "claim"),
        required_value: text(map, "requiredValue"),
        expression: text(map, "expression"),
        message: text(map, "message"),
    }
}

#[cfg(test)]
mod tests;
