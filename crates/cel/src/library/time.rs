//! Accessors of timestamps and durations: `getFullYear`, `getHours` and the others.

use super::mismatch;
use crate::fail::Outcome;
use crate::program::{Function, Site};
use crate::run::Run;
use crate::value::Val;

pub(super) fn find(function: &str, count: usize) -> Option<Function> {
    let is_accessor = matches!(
        function,
        "getFullYear"
            | "getMonth"
            | "getDayOfYear"
            | "getDayOfMonth"
            | "getDate"
            | "getDayOfWeek"
            | "getHours"
            | "getMinutes"
            | "getSeconds"
            | "getMilliseconds"
    );
    (is_accessor && (1..=2).contains(&count)).then_some(access as Function)
}

fn access<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (time, offset) = match args {
        [Val::Timestamp(time)] => (time, 0),
        [Val::Timestamp(time), Val::Str(zone)] => (time, time.offset_in(zone)?),
        [Val::Duration(nanos)] => return access_duration(site, *nanos, args),
        _ => return mismatch(site, args),
    };
    let civil = time.civil(offset);
    let number = match site.function.as_str() {
        "getFullYear" => civil.year,
        "getMonth" => i64::from(civil.month) - 1,
        "getDayOfYear" => i64::from(civil.day_of_year),
        "getDayOfMonth" => i64::from(civil.day) - 1,
        "getDate" => i64::from(civil.day),
        "getDayOfWeek" => i64::from(civil.weekday),
        "getHours" => i64::from(civil.second_of_day / 3600),
        "getMinutes" => i64::from(civil.second_of_day / 60 % 60),
        "getSeconds" => i64::from(civil.second_of_day % 60),
        _ => i64::from(time.nanos / 1_000_000),
    };
    Ok(Val::Int(number))
}

fn access_duration<'a>(site: &Site, nanos: i64, args: &[Val<'a>]) -> Outcome<'a> {
    Ok(Val::Int(match site.function.as_str() {
        "getHours" => nanos / 3_600_000_000_000,
        "getMinutes" => nanos / 60_000_000_000,
        "getSeconds" => nanos / 1_000_000_000,
        "getMilliseconds" => nanos / 1_000_000,
        _ => return mismatch(site, args),
    }))
}
