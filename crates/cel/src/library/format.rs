//! Named formats: `format.dns1123Label()` and the others, with the texts of the name rules.

use keelson_object::selector::name_rules;

use super::url::Url;
use crate::gofmt;

/// A format that a text can be validated against.
#[derive(Debug)]
pub struct Format {
    /// The name that two formats are compared by.
    pub name: &'static str,
    /// The length of the regular expression that validating is charged for.
    pub regex_size: u64,
    /// The name after `format.`.
    pub function: &'static str,
    validate: fn(&str) -> Vec<String>,
}

impl Format {
    /// What is wrong with `text`.
    pub fn validate(&self, text: &str) -> Vec<String> {
        (self.validate)(text)
    }

    /// The format of this name.
    pub fn named(function: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.function == function)
    }
}

/// Upstream: apiserver/pkg/cel/library/format.go, ConstantFormats (v1.36.4).
static FORMATS: &[Format] = &[
    format("dns1123Label", "DNS1123Label", 30, name_rules::dns1123_label),
    format("dns1123Subdomain", "DNS1123Subdomain", 60, name_rules::dns1123_subdomain),
    format("dns1035Label", "DNS1035Label", 30, name_rules::dns1035_label),
    format("qualifiedName", "QualifiedName", 60, name_rules::qualified_name),
    format("dns1123LabelPrefix", "DNS1123LabelPrefix", 30, |text| {
        name_rules::dns1123_label(&name_rules::mask_trailing_dash(text))
    }),
    format("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, |text| {
        name_rules::dns1123_subdomain(&name_rules::mask_trailing_dash(text))
    }),
    format("dns1035LabelPrefix", "DNS1035LabelPrefix", 30, |text| {
        name_rules::dns1035_label(&name_rules::mask_trailing_dash(text))
    }),
    format("labelValue", "LabelValue", 40, name_rules::label_value),
    format("uri", "URI", URL_REGEX, |text| Url::check(text).err().into_iter().collect()),
    format("uuid", "uuid", 70, |text| check(gofmt::is_uuid(text), "does not match the UUID format")),
    format("byte", "byte", BASE64_REGEX, |text| check(gofmt::is_base64(text), "invalid base64")),
    format("date", "date", DATE_TIME_REGEX, |text| check(gofmt::is_date(text), "invalid date")),
    format("datetime", "datetime", DATE_TIME_REGEX, |text| {
        check(gofmt::is_date_time(text), "invalid datetime")
    }),
];

/// Lengths of the regular expressions of govalidator and strfmt.
const URL_REGEX: u64 = 1103;
const BASE64_REGEX: u64 = 84;
const DATE_TIME_REGEX: u64 = 71;

const fn format(
    function: &'static str,
    name: &'static str,
    regex_size: u64,
    validate: fn(&str) -> Vec<String>,
) -> Format {
    Format { name, regex_size, function, validate }
}

fn check(is_valid: bool, text: &str) -> Vec<String> {
    if is_valid { Vec::new() } else { vec![text.to_owned()] }
}
