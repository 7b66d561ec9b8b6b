//! Rules of cel-go's grammar, with the numbers of ANTLR's states.

use super::predict::{Member, Primary, Unary};
use super::states::{EXPRESSION, FIELD, RuleKind};
use super::{Failure, Rule, SyntaxParser};
use crate::lexer::Kind;
use crate::parser::{calc_operator, relation_operator};

impl SyntaxParser<'_> {
    pub(super) fn start(&mut self) -> Rule {
        self.uncounted(u16::MAX, |p| {
            p.expr(34)?;
            p.token(35, Kind::Eof)
        })
    }

    fn uncounted(&mut self, invoking: u16, body: impl FnOnce(&mut Self) -> Rule) -> Rule {
        self.rule(invoking, RuleKind::Other, body)
    }

    fn expr(&mut self, invoking: u16) -> Rule {
        self.rule(invoking, RuleKind::Expr, |p| {
            p.conditional_or(37)?;
            p.sync(43)?;
            if p.ahead(0) == Kind::Question {
                p.token(38, Kind::Question)?;
                p.conditional_or(39)?;
                p.token(40, Kind::Colon)?;
                p.expr(41)?;
            }
            Ok(())
        })
    }

    fn conditional_or(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.conditional_and(45)?;
            p.sync(50)?;
            while p.ahead(0) == Kind::Or {
                p.token(46, Kind::Or)?;
                p.conditional_and(47)?;
                p.sync(52)?;
            }
            Ok(())
        })
    }

    fn conditional_and(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.relation(53, 0)?;
            p.sync(58)?;
            while p.ahead(0) == Kind::And {
                p.token(54, Kind::And)?;
                p.relation(55, 0)?;
                p.sync(60)?;
            }
            Ok(())
        })
    }

    fn relation(&mut self, invoking: u16, precedence: u8) -> Rule {
        self.rule(invoking, RuleKind::Relation, |p| {
            p.calc(62, 0)?;
            p.sync(69)?;
            while precedence <= 1 && relation_operator(p.ahead(0)).is_some() {
                p.operator(65);
                p.relation(66, 2)?;
                p.sync(71)?;
            }
            Ok(())
        })
    }

    fn calc(&mut self, invoking: u16, precedence: u8) -> Rule {
        self.rule(invoking, RuleKind::Calc, |p| {
            p.unary(73)?;
            p.sync(83)?;
            while let Some((_, level)) = calc_operator(p.ahead(0))
                && precedence <= level
            {
                p.sync(81)?;
                p.operator(if level == 2 { 76 } else { 79 });
                p.calc(if level == 2 { 77 } else { 80 }, level + 1)?;
                p.sync(85)?;
            }
            Ok(())
        })
    }

    fn operator(&mut self, state: u16) {
        self.state = state;
        self.matched();
        self.consume();
    }

    fn unary(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.sync(99)?;
            match p.predict_unary()? {
                Unary::Member => p.member(86),
                Unary::Not => {
                    p.sync(88)?;
                    loop {
                        p.token(87, Kind::Exclamation)?;
                        p.sync(90)?;
                        if p.ahead(0) != Kind::Exclamation {
                            break;
                        }
                    }
                    p.member(92)
                }
                Unary::Negate => {
                    p.sync(94)?;
                    loop {
                        p.token(93, Kind::Minus)?;
                        p.sync(96)?;
                        if !p.predict_minus()? {
                            break;
                        }
                    }
                    p.member(98)
                }
            }
        })
    }

    fn member(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.primary(102)?;
            p.sync(128)?;
            while matches!(p.ahead(0), Kind::Dot | Kind::LeftBracket) {
                p.sync(126)?;
                match p.predict_member()? {
                    Member::Select => p.select()?,
                    Member::Call => {
                        p.token(111, Kind::Dot)?;
                        p.token(112, Kind::Identifier)?;
                        p.token(113, Kind::LeftParen)?;
                        p.arguments(115, 114, 117)?;
                    }
                    Member::Index => {
                        p.token(119, Kind::LeftBracket)?;
                        p.sync(121)?;
                        if p.ahead(0) == Kind::Question {
                            p.token(120, Kind::Question)?;
                        }
                        p.expr(123)?;
                        p.token(124, Kind::RightBracket)?;
                    }
                }
                p.sync(130)?;
            }
            Ok(())
        })
    }

    fn select(&mut self) -> Rule {
        self.token(105, Kind::Dot)?;
        self.sync(107)?;
        if self.ahead(0) == Kind::Question {
            self.token(106, Kind::Question)?;
        }
        self.escape_ident(109)
    }

    fn arguments(&mut self, before: u16, invoking: u16, close: u16) -> Rule {
        self.sync(before)?;
        if EXPRESSION.contains(self.ahead(0)) {
            self.expr_list(invoking)?;
        }
        self.token(close, Kind::RightParen)
    }

    fn primary(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.sync(184)?;
            match p.predict_primary()? {
                Primary::Ident => p.dotted(132, 131, 134),
                Primary::Call => {
                    p.dotted(136, 135, 138)?;
                    p.token(139, Kind::LeftParen)?;
                    p.arguments(141, 140, 143)
                }
                Primary::Nested => {
                    p.token(144, Kind::LeftParen)?;
                    p.expr(145)?;
                    p.token(146, Kind::RightParen)
                }
                Primary::List => p.list(),
                Primary::Map => p.map(),
                Primary::Object => p.object(),
                Primary::Literal => p.literal(183),
            }
        })
    }

    /// A name with an optional dot before it.
    fn dotted(&mut self, before: u16, dot: u16, name: u16) -> Rule {
        self.sync(before)?;
        if self.ahead(0) == Kind::Dot {
            self.token(dot, Kind::Dot)?;
        }
        self.token(name, Kind::Identifier)
    }

    fn list(&mut self) -> Rule {
        self.token(148, Kind::LeftBracket)?;
        self.sync(150)?;
        if self.begins_element() {
            self.list_init(149)?;
        }
        self.trailing_comma(153, 152)?;
        self.token(155, Kind::RightBracket)
    }

    fn map(&mut self) -> Rule {
        self.token(156, Kind::LeftBrace)?;
        self.sync(158)?;
        if self.begins_element() {
            self.map_init(157)?;
        }
        self.trailing_comma(161, 160)?;
        self.token(163, Kind::RightBrace)
    }

    fn object(&mut self) -> Rule {
        self.dotted(165, 164, 167)?;
        self.sync(172)?;
        while self.ahead(0) == Kind::Dot {
            self.token(168, Kind::Dot)?;
            self.token(169, Kind::Identifier)?;
            self.sync(174)?;
        }
        self.token(175, Kind::LeftBrace)?;
        self.sync(177)?;
        if FIELD.contains(self.ahead(0)) {
            self.field_init(176)?;
        }
        self.trailing_comma(180, 179)?;
        self.token(182, Kind::RightBrace)
    }

    fn begins_element(&self) -> bool {
        EXPRESSION.contains(self.ahead(0)) || self.ahead(0) == Kind::Question
    }

    fn trailing_comma(&mut self, before: u16, comma: u16) -> Rule {
        self.sync(before)?;
        if self.ahead(0) == Kind::Comma {
            self.token(comma, Kind::Comma)?;
        }
        Ok(())
    }

    fn expr_list(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.expr(186)?;
            p.sync(191)?;
            while p.ahead(0) == Kind::Comma {
                p.token(187, Kind::Comma)?;
                p.expr(188)?;
                p.sync(193)?;
            }
            Ok(())
        })
    }

    fn list_init(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.opt_expr(194)?;
            p.sync(199)?;
            while p.predict_element() {
                p.token(195, Kind::Comma)?;
                p.opt_expr(196)?;
                p.sync(201)?;
            }
            Ok(())
        })
    }

    fn field_init(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.opt_field(202)?;
            p.token(203, Kind::Colon)?;
            p.expr(204)?;
            p.sync(212)?;
            while p.predict_field() {
                p.token(205, Kind::Comma)?;
                p.opt_field(206)?;
                p.token(207, Kind::Colon)?;
                p.expr(208)?;
                p.sync(214)?;
            }
            Ok(())
        })
    }

    fn map_init(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.opt_expr(220)?;
            p.token(221, Kind::Colon)?;
            p.expr(222)?;
            p.sync(230)?;
            while p.predict_element() {
                p.token(223, Kind::Comma)?;
                p.opt_expr(224)?;
                p.token(225, Kind::Colon)?;
                p.expr(226)?;
                p.sync(232)?;
            }
            Ok(())
        })
    }

    fn opt_field(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.sync(216)?;
            if p.ahead(0) == Kind::Question {
                p.token(215, Kind::Question)?;
            }
            p.escape_ident(218)
        })
    }

    fn opt_expr(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.sync(238)?;
            if p.ahead(0) == Kind::Question {
                p.token(237, Kind::Question)?;
            }
            p.expr(240)
        })
    }

    fn escape_ident(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.sync(235)?;
            match p.ahead(0) {
                Kind::Identifier => p.token(233, Kind::Identifier),
                Kind::EscapedIdentifier => p.token(234, Kind::EscapedIdentifier),
                _ => Err(Failure::NoViable { start: p.at, offending: p.at }),
            }
        })
    }

    fn literal(&mut self, invoking: u16) -> Rule {
        self.uncounted(invoking, |p| {
            p.sync(256)?;
            let kind = p.predict_literal()?;
            let (before, minus, state) = match kind {
                Kind::Int => (243, 242, 245),
                Kind::Float => (248, 247, 250),
                _ => return p.token(251, kind),
            };
            p.sync(before)?;
            if p.ahead(0) == Kind::Minus {
                p.token(minus, Kind::Minus)?;
            }
            p.token(state, kind)
        })
    }
}
