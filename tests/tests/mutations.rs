//! Mutation tests of all parsers of client input: small documents, changed at random, thousands of times. The
//! seed is fixed; `fuzz/` searches further with the same checks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use keelson_codec::{cbor, json, protobuf};
use keelson_schema::Schema;

#[path = "../../fuzz/checks.rs"]
mod checks;

const ROUNDS: usize = 8000;

const OBJECTS: [&str; 3] = [
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"},"creationTimestamp":"2024-05-06T07:08:09Z"},
       "spec":{"containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80}],
       "resources":{"limits":{"cpu":"100m","memory":"1Gi"}},"livenessProbe":{"httpGet":{"port":"http"}}}],
       "terminationGracePeriodSeconds":30}}"#,
    r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"k":"AAECAw==","l":""},"type":"Opaque"}"#,
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":3,
       "strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}},"paused":true}}"#,
];

const JSON: [&str; 4] = [
    r#"{"a":[1,-2.5e3,true,false,null,"\u00e9\ud83d\ude00\n"],"b":{"c":{},"d":[]}}"#,
    "  [ 0 , 1e999 , 12345678901234567890 ]  ",
    r#"{"a":1,"a":2,"\ud800":"\udc00"}"#,
    r#""text""#,
];

const YAML: [&str; 6] = [
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {x: 'y', \"z\": w}\ndata:\n  k: |\n    line\n    line\n  l: >-\n    folded\n",
    "a: &a [1, 2.5, ~, yes, 0x1f, 1_000, .inf, 2024-05-06]\nb: *a\n<<: {c: d}\n",
    "- !!str 1\n- !!binary AAE=\n- ? complex\n  : value\n",
    "%YAML 1.1\n---\na: b\n...\n",
    "a: \"\\x41\\u00e9\\\n  b\"\n# comment\nb: 'it''s'\n",
    "{a: [b, {c: d}], e: f}",
];

const SELECTORS: [&str; 5] = [
    "a=b,c!=d,e in (f, g),h notin (i),j,!k",
    "example.com/x==y",
    "a>1,b<2",
    "metadata.name=x,status.phase!=Running",
    r"a=b\,c\=d,",
];

const JSON_PATCHES: [&str; 3] = [
    r#"[{"op":"add","path":"/metadata/labels/x~1y","value":"1"},{"op":"remove","path":"/spec/replicas"}]"#,
    r#"[{"op":"test","path":"/kind","value":"Deployment"},{"op":"move","from":"/spec/template/spec/containers/0","path":"/spec/x"}]"#,
    r#"[{"op":"copy","from":"/metadata/finalizers/0","path":"/metadata/finalizers/-"},{"op":"replace","path":"","value":{}}]"#,
];

const STRATEGIC_PATCHES: [&str; 4] = [
    r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"},{"name":"e","image":"j"}]}}}}"#,
    r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["z"],"$setElementOrder/finalizers":["x/y"],"labels":{"a":null}}}"#,
    r#"{"spec":{"$retainKeys":["replicas"],"replicas":2,"template":{"$patch":"replace"}}}"#,
    r#"{"spec":{"template":{"spec":{"$setElementOrder/volumes":[{"name":"v"}],"volumes":[{"name":"v","emptyDir":null}]}}}}"#,
];

#[test]
fn json_is_read_or_refused() {
    run(checks::json_read, &corpus(&[&OBJECTS, &JSON]));
}

#[test]
fn yaml_is_read_or_refused() {
    run(checks::yaml_read, &corpus(&[&OBJECTS, &YAML]));
}

#[test]
fn protobuf_is_read_or_refused() {
    let samples = objects().map(|(value, api_version, kind)| {
        protobuf::encode(&value, &api_version, &kind).expect("a message").to_vec()
    });
    let messages = objects().map(|(value, api_version, kind)| {
        protobuf::write(&value, schema(&api_version, &kind).root()).expect("a message").to_vec()
    });
    run(checks::protobuf_read, &[samples, messages].concat());
}

#[test]
fn cbor_is_read_or_refused() {
    let samples = objects().map(|(value, api_version, kind)| {
        let mut out = cbor::SELF_DESCRIBED.to_vec();
        cbor::write_as(&value, schema(&api_version, &kind).root(), &mut out);
        out
    });
    let odd: &[&[u8]] = &[
        b"\xbf\x61a\x9f\x01\x20\xf9\x3e\x00\xff\x5f\x41b\x41c\xff\x7f\x61d\xff\xff",
        b"\xa2\x41a\xc0\x74\x32\x30\x30\x36-01-02T15:04:05Z\x41b\xc1\x1a\x65\x00\x00\x00",
        b"\xd9\xd9\xf7\xd6\x82\x42\x00\x01\xd7\x41\xff",
        b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    let odd: Vec<Vec<u8>> = odd.iter().map(|it| it.to_vec()).collect();
    run(checks::cbor_read, &[&samples[..], &odd].concat());
}

#[test]
fn selectors_are_read_or_refused() {
    run(checks::selectors, &corpus(&[&SELECTORS]));
}

#[test]
fn json_patches_are_applied_or_refused() {
    run(checks::json_patch, &corpus(&[&JSON_PATCHES]));
}

#[test]
fn strategic_patches_are_merged_or_refused() {
    run(checks::strategic_merge, &corpus(&[&STRATEGIC_PATCHES, &OBJECTS]));
}

fn corpus(texts: &[&[&str]]) -> Vec<Vec<u8>> {
    texts.iter().flat_map(|it| it.iter()).map(|it| it.as_bytes().to_vec()).collect()
}

fn schema(api_version: &str, kind: &str) -> Schema {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Schema::builtin(group, version, kind).expect("built in")
}

/// The objects as trees of their kind.
fn objects() -> [(keelson_object::Value, String, String); 3] {
    OBJECTS.map(|text| {
        let mut value = json::read(text.as_bytes()).expect("JSON").value;
        let name = |key| value.as_map().and_then(|it| it.str(key)).expect("an object").to_owned();
        let (api_version, kind) = (name("apiVersion"), name("kind"));
        schema(&api_version, &kind).conform(&mut value).expect("of its kind");
        (value, api_version, kind)
    })
}

/// Feeds the samples as they are, cut off everywhere, and changed at random.
#[track_caller]
fn run(check: fn(&[u8]), samples: &[Vec<u8>]) {
    let checked = |data: &[u8]| {
        if catch_unwind(AssertUnwindSafe(|| check(data))).is_err() {
            panic!("this is too much: {}", data.escape_ascii());
        }
    };
    for sample in samples {
        (0..=sample.len()).for_each(|end| checked(&sample[..end]));
    }
    let mut random = Random(0x6b65_656c_736f_6e00);
    for _ in 0..ROUNDS {
        let mut data = samples[random.below(samples.len())].clone();
        for _ in 0..=random.below(4) {
            mutate(&mut data, samples, &mut random);
        }
        checked(&data);
    }
}

fn mutate(data: &mut Vec<u8>, samples: &[Vec<u8>], random: &mut Random) {
    const LIKED: &[u8] = b"\x00\x01\x7f\x80\xff\x1b\x5f\x9f\xbf{}[]\",:\\0-e \n\t&*!%~/=()$";
    let at = random.below(data.len() + 1);
    let end = (at + random.below(9)).min(data.len());
    match random.below(8) {
        0 => data.truncate(at),
        1 => drop(data.drain(at..end)),
        2 => data.insert(at, LIKED[random.below(LIKED.len())]),
        3 if at < data.len() => data[at] = random.next() as u8,
        4 if at < data.len() => data[at] ^= 1 << random.below(8),
        5 => {
            let piece = data[at..end].to_vec();
            let times = 1 + random.below(20);
            (0..times).for_each(|_| drop(data.splice(at..at, piece.iter().copied())));
        }
        6 => {
            let other = &samples[random.below(samples.len())];
            let from = random.below(other.len() + 1);
            let to = (from + random.below(30)).min(other.len());
            data.splice(at..at, other[from..to].iter().copied());
        }
        _ if at < data.len() => data[at] = LIKED[random.below(LIKED.len())],
        _ => data.push(LIKED[random.below(LIKED.len())]),
    }
}

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
