//! Name rules: validation of names, label keys and label values.
//!
//! Every function returns the errors in upstream's words; an empty list means valid. Two generations of
//! messages exist upstream: rules of labels count `bytes`, rules of names count `characters`; both mean
//! bytes.

use std::borrow::Cow;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const LABEL_KEY_MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character";

/// The maximum length of a label value and of the name part of a label key.
pub const LABEL_MAX: usize = 63;
/// The maximum length of a DNS label.
pub const DNS_LABEL_MAX: usize = 63;
/// The maximum length of a DNS subdomain.
pub const DNS_SUBDOMAIN_MAX: usize = 253;

/// A label key: a name, with a DNS subdomain and `/` before it if it is not private.
///
/// Upstream: apimachinery/pkg/api/validate/content/kube.go, IsLabelKey (v1.36.4).
pub fn qualified_name(text: &str) -> Vec<String> {
    let key_message = || pattern_message(LABEL_KEY_MESSAGE, LABEL_KEY, &["MyName", "my.name", "123-abc"]);
    let mut problems = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {} {optional}", key_message())];
        }
        Some(("", name)) => {
            problems.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            let of_prefix = subdomain_problems(prefix, "bytes");
            problems.extend(of_prefix.into_iter().map(|it| format!("prefix part {it}")));
            name
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        problems.push(format!("name part {}", too_long(LABEL_MAX, "bytes")));
    }
    if !is_label_word(name) {
        problems.push(format!("name part {}", key_message()));
    }
    problems
}

/// A label value.
///
/// Upstream: apimachinery/pkg/api/validate/content/kube.go, IsLabelValue (v1.36.4).
pub fn label_value(text: &str) -> Vec<String> {
    let message = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
        and must start and end with an alphanumeric character";
    let examples = ["MyValue", "my_value", "12345"];
    let rule =
        Rule { max: Some(LABEL_MAX), unit: "bytes", message, pattern: LABEL_VALUE, examples: &examples };
    rule.problems(text, text.is_empty() || is_label_word(text))
}

/// A DNS label that may begin with a digit: names of namespaces, of containers.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsDNS1123Label (v1.36.4).
pub fn dns1123_label(text: &str) -> Vec<String> {
    label_problems(text, "characters")
}

/// The same for fields with declared rules, which count bytes.
///
/// Upstream: apimachinery/pkg/api/validate/content/dns.go, IsDNS1123Label (v1.36.4).
pub fn short_name(text: &str) -> Vec<String> {
    label_problems(text, "bytes")
}

fn label_problems(text: &str, unit: &'static str) -> Vec<String> {
    let message = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
        start and end with an alphanumeric character";
    let mut problems = Vec::new();
    if text.len() > DNS_LABEL_MAX {
        problems.push(too_long(DNS_LABEL_MAX, unit));
    }
    if !is_dns_word(text) {
        problems.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            pattern_message(message, DNS1123_LABEL, &["my-name", "123-abc"])
        });
    }
    problems
}

/// DNS labels joined by dots: names of most objects.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsDNS1123Subdomain (v1.36.4).
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain_problems(text, "characters")
}

/// DNS labels joined by dots, with underscores: domains to search.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsDNS1123SubdomainWithUnderscore (v1.36.4).
pub fn dns1123_subdomain_with_underscore(text: &str) -> Vec<String> {
    let is_outer = |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    let is_inner = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'_');
    let is_word = |word: &str| {
        let bytes = word.strip_prefix('_').unwrap_or(word).as_bytes();
        is_outer(bytes.first()) && is_outer(bytes.last()) && bytes.iter().all(|it| is_inner(*it))
    };
    let rule = Rule {
        max: Some(DNS_SUBDOMAIN_MAX),
        unit: "characters",
        message: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or \
            '.', and must start and end with an alphanumeric character",
        pattern: "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
        examples: &["example.com"],
    };
    rule.problems(text, text.split('.').all(is_word))
}

/// The same in the words of newer rules, which count bytes.
///
/// Upstream: apimachinery/pkg/api/validate/content/dns.go, IsDNS1123Subdomain (v1.36.4).
pub fn long_name(text: &str) -> Vec<String> {
    subdomain_problems(text, "bytes")
}

/// The same, but capitals are also allowed: names of drivers.
///
/// Upstream: apimachinery/pkg/api/validate/content/dns.go, IsDNS1123SubdomainCaseless (v1.36.4).
pub fn long_name_caseless(text: &str) -> Vec<String> {
    let rule = Rule {
        max: Some(DNS_SUBDOMAIN_MAX),
        unit: "bytes",
        message: "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end \
            with an alphanumeric character",
        pattern: DNS1123_SUBDOMAIN,
        examples: &["Example.com"],
    };
    rule.problems(text, is_subdomain(&text.to_ascii_lowercase()))
}

/// A DNS subdomain with `*.` before it.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsWildcardDNS1123Subdomain (v1.36.4).
pub fn wildcard_dns1123_subdomain(text: &str) -> Vec<String> {
    let message = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which \
        must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
    let pattern = format!(r"\*\.{DNS1123_SUBDOMAIN}");
    let examples = ["*.example.com"];
    let rule = Rule {
        max: Some(DNS_SUBDOMAIN_MAX),
        unit: "characters",
        message,
        pattern: &pattern,
        examples: &examples,
    };
    rule.problems(text, text.strip_prefix("*.").is_some_and(is_subdomain))
}

/// A DNS label that begins with a letter: names of services.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsDNS1035Label (v1.36.4).
pub fn dns1035_label(text: &str) -> Vec<String> {
    let message = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
        alphabetic character, and end with an alphanumeric character";
    let rule = Rule {
        max: Some(DNS_LABEL_MAX),
        unit: "characters",
        message,
        pattern: "[a-z]([-a-z0-9]*[a-z0-9])?",
        examples: &["my-name", "abc-123"],
    };
    rule.problems(text, is_dns_word(text) && text.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// A name that is a valid segment of a URL path.
///
/// Upstream: apimachinery/pkg/api/validate/content/path.go, IsPathSegmentName (v1.36.4).
pub fn path_segment_name(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// A prefix that becomes a valid segment of a URL path when something is appended.
///
/// Upstream: apimachinery/pkg/api/validate/content/path.go, IsPathSegmentPrefix (v1.36.4).
pub fn path_segment_prefix(text: &str) -> Vec<String> {
    let found = ['/', '%'].into_iter().filter(|c| text.contains(*c));
    found.map(|c| format!("may not contain '{c}'")).collect()
}

/// A key of a config map or secret.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsConfigMapKey (v1.36.4).
pub fn config_map_key(text: &str) -> Vec<String> {
    let rule = Rule {
        max: Some(DNS_SUBDOMAIN_MAX),
        unit: "characters",
        message: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        pattern: "[-._a-zA-Z0-9]+",
        examples: &["key.name", "KEY_NAME", "key-name"],
    };
    let mut problems = rule.problems(text, !text.is_empty() && text.bytes().all(is_label_byte));
    problems.extend(directory_problem(text));
    problems
}

/// The name of an environment variable.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsRelaxedEnvVarName (v1.36.4).
pub fn env_var_name(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=') {
        return Vec::new();
    }
    let message =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    vec![message.to_owned()]
}

/// The name of a port.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsValidPortName (v1.36.4).
pub fn port_name(text: &str) -> Vec<String> {
    let is_port_byte = |byte: u8| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let rules = [
        (text.len() > 15, "must be no more than 15 characters"),
        (
            text.is_empty() || !text.bytes().all(is_port_byte),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!text.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (text.contains("--"), "must not contain consecutive hyphens"),
        (text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    rules.into_iter().filter(|(broken, _)| *broken).map(|(_, message)| message.to_owned()).collect()
}

/// The number of a port.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsValidPortNum (v1.36.4).
pub fn port_number(number: i64) -> Vec<String> {
    if (1..=65535).contains(&number) {
        return Vec::new();
    }
    vec!["must be between 1 and 65535, inclusive".to_owned()]
}

/// The name of an HTTP header.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsHTTPHeaderName (v1.36.4).
pub fn http_header_name(text: &str) -> Vec<String> {
    let rule = Rule {
        max: None,
        unit: "characters",
        message: "a valid HTTP header must consist of alphanumeric characters or '-'",
        pattern: "[-A-Za-z0-9]+",
        examples: &["X-Header-Name"],
    };
    let is_header_byte = |byte: u8| byte == b'-' || byte.is_ascii_alphanumeric();
    rule.problems(text, !text.is_empty() && text.bytes().all(is_header_byte))
}

/// A whole number and `%`.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsValidPercent (v1.36.4).
pub fn percent(text: &str) -> Vec<String> {
    let rule = Rule {
        max: None,
        unit: "characters",
        message: "a valid percent string must be a numeric string followed by an ending '%'",
        pattern: "[0-9]+%",
        examples: &["1%", "93%"],
    };
    let number = text.strip_suffix('%').unwrap_or("");
    rule.problems(text, !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An identifier of the C language.
///
/// Upstream: apimachinery/pkg/api/validate/content/identifier.go, IsCIdentifier (v1.36.4).
pub fn c_identifier(text: &str) -> Vec<String> {
    let rule = Rule {
        max: None,
        unit: "bytes",
        message: "a valid C identifier must start with alphabetic character or '_', followed by a string of \
            alphanumeric characters or '_'",
        pattern: "[A-Za-z_][A-Za-z0-9_]*",
        examples: &["my_name", "MY_NAME", "MyName"],
    };
    let begins = text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    rule.problems(text, begins && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()))
}

/// A `generateName` in the form in which it is checked: text will follow, so a dash at the end is allowed.
///
/// Upstream: apimachinery/pkg/api/validation/generic.go, maskTrailingDash (v1.36.4).
pub fn mask_trailing_dash(name: &str) -> Cow<'_, str> {
    // Upstream replaces the dash and the byte before it. If that byte is only a part of a character, the name
    // stays as it is: it is refused either way.
    match name.len().checked_sub(2).and_then(|end| name.get(..end)) {
        Some(start) if name.ends_with('-') => Cow::Owned(format!("{start}a")),
        _ => Cow::Borrowed(name),
    }
}

/// A rule with a pattern: the check is written in code, the pattern is for the message.
struct Rule<'r> {
    max: Option<usize>,
    unit: &'static str,
    message: &'static str,
    pattern: &'r str,
    examples: &'r [&'static str],
}

impl Rule<'_> {
    fn problems(&self, text: &str, matches: bool) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(max) = self.max.filter(|max| text.len() > *max) {
            problems.push(too_long(max, self.unit));
        }
        if !matches {
            problems.push(pattern_message(self.message, self.pattern, self.examples));
        }
        problems
    }
}

fn subdomain_problems(text: &str, unit: &'static str) -> Vec<String> {
    let rule = Rule {
        max: Some(DNS_SUBDOMAIN_MAX),
        unit,
        message: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
            and must start and end with an alphanumeric character",
        pattern: DNS1123_SUBDOMAIN,
        examples: &["example.com"],
    };
    rule.problems(text, is_subdomain(text))
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_word)
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn is_dns_word(text: &str) -> bool {
    let is_inner = |byte: u8| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !text.is_empty() && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn is_label_word(text: &str) -> bool {
    let is_outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    is_outer(bytes.first()) && is_outer(bytes.last()) && text.bytes().all(is_label_byte)
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

fn directory_problem(text: &str) -> Option<String> {
    match text {
        "." | ".." => Some(format!("must not be '{text}'")),
        _ if text.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

fn too_long(max: usize, unit: &str) -> String {
    format!("must be no more than {max} {unit}")
}

/// The message for a text that does not match a pattern.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, RegexError (v1.36.4).
pub fn pattern_message(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|it| format!("'{it}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

#[cfg(test)]
mod tests;
