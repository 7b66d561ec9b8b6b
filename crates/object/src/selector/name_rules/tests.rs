//! Names that upstream accepts, and its messages for others.

use super::*;

type Check = fn(&str) -> Vec<String>;

fn accepts(check: Check, texts: &[&str]) {
    for text in texts {
        assert_eq!(check(text), Vec::<String>::new(), "{text:?}");
    }
}

fn says(check: Check, text: &str, expected: &[&str]) {
    assert_eq!(check(text), expected, "{text:?}");
}

const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

#[test]
fn label_keys_have_an_optional_domain() {
    accepts(qualified_name, &["a", "app.kubernetes.io/name", "A_b.c-D", "1", "x.y/1"]);
    accepts(qualified_name, &[&"a".repeat(63)]);
    says(qualified_name, "", &["name part must be non-empty", &format!("name part {KEY}")]);
    says(qualified_name, "-a", &[&format!("name part {KEY}")]);
    says(qualified_name, "/a", &["prefix part must be non-empty"]);
    says(qualified_name, "A/a", &[&format!("prefix part {SUBDOMAIN}")]);
    says(qualified_name, &"a".repeat(64), &["name part must be no more than 63 bytes"]);
    says(qualified_name, &format!("{}/a", "a".repeat(254)), &["prefix part must be no more than 253 bytes"]);
    let slashes = format!(
        "a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    );
    says(qualified_name, "a/b/c", &[&slashes]);
}

#[test]
fn label_values_may_be_empty() {
    accepts(label_value, &["", "a", "A_b.c-1", &"a".repeat(63)]);
    let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
        must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
        for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    for text in ["-a", "a.", "a b", "ü", "a/b"] {
        says(label_value, text, &[rule]);
    }
    says(label_value, &"a".repeat(64), &["must be no more than 63 bytes"]);
}

#[test]
fn dns_names_are_lower_case() {
    accepts(dns1123_label, &["a", "1", "a-1", &"a".repeat(63)]);
    says(dns1123_label, "a.b", &["must not contain dots"]);
    for text in ["", "A", "-a", "a-", "a_b", "a\n"] {
        says(dns1123_label, text, &[LABEL]);
    }
    says(dns1123_label, &"a".repeat(64), &["must be no more than 63 characters"]);

    accepts(dns1123_subdomain, &["a", "a.b", "1.2", "a-b.c", &"a".repeat(253)]);
    for text in ["", ".", "a.", ".a", "a..b", "a-.b", "A.b"] {
        says(dns1123_subdomain, text, &[SUBDOMAIN]);
    }
    says(dns1123_subdomain, &"A".repeat(254), &["must be no more than 253 characters", SUBDOMAIN]);

    accepts(dns1035_label, &["a", "a-1"]);
    let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
        alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used \
        for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    for text in ["", "1", "-a", "a-", "a.b", "A"] {
        says(dns1035_label, text, &[rule]);
    }

    accepts(wildcard_dns1123_subdomain, &["*.a", "*.a.b"]);
    for text in ["*", "*.", "a.b", "*.*.a", "*a.b"] {
        assert_eq!(wildcard_dns1123_subdomain(text).len(), 1, "{text}");
    }
}

#[test]
fn path_segments_stay_one_segment() {
    accepts(path_segment_name, &["", "a", "...", "a:b", "system:node"]);
    accepts(path_segment_prefix, &[".", ".."]);
    says(path_segment_name, ".", &["may not be '.'"]);
    says(path_segment_name, "..", &["may not be '..'"]);
    says(path_segment_name, "a/b", &["may not contain '/'"]);
    says(path_segment_name, "a%/b", &["may not contain '/'", "may not contain '%'"]);
}

#[test]
fn keys_of_config_maps_are_file_names() {
    accepts(config_map_key, &["a", ".a", "A_b-c.d", "a..."]);
    let rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
        'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    says(config_map_key, "", &[rule]);
    says(config_map_key, "a/b", &[rule]);
    says(config_map_key, ".", &["must not be '.'"]);
    says(config_map_key, "..", &["must not be '..'"]);
    says(config_map_key, "..a", &["must not start with '..'"]);
    says(config_map_key, &"a".repeat(254), &["must be no more than 253 characters"]);
}

#[test]
fn other_names_have_their_own_rules() {
    accepts(env_var_name, &["A", "my.env-name", "1", "a b"]);
    says(env_var_name, "", &["environment variable name must be non-empty"]);
    let rule =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    says(env_var_name, "a=b", &[rule]);
    says(env_var_name, "ü", &[rule]);

    accepts(port_name, &["http", "a-1"]);
    says(
        port_name,
        "",
        &[
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            "must contain at least one letter (a-z)",
        ],
    );
    says(
        port_name,
        "-1--1",
        &[
            "must contain at least one letter (a-z)",
            "must not contain consecutive hyphens",
            "must not begin or end with a hyphen",
        ],
    );
    assert_eq!(port_number(65535), Vec::<String>::new());
    assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);

    accepts(http_header_name, &["X-Header-Name", "1"]);
    assert_eq!(http_header_name("a b").len(), 1);
    accepts(percent, &["0%", "93%"]);
    assert_eq!(percent("%").len() + percent("1").len() + percent("-1%").len(), 3);
    accepts(c_identifier, &["a", "_", "A_1"]);
    assert_eq!(c_identifier("1a").len() + c_identifier("").len() + c_identifier("a-b").len(), 3);
}

#[test]
fn a_generated_name_may_end_in_a_dash() {
    let check = |name: &str, expected: usize| {
        assert_eq!(dns1123_subdomain(&mask_trailing_dash(name)).len(), expected, "{name:?}");
    };
    check("web-", 0);
    check("web", 0);
    check("-", 1);
    check("ü-", 1);
    check("Web-", 1);
}
