//! Escaping of field names: `my-field` is `self.my__dash__field` in an expression.

use std::borrow::Cow;

/// Words of CEL that are escaped as field names.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Is this a word of CEL, which is escaped as a field name?
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The name as an identifier of CEL; None if no expression can name it.
/// Upstream: apiserver/pkg/cel/escaping.go, Escape (v1.36.4).
pub fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    if !name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b'/')) {
        return None;
    }
    if !name.contains(['-', '.', '/']) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut escaped = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let (text, length) = match first {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            _ => (&rest[..1], 1),
        };
        escaped.push_str(text);
        rest = &rest[length..];
    }
    Some(Cow::Owned(escaped))
}

/// The name that an identifier of CEL stands for; None if it contains an escape that does not exist.
/// Upstream: apiserver/pkg/cel/escaping.go, Unescape (v1.36.4).
pub fn unescape(escaped: &str) -> Option<Cow<'_, str>> {
    if !escaped.contains("__") {
        return Some(Cow::Borrowed(escaped));
    }
    let mut name = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while !rest.is_empty() {
        let Some((contents, length)) = sequence(rest) else {
            let first = rest.chars().next().map_or(0, char::len_utf8);
            name.push_str(&rest[..first]);
            rest = &rest[first..];
            continue;
        };
        name.push_str(match contents {
            "underscores" => "__",
            "dot" => ".",
            "dash" => "-",
            "slash" => "/",
            word if is_reserved(word) && length == escaped.len() => word,
            _ => return None,
        });
        rest = &rest[length..];
    }
    Some(Cow::Owned(name))
}

/// `__contents__` at the beginning: what is between, and the length of the whole.
fn sequence(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("__")?;
    let end = inner.find('_').filter(|end| *end > 0)?;
    inner[end..].starts_with("__").then(|| (&inner[..end], end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, escaped: &str) {
        assert_eq!(escape(name).as_deref(), Some(escaped));
        assert_eq!(unescape(escaped).as_deref(), Some(name));
    }

    #[test]
    fn names_become_identifiers_and_names_again() {
        check("a", "a");
        check("a_b", "a_b");
        check("a__b", "a__underscores__b");
        check("a-b.c/d", "a__dash__b__dot__c__slash__d");
        check("namespace", "__namespace__");
        check("a___b", "a__underscores___b");
    }

    #[test]
    fn some_names_cannot_be_written() {
        for name in ["", "1a", "a b", "é", "a$"] {
            assert_eq!(escape(name), None, "{name}");
        }
        assert_eq!(unescape("__unknown__"), None);
        assert_eq!(unescape("a__if__"), None);
    }
}
