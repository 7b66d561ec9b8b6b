//! Invalid files, and upstream's errors.

use super::{AnonymousSettings, AuthenticationConfiguration, overlap};

/// `=== name`, the file, `---`, and the error: recorded with kube-apiserver v1.36.4.
const CASES: &str = include_str!("../../testdata/authentication-config.txt");

fn complaint(file: &[u8], disallowed: &[String]) -> String {
    match AuthenticationConfiguration::parse(file) {
        Err(error) => error,
        Ok(configuration) => {
            let errors = configuration.validate(disallowed);
            if errors.is_empty() { String::new() } else { errors.aggregate() }
        }
    }
}

#[test]
fn bad_files_are_refused_in_upstreams_words() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in CASES.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (file, expected) = match rest.strip_prefix("---\n") {
            Some(expected) => ("", expected),
            None => rest.split_once("\n---\n").expect("a complaint"),
        };
        let file = if file.is_empty() { String::new() } else { format!("{file}\n") };
        let found = complaint(file.as_bytes(), &[]);
        count += 1;
        if found.trim_end() != expected.trim_end() {
            wrong.push(format!("{name}:\n  expected {expected}  found    {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
    assert!(count > 70, "only {count} cases");
}

const GOOD: &str = "
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: https://issuer.example
    discoveryURL: https://elsewhere.example/discovery
    audiences: [a, b]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - {claim: hd, requiredValue: example.com}
  claimMappings:
    username: {claim: sub, prefix: \"\"}
    groups: {claim: groups, prefix: 'oidc:'}
    uid: {claim: id}
anonymous:
  enabled: true
  conditions: [{path: /livez}]
";

#[test]
fn a_good_file_is_taken_as_it_is() {
    let found = AuthenticationConfiguration::parse(GOOD.as_bytes()).expect("a configuration");
    assert!(found.validate(&[]).is_empty());
    let [jwt] = &found.jwt[..] else { panic!("one issuer") };
    assert_eq!(jwt.issuer.discovery_url.as_deref(), Some("https://elsewhere.example/discovery"));
    assert_eq!(jwt.issuer.audiences, ["a", "b"]);
    assert_eq!(jwt.claim_mappings.username.prefix.as_deref(), Some(""));
    assert_eq!(jwt.claim_mappings.groups.prefix.as_deref(), Some("oidc:"));
    assert_eq!(jwt.claim_mappings.uid.claim, "id");
    assert_eq!(jwt.claim_validation_rules[0].required_value, "example.com");
    let anonymous = AnonymousSettings { enabled: true, paths: vec!["/livez".to_owned()] };
    assert_eq!(found.anonymous, Some(anonymous));
}

#[test]
fn the_issuer_of_service_accounts_is_nobody_else() {
    let found = AuthenticationConfiguration::parse(GOOD.as_bytes()).expect("a configuration");
    let ours = ["https://issuer.example".to_owned()];
    let text = "issuer.url: Invalid value: \"https://issuer.example\": URL must not overlap with disallowed issuers: \
                [https://issuer.example]";
    assert_eq!(overlap(&found.jwt[0], &ours).as_deref(), Some(text));
    assert_eq!(found.validate(&ours).aggregate(), format!("jwt[0].{text}"));
    assert_eq!(overlap(&found.jwt[0], &[]), None);
}

#[test]
fn there_are_at_most_64_issuers() {
    let head = GOOD.split("jwt:").next().expect("a head");
    let issuer = |number: usize| {
        format!(
            "- issuer: {{url: 'https://i{number}.example', audiences: [a]}}\n  claimMappings: {{username: {{claim: sub, \
             prefix: ''}}}}\n"
        )
    };
    let file = |count: usize| format!("{head}jwt:\n{}", (0..count).map(issuer).collect::<String>());
    assert_eq!(complaint(file(64).as_bytes(), &[]), "");
    assert_eq!(complaint(file(65).as_bytes(), &[]), "jwt: Too many: 65: must have at most 64 items");
}
