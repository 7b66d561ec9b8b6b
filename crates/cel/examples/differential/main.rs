//! Differential run: generated and changed expressions on changed data, asked of cel-go and of us.
//!
//! `cargo xtask cel differential N` builds the oracle and runs this. Every [`ROUND`] expressions share an environment
//! with a changed schema, every [`BATCH`] of them share changed data. Compared are errors of the checker, type, estimate,
//! value or error, and run-time cost.

mod answers;
#[path = "../../tests/common/shared.rs"]
mod common;
mod data;
mod exceptions;
mod generate;
mod golden;
mod literals;
mod mutate;
mod oracle;
mod random;

use std::collections::BTreeMap;
use std::error::Error;

use answers::Answers;
use common::engine::{ENVIRONMENT, Engine};
use common::values;
use exceptions::Exceptions;
use generate::Generator;
use oracle::Oracle;
use random::Random;
use serde_json::{Value, json};

/// Expressions per environment.
const ROUND: usize = 2_000;
/// Expressions per set of data.
const BATCH: usize = 50;
/// Expressions between two lines of progress.
const PROGRESS: usize = 10_000;
/// Maps have no order upstream: a question whose answer differs is asked so often again.
const AGAIN: usize = 80;
/// Longer expressions are not asked.
const LONGEST: usize = 1_500;

const INPUT: &str = include_str!("../../testdata/evaluation_input.json");
const TYPED_INPUT: &str = include_str!("../../testdata/differential_input.json");
const GOLDEN: &str = include_str!("../../testdata/golden.jsonl");
const EVALUATION: &str = include_str!("../../testdata/evaluation.jsonl");

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["compare", oracle, cases, seed] => Differential::new(oracle, seed.parse()?)?.compare(cases.parse()?),
        ["record", oracle, cases, seed] => Differential::new(oracle, seed.parse()?)?.record(cases.parse()?),
        ["replay", oracle, file] => Differential::new(oracle, 1)?.replay(&std::fs::read_to_string(file)?),
        ["golden", oracle, folder] => golden::regenerate(&mut Oracle::start(oracle)?, folder),
        _ => {
            Err("differential compare|record ORACLE CASES SEED, replay ORACLE FILE, or golden ORACLE FOLDER"
                .into())
        }
    }
}

struct Differential {
    oracle: Oracle,
    random: Random,
    answers: Answers,
    exceptions: Exceptions,
    seeds: Vec<String>,
    counts: BTreeMap<String, usize>,
}

/// Expressions that share an environment.
struct Round<'r> {
    engine: &'r Engine,
    environment: &'r Value,
    /// Whether the oracle knows the environment.
    is_defined: bool,
}

/// Expressions with their data.
struct Batch {
    input: Value,
    expressions: Vec<String>,
}

impl Differential {
    fn new(oracle: &str, seed: u64) -> Result<Self, Box<dyn Error>> {
        let expression = |line: &str| -> Option<String> {
            Some(serde_json::from_str::<Value>(line).ok()?["expr"].as_str()?.to_owned())
        };
        let exceptions = Exceptions::read();
        let seeds = GOLDEN
            .lines()
            .chain(EVALUATION.lines())
            .filter_map(expression)
            .filter(|expression| expression.len() < 300 && exceptions.may_ask(expression))
            .collect();
        Ok(Self {
            oracle: Oracle::start(oracle)?,
            random: Random::new(seed),
            answers: Answers::of(seed)?,
            exceptions,
            seeds,
            counts: BTreeMap::new(),
        })
    }

    fn compare(mut self, cases: usize) -> Result<(), Box<dyn Error>> {
        let mut different = 0;
        let mut done = 0;
        for _ in 0..cases.div_ceil(ROUND) {
            let environment = self.environment()?;
            let engine = Engine::of(&environment);
            let mut generator = Generator::new(&engine.env, &paths(&environment));
            let mut round = Round { engine: &engine, environment: &environment, is_defined: false };
            for _ in 0..ROUND / BATCH {
                let batch = self.batch(&mut generator)?;
                let questions = questions(&batch);
                let known = self.answers.next(&environment, &questions)?;
                // Answers that are kept need no environment, unless one of them differs.
                if known.is_none() {
                    self.define_once(&mut round)?;
                }
                let answers = match known {
                    Some(answers) => answers,
                    None => {
                        let answers = self.oracle.ask(&questions)?;
                        self.answers.keep(&environment, &questions, &answers)?;
                        answers
                    }
                };
                different += self.compare_batch(&mut round, &batch, answers)?;
                done += batch.expressions.len();
                if done.is_multiple_of(PROGRESS) {
                    eprintln!("{done} of {cases} compared, {different} differ");
                }
            }
        }
        self.finish(different)
    }

    /// Compares the lines that `compare` printed again.
    fn replay(mut self, lines: &str) -> Result<(), Box<dyn Error>> {
        let mut different = 0;
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line)?;
            let environment = line["environment"].clone();
            let expression = line["expr"].as_str().ok_or("a line without an expression")?.to_owned();
            let batch = Batch { input: line["input"].clone(), expressions: vec![expression] };
            self.define(&environment)?;
            let answers = self.oracle.ask(&questions(&batch))?;
            let engine = Engine::of(&environment);
            let mut round = Round { engine: &engine, environment: &environment, is_defined: true };
            different += self.compare_batch(&mut round, &batch, answers)?;
        }
        self.finish(different)
    }

    fn finish(self, different: usize) -> Result<(), Box<dyn Error>> {
        for (name, count) in &self.counts {
            eprintln!("{count:>9} {name}");
        }
        if different > 0 { Err(format!("{different} answers differ").into()) } else { Ok(()) }
    }

    /// Prints environments, data, expressions and answers, which `tests/differential.rs` compares.
    fn record(mut self, cases: usize) -> Result<(), Box<dyn Error>> {
        let environment = self.environment()?;
        let engine = Engine::of(&environment);
        let mut generator = Generator::new(&engine.env, &paths(&environment));
        self.define(&environment)?;
        println!("{}", json!({"environment": environment}));
        for _ in 0..cases.div_ceil(BATCH) {
            let batch = self.batch(&mut generator)?;
            println!("{}", json!({"input": batch.input}));
            let input = engine.input(&batch.input);
            let answers = self.oracle.ask(&questions(&batch))?;
            for (expression, answer) in batch.expressions.iter().zip(answers) {
                // What depends on the order of maps is not recorded.
                let is_equal = values::sorted(&engine.answer(&input, expression)) == values::sorted(&answer);
                if is_equal && answer.to_string().len() < LONGEST {
                    println!("{}", json!({"expr": expression, "answer": answer}));
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, name: &str) {
        *self.counts.entry(name.to_owned()).or_default() += 1;
    }

    /// The environment of the golden data with a changed schema.
    fn environment(&mut self) -> Result<Value, Box<dyn Error>> {
        let mut environment: Value = serde_json::from_str(ENVIRONMENT)?;
        environment["schema"] = data::changed_schema(&environment["schema"], &mut self.random);
        environment["oldSelf"] = json!(*self.random.pick(&["value", "optional"]));
        environment["bind"] = json!(true);
        Ok(environment)
    }

    fn define(&mut self, environment: &Value) -> Result<(), Box<dyn Error>> {
        let mut question = environment.clone();
        question["expr"] = json!("1");
        let answers = self.oracle.ask(&[question])?;
        match answers.first().and_then(|answer| answer.get("panic")) {
            Some(problem) => Err(format!("the oracle refuses the environment: {problem}").into()),
            None => Ok(()),
        }
    }

    fn define_once(&mut self, round: &mut Round<'_>) -> Result<(), Box<dyn Error>> {
        if std::mem::replace(&mut round.is_defined, true) { Ok(()) } else { self.define(round.environment) }
    }

    fn batch(&mut self, generator: &mut Generator<'_>) -> Result<Batch, Box<dyn Error>> {
        let mut input: Value = serde_json::from_str(INPUT)?;
        let typed: Value = serde_json::from_str(TYPED_INPUT)?;
        if let (Some(all), Some(more)) = (input.as_object_mut(), typed.as_object()) {
            all.extend(more.clone());
            let old_self = data::changed(&all["self"], true, &mut self.random);
            let is_absent = self.random.one_in(4);
            all.insert("oldSelf".to_owned(), if is_absent { Value::Null } else { old_self });
        }
        let input = data::changed(&input, false, &mut self.random);
        let mut expressions = Vec::new();
        while expressions.len() < BATCH {
            let expression = self.expression(generator);
            if expression.len() <= LONGEST && self.exceptions.may_ask(&expression) && !is_bomb(&expression) {
                expressions.push(expression);
            }
        }
        Ok(Batch { input, expressions })
    }

    fn expression(&mut self, generator: &mut Generator<'_>) -> String {
        let random = &mut self.random;
        match random.below(20) {
            0..=3 => {
                let seed = random.pick(&self.seeds).clone();
                mutate::changed(&seed, &self.seeds, random)
            }
            4..=6 => {
                let [a, b, c] = [0; 3].map(|_| {
                    if random.one_in(2) { generator.any(random) } else { random.pick(&self.seeds).clone() }
                });
                mutate::combined([&a, &b, &c], random)
            }
            7 => mutate::changed(&generator.any(random), &self.seeds, random),
            _ => generator.any(random),
        }
    }

    /// How many answers differ. Prints them as lines of JSON.
    fn compare_batch(
        &mut self,
        round: &mut Round<'_>,
        batch: &Batch,
        answers: Vec<Value>,
    ) -> Result<usize, Box<dyn Error>> {
        let Round { engine, environment, .. } = *round;
        let input = engine.input(&batch.input);
        let mut different = 0;
        for (expression, expected) in batch.expressions.iter().zip(answers) {
            if let Some(panic) = expected.get("panic") {
                // The oracle panics where kube-apiserver would; there is no answer that could be compared.
                self.count(&format!("panic of upstream: {}", outline(panic)));
                continue;
            }
            let found = values::sorted(&engine.answer(&input, expression));
            if found == values::sorted(&expected) {
                self.count(kind(&expected));
                continue;
            }
            if let Some(reason) = self.exceptions.reason(expression, &expected, &found) {
                let reason = format!("listed: {reason}");
                self.count(&reason);
                continue;
            }
            self.define_once(round)?;
            let mut again = json!({"same": true, "expr": expression, "input": batch.input});
            let mut questions = vec![again.clone()];
            again["input"] = Value::Null;
            again["keep"] = json!(true);
            questions.resize(AGAIN, again);
            let answers: Vec<Value> = self.oracle.ask(&questions)?.iter().map(values::sorted).collect();
            if answers.contains(&found) {
                self.count("depend on the order of maps");
                continue;
            }
            let stable = answers.iter().all(|answer| *answer == answers[0]);
            self.count(if stable { "DIFFERENT" } else { "DIFFERENT, and unstable upstream" });
            different += 1;
            println!(
                "{}",
                json!({"expr": expression, "expected": expected, "found": found, "stable": stable,
                       "input": batch.input, "environment": environment})
            );
        }
        Ok(different)
    }
}

/// The questions of a batch; the first one brings the data.
fn questions(batch: &Batch) -> Vec<Value> {
    let mut questions = Vec::new();
    for (position, expression) in batch.expressions.iter().enumerate() {
        questions.push(match position {
            0 => json!({"same": true, "expr": expression, "input": batch.input}),
            _ => json!({"same": true, "expr": expression, "keep": true}),
        });
    }
    questions
}

fn kind(answer: &Value) -> &'static str {
    for (member, name) in [
        ("issues", "equal: refused by the checker"),
        ("program", "equal: refused by the planner"),
        ("error", "equal: an error when evaluated"),
        ("value", "equal: a value"),
    ] {
        if answer.get(member).is_some() {
            return name;
        }
    }
    "equal: nothing"
}

/// The text of a panic without what is special about its expression.
fn outline(panic: &Value) -> String {
    panic.as_str().unwrap_or_default().chars().take(60).collect()
}

/// Upstream builds lists of numbers before it looks at their cost, and would need all memory.
fn is_bomb(expression: &str) -> bool {
    let small = |rest: &str| rest.split_once(')').is_some_and(|(number, _)| number.parse::<u16>().is_ok());
    expression.split("range").skip(1).any(|rest| !rest.strip_prefix('(').is_some_and(small))
}

/// Expressions that name data: variables, properties of `self` and a few deeper ones.
fn paths(environment: &Value) -> Vec<String> {
    let mut paths: Vec<String> =
        environment["vars"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    for (name, _) in environment["schema"]["properties"].as_object().into_iter().flatten() {
        let Some(escaped) = keelson_cel::escape::escape(name) else { continue };
        paths.push(format!("self.{escaped}"));
        paths.push(format!("oldSelf.{escaped}"));
        paths.push(format!("oldSelf.?{escaped}"));
    }
    let deeper = "self oldSelf object.spec.containers object.spec.replicas object.metadata.labels object.metadata.name \
                  object.spec.containers[0].image request.userInfo.groups claims.groups claims.sub params.x d.b d.b[1] d.a d.s \
                  self.nested.spec self.nested.spec.replicas self.unknown.a self.embedded.kind self.embedded.metadata.name \
                  self.objs[0] self.objs[1].k self.mapobj['o'] self.mapobj['o'].a m['a'] mi.b l[0] o.value() os.value()";
    paths.extend(deeper.split_whitespace().map(str::to_owned));
    paths
}
