//! Descriptions: what upstream says about types and fields. They are packed into the binary at build time (see
//! `build.rs` for the form) and unpacked while documents are made: nothing of them is in memory otherwise.

use std::io::Read as _;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Everything that is said.
pub struct Descriptions {
    text: String,
    sentences: Vec<Range<usize>>,
    /// A line per type, sorted by name.
    lines: Vec<Range<usize>>,
}

/// What is said about one type.
#[derive(Clone, Copy)]
pub(super) struct Said<'d> {
    all: &'d Descriptions,
    /// `7 rollingUpdate=8 type=9`.
    numbers: &'d str,
}

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptions"));

impl Descriptions {
    /// Unpacks them, unless somebody holds them already.
    pub fn unpack() -> Arc<Descriptions> {
        static HELD: Mutex<Weak<Descriptions>> = Mutex::new(Weak::new());
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.upgrade().unwrap_or_else(|| {
            let descriptions = Arc::new(Descriptions::read(PACKED));
            *held = Arc::downgrade(&descriptions);
            descriptions
        })
    }

    fn read(packed: &[u8]) -> Descriptions {
        let mut text = String::new();
        let inflated = flate2::read::DeflateDecoder::new(packed).read_to_string(&mut text);
        inflated.expect("the build script packed it");
        let (mut sentences, mut at) = (Vec::new(), 0);
        for sentence in text.split('\0').take_while(|it| !it.is_empty()) {
            sentences.push(at..at + sentence.len());
            at += sentence.len() + 1;
        }
        at += 1;
        let mut lines = Vec::new();
        for line in text[at..].lines() {
            lines.push(at..at + line.len());
            at += line.len() + 1;
        }
        Descriptions { text, sentences, lines }
    }

    /// What is said about the type that is published under `name`.
    pub(super) fn of(&self, name: &str) -> Option<Said<'_>> {
        let named = |line: &Range<usize>| {
            let line = &self.text[line.clone()];
            line.split_once(' ').unwrap_or((line, ""))
        };
        let found = self.lines.binary_search_by(|line| named(line).0.cmp(name)).ok()?;
        Some(Said { all: self, numbers: named(&self.lines[found]).1 })
    }

    /// What is said about `apiVersion` and `kind`, whatever the kind: lists are not described otherwise.
    pub(super) fn of_any_kind(&self) -> Option<Said<'_>> {
        let numbers = self.of("io.k8s.api.core.v1.Pod")?.numbers;
        let heads = numbers.find("apiVersion=")?..numbers.find(" metadata=")?;
        Some(Said { all: self, numbers: numbers.get(heads)? })
    }

    fn sentence(&self, number: &str) -> Option<&str> {
        let range = self.sentences.get(number.parse::<usize>().ok()?)?;
        Some(&self.text[range.clone()])
    }
}

impl<'d> Said<'d> {
    /// About the type itself.
    pub(super) fn itself(self) -> Option<&'d str> {
        self.all.sentence(self.numbers.split(' ').next()?)
    }

    /// About one of its fields.
    pub(super) fn field(self, name: &str) -> Option<&'d str> {
        let number = self.numbers.split(' ').find_map(|it| it.strip_prefix(name)?.strip_prefix('='))?;
        self.all.sentence(number)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::Descriptions;

    #[test]
    fn a_sentence_is_found_by_type_and_field() {
        let text = "A thing.\0Its\ncolor.\0\0a.B 0 color=1 size=0\na.C\na.D color=1\n";
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("memory");
        let descriptions = Descriptions::read(&encoder.finish().expect("memory"));
        let check = |name: &str, field: &str, expected: Option<&str>| {
            let said = descriptions.of(name);
            let found = said.and_then(|it| if field.is_empty() { it.itself() } else { it.field(field) });
            assert_eq!(found, expected, "{name} {field}");
        };
        check("a.B", "", Some("A thing."));
        check("a.B", "color", Some("Its\ncolor."));
        check("a.B", "size", Some("A thing."));
        check("a.B", "col", None);
        check("a.C", "", None);
        check("a.D", "", None);
        check("a.D", "color", Some("Its\ncolor."));
        check("a.E", "", None);
    }

    #[test]
    fn the_sentences_of_every_built_in_type_are_packed() {
        let descriptions = Descriptions::unpack();
        assert!(descriptions.lines.len() > 680, "{} types", descriptions.lines.len());
        let pod = descriptions.of("io.k8s.api.core.v1.PodSpec").expect("pods are described");
        let said = pod.field("containers").expect("so are their containers");
        assert!(said.starts_with("List of containers"), "{said}");
        let any = descriptions.of_any_kind().expect("every object has a kind");
        assert!(any.field("kind").is_some() && any.field("apiVersion").is_some());
        assert!(any.field("metadata").is_none() && any.itself().is_none());
    }
}
