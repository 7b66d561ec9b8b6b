//! Shard selectors: select a part of a collection by the hash of a field that never changes.
//!
//! ```text
//! shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || shardRange(…)
//!
//!  0                      8000000000000000                      10000000000000000
//!  ├──── first ───────────┤──── second ────────────────────────┤     fnv1a("the uid")
//! ```
//!
//! The expression is CEL, of which only calls and `||` are supported here.
//!
//! Upstream: apimachinery/pkg/sharding and apiserver/pkg/sharding/parser.go (v1.36.4).

use std::fmt;
use std::fmt::Write as _;

use crate::scalar::quote;

mod expression;

use expression::{Expression, Literal};

/// One or more ranges of hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    key: Key,
    ranges: Vec<Range>,
}

/// The field that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Uid,
    Namespace,
}

/// From `start` (inclusive) to `end` (exclusive), which may be 2⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: u128,
    end: u128,
}

impl Selector {
    /// Parses an expression. The error is for the client.
    pub fn parse(text: &str) -> Result<Selector, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(
                "empty shard selector is not allowed; omit the parameter for unfiltered lists".to_owned()
            );
        }
        let mut ranges = Vec::new();
        let tree = expression::parse(text).map_err(|problem| format!("CEL parse error: {problem}"))?;
        collect(&tree, &mut ranges)?;
        let key = ranges.first().map_or(Key::Uid, |(key, _)| *key);
        if let Some((other, _)) = ranges.iter().find(|(it, _)| *it != key) {
            return Err(format!(
                "all shard ranges must use the same field, got {} and {}",
                quote(key.path()),
                quote(other.path())
            ));
        }
        Ok(Selector { key, ranges: ranges.into_iter().map(|(_, range)| range).collect() })
    }

    /// Whether an object with this uid in this namespace is in the shard.
    pub fn matches(&self, uid: &str, namespace: &str) -> bool {
        let hash = u128::from(fnv1a(match self.key {
            Key::Uid => uid,
            Key::Namespace => namespace,
        }));
        self.ranges.iter().any(|range| range.start <= hash && hash < range.end)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Range { start, end }) in self.ranges.iter().enumerate() {
            if position > 0 {
                f.write_str(" || ")?;
            }
            write!(f, "shardRange({}, '0x{start:016x}', '0x{end:016x}')", self.key.path())?;
        }
        Ok(())
    }
}

impl Key {
    fn path(self) -> &'static str {
        match self {
            Key::Uid => "object.metadata.uid",
            Key::Namespace => "object.metadata.namespace",
        }
    }
}

/// FNV-1a with 64 bits.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn collect(tree: &Expression, ranges: &mut Vec<(Key, Range)>) -> Result<(), String> {
    match tree {
        Expression::Call(name, arguments) => match (name.as_str(), &arguments[..]) {
            ("_||_", [left, right]) => {
                collect(left, ranges)?;
                collect(right, ranges)
            }
            ("shardRange", [field, start, end]) => {
                ranges.push((key(field)?, range(start, end)?));
                Ok(())
            }
            ("shardRange", _) => {
                Err(format!("shardRange() requires exactly 3 arguments, got {}", arguments.len()))
            }
            _ => Err(format!("unsupported function {}; only shardRange() and || are allowed", quote(name))),
        },
        other => Err(format!(
            "unexpected expression kind {}; expected shardRange() call or || operator",
            other.kind()
        )),
    }
}

fn key(field: &Expression) -> Result<Key, String> {
    let path = path(field).map_err(|other| {
        format!(
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind {}",
            other.kind()
        )
    })?;
    match &*path {
        "object.metadata.uid" => Ok(Key::Uid),
        "object.metadata.namespace" => Ok(Key::Namespace),
        _ => Err(format!(
            "unsupported field path {}; supported: object.metadata.uid, object.metadata.namespace",
            quote(&path)
        )),
    }
}

fn path(field: &Expression) -> Result<String, &Expression> {
    match field {
        Expression::Name(name) => Ok(name.clone()),
        Expression::Select(of, name) => {
            let mut text = path(of)?;
            let _ = write!(text, ".{name}");
            Ok(text)
        }
        other => Err(other),
    }
}

fn range(start: &Expression, end: &Expression) -> Result<Range, String> {
    let (start, end) = (bound(start, "hexStart")?, bound(end, "hexEnd")?);
    if start >= end {
        return Err(format!("shard range start 0x{start:016x} must be less than end 0x{end:016x}"));
    }
    Ok(Range { start, end })
}

fn bound(value: &Expression, name: &str) -> Result<u128, String> {
    let text = match value {
        Expression::Literal(Literal::Text(text)) => text,
        Expression::Literal(other) => {
            return Err(format!("{name} must be a string literal, got {}", other.go_type()));
        }
        other => {
            let kind = other.kind();
            return Err(format!("{name} must be a string literal (e.g. '0xff'), got expression kind {kind}"));
        }
    };
    let Some(digits) = text.strip_prefix("0x") else {
        return Err(format!("{name} must have '0x' prefix, got {}", quote(text)));
    };
    if digits.is_empty() {
        return Err(format!("{name}: hex value is required after '0x'"));
    }
    if digits.len() > 17 {
        let length = digits.len();
        return Err(format!("{name}: hex value too long ({length} chars, max 17): {}", quote(digits)));
    }
    if let Some(bad) = digits.chars().find(|it| !matches!(it, '0'..='9' | 'a'..='f')) {
        let bad = quote(&bad.to_string());
        return Err(format!("{name}: invalid hex character {bad} in {}", quote(text)));
    }
    match digits.len() {
        16 => {}
        17 if digits == "10000000000000000" => {}
        17 => {
            return Err(format!(
                "{name}: 17-digit hex value must be '0x10000000000000000' (2^64), got {}",
                quote(text)
            ));
        }
        _ => {
            return Err(format!(
                "{name} must be a 0x-prefixed 16-digit hex value, got {} (did you mean \"0x{digits:0>16}\"?)",
                quote(text)
            ));
        }
    }
    u128::from_str_radix(digits, 16).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = Selector::parse(text).map_or_else(|it| it, |it| it.to_string());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn ranges_read_as_they_print() {
        let one = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
        let two = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')";
        check(one, one);
        check(&format!("( {one} )||{two}"), &format!("{one} || {two}"));
        check(&one.replace('\'', "\""), one);
        check(&format!("object.{one}"), one);
    }

    #[test]
    fn what_is_no_range_is_refused_in_upstreams_words() {
        check("  ", "empty shard selector is not allowed; omit the parameter for unfiltered lists");
        check("x", "unexpected expression kind 3; expected shardRange() call or || operator");
        check("1", "unexpected expression kind 5; expected shardRange() call or || operator");
        check("foo(1)", "unsupported function \"foo\"; only shardRange() and || are allowed");
        check("a() && b()", "unsupported function \"_&&_\"; only shardRange() and || are allowed");
        check("!a()", "unsupported function \"!_\"; only shardRange() and || are allowed");
        check("shardRange()", "shardRange() requires exactly 3 arguments, got 0");
        check(
            "shardRange(1,2,3)",
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 5",
        );
        check(
            "shardRange(object.metadata.name,'','')",
            "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, object.metadata.namespace",
        );
        let bound = |text: &str, expected: &str| {
            check(&format!("shardRange(object.metadata.uid,{text},'0x1')"), expected);
        };
        bound("0", "hexStart must be a string literal, got int64");
        bound("1.5", "hexStart must be a string literal, got float64");
        bound("true", "hexStart must be a string literal, got bool");
        bound("null", "hexStart must be a string literal, got structpb.NullValue");
        bound("x", "hexStart must be a string literal (e.g. '0xff'), got expression kind 3");
        bound("'1'", "hexStart must have '0x' prefix, got \"1\"");
        bound("'0x'", "hexStart: hex value is required after '0x'");
        bound("'0xG'", "hexStart: invalid hex character \"G\" in \"0xG\"");
        bound(
            "'0x123456789012345678'",
            "hexStart: hex value too long (18 chars, max 17): \"123456789012345678\"",
        );
        bound(
            "'0x0'",
            "hexStart must be a 0x-prefixed 16-digit hex value, got \"0x0\" (did you mean \"0x0000000000000000\"?)",
        );
        bound(
            "'0x00000000000000000'",
            "hexStart: 17-digit hex value must be '0x10000000000000000' (2^64), got \"0x00000000000000000\"",
        );
        check(
            "shardRange(object.metadata.uid,'0x0000000000000002','0x0000000000000001')",
            "shard range start 0x0000000000000002 must be less than end 0x0000000000000001",
        );
        check(
            "shardRange(object.metadata.uid,'0x0000000000000000','0x0000000000000001') || \
             shardRange(object.metadata.namespace,'0x0000000000000000','0x0000000000000001')",
            "all shard ranges must use the same field, got \"object.metadata.uid\" and \"object.metadata.namespace\"",
        );
        check("shardRange(object", "CEL parse error: Syntax error: missing ')' at '<EOF>'");
    }

    #[test]
    fn shards_divide_what_there_is() {
        let half = |start: &str, end: &str| {
            Selector::parse(&format!("shardRange(object.metadata.uid, '{start}', '{end}')")).unwrap()
        };
        let low = half("0x0000000000000000", "0x8000000000000000");
        let high = half("0x8000000000000000", "0x10000000000000000");
        let mut counts = [0; 2];
        for number in 0..1000 {
            let uid = format!("{number:04}-3e1f-427f-8aea-6a3847ffa91a");
            assert_ne!(low.matches(&uid, ""), high.matches(&uid, ""));
            counts[usize::from(high.matches(&uid, ""))] += 1;
        }
        assert!(counts.iter().all(|it| *it > 200), "{counts:?}");
        assert_eq!(fnv1a("hello"), 0xa430_d846_80aa_bd0b);
    }
}
