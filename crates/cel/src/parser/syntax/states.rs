//! States of ANTLR's parser: which tokens may come in them.

use crate::lexer::Kind;

/// The rules whose depth can reach the limit, and all others, which are never deeper than `expr`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKind {
    Expr,
    Relation,
    Calc,
    Other,
}

/// A set of kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TokenSet(u64);

impl TokenSet {
    pub(super) const EMPTY: Self = Self(0);

    pub(super) const fn of(kinds: &[Kind]) -> Self {
        let mut set = 0;
        let mut index = 0;
        while index < kinds.len() {
            set |= 1 << kinds[index] as u8;
            index += 1;
        }
        Self(set)
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// `{'[', '(', IDENTIFIER}`, or the name alone if there is only one.
    pub(super) fn names(self) -> String {
        let names: Vec<&str> = NAMES
            .iter()
            .enumerate()
            .filter(|(number, _)| self.0 & (1 << number) != 0)
            .map(|(_, name)| *name)
            .collect();
        match names.as_slice() {
            [name] => String::from(*name),
            names => format!("{{{}}}", names.join(", ")),
        }
    }
}

/// By number of the kind.
const NAMES: &[&str] = &[
    "<EOF>",
    "'=='",
    "'!='",
    "'in'",
    "'<'",
    "'<='",
    "'>='",
    "'>'",
    "'&&'",
    "'||'",
    "'['",
    "']'",
    "'{'",
    "'}'",
    "'('",
    "')'",
    "'.'",
    "','",
    "'-'",
    "'!'",
    "'?'",
    "':'",
    "'+'",
    "'*'",
    "'/'",
    "'%'",
    "'true'",
    "'false'",
    "'null'",
    "WHITESPACE",
    "COMMENT",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "STRING",
    "BYTES",
    "IDENTIFIER",
    "ESC_IDENTIFIER",
];

const LITERAL: TokenSet = TokenSet::of(&[
    Kind::Minus,
    Kind::True,
    Kind::False,
    Kind::Null,
    Kind::Float,
    Kind::Int,
    Kind::Uint,
    Kind::String,
    Kind::Bytes,
]);

/// What a primary expression begins with.
pub(super) const PRIMARY: TokenSet =
    LITERAL.union(set(&[Kind::LeftBracket, Kind::LeftBrace, Kind::LeftParen, Kind::Dot, Kind::Identifier]));

/// What an expression begins with.
pub(super) const EXPRESSION: TokenSet = PRIMARY.union(set(&[Kind::Exclamation]));

const OPTIONAL_EXPRESSION: TokenSet = EXPRESSION.union(set(&[Kind::Question]));

/// The name of a field, or a question mark before it.
pub(super) const FIELD: TokenSet = set(&[Kind::Question, Kind::Identifier, Kind::EscapedIdentifier]);

const RELATION_OPERATORS: TokenSet = set(&[
    Kind::Less,
    Kind::LessEquals,
    Kind::GreaterEquals,
    Kind::Greater,
    Kind::Equals,
    Kind::NotEquals,
    Kind::In,
]);

const CALC_OPERATORS: TokenSet = set(&[Kind::Star, Kind::Slash, Kind::Percent, Kind::Plus, Kind::Minus]);

const MEMBERS: TokenSet = set(&[Kind::Dot, Kind::LeftBracket]);

const fn set(kinds: &[Kind]) -> TokenSet {
    TokenSet::of(kinds)
}

/// What sync does in a state.
pub(super) enum StateKind {
    /// The beginning of a choice or of a loop.
    Block,
    /// The end of an iteration.
    LoopBack,
}

pub(super) const fn kind(state: u16) -> StateKind {
    match state {
        90 | 96 | 174 => StateKind::LoopBack,
        _ => StateKind::Block,
    }
}

/// The tokens that may come in a state, and whether the rule may end there.
pub(super) const fn in_state(state: u16) -> (TokenSet, bool) {
    use Kind::*;
    match state {
        35 => (set(&[Eof]), false),
        43 => (set(&[Question]), true),
        40 | 203 | 207 | 221 | 225 => (set(&[Colon]), false),
        50 | 52 => (set(&[Or]), true),
        58 | 60 => (set(&[And]), true),
        69 | 71 => (RELATION_OPERATORS, true),
        81 => (CALC_OPERATORS, false),
        83 | 85 => (CALC_OPERATORS, true),
        99 => (EXPRESSION, false),
        87 | 88 => (set(&[Exclamation]), false),
        90 => (EXPRESSION, false),
        93 | 94 => (set(&[Minus]), false),
        96 => (PRIMARY, false),
        107 | 177 | 216 => {
            if state == 177 {
                (FIELD.union(set(&[Comma, RightBrace])), false)
            } else {
                (FIELD, false)
            }
        }
        115 | 141 => (EXPRESSION.union(set(&[RightParen])), false),
        117 | 143 | 146 => (set(&[RightParen]), false),
        121 | 238 => (OPTIONAL_EXPRESSION, false),
        124 | 155 => (set(&[RightBracket]), false),
        126 => (MEMBERS, false),
        128 | 130 => (MEMBERS, true),
        132 | 136 | 165 => (set(&[Dot, Identifier]), false),
        112 | 134 | 138 | 167 | 169 | 233 => (set(&[Identifier]), false),
        150 => (OPTIONAL_EXPRESSION.union(set(&[Comma, RightBracket])), false),
        153 => (set(&[Comma, RightBracket]), false),
        158 => (OPTIONAL_EXPRESSION.union(set(&[Comma, RightBrace])), false),
        161 | 180 => (set(&[Comma, RightBrace]), false),
        163 | 182 => (set(&[RightBrace]), false),
        172 | 174 => (set(&[Dot, LeftBrace]), false),
        175 => (set(&[LeftBrace]), false),
        184 => (PRIMARY, false),
        191 | 193 | 199 | 201 | 212 | 214 | 230 | 232 => (set(&[Comma]), true),
        235 => (set(&[Identifier, EscapedIdentifier]), false),
        243 => (set(&[Minus, Int]), false),
        248 => (set(&[Minus, Float]), false),
        245 => (set(&[Int]), false),
        250 => (set(&[Float]), false),
        256 => (LITERAL, false),
        _ => (TokenSet::EMPTY, true),
    }
}

/// The tokens that may come after the token that is matched in a state, and whether the rule may end there.
pub(super) const fn after_token(state: u16) -> (TokenSet, bool) {
    match state {
        40 | 203 | 207 | 221 | 225 => (EXPRESSION, false),
        117 | 124 => (MEMBERS, true),
        175 => in_state(177),
        _ => (TokenSet::EMPTY, true),
    }
}

/// The tokens that may come after a rule that was entered in a state, and whether the rule around may end there.
pub(super) const fn after_rule(state: u16) -> (TokenSet, bool) {
    use Kind::*;
    match state {
        34 => (set(&[Eof]), false),
        37 => (set(&[Question]), true),
        39 | 202 | 206 | 220 | 224 => (set(&[Colon]), false),
        45 | 47 => (set(&[Or]), true),
        53 | 55 => (set(&[And]), true),
        62 | 66 => (RELATION_OPERATORS, true),
        73 | 77 | 80 => (CALC_OPERATORS, true),
        102 | 109 => (MEMBERS, true),
        114 | 140 | 145 => (set(&[RightParen]), false),
        123 => (set(&[RightBracket]), false),
        149 => (set(&[Comma, RightBracket]), false),
        157 | 176 => (set(&[Comma, RightBrace]), false),
        186 | 188 | 194 | 196 | 204 | 208 | 222 | 226 => (set(&[Comma]), true),
        _ => (TokenSet::EMPTY, true),
    }
}
