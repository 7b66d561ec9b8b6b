//! Version numbers as Kubernetes parses them, with its errors.
//!
//! Upstream: staging/src/k8s.io/apimachinery/pkg/util/version/version.go (v1.36.4).

use keelson_object::scalar::quote;

/// A version as it was written: its numbers and its suffix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoVersion {
    numbers: Vec<u64>,
    /// `-alpha.1`, `+build`, with the sign; only kept after three numbers.
    suffix: String,
}

/// How strictly a version is parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Exactly three numbers, then a pre-release and build metadata.
    Semantic,
    /// Two numbers or more, then anything.
    Generic,
}

impl GoVersion {
    /// A version with exactly three numbers.
    pub(crate) fn semantic(text: &str) -> Result<GoVersion, String> {
        parse(text, Form::Semantic)
    }

    /// A version with at least two numbers.
    pub(crate) fn any(text: &str) -> Result<GoVersion, String> {
        parse(text, Form::Semantic).or_else(|_| parse(text, Form::Generic))
    }

    /// Major, minor and patch; a patch that is missing is 0.
    pub(crate) fn numbers(&self) -> (u64, u64, u64) {
        let number = |index: usize| self.numbers.get(index).copied().unwrap_or_default();
        (number(0), number(1), number(2))
    }
}

impl std::fmt::Display for GoVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(u64::to_string).collect();
        write!(f, "{}{}", numbers.join("."), self.suffix)
    }
}

fn parse(text: &str, form: Form) -> Result<GoVersion, String> {
    let body = text.trim_start();
    let body = body.strip_prefix('v').unwrap_or(body);
    let end = numbers_end(body);
    if end == 0 {
        return Err(format!("could not parse {} as version", quote(text)));
    }
    let (numbers, extra) = body.split_at(end);
    let components: Vec<&str> = numbers.split('.').collect();
    let is_legal = match form {
        Form::Semantic => components.len() == 3,
        Form::Generic => components.len() >= 2,
    };
    if !is_legal {
        return Err(format!("illegal version string {}", quote(text)));
    }
    let read = |(index, component): (usize, &&str)| {
        let is_padded = component.starts_with('0') && *component != "0";
        if (index == 0 || form == Form::Semantic) && is_padded {
            return Err(format!(
                "illegal zero-prefixed version component {} in {}",
                quote(component),
                quote(text)
            ));
        }
        component.parse::<u64>().map_err(|_| {
            let reason = format!("strconv.ParseUint: parsing {}: value out of range", quote(component));
            let (component, text) = (quote(component), quote(text));
            format!("illegal non-numeric version component {component} in {text}: {reason}")
        })
    };
    let numbers = components.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let suffix = match form {
        Form::Semantic if !is_suffix(extra.trim_end()) => {
            return Err(format!("could not parse pre-release/metadata ({extra}) in version {}", quote(text)));
        }
        Form::Semantic => extra.trim_end().to_owned(),
        Form::Generic => String::new(),
    };
    Ok(GoVersion { numbers, suffix })
}

/// The length of the numbers with single dots between them.
fn numbers_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    loop {
        let digits = bytes[end..].iter().take_while(|it| it.is_ascii_digit()).count();
        if digits == 0 {
            // A dot without a digit after it belongs to the rest.
            return end.saturating_sub(1);
        }
        end += digits;
        if bytes.get(end) != Some(&b'.') {
            return end;
        }
        end += 1;
    }
}

/// `-pre.release+build.metadata`, each part optional.
fn is_suffix(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let are_words = |words: &str| words.split('.').all(is_word);
    let (pre_release, build) = match text.split_once('+') {
        Some((before, build)) => (before, Some(build)),
        None => (text, None),
    };
    let pre_release_is_good = match pre_release.strip_prefix('-') {
        Some(words) => are_words(words),
        None => pre_release.is_empty(),
    };
    pre_release_is_good && build.is_none_or(are_words)
}

#[cfg(test)]
mod tests {
    use super::GoVersion;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = GoVersion::any(text).map_or_else(|error| error, |version| version.to_string());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn versions_have_two_numbers_or_more() {
        check("1.35", "1.35");
        check("v1.35.0", "1.35.0");
        check("1.36.4-alpha.1+x", "1.36.4-alpha.1+x");
        check("1.35foo", "1.35");
        check("x", "could not parse \"x\" as version");
        check("", "could not parse \"\" as version");
        check("v1", "illegal version string \"v1\"");
        check("01.2", "illegal zero-prefixed version component \"01\" in \"01.2\"");
    }

    #[test]
    fn a_semantic_version_has_three_numbers() {
        let refused = |text: &str| GoVersion::semantic(text).expect_err("must be refused");
        assert_eq!(refused("v1.36"), "illegal version string \"v1.36\"");
        assert_eq!(
            refused("v1.36.4_x"),
            "could not parse pre-release/metadata (_x) in version \"v1.36.4_x\""
        );
        assert_eq!(GoVersion::semantic("v1.36.4").map(|it| it.numbers()), Ok((1, 36, 4)));
    }
}
