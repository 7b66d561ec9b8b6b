//! Label selectors as upstream reads, prints and applies them.

use proptest::prelude::*;

use super::{Operator, Requirement, Selector};
use crate::value::{Map, Value};

fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
    an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
    and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
    for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

#[test]
fn selectors_are_printed_sorted_by_key() {
    let check = |text: &str, expected: &str| assert_eq!(selector(text).to_string(), expected, "{text}");
    check("", "");
    check(" \t\r\n", "");
    check("x=a", "x=a");
    check("x==a", "x==a");
    check("x != a", "x!=a");
    check("x=", "x=");
    check("x=,y=1", "x=,y=1");
    check("z,y=1,x in (b, a)", "x in (a,b),y=1,z");
    check("x", "x");
    check("!x", "!x");
    check("! x", "!x");
    check("x notin (b,a,b)", "x notin (a,b)");
    check("x in ()", "x in ()");
    check("x in (,)", "x in ()");
    check("x in (a,)", "x in (,a)");
    check("x in (,a)", "x in (,a)");
    check("x in (a,,b)", "x in (,a,b)");
    check("x in (in,notin)", "x in (in,notin)");
    check("in in (in)", "in in (in)");
    check("in", "in");
    check("notin=in", "notin=in");
    check("x>5", "x>5");
    check("x in(a)", "x in (a)");
    check("\0x", "");
    check("x\0=a", "x=a");
    check("app.kubernetes.io/name=web", "app.kubernetes.io/name=web");
}

#[test]
fn mistakes_are_reported_as_upstream_reports_them() {
    let check = |text: &str, expected: &str| {
        let message = Selector::parse(text).map_err(|error| error.to_string());
        assert_eq!(message, Err(expected.to_owned()), "{text}");
    };
    check("=a", "found '=', expected: !, identifier, or 'end of string'");
    check(
        "x=a||y=b",
        &format!("unable to parse requirement: values[0][x]: Invalid value: \"a||y\": {VALUE}"),
    );
    check("x,", "found '', expected: identifier after ','");
    check("x,,y", "found ',', expected: identifier after ','");
    check("x=a\0b", "found 'b', expected: ',' or 'end of string'");
    check("x=a b", "found 'b', expected: ',' or 'end of string'");
    check("!x=a", "found '=', expected: ',' or 'end of string'");
    check("!", "unable to parse requirement: found '', expected: identifier");
    check("!!x", "unable to parse requirement: found '!', expected: identifier");
    check("x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt");
    check("x(", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt");
    check("x=(", "unable to parse requirement: found '(', expected: identifier");
    check("x===a", "unable to parse requirement: found '=', expected: identifier");
    check("x in a", "unable to parse requirement: found 'a' expected: '('");
    check("x in", "unable to parse requirement: found '' expected: '('");
    check("x in (", "unable to parse requirement: found '', expected: ',', ')' or identifier");
    check("x in (a", "unable to parse requirement: found '', expected: ',' or ')'");
    check("x in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'");
    check("x in (a,", "unable to parse requirement: found '', expected: ',', or identifier");
    check("x in (a,=)", "unable to parse requirement: found '=', expected: ',', or identifier");
    check("-x=a", &format!("unable to parse requirement: <nil>: Invalid value: \"-x\": {KEY}"));
    check(
        "x>a",
        "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be \
         an integer",
    );
    check(
        "x>",
        "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be \
         an integer",
    );
    check(
        "x in (-a,-b)",
        &format!(
            "unable to parse requirement: [values[0][x]: Invalid value: \"-a\": {VALUE}, \
             values[1][x]: Invalid value: \"-b\": {VALUE}]"
        ),
    );
}

#[test]
fn all_requirements_must_hold() {
    let lookup = |key: &str| match key {
        "app" => Some("web"),
        "size" => Some("10"),
        "empty" => Some(""),
        _ => None,
    };
    let check = |text: &str, expected: bool| assert_eq!(selector(text).matches(lookup), expected, "{text}");
    check("", true);
    check("app=web", true);
    check("app==db", false);
    check("app!=db", true);
    check("none!=db", true);
    check("none=", false);
    check("empty=", true);
    check("app in (db,web)", true);
    check("app notin (db,web)", false);
    check("none notin (db,web)", true);
    check("none in ()", false);
    check("app", true);
    check("!app", false);
    check("!none", true);
    check("size>9", true);
    check("size>10", false);
    check("size<11,app=web", true);
    check("size<11,app=db", false);
    check("app>1", false);
    check("none<1", false);
}

#[test]
fn the_required_value_of_a_label_is_known() {
    let check =
        |text: &str, expected: Option<&str>| assert_eq!(selector(text).exact("x"), expected, "{text}");
    check("x=a", Some("a"));
    check("x==a", Some("a"));
    check("x in (a)", Some("a"));
    check("x in (a,b)", None);
    check("x!=a", None);
    check("y=a", None);
    check("x,x=a", None);
}

#[test]
fn everything_and_nothing_are_different() {
    assert!(Selector::everything().matches(|_| None) && Selector::everything().is_everything());
    assert!(!Selector::nothing().matches(|_| None) && Selector::nothing().is_nothing());
    assert!(!Selector::nothing().is_everything());
    assert_eq!(Selector::nothing().to_string(), "");
    assert_eq!(Selector::from_labels([("b", "1"), ("a", "2")]).to_string(), "a=2,b=1");
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    let mut map = Map::new();
    map.set("key", key);
    map.set("operator", operator);
    map.set("values", values.iter().map(|it| Value::from(*it)).collect::<Vec<_>>());
    map.into()
}

#[test]
fn selector_objects_become_selectors() {
    let check = |expressions: Vec<Value>, expected: Result<&str, &str>| {
        let mut labels = Map::new();
        labels.set("app", "web");
        let mut map = Map::new();
        map.set("matchLabels", labels);
        map.set("matchExpressions", expressions);
        let result =
            Selector::from_label_selector(&map).map(|it| it.to_string()).map_err(|error| error.to_string());
        assert_eq!(result.as_deref().map_err(String::as_str), expected);
    };
    check(vec![], Ok("app=web"));
    check(
        vec![
            expression("d", "Exists", &[]),
            expression("c", "DoesNotExist", &[]),
            expression("b", "In", &["y", "x"]),
            expression("a", "NotIn", &["x"]),
        ],
        Ok("a notin (x),app=web,b in (x,y),!c,d"),
    );
    check(
        vec![expression("a", "In", &[])],
        Err("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
    );
    check(
        vec![expression("a", "Exists", &["x"])],
        Err("values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"),
    );
    check(vec![expression("a", "Like", &["x"])], Err("\"Like\" is not a valid label selector operator"));
    let rule = format!(
        "key: Invalid value: \"/\": prefix part must be non-empty; name part must be non-empty; {KEY}"
    );
    check(vec![expression("/", "Exists", &[])], Err(&rule));
    assert_eq!(Selector::from_label_selector(&Map::new()), Ok(Selector::everything()));
}

#[test]
fn requirements_count_their_values() {
    let check = |operator: Operator, values: &[&str], expected: &str| {
        let result = Requirement::new("x", operator, values.iter().map(|it| (*it).into()).collect());
        assert_eq!(result.map_err(|error| error.to_string()), Err(expected.to_owned()));
    };
    let exact = "values: Invalid value: [\"a\",\"b\"]: exact-match compatibility requires one single value";
    check(Operator::Equals, &["a", "b"], exact);
    check(
        Operator::LessThan,
        &["1", "2"],
        "values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required",
    );
}

proptest! {
    #[test]
    fn printed_selectors_are_read_back(
        text in "(!?[a-c]|[a-c](=|==|!=)[xy]?|[a-c] (in|notin) \\([xy,]{0,4}\\)|[a-c][<>][0-9])\
                 (,[d-f]=[xy])?(,[a-f])?",
    ) {
        let selector = selector(&text);
        prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-c=!(),<> inot\\-ü\0]{0,14}") {
        if let Ok(selector) = Selector::parse(&text) {
            let _ = selector.matches(|_| Some("a"));
        }
    }
}
