//! Query strings, parsed as Go's `net/url` does: parameters that cannot be decoded are left out.

use std::borrow::Cow;

/// The parameters of a request, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query<'q> {
    pairs: Vec<(Cow<'q, str>, Cow<'q, str>)>,
}

impl<'q> Query<'q> {
    /// Reads what follows the question mark.
    pub fn parse(text: &'q str) -> Query<'q> {
        let pairs = text
            .split('&')
            // Go refuses the old separator instead of guessing.
            .filter(|pair| !pair.is_empty() && !pair.contains(';'))
            .filter_map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decode(key, Plus::Space)?, decode(value, Plus::Space)?))
            })
            .collect();
        Query { pairs }
    }

    /// The parameters of a URI.
    pub fn of(uri: &'q http::Uri) -> Query<'q> {
        uri.query().map(Query::parse).unwrap_or_default()
    }

    /// The first value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.all(key).next()
    }

    /// All values of `key`, in order.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(it, _)| it == key).map(|(_, value)| &**value)
    }

    /// Whether `key` is there, with or without a value.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// A switch as Kubernetes reads it: absent is `None`, `0` and `false` are off, anything else is on.
    pub fn switch(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

/// The meaning of a plus sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plus {
    /// A space: in queries.
    Space,
    /// Itself: in paths.
    Plus,
}

/// Undoes percent encoding; `None` for a broken escape. Invalid UTF-8 is replaced.
pub fn decode(text: &str, plus: Plus) -> Option<Cow<'_, str>> {
    let is_plain = |byte: u8| byte != b'%' && (byte != b'+' || plus == Plus::Plus);
    if text.bytes().all(is_plain) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => (hex(rest.next()?)? << 4) | hex(rest.next()?)?,
            b'+' if plus == Plus::Space => b' ',
            byte => byte,
        });
    }
    Some(Cow::Owned(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok())
}

#[cfg(test)]
mod tests {
    use super::{Plus, Query, decode};

    #[track_caller]
    fn check(text: &str, key: &str, expected: &[&str]) {
        assert_eq!(Query::parse(text).all(key).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn queries_are_read_as_go_reads_them() {
        check("a=1&b=2&a=3", "a", &["1", "3"]);
        check("a=x+y%2Cz", "a", &["x y,z"]);
        check("a", "a", &[""]);
        check("a=", "a", &[""]);
        check("&&a=1&", "a", &["1"]);
        check("a=1;b=2", "a", &[]);
        check("a=%zz&a=ok", "a", &["ok"]);
        check("a=%2", "a", &[]);
        check("a%3Db=1", "a=b", &["1"]);
        check("a=%ff", "a", &["\u{fffd}"]);
    }

    #[test]
    fn switches_are_on_unless_they_say_no() {
        let query = Query::parse("a=true&b=0&c=False&d&e=no");
        let read = ["a", "b", "c", "d", "e", "f"].map(|key| query.switch(key));
        assert_eq!(read, [Some(true), Some(false), Some(false), Some(true), Some(true), None]);
    }

    #[test]
    fn a_plus_in_a_path_is_a_plus() {
        assert_eq!(decode("a+b%20c", Plus::Plus).unwrap(), "a+b c");
    }
}
