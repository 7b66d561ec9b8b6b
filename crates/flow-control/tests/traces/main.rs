//! Fair queuing compared with upstream: recorded traces lead to the states of upstream's queue set.

mod replay;

use serde_json::Value;

/// Each line is `{"trace": …, "states": [...]}`; `cargo run --example traces -- record` wrote them.
const RECORDED: &str = include_str!("../../testdata/traces.jsonl");

#[test]
fn recorded_traces_lead_to_upstreams_states() {
    let mut traces = 0;
    for line in RECORDED.lines() {
        let recorded: Value = serde_json::from_str(line).expect("a line of JSON");
        let expected: Vec<&str> =
            recorded["states"].as_array().expect("states").iter().filter_map(Value::as_str).collect();
        let states = replay::states(&recorded["trace"]);
        for (number, (state, expected)) in states.iter().zip(&expected).enumerate() {
            assert_eq!(state, expected, "trace {traces}, step {number}");
        }
        assert_eq!(states.len(), expected.len());
        traces += 1;
    }
    assert!(traces >= 200, "{traces} traces were recorded");
}

#[test]
fn a_seed_names_a_trace() {
    assert_eq!(replay::random_trace(7, 50), replay::random_trace(7, 50));
    assert_ne!(replay::random_trace(7, 50), replay::random_trace(8, 50));
}
