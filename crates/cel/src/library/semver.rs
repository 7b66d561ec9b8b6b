//! Semantic versions: `semver()`, with the rules and texts of blang/semver v4.

use std::cmp::Ordering;

use keelson_object::SmolStr;
use keelson_object::scalar::quote;

/// A version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semver {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    pre: Vec<Part>,
    build: Vec<SmolStr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Number(u64),
    Text(SmolStr),
}

impl Semver {
    /// Reads a version; build data is kept but does not count.
    pub fn parse(text: &str) -> Result<Semver, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let major = number("Major", major)?;
        let minor = number("Minor", minor)?;
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let patch = number("Patch", patch)?;
        let pre = pre.map_or(Ok(Vec::new()), |pre| pre.split('.').map(part).collect::<Result<_, _>>())?;
        let build = build
            .map_or(Ok(Vec::new()), |build| build.split('.').map(build_part).collect::<Result<_, _>>())?;
        Ok(Semver { major, minor, patch, pre, build })
    }

    /// Reads a version after a leading `v`, leading zeros and missing numbers have been mended.
    ///
    /// Upstream: apiserver/pkg/cel/library/semverlib.go, normalizeAndParse (v1.36.4).
    pub fn parse_normalized(text: &str) -> Result<Semver, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        while parts.len() < 3 {
            parts.push("0".to_owned());
        }
        Semver::parse(&parts.join("."))
    }

    /// The order of precedence.
    pub fn precedence(&self, other: &Semver) -> Ordering {
        let numbers = |version: &Semver| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let unequal =
                    self.pre.iter().zip(&other.pre).map(|(a, b)| a.precedence(b)).find(|order| order.is_ne());
                unequal.unwrap_or_else(|| self.pre.len().cmp(&other.pre.len()))
            }
        })
    }
}

impl std::fmt::Display for Semver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (position, part) in self.pre.iter().enumerate() {
            f.write_str(if position == 0 { "-" } else { "." })?;
            match part {
                Part::Number(number) => write!(f, "{number}")?,
                Part::Text(text) => f.write_str(text)?,
            }
        }
        for (position, part) in self.build.iter().enumerate() {
            write!(f, "{}{part}", if position == 0 { "+" } else { "." })?;
        }
        Ok(())
    }
}

impl Part {
    fn precedence(&self, other: &Part) -> Ordering {
        match (self, other) {
            (Part::Number(a), Part::Number(b)) => a.cmp(b),
            (Part::Text(a), Part::Text(b)) => a.cmp(b),
            (Part::Number(_), Part::Text(_)) => Ordering::Less,
            (Part::Text(_), Part::Number(_)) => Ordering::Greater,
        }
    }
}

fn without_leading_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    if trimmed.starts_with(|c: char| c.is_ascii_digit()) { trimmed.to_owned() } else { format!("0{trimmed}") }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn parse_uint(text: &str) -> Result<u64, String> {
    let reason = if text.is_empty() { "invalid syntax" } else { "value out of range" };
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {}: {reason}", quote(text)))
}

fn number(what: &str, text: &str) -> Result<u64, String> {
    if !is_digits(text) {
        let what = what.to_ascii_lowercase();
        return Err(format!("Invalid character(s) found in {what} number {}", quote(text)));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{what} number must not contain leading zeroes {}", quote(text)));
    }
    parse_uint(text)
}

fn part(text: &str) -> Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if is_digits(text) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quote(text)
            ));
        }
        return parse_uint(text).map(Part::Number);
    }
    if !is_alphanumeric(text) {
        return Err(format!("Invalid character(s) found in prerelease {}", quote(text)));
    }
    Ok(Part::Text(text.into()))
}

fn build_part(text: &str) -> Result<SmolStr, String> {
    if text.is_empty() {
        return Err("Build meta data is empty".to_owned());
    }
    if !is_alphanumeric(text) {
        return Err(format!("Invalid character(s) found in build meta data {}", quote(text)));
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::Semver;

    #[test]
    fn versions_are_ordered_by_precedence() {
        let sorted = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
            "1.0.1",
            "1.10.0",
            "2.0.0",
        ];
        for pair in sorted.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|text| Semver::parse(text).expect("a version"));
            assert!(a.precedence(&b).is_lt(), "{a} {b}");
        }
    }

    #[test]
    fn bad_versions_have_the_texts_of_blang() {
        for (text, expected) in [
            ("", "Version string empty"),
            ("1.0", "No Major.Minor.Patch elements found"),
            ("v1.0.0", "Invalid character(s) found in major number \"v1\""),
            ("1.01.0", "Minor number must not contain leading zeroes \"01\""),
            ("1.0.0-", "Prerelease is empty"),
            ("1.0.0-01", "Numeric PreRelease version must not contain leading zeroes \"01\""),
            ("1.0.0+a_b", "Invalid character(s) found in build meta data \"a_b\""),
        ] {
            assert_eq!(Semver::parse(text), Err(expected.to_owned()));
        }
    }

    #[test]
    fn normalizing_mends_short_versions() {
        for (text, expected) in
            [("v1.0", "1.0.0"), ("01.002.3", "1.2.3"), ("1", "1.0.0"), ("1.2.03-a", "1.2.3-a")]
        {
            assert_eq!(
                Semver::parse_normalized(text).map(|version| version.to_string()),
                Ok(expected.to_owned())
            );
        }
        assert!(Semver::parse_normalized("1.2-a").is_err());
    }
}
