//! Configuration of an OIDC issuer. Field names are those of `AuthenticationConfiguration`.

/// One issuer, and how its tokens become users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwtSettings {
    /// The issuer of the tokens.
    pub issuer: IssuerSettings,
    /// Rules about the claims of a token.
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    /// The mapping from claims to the fields of a user.
    pub claim_mappings: ClaimMappings,
    /// Rules about the resulting user.
    pub user_validation_rules: Vec<UserValidationRule>,
}

/// The issuer of the tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The name of the issuer, which is also its URL.
    pub url: String,
    /// The discovery URL, if it differs from the issuer's URL.
    pub discovery_url: Option<String>,
    /// The CA bundle for the issuer, in PEM; the system's CAs if empty.
    pub certificate_authority: String,
    /// The accepted audiences; a token must have one of them.
    pub audiences: Vec<String>,
    /// How the audiences of a token are matched.
    pub audience_match_policy: AudienceMatchPolicy,
    /// Through which network it is reached.
    pub egress_selector_type: String,
}

/// How the audiences of a token are matched: empty or `MatchAny`, which is the same.
pub type AudienceMatchPolicy = String;

/// A rule about the claims of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimValidationRule {
    /// A claim,
    pub claim: String,
    /// and what it must be.
    pub required_value: String,
    /// Or a CEL expression that must be true,
    pub expression: String,
    /// and what to say if it is not.
    pub message: String,
}

/// The mapping from claims to the fields of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimMappings {
    /// The name.
    pub username: PrefixedClaimOrExpression,
    /// The groups.
    pub groups: PrefixedClaimOrExpression,
    /// The uid.
    pub uid: ClaimOrExpression,
    /// Further facts.
    pub extra: Vec<ExtraMapping>,
}

/// A claim with a prefix, or a CEL expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixedClaimOrExpression {
    /// The claim.
    pub claim: String,
    /// The prefix.
    pub prefix: Option<String>,
    /// The expression.
    pub expression: String,
}

/// A claim, or a CEL expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimOrExpression {
    /// The claim.
    pub claim: String,
    /// The expression.
    pub expression: String,
}

/// A further fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraMapping {
    /// Its key.
    pub key: String,
    /// A CEL expression.
    pub value_expression: String,
}

/// A rule about the resulting user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserValidationRule {
    /// A CEL expression that must be true,
    pub expression: String,
    /// and what to say if it is not.
    pub message: String,
}
