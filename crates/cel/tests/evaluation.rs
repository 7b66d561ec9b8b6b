//! Golden data: values, errors and run-time costs of cel-go for the expressions of the golden data and more.
//! `testdata/evaluation_differences.jsonl` lists the expressions that we evaluate otherwise, each with its reason.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code)]
#[path = "common/engine.rs"]
mod common;
#[path = "common/values.rs"]
mod values;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use common::{Engine, schema};
use keelson_cel::fail::Outcome;
use keelson_cel::program::Program;
use keelson_cel::run::{Options, PER_CALL_LIMIT, Variables};
use keelson_cel::schema::Schema;
use keelson_cel::value::Val;
use keelson_object::Value as Tree;
use serde_json::{Value, json};
use values::show;

const CASES: &str = include_str!("../testdata/evaluation.jsonl");
const INPUT: &str = include_str!("../testdata/evaluation_input.json");
const DIFFERENCES: &str = include_str!("../testdata/evaluation_differences.jsonl");

struct Input {
    tree: Tree,
    schema: Schema,
}

impl Variables for Input {
    fn get<'s>(&'s self, name: &str) -> Option<Outcome<'s>> {
        let value = self.tree.as_map()?.get(name)?;
        Some(if name == "self" { Val::typed(value, &self.schema) } else { Ok(Val::json(value)) })
    }
}

fn input() -> Input {
    let environment: Value = serde_json::from_str(common::ENVIRONMENT).unwrap();
    Input {
        tree: values::tree(&serde_json::from_str(INPUT).unwrap()),
        schema: schema(&environment["schema"]),
    }
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// What we answer, in the form of the golden data.
fn answer(engine: &Engine, input: &Input, expression: &str) -> Value {
    let checked = match engine.env.compile(expression) {
        Ok(checked) => checked,
        Err(issues) => return json!({"issues": issues.to_string()}),
    };
    let program = match Program::new(&checked) {
        Ok(program) => program,
        Err(error) => return json!({"program": error.to_string()}),
    };
    let evaluated =
        program.evaluate(input, Options { cost_limit: Some(PER_CALL_LIMIT), ..Options::default() });
    match &evaluated.outcome {
        Ok(value) => json!({"value": show(value), "cost": evaluated.cost}),
        Err(failure) => json!({"error": failure.to_string(), "cost": evaluated.cost}),
    }
}

#[test]
fn values_errors_and_costs_are_upstreams() {
    let engine = Engine::new();
    let input = input();
    let reasons: HashMap<String, String> = lines(DIFFERENCES)
        .map(|line| (line["expr"].as_str().unwrap().to_owned(), line["reason"].as_str().unwrap().to_owned()))
        .collect();
    let mut wrong = Vec::new();
    for mut case in lines(CASES) {
        let expression = case.as_object_mut().unwrap().remove("expr").unwrap();
        let expression = expression.as_str().unwrap();
        let found = answer(&engine, &input, expression);
        let is_equal = values::sorted(&found) == values::sorted(&case);
        match (is_equal, reasons.get(expression)) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(reason)) => {
                wrong.push(format!("{expression}\n  is no difference any more: {reason}"))
            }
            (false, None) => wrong.push(format!("{expression}\n  expected {case}\n  found    {found}")),
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Combines expressions of the golden data at random and asks the oracle about them: `KEELSON_CEL_ORACLE` names the
/// program, `KEELSON_CEL_CASES` how many are asked, `KEELSON_CEL_SEED` where the random numbers begin.
#[test]
fn combined_expressions_get_the_same_answers() {
    let Ok(oracle) = std::env::var("KEELSON_CEL_ORACLE") else {
        eprintln!("skipped: KEELSON_CEL_ORACLE does not name the oracle program");
        return;
    };
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let cases = number("KEELSON_CEL_CASES", 2_000) as usize;
    let mut random = number("KEELSON_CEL_SEED", 1) | 1;
    let different: HashMap<String, Value> =
        lines(DIFFERENCES).map(|line| (line["expr"].as_str().unwrap().to_owned(), line)).collect();
    let seeds: Vec<String> = lines(CASES)
        .map(|case| case["expr"].as_str().unwrap().to_owned())
        .filter(|seed| seed.len() < 300 && !different.contains_key(seed))
        .collect();
    let expressions: Vec<String> = (0..cases).map(|_| combined(&seeds, &mut random)).collect();
    let (first, second) = (ask(&oracle, &expressions), ask(&oracle, &expressions));
    let (engine, input) = (Engine::new(), input());
    let mut wrong = Vec::new();
    let mut compared = 0;
    for ((expression, expected), again) in expressions.iter().zip(&first).zip(&second) {
        // Maps have no order upstream: what depends on it cannot be compared. Neither can what is refused or panics.
        let is_stable = values::sorted(expected) == values::sorted(again);
        if !is_stable || expected.get("issues").is_some() || expected.get("panic").is_some() {
            continue;
        }
        compared += 1;
        let mut expected = expected.clone();
        expected
            .as_object_mut()
            .unwrap()
            .retain(|name, _| matches!(name.as_str(), "program" | "value" | "error" | "cost"));
        let found = answer(&engine, &input, expression);
        if values::sorted(&found) != values::sorted(&expected) {
            wrong.push(format!("{expression}\n  expected {expected}\n  found    {found}"));
        }
    }
    println!("{cases} asked, {compared} compared, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

fn combined(seeds: &[String], random: &mut u64) -> String {
    let mut next = |limit: usize| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random % limit as u64) as usize
    };
    let (a, b, c) = (&seeds[next(seeds.len())], &seeds[next(seeds.len())], &seeds[next(seeds.len())]);
    match next(16) {
        0 => format!("({a}) == ({b})"),
        1 => format!("dyn({a}) == dyn({b})"),
        2 => format!("dyn({a}) < dyn({b})"),
        3 => format!("(dyn({a}) || dyn({b})) && dyn({c})"),
        4 => format!("dyn({a}) ? dyn({b}) : dyn({c})"),
        5 => format!("[dyn({a}), dyn({b})].map(zz, zz == dyn({c}))"),
        6 => format!("[1, 2].exists(zz, dyn({a}) == zz || dyn({b}))"),
        7 => format!("'%s %s'.format([{a}, {b}])"),
        8 => format!("dyn({a}) in dyn({b})"),
        9 => format!("dyn({a})[dyn({b})]"),
        10 => format!("dyn({a}) + dyn({b})"),
        11 => format!("[{a}].all(zz, yy, dyn({b}) != yy)"),
        12 => format!("optional.of({a}).orValue({b})"),
        13 => format!("has({{'k': {a}}}.k) && type({b}) == type({c})"),
        14 => format!("{{'k': dyn({a}), 'l': dyn({b})}}.transformList(kk, vv, vv == dyn({c}))"),
        _ => format!("cel.bind(zz, dyn({a}), zz == zz && dyn({b}) != zz)"),
    }
}

/// The answers of the oracle.
fn ask(oracle: &str, expressions: &[String]) -> Vec<Value> {
    let environment: Value = serde_json::from_str(common::ENVIRONMENT).unwrap();
    let input: Value = serde_json::from_str(INPUT).unwrap();
    let (read, write) = (Stdio::piped(), Stdio::piped());
    let mut child = Command::new(oracle).stdin(read).stdout(write).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let questions: Vec<String> = expressions
        .iter()
        .enumerate()
        .map(|(position, expression)| {
            let mut question = json!({"expr": expression, "input": input, "same": position > 0});
            if position == 0 {
                question["vars"] = environment["vars"].clone();
                question["schema"] = environment["schema"].clone();
                question["bind"] = json!(true);
            }
            question.to_string()
        })
        .collect();
    let writer = std::thread::spawn(move || {
        for question in questions {
            writeln!(stdin, "{question}").unwrap();
        }
    });
    let answers = BufReader::new(child.stdout.take().unwrap()).lines();
    // An answer that is nested too deeply for the JSON reader is not compared.
    let parsed =
        answers.map(|line| serde_json::from_str(&line.unwrap()).unwrap_or_else(|_| json!({"panic": "deep"})));
    let answers = parsed.collect();
    writer.join().unwrap();
    child.wait().unwrap();
    answers
}
