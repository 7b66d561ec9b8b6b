//! One step of a path: a field, an item by its key or by its value, an index.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use keelson_object::scalar::quote;
use keelson_object::{SmolStr, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::values;

/// One step of a path. In `fieldsV1` the four are `f:name`, `k:{"name":"web"}`, `v:"text"` and `i:3`.
#[derive(Clone, Debug)]
pub enum Element {
    /// A field of a struct, or a key of a map.
    Field(SmolStr),
    /// The item of a list whose fields have these values, sorted by name.
    Key(Arc<[(SmolStr, Value)]>),
    /// The item of a set.
    Value(Value),
    /// The item at a position.
    Index(i64),
}

impl Element {
    /// The item with these key fields, in any order.
    pub fn key(mut fields: Vec<(SmolStr, Value)>) -> Element {
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Element::Key(fields.into())
    }

    /// Reads the form of `fieldsV1`. `None` is a kind of step that a later release may know.
    ///
    /// Upstream: structured-merge-diff/fieldpath/serialize-pe.go, DeserializePathElement (v6).
    pub fn parse(text: &str) -> Result<Option<Element>, String> {
        if text.len() < 2 {
            return Err("key must be 2 characters long:".to_owned());
        }
        if text.as_bytes()[1] != b':' {
            return Err(format!("missing colon: {text}"));
        }
        let rest = &text[2..];
        Ok(Some(match text.as_bytes()[0] {
            b'f' => Element::Field(rest.into()),
            b'v' => Element::Value(json(rest)?),
            b'k' => match (one_text(rest), rest) {
                (Some(field), _) => Element::Key(Arc::new([field])),
                (None, rest) => match json(rest)? {
                    Value::Map(map) => Element::key(map.into_iter().collect()),
                    other => return Err(format!("expected an object, got {}", other.json_type())),
                },
            },
            b'i' => Element::Index(
                rest.parse().map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", quote(rest)))?,
            ),
            _ => return Ok(None),
        }))
    }

    /// Whether `text`, from which this was read, is the form of `fieldsV1`: of some steps it has more than one.
    pub(super) fn is_written_as(&self, text: &str) -> bool {
        match self {
            Element::Field(_) => true,
            Element::Key(fields) => match &fields[..] {
                [(name, Value::String(value))] if is_plain(name) && is_plain(value) => {
                    // `k:{"`, `":"` and `"}`: spaces would make it longer.
                    text.len() == name.len() + value.len() + 9
                }
                _ => self.to_text() == text,
            },
            _ => self.to_text() == text,
        }
    }

    /// The form of `fieldsV1`.
    pub fn to_text(&self) -> SmolStr {
        let mut text = String::new();
        match self {
            // Most names fit into a small string.
            Element::Field(name) => return ["f:", name].into_iter().collect(),
            Element::Key(fields) => {
                text.push_str("k:{");
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    values::write_text(name, &mut text);
                    text.push(':');
                    values::write(value, &mut text);
                }
                text.push('}');
            }
            Element::Value(value) => {
                text.push_str("v:");
                values::write(value, &mut text);
            }
            Element::Index(at) => {
                let _ = write!(text, "i:{at}");
            }
        }
        text.into()
    }

    fn rank(&self) -> u8 {
        match self {
            Element::Field(_) => 0,
            Element::Key(_) => 1,
            Element::Value(_) => 2,
            Element::Index(_) => 3,
        }
    }
}

impl Ord for Element {
    /// Upstream: structured-merge-diff/fieldpath/element.go, PathElement.Compare (v6).
    fn cmp(&self, other: &Element) -> Ordering {
        match (self, other) {
            (Element::Field(a), Element::Field(b)) => a.as_str().cmp(b.as_str()),
            (Element::Key(a), Element::Key(b)) => {
                let pairs = a.iter().zip(b.iter());
                let mut orders = pairs
                    .map(|((a, x), (b, y))| a.as_str().cmp(b.as_str()).then_with(|| values::order(x, y)));
                orders.find(|it| it.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Element::Value(a), Element::Value(b)) => values::order(a, b),
            (Element::Index(a), Element::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Element) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

impl fmt::Display for Element {
    /// As upstream's messages name it: `.spec`, `[name="web"]`, `[="text"]`, `[3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Field(name) => write!(f, ".{name}"),
            Element::Key(fields) => {
                f.write_char('[')?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", values::in_path(value))?;
                }
                f.write_char(']')
            }
            Element::Value(value) => write!(f, "[={}]", values::in_path(value)),
            Element::Index(at) => write!(f, "[{at}]"),
        }
    }
}

/// A path as upstream's messages print it.
pub(super) fn display(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// The field of `{"name":"web"}`: what almost every key is. `None` if it is not that simple.
fn one_text(text: &str) -> Option<(SmolStr, Value)> {
    let (name, value) = text.strip_prefix("{\"")?.strip_suffix("\"}")?.split_once("\":\"")?;
    (is_plain(name) && is_plain(value)).then(|| (name.into(), value.into()))
}

/// Whether JSON writes the text as it is, and reads it so.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|it| matches!(it, b' '..=b'~') && !matches!(it, b'"' | b'\\' | b'<' | b'>' | b'&'))
}

fn json(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(Read(value)) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}

/// A tree, as serde reads it.
struct Read(Value);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Read, D::Error> {
        from.deserialize_any(Tree).map(Read)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        #[expect(clippy::cast_precision_loss, reason = "upstream reads every number as a float")]
        Ok(i64::try_from(number).map_or(Value::Float(number as f64), Value::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Read(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let mut map = keelson_object::Map::new();
        while let Some((Name(name), Read(value))) = pairs.next_entry()? {
            map.set(name, value);
        }
        Ok(Value::Map(map))
    }
}

/// The name of a field; most need no memory of their own.
struct Name(SmolStr);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        match from.deserialize_str(Tree)? {
            Value::String(name) => Ok(Name(name)),
            other => Err(serde::de::Error::custom(format_args!("a name is text, not {}", other.json_type()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Element;

    #[test]
    fn every_kind_of_step_reads_and_writes_itself() {
        let check = |text: &str, shown: &str| {
            let element = Element::parse(text).unwrap().unwrap();
            assert_eq!(element.to_text(), text);
            assert_eq!(element.to_string(), shown);
        };
        check("f:spec", ".spec");
        check("f:", ".");
        check("f:app.kubernetes.io/name", ".app.kubernetes.io/name");
        check(r#"k:{"name":"web"}"#, r#"[name="web"]"#);
        check(r#"k:{"containerPort":80,"protocol":"TCP"}"#, r#"[containerPort=80,protocol="TCP"]"#);
        check(r#"v:"a\"b""#, r#"[="a\"b"]"#);
        check(r#"v:"\u003cb\u003e""#, r#"[="<b>"]"#);
        check("v:3", "[=3]");
        check("v:true", "[=true]");
        check("i:-7", "[-7]");
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_what_is_unknown_is_skipped() {
        let check = |text: &str, expected: &str| assert_eq!(Element::parse(text).unwrap_err(), expected);
        check("f", "key must be 2 characters long:");
        check("name", "missing colon: name");
        check("i:x", r#"strconv.Atoi: parsing "x": invalid syntax"#);
        assert!(Element::parse("v:{").is_err());
        assert!(Element::parse("k:3").is_err());
        assert_eq!(Element::parse("z:anything").unwrap(), None);
    }

    #[test]
    fn fields_come_before_keys_before_values_before_indexes() {
        let texts = [
            "f:a",
            "f:b",
            r#"k:{"a":1}"#,
            r#"k:{"a":1,"b":1}"#,
            r#"k:{"a":2}"#,
            r#"k:{"a":"1"}"#,
            "v:1",
            "v:2.5",
            "v:3",
            r#"v:"a""#,
            "v:false",
            "v:true",
            "i:0",
            "i:1",
        ];
        let elements: Vec<_> = texts.iter().map(|it| Element::parse(it).unwrap().unwrap()).collect();
        assert!(elements.is_sorted());
        assert_eq!(Element::parse("v:1").unwrap(), Element::parse("v:1.0").unwrap());
    }
}
