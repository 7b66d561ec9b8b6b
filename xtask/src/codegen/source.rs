//! One Go file as declarations: imports, types, constants. Functions are skipped.

use std::collections::BTreeMap;

use super::lexer::{self, Comment, Kind, Token};

/// What a file declares.
#[derive(Debug, Default)]
pub struct Source {
    /// Local name to package path.
    pub imports: BTreeMap<String, String>,
    pub types: Vec<Declaration>,
    pub constants: Vec<Constant>,
    /// Markers of the comments before `package`.
    pub markers: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Declaration {
    pub name: String,
    /// `type X = Y`, which makes no type of its own.
    pub is_alias: bool,
    pub expression: Expression,
    /// Comment lines that begin with `+`, without it.
    pub markers: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Expression {
    /// `package.Name`, or `Name` of the same package.
    Named(Option<String>, String),
    Pointer(Box<Expression>),
    List(Box<Expression>),
    Map(Box<Expression>, Box<Expression>),
    Struct(Vec<Member>),
    /// `interface{}` and `any`.
    Any,
    /// Functions, channels, interfaces with methods: nothing that is written to the wire.
    Other,
}

#[derive(Clone, Debug)]
pub struct Member {
    /// `None` for an embedded type.
    pub name: Option<String>,
    pub expression: Expression,
    pub tag: String,
    pub markers: Vec<String>,
    /// Whether its comment says anything beside markers.
    pub is_described: bool,
}

/// `Name Type = "value"`, `Name = Type("value")` or `Name = Type(other.Name)`.
#[derive(Clone, Debug)]
pub struct Constant {
    pub name: String,
    pub of: Option<String>,
    pub value: Meaning,
}

/// What a constant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    Text(String),
    /// What the constant of another package is: its import, and its name there.
    Same(String, String),
}

impl Constant {
    /// Its text, if it is known.
    pub fn text(&self) -> Option<&str> {
        if let Meaning::Text(text) = &self.value { Some(text) } else { None }
    }
}

impl Member {
    /// The value of `key` in the tag: `json`, `protobuf`, `patchStrategy`.
    pub fn tag(&self, key: &str) -> Option<&str> {
        let start = self.tag.find(&format!("{key}:\""))? + key.len() + 2;
        self.tag[start..].split('"').next()
    }
}

/// Reads a file.
pub fn parse(text: &str) -> Source {
    let tokens = lexer::tokens(text);
    let mut parser = Parser { tokens: &tokens, at: 0, source: Source::default() };
    parser.file();
    parser.source
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    source: Source,
}

impl Parser<'_> {
    fn file(&mut self) {
        let mut depth = 0usize;
        while let Some(token) = self.tokens.get(self.at) {
            match &token.kind {
                Kind::Word(word) if depth == 0 && word == "package" => {
                    self.source.markers = markers(&token.comments);
                    self.at += 2;
                }
                Kind::Word(word) if depth == 0 && word == "import" => self.group(Parser::import),
                Kind::Word(word) if depth == 0 && word == "type" => self.group(Parser::declaration),
                Kind::Word(word) if depth == 0 && word == "const" => self.group(Parser::constant),
                Kind::Sign('(' | '{' | '[') => {
                    depth += 1;
                    self.at += 1;
                }
                Kind::Sign(')' | '}' | ']') => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }

    /// `keyword one` or `keyword ( one two … )`. `one` gets the comments before the keyword or before itself.
    fn group(&mut self, mut one: impl FnMut(&mut Self, Vec<String>)) {
        let before = markers(&self.tokens[self.at].comments);
        self.at += 1;
        if !self.take('(') {
            return one(self, before);
        }
        while self.at < self.tokens.len() && !self.take(')') {
            let own = markers(&self.tokens[self.at].comments);
            one(self, own);
        }
    }

    fn import(&mut self, _markers: Vec<String>) {
        let name = self.word();
        let Some(Kind::Text(path)) = self.kind() else {
            self.at += 1;
            return;
        };
        let path = path.clone();
        self.at += 1;
        let last = path.rsplit('/').next().unwrap_or_default().to_owned();
        self.source.imports.insert(name.unwrap_or(last), path);
    }

    fn constant(&mut self, _markers: Vec<String>) {
        let line = self.line();
        let Some(name) = self.word() else {
            self.at += 1;
            return;
        };
        let mut is_converted = false;
        let mut of = if self.line() == line { self.word() } else { None };
        if self.line() == line && self.take('=') {
            let converted = if self.line() == line { self.word() } else { None };
            if converted.is_some() && self.take('(') {
                (of, is_converted) = (converted, true);
            }
            if self.line() == line
                && let Some(value) = self.meaning()
            {
                self.source.constants.push(Constant { name, of, value });
            }
        }
        self.skip_line(line);
        // The bracket of a conversion is not the end of the group.
        if is_converted && self.take(')') {
            self.skip_line(line);
        }
    }

    /// A literal, or `package.Name`.
    fn meaning(&mut self) -> Option<Meaning> {
        if let Some(Kind::Text(text)) = self.kind() {
            return Some(Meaning::Text(text.clone()));
        }
        let import = self.word()?;
        let name = if self.take('.') { self.word()? } else { return None };
        Some(Meaning::Same(import, name))
    }

    fn declaration(&mut self, markers: Vec<String>) {
        let line = self.line();
        let Some(name) = self.word() else {
            self.at += 1;
            return;
        };
        let is_alias = self.take('=');
        let expression = self.expression(line);
        self.source.types.push(Declaration { name, is_alias, expression, markers });
    }

    fn expression(&mut self, line: usize) -> Expression {
        if self.take('*') {
            return Expression::Pointer(Box::new(self.expression(line)));
        }
        if self.take('[') {
            if !self.take(']') {
                // An array or type parameters: back to the bracket, so that it is skipped with its other half.
                self.at -= 1;
                self.skip_line(line);
                return Expression::Other;
            }
            return Expression::List(Box::new(self.expression(line)));
        }
        let Some(word) = self.word() else {
            self.skip_line(line);
            return Expression::Other;
        };
        match word.as_str() {
            "map" if self.take('[') => {
                let key = self.expression(line);
                self.take(']');
                Expression::Map(Box::new(key), Box::new(self.expression(line)))
            }
            "struct" => Expression::Struct(self.members()),
            "any" => Expression::Any,
            "interface" if self.take('{') && self.take('}') => Expression::Any,
            "interface" => {
                self.at -= 1;
                self.skip_line(line);
                Expression::Other
            }
            "func" | "chan" => {
                self.skip_line(line);
                Expression::Other
            }
            _ if self.take('.') => Expression::Named(Some(word), self.word().unwrap_or_default()),
            _ => Expression::Named(None, word),
        }
    }

    fn members(&mut self) -> Vec<Member> {
        let mut members = Vec::new();
        if !self.take('{') {
            return members;
        }
        while self.at < self.tokens.len() && !self.take('}') {
            let before = self.at;
            self.member(&mut members);
            if self.at == before {
                // A stray bracket: nothing that we know.
                self.at += 1;
            }
        }
        members
    }

    /// One line of a struct: `Name Type tag`, `A, B Type` or an embedded `Type tag`.
    fn member(&mut self, members: &mut Vec<Member>) {
        let line = self.line();
        let comments = attached(&self.tokens[self.at]);
        let (markers, is_described) = (markers(comments), is_description(comments));
        let mut names = Vec::new();
        if self.begins_with_a_name(line) {
            names.extend(self.word());
            while self.take(',') {
                names.extend(self.word());
            }
        }
        let expression = self.expression(line);
        let mut tag = String::new();
        if let Some(Kind::Text(text)) = self.kind()
            && self.line() == line_before(self.tokens, self.at)
        {
            tag = text.clone();
            self.at += 1;
        }
        if names.is_empty() {
            members.push(Member { name: None, expression, tag, markers, is_described });
        } else {
            members.extend(names.into_iter().map(|name| Member {
                name: Some(name),
                expression: expression.clone(),
                tag: tag.clone(),
                markers: markers.clone(),
                is_described,
            }));
        }
    }

    /// An embedded type is followed by its tag, a dot or the next line; a name by a type.
    fn begins_with_a_name(&self, line: usize) -> bool {
        let is_word = matches!(self.kind(), Some(Kind::Word(_)));
        let next = self.tokens.get(self.at + 1).filter(|token| token.line == line);
        is_word && next.is_some_and(|it| !matches!(it.kind, Kind::Text(_) | Kind::Sign('.' | '}')))
    }

    fn kind(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(usize::MAX, |token| token.line)
    }

    fn word(&mut self) -> Option<String> {
        let Some(Kind::Word(word)) = self.kind() else {
            return None;
        };
        let word = word.clone();
        self.at += 1;
        Some(word)
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.kind() == Some(&Kind::Sign(sign));
        self.at += usize::from(found);
        found
    }

    /// Moves behind `line`, and behind every bracket that was opened in it. Stops at a closing one of others.
    fn skip_line(&mut self, line: usize) {
        let mut depth = 0usize;
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                _ if depth == 0 && token.line != line => return,
                Kind::Sign('(' | '{' | '[') => depth += 1,
                Kind::Sign(')' | '}' | ']') if depth == 0 => return,
                Kind::Sign(')' | '}' | ']') => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

fn line_before(tokens: &[Token], at: usize) -> usize {
    at.checked_sub(1).map_or(0, |before| tokens[before].line)
}

/// The comments that touch the token: an empty line in between makes them somebody else's.
fn attached(token: &Token) -> &[Comment] {
    let mut from = token.comments.len();
    let mut line = token.line;
    while from > 0 && token.comments[from - 1].line + 1 == line {
        from -= 1;
        line -= 1;
    }
    &token.comments[from..]
}

fn markers(comments: &[Comment]) -> Vec<String> {
    comments.iter().filter_map(|comment| comment.text.strip_prefix('+')).map(str::to_owned).collect()
}

/// Whether comments hold a sentence: markers, notes to do something and what follows `---` are none.
fn is_description(comments: &[Comment]) -> bool {
    let is_sentence = |it: &Comment| !(it.text.is_empty() || it.text.starts_with('+') || is_note(&it.text));
    comments.iter().take_while(|it| it.text != "---").any(is_sentence)
}

/// Upstream's notes to itself begin with this word.
fn is_note(text: &str) -> bool {
    text.strip_prefix("TO").is_some_and(|it| it.starts_with("DO"))
}

#[cfg(test)]
mod tests {
    use super::{Expression, Meaning, parse};

    const FILE: &str = r#"
// +groupName=apps
package v1

import (
	"fmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (x Thing) String() string { return fmt.Sprintf("type X struct {", x) }

// +enum
type Color string

const (
	// Red is red.
	Red Color = "red"
	one = iota
	Blue Color = "blue"
	Green = Color("green")
	Pink = Color(metav1.Pink) // pink
	Last Color = "last"
)

// +genclient

// Thing is a thing.
type Thing struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	Spec *Spec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" patchStrategy:"merge"` // note

	// +detached

	A, B map[string][]int32
	// Hook is called.
	Hook func(a struct{ b int }) error
	Any []interface{} `json:"any"`
	Hash [2]byte
}

type Other = metav1.Time
"#;

    #[test]
    fn a_file_is_its_declarations() {
        let source = parse(FILE);
        assert_eq!(source.markers, ["groupName=apps"]);
        assert_eq!(source.imports["metav1"], "k8s.io/apimachinery/pkg/apis/meta/v1");
        let names: Vec<_> = source.types.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["Color", "Thing", "Other"]);
        let constants: Vec<_> =
            source.constants.iter().map(|it| (&*it.name, it.of.as_deref(), it.text())).collect();
        let color = Some("Color");
        assert_eq!(
            constants,
            [
                ("Red", color, Some("red")),
                ("Blue", color, Some("blue")),
                ("Green", color, Some("green")),
                ("Pink", color, None),
                ("Last", color, Some("last")),
            ]
        );
        assert_eq!(source.constants[3].value, Meaning::Same("metav1".to_owned(), "Pink".to_owned()));
        assert_eq!(source.types[1].markers, ["genclient"]);
        assert!(source.types[2].is_alias);
    }

    #[test]
    fn members_know_their_tags_and_their_own_markers() {
        let source = parse(FILE);
        let Expression::Struct(members) = &source.types[1].expression else { panic!("not a struct") };
        let names: Vec<_> = members.iter().map(|it| it.name.as_deref().unwrap_or("-")).collect();
        assert_eq!(names, ["-", "Spec", "A", "B", "Hook", "Any", "Hash"]);
        assert_eq!(members[1].markers, ["optional"]);
        assert_eq!(members[1].tag("patchStrategy"), Some("merge"));
        assert_eq!(members[1].tag("json"), Some("spec,omitempty"));
        assert!(members[2].markers.is_empty());
        let described: Vec<_> = members.iter().map(|it| it.is_described).collect();
        assert_eq!(described, [false, false, false, false, true, false, false]);
        assert!(
            matches!(&members[5].expression, Expression::List(item) if matches!(**item, Expression::Any))
        );
    }
}
