//! Parser of command lines, which does the same as upstream's (pflag).

use std::collections::{BTreeMap, BTreeSet};

use super::{Face, Flag, Flags, Kind, Status, Value};
use crate::error::Error;

/// Parses the arguments after the name of the program.
///
/// `--name=value`, `--name value` and, for booleans, `--name`; `-v3`, `-v=3` and `-v 3`; underscores count as dashes;
/// `--` ends the flags.
pub fn parse(face: Face, arguments: &[String]) -> Result<Flags, Error> {
    let mut reading = Reading::new(face);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut next = || rest.next().map(String::as_str);
        match argument.as_str() {
            "--" => {
                reading.flags.arguments.extend(rest.cloned());
                break;
            }
            long if long.starts_with("--") => reading.long(long, next)?,
            short if short.len() > 1 && short.starts_with('-') => reading.short(&short[1..], &mut next)?,
            other => reading.flags.arguments.push(other.to_owned()),
        }
    }
    Ok(reading.flags)
}

struct Reading {
    table: BTreeMap<&'static str, &'static Flag>,
    flags: Flags,
}

impl Reading {
    fn new(face: Face) -> Reading {
        let table: BTreeMap<_, _> =
            face.sections().flat_map(|(_, flags)| flags).map(|flag| (flag.name, flag)).collect();
        let values = table.values().map(|flag| (flag.name, default_of(flag))).collect();
        let flags = Flags { face, values, set: BTreeSet::new(), notices: Vec::new(), arguments: Vec::new() };
        Reading { table, flags }
    }

    fn long<'a>(&mut self, argument: &'a str, next: impl FnOnce() -> Option<&'a str>) -> Result<(), Error> {
        let body = &argument[2..];
        if body.starts_with(['-', '=']) {
            return Err(Error::BadFlagSyntax { argument: argument.to_owned() });
        }
        let (typed, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        let Some(&flag) = self.table.get(typed.replace('_', "-").as_str()) else {
            return Err(Error::UnknownFlag { name: typed.to_owned() });
        };
        let value = match value.or_else(|| alone(flag)).or_else(next) {
            Some(value) => value,
            None => {
                return Err(Error::MissingArgument { argument: argument.to_owned() });
            }
        };
        self.set(flag, value)
    }

    /// `letters` is what follows the dash: a cluster of booleans, the last of which may be a flag with a value.
    fn short<'a>(
        &mut self,
        letters: &'a str,
        next: &mut dyn FnMut() -> Option<&'a str>,
    ) -> Result<(), Error> {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            let Some(&flag) = self.table.values().find(|flag| flag.short == Some(letter)) else {
                return Err(Error::UnknownShorthand { letter, letters: rest.to_owned() });
            };
            let after = &rest[letter.len_utf8()..];
            let value = match after.strip_prefix('=') {
                Some(value) if !value.is_empty() => value,
                _ => match alone(flag) {
                    Some(value) => {
                        self.set(flag, value)?;
                        rest = after;
                        continue;
                    }
                    None if !after.is_empty() => after,
                    None => next().ok_or_else(|| Error::MissingShorthandArgument {
                        letter,
                        letters: rest.to_owned(),
                    })?,
                },
            };
            return self.set(flag, value);
        }
        Ok(())
    }

    fn set(&mut self, flag: &'static Flag, text: &str) -> Result<(), Error> {
        let value = Value::read(flag.kind, text).map_err(|reason| {
            let name = match flag.short {
                Some(letter) => format!("-{letter}, --{}", flag.name),
                None => format!("--{}", flag.name),
            };
            Error::InvalidArgument { value: text.to_owned(), flag: name, reason }
        })?;
        if self.flags.set.insert(flag.name) {
            self.flags.values.insert(flag.name, value);
        } else if let Some(earlier) = self.flags.values.get_mut(flag.name) {
            earlier.add(value);
        }
        if let Status::Deprecated(message) = flag.status {
            self.flags.notices.push(format!("Flag --{} has been deprecated, {message}", flag.name));
        }
        Ok(())
    }
}

/// The value of a flag without an argument.
fn alone(flag: &Flag) -> Option<&'static str> {
    matches!(flag.kind, Kind::Bool | Kind::Version).then_some("true")
}

fn default_of(flag: &Flag) -> Value {
    match flag.default {
        "" => Value::zero(flag.kind),
        text => Value::read(flag.kind, text).expect("a test reads every default"),
    }
}
