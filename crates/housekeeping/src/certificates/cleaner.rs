//! Requests that are done with go away after a while.

use std::time::Duration;

use keelson_object::scalar::Time;
use keelson_object::{Map, Object, SmolStr};
use keelson_registry::options::DeleteOptions;
use keelson_registry::{CatalogHandle, Error, Place, Result, operation};
use keelson_stdx::clock::Clock;

/// The interval of the cleanup.
const INTERVAL: Duration = Duration::from_secs(3600);
/// How long approved and denied requests are kept, in seconds.
const DECIDED: i64 = 3600;
/// How long pending requests are kept, in seconds.
const PENDING: i64 = 24 * 3600;

/// Runs for as long as it is polled.
pub(super) async fn run(catalog: &CatalogHandle, clock: &Clock) {
    loop {
        clock.sleep(INTERVAL).await;
        if let Err(error) = clean(catalog, clock).await {
            tracing::warn!(%error, "old requests for certificates were not deleted");
        }
    }
}

async fn clean(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(live) = catalog.load().live(super::GROUP, super::PLURAL).cloned() else { return Ok(()) };
    let context = crate::context(catalog, clock);
    let mut old: Vec<SmolStr> = Vec::new();
    for (_, frozen) in live.cache()?.fresh().await?.iter() {
        let object = live.thaw(frozen)?;
        if is_old(&object, context.now()) {
            old.push(object.meta.name);
        }
    }
    for name in old {
        let place = Place::new("", name);
        match operation::delete(&live, &context, &place, &DeleteOptions::default()).await {
            Ok(_) | Err(Error::NotFound { .. }) => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Upstream: pkg/controller/certificates/cleaner/cleaner.go, handle (v1.36.4). The expiry of certificates is
/// not checked: even one with the shortest lifetime, ten minutes, is deleted an hour after its approval like
/// the others.
fn is_old(object: &Object, now: Time) -> bool {
    let nothing = Map::new();
    let status = object.fields.map("status").unwrap_or(&nothing);
    let is_issued = status.str("certificate").is_some_and(|it| !it.is_empty());
    let older = |time: Time, seconds: i64| !time.is_zero() && now.unix() - time.unix() > seconds;
    let mut conditions = status.maps("conditions").peekable();
    if conditions.peek().is_none() {
        return object.meta.creation_timestamp.is_some_and(|it| older(it, PENDING));
    }
    conditions.any(|condition| {
        let written = condition.str("lastUpdateTime").and_then(|it| Time::parse(it).ok());
        let limit = match condition.str("type") {
            Some("Denied" | "Failed") => DECIDED,
            Some("Approved") if is_issued => DECIDED,
            Some("Approved") => PENDING,
            _ => return false,
        };
        written.is_some_and(|it| older(it, limit))
    })
}

#[cfg(test)]
mod tests {
    use keelson_object::scalar::Time;
    use keelson_object::{Map, Object, Value};

    use super::is_old;

    /// A request that is `age` seconds old, with a condition of the same age.
    #[track_caller]
    fn check(condition: &str, certificate: &str, age: i64, expected: bool) {
        let mut object = Object::default();
        object.meta.creation_timestamp = Some(Time::from_unix(1_000_000));
        let status = object.fields.map_mut("status");
        status.set("certificate", certificate);
        if !condition.is_empty() {
            let mut map = Map::new();
            map.set("type", condition);
            map.set("lastUpdateTime", Time::from_unix(1_000_000).to_string());
            status.set("conditions", Value::List(vec![Value::Map(map)]));
        }
        assert_eq!(is_old(&object, Time::from_unix(1_000_000 + age)), expected, "{condition} {age}");
    }

    #[test]
    fn what_is_decided_goes_after_an_hour_and_what_waits_after_a_day() {
        for (condition, certificate, limit) in [
            ("", "", 24 * 3600),
            ("Approved", "x", 3600),
            ("Approved", "", 24 * 3600),
            ("Denied", "", 3600),
            ("Failed", "", 3600),
        ] {
            check(condition, certificate, limit, false);
            check(condition, certificate, limit + 1, true);
        }
    }
}
