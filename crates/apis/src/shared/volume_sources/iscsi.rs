//! Validation of iSCSI volumes.
//!
//! Both ends have a name: `iqn.2001-04.com.example:storage`, `eui.` and 16 or `naa.` and 32 letters and digits.

use keelson_object::{FieldErrors, Map, Path};

use super::{Volume, require};

/// The longest `<volume name>:<targetPortal>`.
const MAX_TARGET: usize = 64;

/// Upstream: pkg/apis/core/validation/validation.go, validateISCSIVolumeSource and
/// validateISCSIPersistentVolumeSource (v1.36.4).
pub(super) fn check(source: &Map, volume: Volume<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let portal = source.str("targetPortal").unwrap_or_default();
    let initiator = source.str("initiatorName");
    require(source, &["targetPortal"], at, errors);
    if let Volume::Persistent(name) = volume
        && initiator.is_some()
        && is_too_long(name, portal)
    {
        errors.invalid(&at.key("targetportal"), portal, TOO_LONG);
    }
    require(source, &["iqn"], at, errors);
    if let Some(name) = source.str("iqn").filter(|it| !it.is_empty()) {
        check_name(name, volume, &at.key("iqn"), errors);
    }
    let lun = source.int("lun").unwrap_or_default();
    if !(0..=255).contains(&lun) {
        errors.invalid(&at.key("lun"), lun, "must be between 0 and 255, inclusive");
    }
    let is_on = |field| source.bool(field) == Some(true);
    match source.map("secretRef") {
        None if is_on("chapAuthDiscovery") || is_on("chapAuthSession") => {
            errors.required(&at.key("secretRef"), "");
        }
        Some(secret) if matches!(volume, Volume::Persistent(_)) => {
            require(secret, &["name"], &at.key("secretRef"), errors);
        }
        _ => {}
    }
    if let Some(name) = initiator {
        check_name(name, volume, &at.key("initiatorname"), errors);
    }
}

/// The message about names that are too long together.
pub(crate) const TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters \
    if iscsi.initiatorName is specified.";

/// Whether the name of a volume and its target are too long together.
pub(crate) fn is_too_long(name: &str, portal: &str) -> bool {
    name.len() + 1 + portal.len() > MAX_TARGET
}

fn check_name(name: &str, volume: Volume<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    const FORMAT: &str = "must be valid format";
    let is_right = match name.get(..3) {
        Some("iqn") => has_iqn(name),
        Some("eui") => has_digits(name, 16),
        Some("naa") => has_digits(name, 32),
        _ if matches!(volume, Volume::OfPod) => {
            return errors.invalid(at, name, "must be valid format starting with iqn, eui, or naa");
        }
        _ => false,
    };
    if !is_right {
        errors.invalid(at, name, FORMAT);
    }
}

/// `^eui.[[:alnum:]]{16}$`: any character may stand where the dot is meant.
fn has_digits(name: &str, count: usize) -> bool {
    let mut rest = name[3..].chars();
    rest.next().is_some_and(|it| it != '\n')
        && rest.as_str().len() == count
        && rest.as_str().bytes().all(|it| it.is_ascii_alphanumeric())
}

/// `iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`: what comes before `iqn.` does not count.
///
/// Nothing forbidden comes after the first colon that ends a word; of the words before colons one must end with the
/// pattern. Each character is looked at a fixed number of times.
fn has_iqn(name: &str) -> bool {
    let is_forbidden =
        |it| matches!(it, ',' | ';' | '*' | '&' | '$' | '|' | ' ' | '\t' | '\n' | '\x0c' | '\r');
    let colons_from = name.rfind(is_forbidden).map_or(0, |at| at + 1);
    let mut end = 0;
    for part in name.split_inclusive(':') {
        end += part.len();
        // The part after the colon must not be empty, and the colon must come after all forbidden characters.
        if part.ends_with(':')
            && end > colons_from
            && end < name.len()
            && ends_with_iqn(&part[..part.len() - 1])
        {
            return true;
        }
    }
    false
}

fn ends_with_iqn(part: &str) -> bool {
    let is_word = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '.');
    let word_from = part.trim_end_matches(is_word).len();
    part.match_indices("iqn.").any(|(at, _)| {
        let date_end = at + "iqn.2001-04.".len();
        date_end < part.len() && date_end >= word_from && part.get(at + 4..date_end).is_some_and(is_date)
    })
}

/// `2001-04.`
fn is_date(text: &str) -> bool {
    text.bytes().enumerate().all(|(position, byte)| match position {
        4 => byte == b'-',
        7 => byte == b'.',
        _ => byte.is_ascii_digit(),
    })
}

#[cfg(test)]
mod tests {
    use super::{has_digits, has_iqn};

    #[test]
    fn names_follow_the_pattern() {
        let check = |name: &str, expected: bool| assert_eq!(has_iqn(name), expected, "{name}");
        check("iqn.2015-02.example.com:test", true);
        check("iqn.2015-02.example.com:a:b", true);
        check("iqn.2015-02.a:iqn", true);
        check("iqn2015 iqn.2015-02.a:b", true);
        check("iqn,iqn.2015-02.a:b", true);
        check("iqn.2015-02.iqn.2015-02.:b", true);
        check("iqn.2015-02.example.com:", false);
        check("iqn.2015-02.example.com", false);
        check("iqn.2015-02.:b", false);
        check("iqn.2015-02.a_b:c", false);
        check("iqn.2015-02.a:b c", false);
        check("iqn.2015-2.a:b", false);
        check("iqn", false);
        check("", false);
    }

    #[test]
    fn other_names_have_a_length() {
        let check = |name: &str, expected: bool| assert_eq!(has_digits(name, 16), expected, "{name}");
        check("eui.0123456789ABCDEF", true);
        check("eui-0123456789abcdef", true);
        check("eui.0123456789ABCDE", false);
        check("eui.0123456789ABCDEF0", false);
        check("eui.0123456789ABCDE_", false);
        check("eui", false);
    }

    #[test]
    fn long_names_take_no_longer_than_their_length() {
        let hostile = format!("{}:,", "iqn.2015-02.".repeat(80_000));
        assert!(!has_iqn(&hostile));
        assert!(!has_iqn(&"iqn.2015-02.a:".repeat(80_000).replace("2015-02", "x")));
    }
}
