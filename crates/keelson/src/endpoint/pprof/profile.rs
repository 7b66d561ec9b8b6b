//! The profile format of pprof: `perftools.profiles.Profile` in protobuf, compressed with gzip.
//!
//! ```text
//! sample ──> locations, leaf first ──> line ──> function ──> strings by their position in one table
//! ```

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

/// A profile.
pub(super) struct Profile {
    /// The start, since the epoch.
    pub(super) begun: Duration,
    pub(super) duration: Duration,
    /// The time between two samples.
    pub(super) period: Duration,
    pub(super) stacks: Vec<Stack>,
}

/// A recorded stack.
pub(super) struct Stack {
    /// The calls, innermost first.
    pub(super) calls: Vec<Call>,
    pub(super) thread: String,
    /// How often it was recorded.
    pub(super) count: i64,
}

/// A position in the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) function: String,
    /// The name of the function in the linker. Viewers do not demangle a name that differs from it.
    pub(super) symbol: String,
    pub(super) file: String,
    pub(super) line: u32,
}

impl Profile {
    /// The compressed bytes.
    pub(super) fn to_gzip(&self) -> io::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.to_message().encode_to_vec())?;
        encoder.finish()
    }

    fn to_message(&self) -> ProfileMessage {
        let mut tables = Tables::default();
        // The first string must be empty.
        tables.string("");
        let samples = tables.value_type("samples", "count");
        let cpu = tables.value_type("cpu", "nanoseconds");
        let thread = tables.string("thread");
        let period = nanos(self.period);
        let mut message = ProfileMessage {
            sample_type: vec![samples, cpu],
            time_nanos: nanos(self.begun),
            duration_nanos: nanos(self.duration),
            period_type: Some(cpu),
            period,
            ..ProfileMessage::default()
        };
        for stack in &self.stacks {
            message.sample.push(Sample {
                location_id: stack.calls.iter().map(|it| tables.location(it)).collect(),
                value: vec![stack.count, stack.count.saturating_mul(period)],
                label: vec![Label { key: thread, str: tables.string(&stack.thread) }],
            });
        }
        message.location = tables.locations;
        message.function = tables.functions;
        message.string_table = tables.strings;
        message
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// The tables to which samples refer by number.
#[derive(Default)]
struct Tables {
    strings: Vec<String>,
    string_ids: HashMap<String, i64>,
    functions: Vec<Function>,
    function_ids: HashMap<(i64, i64), u64>,
    locations: Vec<Location>,
    location_ids: HashMap<Call, u64>,
}

impl Tables {
    fn string(&mut self, text: &str) -> i64 {
        if let Some(id) = self.string_ids.get(text) {
            return *id;
        }
        let id = self.strings.len() as i64;
        self.strings.push(text.to_owned());
        self.string_ids.insert(text.to_owned(), id);
        id
    }

    fn value_type(&mut self, r#type: &str, unit: &str) -> ValueType {
        ValueType { r#type: self.string(r#type), unit: self.string(unit) }
    }

    fn function(&mut self, call: &Call) -> u64 {
        let (name, filename) = (self.string(&call.function), self.string(&call.file));
        let system_name = self.string(&call.symbol);
        let next = self.functions.len() as u64 + 1;
        let id = *self.function_ids.entry((name, filename)).or_insert(next);
        if id == next {
            self.functions.push(Function { id, name, system_name, filename });
        }
        id
    }

    fn location(&mut self, call: &Call) -> u64 {
        if let Some(id) = self.location_ids.get(call) {
            return *id;
        }
        let function_id = self.function(call);
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location { id, line: vec![Line { function_id, line: i64::from(call.line) }] });
        self.location_ids.insert(call.clone(), id);
        id
    }
}

#[derive(Clone, PartialEq, Message)]
struct ProfileMessage {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::Duration;

    use flate2::read::GzDecoder;
    use prost::Message as _;

    use super::{Call, Profile, ProfileMessage, Stack};

    fn call(function: &str, line: u32) -> Call {
        Call {
            function: function.to_owned(),
            symbol: format!("_R{function}"),
            file: "src/main.rs".to_owned(),
            line,
        }
    }

    #[test]
    fn stacks_share_their_functions_and_locations() {
        let stacks = vec![
            Stack { calls: vec![call("hash", 7), call("main", 1)], thread: "worker".to_owned(), count: 3 },
            Stack { calls: vec![call("hash", 8), call("main", 1)], thread: "worker".to_owned(), count: 1 },
        ];
        let (begun, duration) = (Duration::from_secs(5), Duration::from_secs(1));
        let bytes = Profile { begun, duration, period: Duration::from_millis(10), stacks }.to_gzip();
        let (bytes, mut plain) = (bytes.expect("no error"), Vec::new());
        GzDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("gzip");
        let profile = ProfileMessage::decode(&plain[..]).expect("a profile");
        let table = "  samples count cpu nanoseconds thread hash src/main.rs _Rhash main _Rmain worker";
        assert_eq!(format!(" {}", profile.string_table.join(" ")), table);
        assert_eq!((profile.function.len(), profile.location.len()), (2, 3));
        let samples: Vec<_> = profile.sample.iter().map(|it| (&it.location_id[..], &it.value[..])).collect();
        assert_eq!(samples, [(&[1, 2][..], &[3, 30_000_000][..]), (&[3, 2][..], &[1, 10_000_000][..])]);
        assert_eq!((profile.period, profile.duration_nanos), (10_000_000, 1_000_000_000));
    }
}
