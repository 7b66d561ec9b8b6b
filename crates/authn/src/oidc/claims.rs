//! Claims of a verified token. Error messages are those of Go's decoder.

use keelson_object::{Map, Value};

/// The claims of a token that was verified.
pub(super) struct Claims(pub(super) Map);

impl Claims {
    fn get(&self, name: &str) -> Result<&Value, String> {
        self.0.get(name).ok_or_else(|| "claim not present".to_owned())
    }

    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        match self.get(name)? {
            Value::String(text) => Ok(text.to_string()),
            Value::Null => Ok(String::new()),
            other => Err(mismatch(other, "string")),
        }
    }

    pub(super) fn truth(&self, name: &str) -> Result<bool, String> {
        match self.get(name)? {
            Value::Bool(truth) => Ok(*truth),
            Value::Null => Ok(false),
            other => Err(mismatch(other, "bool")),
        }
    }

    /// A list of strings, or a single string, which counts as a list of one.
    pub(super) fn text_or_list(&self, name: &str) -> Result<Vec<String>, String> {
        match self.get(name)? {
            Value::Null => Ok(Vec::new()),
            Value::String(text) => Ok(vec![text.to_string()]),
            list @ Value::List(items) => {
                let text = |item: &Value| match item {
                    Value::String(text) => Ok(text.to_string()),
                    Value::Null => Ok(String::new()),
                    _ => Err(mismatch(list, "string")),
                };
                items.iter().map(text).collect()
            }
            other => Err(mismatch(other, "string")),
        }
    }
}

fn mismatch(found: &Value, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {wanted}", found.json_type())
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Value;

    use super::Claims;

    #[track_caller]
    fn check(claim: &str, expected: &str) {
        let document = json::read(format!("{{\"it\":{claim}}}").as_bytes()).expect("JSON");
        let Value::Map(map) = document.value else { panic!("a map") };
        let found = Claims(map).text_or_list("it").map_or_else(|error| error, |it| it.join("|"));
        assert_eq!(found, expected, "{claim}");
    }

    #[test]
    fn one_group_needs_no_list() {
        check("\"a\"", "a");
        check("[\"a\",\"b\"]", "a|b");
        check("[]", "");
        check("null", "");
        check("1", "json: cannot unmarshal number into Go value of type string");
        check("[\"a\",1]", "json: cannot unmarshal array into Go value of type string");
    }
}
