//! What an operator says about an issuer. Field names are those of `AuthenticationConfiguration`.

/// One issuer, and how its tokens become users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwtSettings {
    /// Who signs.
    pub issuer: IssuerSettings,
    /// What tokens must say.
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    /// What of a token is what of a user.
    pub claim_mappings: ClaimMappings,
    /// What users must be like.
    pub user_validation_rules: Vec<UserValidationRule>,
}

/// Who signs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuerSettings {
    /// Its name, and where it is.
    pub url: String,
    /// Where it is, if not there.
    pub discovery_url: Option<String>,
    /// Who vouches for it, in PEM; the authorities of the system if empty.
    pub certificate_authority: String,
    /// For whom tokens must be made; one of these will do.
    pub audiences: Vec<String>,
    /// How tokens must fit the audiences.
    pub audience_match_policy: AudienceMatchPolicy,
    /// Through which network it is reached.
    pub egress_selector_type: String,
}

/// How tokens must fit the audiences: empty or `MatchAny`, which is the same.
pub type AudienceMatchPolicy = String;

/// What a token must say.
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

/// What of a token is what of a user.
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

/// A claim with something before it, or a CEL expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixedClaimOrExpression {
    /// The claim.
    pub claim: String,
    /// What is put before it.
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

/// What a user must be like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserValidationRule {
    /// A CEL expression that must be true,
    pub expression: String,
    /// and what to say if it is not.
    pub message: String,
}
