//! Syntax errors: the messages of the parser that ANTLR makes from cel-go's grammar.
//!
//! This parser runs only for texts that the fast parser refused. It makes a tree only to find more errors: cel-go looks
//! for reserved names and for wrong arguments of macros in what is left of the text. ANTLR does not
//! stop at the first error: it deletes or inserts a token, or skips tokens until something may follow, and goes on.
//! Which tokens it expects depends on the state of the parser, so the states here have ANTLR's numbers
//! ([`states`]). The rules of the grammar are in [`rules`], the decisions between alternatives in [`predict`].
//!
//! Upstream: antlr4-go error_strategy.go (v4.13.0), cel-go parser/parser.go and parser/gen/cel_parser.go (v0.26.0).

mod collections;
mod members;
mod predict;
mod rules;
mod states;

use super::{MAX_DEPTH, Macros, Parsed, Parser};
use crate::lexer::{BadText, Kind, Token};
use crate::source::{BEFORE, Issues};
use states::{RuleKind, StateKind, TokenSet};

/// The errors of a text that is not in the grammar.
pub(super) fn issues(text: &str, tokens: &[Token], bad: &[BadText], macros: Macros) -> Issues {
    let mut parser = SyntaxParser {
        text,
        tokens,
        bad,
        at: 0,
        state: 0,
        contexts: Vec::new(),
        depths: [0; 4],
        recovering: false,
        last_error: None,
        attempts: 0,
        reports: 0,
        issues: Issues::new(text),
        builder: Parser::new(text, tokens, macros, Issues::new(text)),
    };
    // Whatever ends the parser early was reported; cel-go then looks for nothing more.
    if let Ok(tree) = parser.run() {
        if tree.height > MAX_DEPTH {
            parser.issues.report(None, "max recursion depth exceeded");
        } else {
            parser.issues.append(parser.builder.issues);
        }
    }
    parser.issues
}

/// More errors end the parser.
const MAX_REPORTS: u32 = 100;

/// More attempts to recover end the parser.
const MAX_ATTEMPTS: u32 = 30;

/// More skipped tokens in one attempt end the parser.
const MAX_SKIPPED: u32 = 256;

/// Why a rule of the grammar fails.
enum Failure {
    /// The current token cannot follow.
    Mismatch,
    /// No alternative of a decision matches the tokens from one to the other.
    NoViable { start: usize, offending: usize },
    /// A limit is reached; nothing more is parsed.
    Abort,
}

type Rule<T = ()> = Result<T, Failure>;

struct SyntaxParser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    bad: &'a [BadText],
    at: usize,
    state: u16,
    /// The states in which the rules around were entered, outermost first.
    contexts: Vec<u16>,
    depths: [u32; 4],
    /// After an error nothing is reported until a token matches.
    recovering: bool,
    /// Where the last recovery began, and in which states.
    last_error: Option<(usize, Vec<u16>)>,
    attempts: u32,
    reports: u32,
    issues: Issues,
    /// Makes nodes and finds the errors that are not of syntax.
    builder: Parser<'a>,
}

impl SyntaxParser<'_> {
    fn run(&mut self) -> Rule<Parsed> {
        for bad in self.bad {
            let shown = &self.text[bad.start as usize..bad.end as usize];
            self.notify(bad.position, &format!("token recognition error at: '{shown}'"))?;
        }
        self.start()
    }

    fn ahead(&self, count: usize) -> Kind {
        self.tokens.get(self.at + count).map_or(Kind::Eof, |token| token.kind)
    }

    fn current(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn consume(&mut self) {
        if self.ahead(0) != Kind::Eof {
            self.at += 1;
        }
    }

    fn notify(&mut self, position: u32, message: &str) -> Rule {
        let position = if self.text.is_empty() { BEFORE } else { position };
        if self.reports < MAX_REPORTS {
            self.reports += 1;
            self.issues.report(Some(position), format!("Syntax error: {message}"));
            return Ok(());
        }
        self.issues.report(Some(position), format!("Syntax error: More than {MAX_REPORTS} syntax errors"));
        Err(Failure::Abort)
    }

    /// Runs a rule that was entered in this state; errors in it are reported and skipped. Inlined, because rules nest
    /// deep and frames add up.
    #[inline(always)]
    fn rule(&mut self, invoking: u16, kind: RuleKind, body: impl FnOnce(&mut Self) -> Rule) -> Rule {
        self.contexts.push(invoking);
        self.depths[kind as usize] += 1;
        if kind != RuleKind::Other && self.depths[kind as usize] > MAX_DEPTH {
            self.issues.report(None, format!("expression recursion limit exceeded: {MAX_DEPTH}"));
            return Err(Failure::Abort);
        }
        match body(self) {
            Ok(()) => {}
            Err(Failure::Abort) => return Err(Failure::Abort),
            Err(failure) => {
                self.report(&failure)?;
                self.recover()?;
            }
        }
        self.depths[kind as usize] -= 1;
        self.contexts.pop();
        self.state = invoking;
        Ok(())
    }

    fn report(&mut self, failure: &Failure) -> Rule {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let token = self.current();
        match failure {
            Failure::Mismatch => {
                let message =
                    format!("mismatched input {} expecting {}", self.shown(token), self.expected().names());
                self.notify(token.position, &message)
            }
            Failure::NoViable { start, offending } => {
                let offending = self.tokens[(*offending).min(self.tokens.len() - 1)];
                let input = self.between(*start, offending);
                self.notify(offending.position, &reworded(&input))
            }
            Failure::Abort => Ok(()),
        }
    }

    /// The text from a token to another. Text that is no token does not occur in it.
    fn between(&self, start: usize, end: Token) -> String {
        let start = self.tokens[start];
        if start.kind == Kind::Eof {
            return String::from("<EOF>");
        }
        let (first, end) = (start.start, end.end);
        let mut at = first as usize;
        let mut input = String::new();
        for bad in self.bad.iter().filter(|bad| bad.start >= first && bad.end <= end) {
            input.push_str(&self.text[at..bad.start as usize]);
            at = bad.end as usize;
        }
        input.push_str(&self.text[at..end as usize]);
        input
    }

    fn shown(&self, token: Token) -> String {
        let text = match token.kind {
            Kind::Eof => "<EOF>",
            _ => &self.text[token.start as usize..token.end as usize],
        };
        format!("'{}'", escaped(text))
    }

    /// Skips tokens until one that may follow a rule around.
    fn recover(&mut self) -> Rule {
        self.attempt()?;
        let mut skipped = 0;
        let (at, state) = (self.at, self.state);
        if self.last_error.as_ref().is_some_and(|(index, states)| *index == at && states.contains(&state)) {
            self.consume();
            skipped += 1;
        }
        let mut states = self.last_error.take().map(|(_, states)| states).unwrap_or_default();
        states.push(state);
        self.last_error = Some((self.at, states));
        let follow = self.recovery_set();
        while self.ahead(0) != Kind::Eof && !follow.contains(self.ahead(0)) {
            if skipped >= MAX_SKIPPED {
                let message = format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}");
                self.issues.report(None, message);
                return Err(Failure::Abort);
            }
            self.consume();
            skipped += 1;
        }
        Ok(())
    }

    fn attempt(&mut self) -> Rule {
        if self.attempts == MAX_ATTEMPTS {
            self.attempts += 1;
            let message = format!("error recovery attempt limit exceeded: {MAX_ATTEMPTS}");
            self.notify(self.current().position, &message)?;
            return Err(Failure::Abort);
        }
        self.attempts += 1;
        Ok(())
    }

    fn recovery_set(&self) -> TokenSet {
        self.contexts
            .iter()
            .skip(1)
            .fold(TokenSet::EMPTY, |set, invoking| set.union(states::after_rule(*invoking).0))
    }

    /// The tokens that may come in this state, through the rules around.
    fn expected(&self) -> TokenSet {
        self.through_contexts(states::in_state(self.state))
    }

    fn through_contexts(&self, (mut set, mut may_end): (TokenSet, bool)) -> TokenSet {
        for invoking in self.contexts.iter().skip(1).rev() {
            if !may_end {
                return set;
            }
            let (follow, ends) = states::after_rule(*invoking);
            set = set.union(follow);
            may_end = ends;
        }
        if may_end { set.union(TokenSet::of(&[Kind::Eof])) } else { set }
    }

    /// Looks whether the next token fits before a decision is made.
    fn sync(&mut self, state: u16) -> Rule {
        self.state = state;
        if self.recovering {
            return Ok(());
        }
        let (set, may_end) = states::in_state(state);
        if may_end || set.contains(self.ahead(0)) {
            return Ok(());
        }
        match states::kind(state) {
            StateKind::Block => {
                if self.delete_token()? {
                    Ok(())
                } else {
                    Err(Failure::Mismatch)
                }
            }
            StateKind::LoopBack => {
                self.report_unwanted()?;
                let set = self.expected().union(self.recovery_set());
                while self.ahead(0) != Kind::Eof && !set.contains(self.ahead(0)) {
                    self.consume();
                }
                Ok(())
            }
        }
    }

    fn report_unwanted(&mut self) -> Rule {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let token = self.current();
        let message = format!("extraneous input {} expecting {}", self.shown(token), self.expected().names());
        self.notify(token.position, &message)
    }

    /// Deletes the current token if the one behind it fits.
    fn delete_token(&mut self) -> Result<bool, Failure> {
        if !self.expected().contains(self.ahead(1)) {
            return Ok(false);
        }
        self.report_unwanted()?;
        self.consume();
        self.matched();
        Ok(true)
    }

    fn matched(&mut self) {
        self.recovering = false;
        self.last_error = None;
    }

    fn token(&mut self, state: u16, kind: Kind) -> Rule<Token> {
        self.state = state;
        let token = self.current();
        if token.kind == kind {
            self.matched();
            self.consume();
            return Ok(token);
        }
        self.attempt()?;
        if self.delete_token()? {
            let token = self.current();
            self.consume();
            return Ok(token);
        }
        // A missing token is inserted if the current one may follow it.
        if !self.through_contexts(states::after_token(state)).contains(self.ahead(0)) {
            return Err(Failure::Mismatch);
        }
        if !self.recovering {
            self.recovering = true;
            let message = format!("missing {} at {}", self.expected().names(), self.shown(token));
            self.notify(token.position, &message)?;
        }
        Ok(token)
    }
}

fn escaped(text: &str) -> String {
    text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// cel-go keeps an older message for reserved words after a dot.
fn reworded(input: &str) -> String {
    for word in ["true", "false", "null"] {
        let mut characters = input.chars();
        if characters.next().is_some_and(|first| first != '\n') && characters.as_str() == word {
            return format!("mismatched input '{word}' expecting IDENTIFIER");
        }
    }
    format!("no viable alternative at input '{}'", escaped(input))
}
