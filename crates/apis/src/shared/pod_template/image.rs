//! Image names: whether they mean the tag `latest`.
//!
//! | name | means the latest |
//! |---|---|
//! | `web`, `web:latest`, `host:5000/team/web` | yes |
//! | `web:1`, `web@sha256:…` | no |
//! | `web:latest@sha256:…` | yes: the tag is what counts |
//! | `Web`, `web:`, an image id of 64 digits | no: they name nothing |

/// The default pull policy of an image.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Container (v1.36.4).
pub(super) fn pull_policy(image: &str) -> &'static str {
    if means_latest(image) { "Always" } else { "IfNotPresent" }
}

/// Upstream: pkg/util/parsers/parsers.go, ParseImageName (v1.36.4).
fn means_latest(image: &str) -> bool {
    if is_identifier(image) {
        return false;
    }
    let (domain, rest) = split_domain(image);
    let (rest, digest) = split_last_part(rest, '@');
    let (path, tag) = split_last_part(rest, ':');
    if !is_repository(domain, path) || !digest.is_none_or(is_digest) {
        return false;
    }
    match tag {
        Some(tag) => tag == "latest",
        None => digest.is_none(),
    }
}

/// The longest path of a repository.
const MAX_PATH: usize = 255;

/// The path of official images in the default registry.
const OFFICIAL: &str = "library/";

/// The first part is a domain if it looks like one; images without a domain are in the default registry.
fn split_domain(image: &str) -> (Option<&str>, &str) {
    match image.split_once('/') {
        Some((first, rest))
            if first == "localhost"
                || first.contains(['.', ':'])
                || first.bytes().any(|byte| byte.is_ascii_uppercase()) =>
        {
            (Some(first), rest)
        }
        _ => (None, image),
    }
}

fn split_last_part(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator).map_or((text, None), |(head, tail)| (head, Some(tail)))
}

/// A domain that is none may still be the first part of a path: `my_team.x/web`.
fn is_repository(domain: Option<&str>, path: &str) -> bool {
    let domain_fits = domain.is_none_or(|it| is_domain(it) || is_path_part(it));
    let is_default = domain.is_none_or(|it| matches!(it, "docker.io" | "index.docker.io"));
    let prefix = if is_default && !path.contains('/') { OFFICIAL.len() } else { 0 };
    domain_fits && prefix + path.len() <= MAX_PATH && path.split('/').all(is_path_part)
}

fn is_domain(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, port)) => {
            let is_address = |byte: u8| byte == b':' || byte.is_ascii_hexdigit();
            if address.is_empty() || !address.bytes().all(is_address) {
                return false;
            }
            match port.strip_prefix(':') {
                Some(port) => (None, Some(port)),
                None if port.is_empty() => (None, None),
                None => return false,
            }
        }
        None => {
            let (host, port) = split_last_part(text, ':');
            (Some(host), port)
        }
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphanumeric())
    };
    host.is_none_or(|host| host.split('.').all(is_label))
        && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Words of small letters and digits, joined by `.`, `_`, `__` or any number of `-`.
fn is_path_part(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends_in_words =
        text.bytes().next().is_some_and(is_word) && text.bytes().next_back().is_some_and(is_word);
    let mut joints = text.split(|it: char| it.is_ascii_lowercase() || it.is_ascii_digit());
    ends_in_words
        && joints.all(|it| matches!(it, "" | "." | "_" | "__") || it.bytes().all(|byte| byte == b'-'))
}

/// `sha256:` and so many hexadecimal digits as that algorithm gives.
fn is_digest(text: &str) -> bool {
    let Some((algorithm, digits)) = text.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    digits.len() == length && digits.bytes().all(is_lower_hex)
}

fn is_identifier(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(is_lower_hex)
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn only_the_latest_image_is_always_pulled() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let check = |image: &str, expected: &str| assert_eq!(pull_policy(image), expected, "{image}");
        for latest in ["web", "web:latest", "team/web", "host:5000/web", "registry.example/a/b_c/d--e:latest"]
        {
            check(latest, "Always");
        }
        check("localhost/web", "Always");
        check("[::1]:5000/web", "Always");
        check("My-Host/web", "Always");
        check("my_team.x/web", "Always");
        check(&format!("web:latest@{digest}"), "Always");
        for other in ["web:1", "host:5000/web:1", "web:Latest", &format!("web@{digest}")] {
            check(other, "IfNotPresent");
        }
    }

    #[test]
    fn what_names_no_image_is_not_pulled_again() {
        let (long, longest) = ("a".repeat(248), "a".repeat(247));
        let id = "0123456789abcdef".repeat(4);
        for wrong in ["", "Web", "web:", "a//b", "-a", "a..b", "web@sha256:12", "web@md5:12", "host:x/web"] {
            assert_eq!(pull_policy(wrong), "IfNotPresent", "{wrong}");
        }
        assert_eq!(pull_policy(&long), "IfNotPresent");
        assert_eq!(pull_policy(&longest), "Always");
        assert_eq!(pull_policy(&format!("registry.example/{long}")), "Always");
        assert_eq!(pull_policy(&id), "IfNotPresent");
    }
}
