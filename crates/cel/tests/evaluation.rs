//! Golden data: values, errors and run-time costs of cel-go for the expressions of the golden data and more.
//! `testdata/evaluation_differences.jsonl` lists the expressions that we evaluate otherwise, each with its reason.

#[allow(dead_code)]
#[path = "common/engine.rs"]
mod common;
#[path = "common/values.rs"]
mod values;

use std::collections::HashMap;

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
    let environment: Value = serde_json::from_str(common::ENVIRONMENT).unwrap();
    let engine = Engine::new();
    let input = Input {
        tree: values::tree(&serde_json::from_str(INPUT).unwrap()),
        schema: schema(&environment["schema"]),
    };
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
