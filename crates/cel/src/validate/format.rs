//! Format strings: the clauses of a literal and the types of the arguments.

use super::Validator;
use crate::ast::{Expr, ExprId, Literal};
use crate::types::Type;

/// What is wrong, and with which argument.
type Refusal = (Option<ExprId>, String);

/// Checks `'…'.format([…])` with a literal text and a literal list.
pub(super) fn validate(validator: &mut Validator<'_>, id: ExprId, target: ExprId, args: &[ExprId]) {
    let checked = validator.checked;
    let (Expr::Literal(Literal::String(text)), [list]) = (checked.expr(target), args) else { return };
    let Expr::List { elements, .. } = checked.expr(*list) else { return };
    match clauses(validator, text.as_bytes(), elements) {
        Err((at, message)) => validator.report(at.unwrap_or(id), message),
        Ok(count) if elements.len() > count => {
            let got = elements.len();
            let message =
                format!("too many arguments supplied to string.format (expected {count}, got {got})");
            validator.report(id, message);
        }
        Ok(_) => {}
    }
}

/// The number of clauses, if all of them are right.
fn clauses(validator: &Validator<'_>, text: &[u8], args: &[ExprId]) -> Result<usize, Refusal> {
    let mut at = 0;
    let mut count = 0;
    while at < text.len() {
        if text[at] != b'%' {
            at += 1;
            continue;
        }
        if text.get(at + 1) == Some(&b'%') {
            at += 2;
            continue;
        }
        if at + 1 >= text.len() {
            return Err((None, String::from("unexpected end of string")));
        }
        let Some(arg) = args.get(count) else {
            return Err((None, format!("index {count} out of range")));
        };
        let unparsed = |reason: String| (None, format!("could not parse formatting clause: {reason}"));
        let precision = precision(&text[at + 1..]).map_err(unparsed)?;
        let clause = text[at + 1 + precision];
        let refused = argument(validator, clause, *arg).map_err(unparsed)?;
        if let Some((bad, reason)) = refused {
            let of = validator.checked.type_of(bad).name();
            return Err((Some(bad), format!("error during formatting: {reason}, was given {of}")));
        }
        at += 2 + precision;
        count += 1;
    }
    Ok(count)
}

/// The length of a precision such as `.3`.
fn precision(clause: &[u8]) -> Result<usize, String> {
    if clause[0] != b'.' {
        return Ok(0);
    }
    let digits = clause[1..].iter().take_while(|c| c.is_ascii_digit()).count();
    if 1 + digits >= clause.len() {
        return Err(String::from("error while parsing precision: could not find end of precision specifier"));
    }
    let number = String::from_utf8_lossy(&clause[1..=digits]);
    if number.parse::<i64>().is_err() {
        let reason = if digits == 0 { "invalid syntax" } else { "value out of range" };
        return Err(format!(
            "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \"{number}\": {reason}"
        ));
    }
    Ok(1 + digits)
}

/// The argument that does not fit the clause, and why.
fn argument(
    validator: &Validator<'_>,
    clause: u8,
    arg: ExprId,
) -> Result<Option<(ExprId, &'static str)>, String> {
    let of = validator.checked.type_of(arg);
    let (fits, reason) = match clause {
        b's' => {
            let reason = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
            return Ok(unprintable(validator, arg).map(|bad| (bad, reason)));
        }
        b'd' => (matches!(of, Type::Int | Type::Uint), "decimal clause can only be used on integers"),
        b'f' => (matches!(of, Type::Double | Type::String), "fixed-point clause can only be used on doubles"),
        b'e' => (matches!(of, Type::Double | Type::String), "scientific clause can only be used on doubles"),
        b'b' => (
            matches!(of, Type::Int | Type::Uint | Type::Bool),
            "only integers and bools can be formatted as binary",
        ),
        b'x' | b'X' => (
            matches!(of, Type::Int | Type::Uint | Type::String | Type::Bytes),
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
        b'o' => (matches!(of, Type::Int | Type::Uint), "octal clause can only be used on integers"),
        other => return Err(format!("unrecognized formatting clause \"{}\"", char::from(other))),
    };
    Ok((!fits && *of != Type::Dyn).then_some((arg, reason)))
}

/// The first part of a literal that `%s` cannot print.
fn unprintable(validator: &Validator<'_>, id: ExprId) -> Option<ExprId> {
    let of = validator.checked.type_of(id);
    if matches!(of, Type::Any | Type::Error | Type::Opaque(_) | Type::Struct(_) | Type::Param(_)) {
        return Some(id);
    }
    match validator.checked.expr(id) {
        Expr::List { elements, .. } => elements.iter().find_map(|element| unprintable(validator, *element)),
        Expr::Map(entries) => entries
            .iter()
            .flat_map(|entry| [entry.key, entry.value])
            .find_map(|part| unprintable(validator, part)),
        _ => None,
    }
}
