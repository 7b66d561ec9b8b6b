//! `string.format(list)`, version 1: numbers are grouped as in American English.
//!
//! Upstream: CG/ext/formatting.go (cel-go v0.26.0), with the printer of golang.org/x/text.

use keelson_object::scalar::quote;

use super::mismatch;
use crate::fail::{Failure, Outcome, fail};
use crate::gotext;
use crate::program::Site;
use crate::run::Run;
use crate::value::convert::{self, Target};
use crate::value::{List, MapVal, Val};

/// Decimals where a clause does not say how many.
const DEFAULT_PRECISION: usize = 6;
/// Go refuses larger widths and precisions than this.
const MAX_PRECISION: usize = 1_000_000;

type Text = Result<String, Failure>;

pub(super) fn format<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Str(text), Val::List(values)] = args else { return mismatch(site, args) };
    let mut out = String::new();
    let mut next = 0;
    let mut rest = text.as_str();
    while let Some(percent) = rest.find('%') {
        run.reserve(percent as u64)?;
        out.push_str(&rest[..percent]);
        rest = &rest[percent + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let Some(value) = values.get(next) else { return fail!("index {next} out of range") };
        let value = value?;
        if rest.is_empty() {
            return fail!("unexpected end of string");
        }
        let (clause, after) = Clause::parse(rest)
            .map_err(|error| Failure::new(format!("could not parse formatting clause: {error}")))?;
        let formatted = clause.format(run, &value).map_err(|failure| {
            if failure.is_error() {
                Failure::new(format!("error during formatting: {failure}"))
            } else {
                failure
            }
        })?;
        run.reserve(formatted.len() as u64)?;
        out.push_str(&formatted);
        rest = after;
        next += 1;
    }
    run.reserve(rest.len() as u64)?;
    out.push_str(rest);
    Ok(Val::text(out))
}

struct Clause {
    kind: u8,
    precision: Option<usize>,
}

impl Clause {
    /// Reads what follows a percent sign, and what follows the clause.
    fn parse(text: &str) -> Result<(Clause, &str), String> {
        let (precision, rest) = match text.strip_prefix('.') {
            None => (None, text),
            Some(after) => {
                let digits = after.bytes().take_while(u8::is_ascii_digit).count();
                if digits == after.len() {
                    return Err(
                        "error while parsing precision: could not find end of precision specifier".to_owned()
                    );
                }
                let precision = gotext::atoi(&after[..digits]).map_err(|error| {
                    format!(
                        "error while parsing precision: error while converting precision to integer: {error}"
                    )
                })?;
                (Some(usize::try_from(precision).unwrap_or(usize::MAX)), &after[digits..])
            }
        };
        let kind = rest.as_bytes()[0];
        if !b"sdfebxXo".contains(&kind) {
            // Go shows the first byte as a character.
            return Err(format!("unrecognized formatting clause \"{}\"", kind as char));
        }
        Ok((Clause { kind, precision }, &rest[1..]))
    }

    fn format(&self, run: &mut Run<'_>, value: &Val<'_>) -> Text {
        match self.kind {
            b's' => string(run, value),
            b'd' => decimal(value),
            b'f' => fixed(run, value, self.precision.unwrap_or(DEFAULT_PRECISION)),
            b'e' => scientific(run, value, self.precision.unwrap_or(DEFAULT_PRECISION)),
            b'b' => binary(value),
            b'o' => octal(value),
            _ => hexadecimal(run, value, self.kind == b'X'),
        }
    }
}

fn string(run: &mut Run<'_>, value: &Val<'_>) -> Text {
    match value {
        Val::List(list) => list_text(run, list),
        Val::Map(map) => map_text(run, map),
        Val::Null => Ok("null".to_owned()),
        Val::Type(name) => Ok(name.as_str().to_owned()),
        Val::Int(_)
        | Val::Uint(_)
        | Val::Double(_)
        | Val::Bool(_)
        | Val::Str(_)
        | Val::Timestamp(_)
        | Val::Bytes(_)
        | Val::Duration(_) => match convert::convert(value, Target::String) {
            Some(Ok(Val::Str(text))) => Ok(text.as_str().to_owned()),
            Some(Err(failure)) => {
                fail!("could not convert argument {} to string", quote(&failure.to_string()))
            }
            _ => fail!("could not convert argument to string"),
        },
        other => fail!(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
             timestamps, was given {}",
            other.type_name()
        ),
    }
}

fn decimal(value: &Val<'_>) -> Text {
    match value {
        Val::Int(number) => Ok(number.to_string()),
        Val::Uint(number) => Ok(number.to_string()),
        other => fail!("decimal clause can only be used on integers, was given {}", other.type_name()),
    }
}

/// The number of a clause for doubles; the names of what is no number are numbers, too.
fn double(value: &Val<'_>) -> Option<f64> {
    match value {
        // A negative zero has no sign.
        Val::Double(number) => Some(*number + 0.0),
        Val::Str(text) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => {
            gotext::parse_float(text)
        }
        _ => None,
    }
}

fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        return Some("NaN");
    }
    number.is_infinite().then_some(if number > 0.0 { "∞" } else { "-∞" })
}

fn fixed(run: &mut Run<'_>, value: &Val<'_>, precision: usize) -> Text {
    let Some(number) = double(value) else {
        return fail!("fixed-point clause can only be used on doubles, was given {}", value.type_name());
    };
    if let Some(text) = special(number) {
        return Ok(text.to_owned());
    }
    let precision = precision.min(MAX_PRECISION);
    run.reserve(2 * (precision as u64 + 400))?;
    Ok(grouped(&format!("{number:.precision$}")))
}

/// Commas between groups of three digits before the point.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, decimals) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::with_capacity(text.len() + whole.len() / 3);
    out.push_str(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(decimals);
    out
}

/// cel-go passes the precision as a width, so that there are always six decimals.
fn scientific(run: &mut Run<'_>, value: &Val<'_>, width: usize) -> Text {
    let Some(number) = double(value) else {
        return fail!("scientific clause can only be used on doubles, was given {}", value.type_name());
    };
    let width = width.min(MAX_PRECISION);
    run.reserve(4 * width as u64 + 64)?;
    let text = special(number).map_or_else(|| scientific_text(number), str::to_owned);
    let padding = width.saturating_sub(text.chars().count());
    Ok(format!("{}{text}", " ".repeat(padding)))
}

fn scientific_text(number: f64) -> String {
    let text = format!("{number:.DEFAULT_PRECISION$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(("", exponent), |digits| ("⁻", digits));
    let superscript = |digit: char| match digit {
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    };
    let exponent: String = format!("{digits:0>2}").chars().map(superscript).collect();
    format!("{mantissa}×10{sign}{exponent}")
}

fn binary(value: &Val<'_>) -> Text {
    Ok(match value {
        Val::Int(number) => signed(*number, |magnitude| format!("{magnitude:b}")),
        Val::Uint(number) => format!("{number:b}"),
        Val::Bool(truth) => u8::from(*truth).to_string(),
        other => {
            return fail!(
                "only integers and bools can be formatted as binary, was given {}",
                other.type_name()
            );
        }
    })
}

fn octal(value: &Val<'_>) -> Text {
    Ok(match value {
        Val::Int(number) => signed(*number, |magnitude| format!("{magnitude:o}")),
        Val::Uint(number) => format!("{number:o}"),
        other => return fail!("octal clause can only be used on integers, was given {}", other.type_name()),
    })
}

fn signed(number: i64, print: impl Fn(u64) -> String) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, print(number.unsigned_abs()))
}

fn hexadecimal(run: &mut Run<'_>, value: &Val<'_>, upper: bool) -> Text {
    let bytes: &[u8] = match value {
        Val::Int(number) if upper => return Ok(signed(*number, |magnitude| format!("{magnitude:X}"))),
        Val::Int(number) => return Ok(signed(*number, |magnitude| format!("{magnitude:x}"))),
        Val::Uint(number) if upper => return Ok(format!("{number:X}")),
        Val::Uint(number) => return Ok(format!("{number:x}")),
        Val::Str(text) => text.as_bytes(),
        Val::Bytes(bytes) => bytes,
        other => {
            let name = other.type_name();
            return fail!(
                "only integers, byte buffers, and strings can be formatted as hex, was given {name}"
            );
        }
    };
    run.reserve(2 * bytes.len() as u64)?;
    let digits = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let both = bytes.iter().flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
    Ok(both.map(char::from).collect())
}

/// A value inside of a list or map, as CEL writes it.
fn nested(run: &mut Run<'_>, value: &Val<'_>) -> Text {
    Ok(match value {
        Val::Int(_) | Val::Uint(_) => decimal(value)?,
        Val::Str(text) => quote(text),
        Val::Bytes(_) => format!("b{}", quote(&string(run, value)?)),
        Val::Bool(_) | Val::Null | Val::Type(_) => string(run, value)?,
        Val::Timestamp(_) => format!("timestamp({})", quote(&string(run, value)?)),
        Val::Duration(_) => format!("duration({})", quote(&string(run, value)?)),
        Val::List(list) => list_text(run, list)?,
        Val::Map(map) => map_text(run, map)?,
        Val::Double(number) if number.is_finite() => format!("{number:.DEFAULT_PRECISION$}"),
        Val::Double(number) => quote(&gotext::float_f(*number)),
        other => return fail!("no formatting function for {}", other.type_name()),
    })
}

fn list_text(run: &mut Run<'_>, list: &List<'_>) -> Text {
    let mut out = String::from("[");
    for (position, item) in list.iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        let text = nested(run, &item?)?;
        run.reserve(text.len() as u64 + 2)?;
        out.push_str(&text);
    }
    out.push(']');
    Ok(out)
}

fn map_text(run: &mut Run<'_>, map: &MapVal<'_>) -> Text {
    let mut entries = Vec::new();
    for index in 0..map.len() {
        let Some((key, value)) = map.entry(index) else { continue };
        if !matches!(key, Val::Str(_) | Val::Bool(_) | Val::Int(_) | Val::Uint(_)) {
            return fail!("no formatting function for map key of type {}", key.type_name());
        }
        let key = nested(run, &key)?;
        let value = nested(run, &value?)?;
        run.reserve((key.len() + value.len()) as u64 + 64)?;
        entries.push((key, value));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}
