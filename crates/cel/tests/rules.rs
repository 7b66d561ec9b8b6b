//! Rules of custom resources: the tables of upstream's validation and cost stability tests, with the values and run-time
//! costs that upstream finds on their objects. `testdata/rules_differences.jsonl` lists what we find otherwise.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code)]
#[path = "common/engine.rs"]
mod common;
#[path = "common/values.rs"]
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use common::schema;
use keelson_cel::Env;
use keelson_cel::declared::{Declared, DeclaredTypes};
use keelson_cel::fail::Outcome;
use keelson_cel::program::Program;
use keelson_cel::run::{Options, PER_CALL_LIMIT, Variables};
use keelson_cel::schema::Schema;
use keelson_cel::value::Val;
use keelson_object::Value as Tree;
use serde_json::{Value, json};
use values::show;

const RULES: &str = include_str!("../testdata/rules.jsonl");
const DIFFERENCES: &str = include_str!("../testdata/rules_differences.jsonl");

struct Input {
    tree: Tree,
    schema: Schema,
}

impl Variables for Input {
    fn get<'s>(&'s self, name: &str) -> Option<Outcome<'s>> {
        (name == "self").then(|| Val::typed(&self.tree, &self.schema))
    }
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn answer(env: &Env, input: &Input, expression: &str) -> Value {
    let checked = match env.compile(expression) {
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
fn rules_find_and_cost_what_they_do_upstream() {
    let reasons: HashMap<String, String> = lines(DIFFERENCES)
        .map(|line| (line["expr"].as_str().unwrap().to_owned(), line["reason"].as_str().unwrap().to_owned()))
        .collect();
    let mut wrong = Vec::new();
    for group in lines(RULES) {
        let input = Input { tree: values::tree(&group["self"]), schema: schema(&group["schema"]) };
        let root = Declared::of_schema(&input.schema, "selfType").unwrap();
        let types = Arc::new(DeclaredTypes::new("selfType", root));
        let env = Env::stored().with_types(types.clone()).with_variable("self", types.root.of.clone());
        for rule in group["rules"].as_array().unwrap() {
            let mut expected = rule.clone();
            expected.as_object_mut().unwrap().remove("expr");
            let expression = rule["expr"].as_str().unwrap();
            let found = answer(&env, &input, expression);
            let is_equal = values::sorted(&found) == values::sorted(&expected);
            match (is_equal, reasons.get(expression)) {
                (true, None) | (false, Some(_)) => {}
                (true, Some(reason)) => {
                    wrong.push(format!("{expression}\n  is no difference any more: {reason}"))
                }
                (false, None) => {
                    wrong.push(format!("{expression}\n  expected {expected}\n  found    {found}"))
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
