//! Columns of a table: what `kubectl get` prints.

use std::fmt;
use std::sync::Arc;

use keelson_object::scalar::Time;
use keelson_object::{Cell, Object, SmolStr, Value};

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The heading.
    pub name: SmolStr,
    /// `string`, `integer`, `date`.
    pub kind: SmolStr,
    /// `name` for the column that names the object.
    pub format: SmolStr,
    /// The description.
    pub description: SmolStr,
    /// 0 is always shown, 1 with `-o wide`.
    pub priority: i32,
    source: Source,
}

/// Makes the cell of a column that a CustomResourceDefinition describes.
pub type CellOf = Arc<dyn Fn(&Object) -> Cell + Send + Sync>;

#[derive(Clone)]
enum Source {
    Custom(CellOf),
    Name,
    Age,
    Path(SmolStr),
    Computed(fn(&Object) -> Cell),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Custom(_) => "Custom",
            Source::Name => "Name",
            Source::Age => "Age",
            Source::Path(_) => "Path",
            Source::Computed(_) => "Computed",
        })
    }
}

impl Column {
    /// The name of the object.
    pub fn name() -> Column {
        let mut column = Column::new("Name", "string", Source::Name);
        column.format = SmolStr::new_static("name");
        column.describe("The name of the object, unique among its kind in its namespace.")
    }

    /// The age of the object.
    pub fn age() -> Column {
        Column::new("Age", "string", Source::Age).describe("How long ago the object was created.")
    }

    /// The text at a dotted path.
    pub fn text(name: &str, path: &str) -> Column {
        Column::new(name, "string", Source::Path(path.into()))
    }

    /// The number at a dotted path; 0 where there is none.
    pub fn integer(name: &str, path: &str) -> Column {
        Column::new(name, "integer", Source::Path(path.into()))
    }

    /// The result of `compute`, as text.
    pub fn computed(name: &str, compute: fn(&Object) -> Cell) -> Column {
        Column::new(name, "string", Source::Computed(compute))
    }

    /// The result of `compute`, as a number.
    pub fn counted(name: &str, compute: fn(&Object) -> Cell) -> Column {
        Column::new(name, "integer", Source::Computed(compute))
    }

    /// The result of `cell`; the type is that of a CustomResourceDefinition.
    pub fn custom(name: &str, kind: &str, cell: CellOf) -> Column {
        Column { kind: kind.into(), ..Column::new(name, "", Source::Custom(cell)) }
    }

    /// Shown with `-o wide` only.
    #[must_use]
    pub fn wide(mut self) -> Column {
        self.priority = 1;
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn describe(mut self, description: &str) -> Column {
        self.description = description.into();
        self
    }

    fn new(name: &str, kind: &'static str, source: Source) -> Column {
        let (name, kind) = (SmolStr::from(name), SmolStr::new_static(kind));
        Column { description: name.clone(), name, kind, format: SmolStr::default(), priority: 0, source }
    }

    /// The cell of this column for one object.
    pub fn cell(&self, object: &Object) -> Cell {
        match &self.source {
            Source::Name => Cell::Text(object.meta.name.clone()),
            Source::Age => Cell::Age(object.meta.creation_timestamp),
            Source::Computed(compute) => compute(object),
            Source::Custom(cell) => cell(object),
            Source::Path(path) => match object.fields.at(path) {
                Some(Value::String(text)) => Cell::Text(text.clone()),
                Some(Value::Int(number)) => Cell::Int(*number),
                Some(Value::Bool(truth)) => Cell::Bool(*truth),
                _ if self.kind == "integer" => Cell::Int(0),
                _ => Cell::Text(SmolStr::default()),
            },
        }
    }
}

/// The age of something that happened at `then`, as kubectl prints it: `5s`, `3m10s`, `2d4h`, `<unknown>`.
///
/// Upstream: apimachinery/pkg/util/duration/duration.go, HumanDuration (v1.36.4).
pub fn human_age(then: Option<Time>, now: Time) -> String {
    let Some(then) = then else { return "<unknown>".to_owned() };
    let seconds = now.unix() - then.unix();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let pair = |major: i64, unit: &str, minor: i64, small: &str| {
        if minor == 0 { format!("{major}{unit}") } else { format!("{major}{unit}{minor}{small}") }
    };
    match seconds {
        _ if seconds < 120 => format!("{seconds}s"),
        _ if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => pair(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => pair(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::human_age;

    use keelson_object::scalar::Time;

    #[track_caller]
    fn check(seconds: i64, expected: &str) {
        let then = Time::from_unix(1_000_000_000);
        assert_eq!(human_age(Some(then), Time::from_unix(1_000_000_000 + seconds)), expected);
    }

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        check(0, "0s");
        check(119, "119s");
        check(120, "2m");
        check(190, "3m10s");
        check(11 * 60, "11m");
        check(3 * 3600 + 60, "3h1m");
        check(8 * 3600, "8h");
        check(50 * 3600, "2d2h");
        check(10 * 86400, "10d");
        check(3 * 365 * 86400, "3y");
        check(-5, "<invalid>");
        assert_eq!(human_age(None, Time::from_unix(0)), "<unknown>");
    }
}
