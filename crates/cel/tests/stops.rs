//! What stops an evaluation: cost, memory that costs do not cover, an interrupt, a decision that is not known.

#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

use keelson_cel::Env;
use keelson_cel::authz::{Decision, Decisions, Subject};
use keelson_cel::fail::{COST_LIMIT_EXCEEDED, Cause};
use keelson_cel::program::Program;
use keelson_cel::run::{Options, PER_CALL_LIMIT};
use keelson_cel::types::Type;
use keelson_cel::value::{Opaque, Val};

fn program(expression: &str) -> Program {
    let env = Env::stored()
        .with_variable("text", Type::String)
        .with_variable("authorizer", Type::object("kubernetes.authorization.Authorizer"));
    Program::new(&env.compile(expression).unwrap()).unwrap()
}

#[track_caller]
fn is_too_much(expression: &str, text: &str) {
    let program = program(expression);
    let variables = [("text", Val::str(text))];
    let options = Options { cost_limit: Some(PER_CALL_LIMIT), ..Options::default() };
    let evaluated = program.evaluate(&variables, options);
    assert_eq!(evaluated.outcome.unwrap_err().to_string(), COST_LIMIT_EXCEEDED, "{expression}");
}

#[test]
fn results_that_are_too_large_are_not_built() {
    let text = "x".repeat(100_000);
    is_too_much("lists.range(9223372036854775807).size() == 0", "");
    is_too_much("text.replace('', text).size() == 0", &text);
    is_too_much("lists.range(5000).map(i, text).join(text) == ''", &text);
    is_too_much("lists.range(10000).map(i, '%s%s'.format([text, text])).size() == 0", &text);
    is_too_much(
        "[lists.range(90000)].map(l, [l, l, l, l, l, l, l, l]).map(l, [l, l, l, l].flatten(3)).size() == 0",
        "",
    );
}

#[test]
fn an_interrupt_is_looked_at_every_hundred_iterations() {
    let interrupt = || true;
    let options = Options { interrupt: Some(&interrupt), ..Options::default() };
    let run = |expression: &str| {
        let program = program(expression);
        program
            .evaluate(&[("text", Val::str(""))], options)
            .outcome
            .map(|value| value.as_bool())
            .map_err(|e| e.to_string())
    };
    assert_eq!(run("lists.range(99).all(i, i >= 0)"), Ok(Some(true)));
    assert_eq!(run("lists.range(100).all(i, i >= 0)"), Err("operation interrupted".to_owned()));
}

#[test]
fn an_unknown_decision_ends_the_evaluation_until_it_is_known() {
    let program = program(
        "false || authorizer.group('apps').resource('deployments').namespace('ns').check('create').allowed()",
    );
    let variables = [("authorizer", Val::opaque(Opaque::Authorizer(Subject::User)))];
    let mut decisions = Decisions::new();
    let failure = program.evaluate(&variables, Options::default()).outcome.unwrap_err();
    let Cause::NeedsDecision(check) = failure.cause() else { panic!("{failure}") };
    assert_eq!(check.verb, "create");
    decisions.add((**check).clone(), Decision { allowed: true, ..Decision::default() });
    let options = Options { decisions: Some(&decisions), ..Options::default() };
    let evaluated = program.evaluate(&variables, options);
    assert_eq!(evaluated.outcome.unwrap().as_bool(), Some(true));
    assert_eq!(evaluated.cost, 350_005);
}
