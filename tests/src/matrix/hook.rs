//! A webhook that answers by a table.

use serde_json::{Value, json};

/// `{user: jane, verb: get, say: deny, reason: because}`: the first matching row decides; without one there
/// is no opinion.
///
/// Values of `say`: `allow`, `deny`, `both`, `nothing`, `garbage`, `stranger` (an object of another kind) or
/// a status code. A row matches by `user`, `group`, `verb`, `resource`, `namespace` and `path`, if it has
/// them.
#[derive(Clone, Debug, Default)]
pub struct Hook(Vec<Value>);

impl Hook {
    /// A webhook with these rows.
    pub fn new(rows: Vec<Value>) -> Hook {
        Hook(rows)
    }

    /// Status and body of the answer to a SubjectAccessReview of either version.
    pub fn answer(&self, body: &str) -> (u16, String) {
        let review: Value = serde_json::from_str(body).unwrap_or_default();
        let spec = &review["spec"];
        let row = self.0.iter().find(|it| fits(it, spec));
        let said = row.and_then(|it| it["say"].as_str()).unwrap_or("nothing");
        let mut status = match said {
            "allow" => json!({"allowed": true}),
            "deny" => json!({"allowed": false, "denied": true}),
            "both" => json!({"allowed": true, "denied": true}),
            "nothing" => json!({"allowed": false}),
            "garbage" => return (200, "{".to_owned()),
            "stranger" => return (200, json!({"apiVersion": "v1", "kind": "Pod"}).to_string()),
            code => return (code.parse().unwrap_or(500), String::new()),
        };
        if let Some(reason) = row.and_then(|it| it["reason"].as_str()) {
            status["reason"] = reason.into();
        }
        let answer =
            json!({"apiVersion": review["apiVersion"], "kind": "SubjectAccessReview", "status": status});
        (200, answer.to_string())
    }
}

fn fits(row: &Value, spec: &Value) -> bool {
    let resource = &spec["resourceAttributes"];
    let path = &spec["nonResourceAttributes"];
    let has = |key: &str, found: &Value| row[key].is_null() || row[key] == *found;
    let groups = [&spec["groups"], &spec["group"]];
    let is_member =
        |group: &Value| groups.iter().filter_map(|it| it.as_array()).flatten().any(|it| it == group);
    let verb = if path.is_null() { &resource["verb"] } else { &path["verb"] };
    has("user", &spec["user"])
        && (row["group"].is_null() || is_member(&row["group"]))
        && has("verb", verb)
        && has("resource", &resource["resource"])
        && has("namespace", &resource["namespace"])
        && has("path", &path["path"])
}
