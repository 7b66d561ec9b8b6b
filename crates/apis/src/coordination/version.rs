//! Versions: `1.36.4-rc.1+build`.

use std::cmp::Ordering;

/// A semantic version. Build metadata is ignored.
///
/// Versions with a pre-release part come before those without: `1.0.0-alpha < 1.0.0-alpha.1 < 1.0.0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SemVer {
    numbers: [u64; 3],
    words: Vec<Word>,
}

/// An identifier of the pre-release part; numbers come before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Number(u64),
    Text(String),
}

impl SemVer {
    /// Reads a version that has all three numbers.
    ///
    /// Upstream: github.com/blang/semver/v4, Parse.
    pub(super) fn parse(text: &str) -> Option<SemVer> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let (rest, build) = split(rest, '+');
        let (patch, words) = split(rest, '-');
        if build.is_some_and(|build| !build.split('.').all(is_word)) {
            return None;
        }
        let words = words.map(|it| it.split('.').map(word).collect::<Option<Vec<Word>>>());
        Some(SemVer {
            numbers: [number(major)?, number(minor)?, number(patch)?],
            words: words.unwrap_or(Some(Vec::new()))?,
        })
    }
}

impl PartialOrd for SemVer {
    fn partial_cmp(&self, other: &SemVer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SemVer {
    fn cmp(&self, other: &SemVer) -> Ordering {
        let words = match (self.words.is_empty(), other.words.is_empty()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => self.words.cmp(&other.words),
        };
        self.numbers.cmp(&other.numbers).then(words)
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

fn word(text: &str) -> Option<Word> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Word::Number);
    }
    is_word(text).then(|| Word::Text(text.to_owned()))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::SemVer;

    #[test]
    fn versions_have_three_numbers_without_zeros_before_them() {
        let good = ["0.0.0", "1.36.4", "1.2.3-rc.1", "1.2.3-a-b.0+x.01", "18446744073709551615.0.0"];
        let bad = [
            "", "1", "1.2", "v1.2.3", "01.2.3", "1.2.03", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3.4", "1. 2.3",
        ];
        for (texts, expected) in [(&good[..], true), (&bad[..], false)] {
            texts.iter().for_each(|it| assert_eq!(SemVer::parse(it).is_some(), expected, "{it}"));
        }
    }

    #[test]
    fn versions_are_ordered() {
        let order =
            ["0.9.9", "1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.b", "1.0.0", "1.0.1", "1.10.0"];
        let versions: Vec<SemVer> = order.iter().map(|it| SemVer::parse(it).unwrap()).collect();
        assert!(versions.is_sorted() && versions.windows(2).all(|it| it[0] < it[1]));
        assert_eq!(SemVer::parse("1.0.0+a"), SemVer::parse("1.0.0+b"));
    }
}
