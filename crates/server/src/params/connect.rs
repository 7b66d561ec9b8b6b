//! Options of a stream, from the query: an object of the kind that the subresource names.
//!
//! ```text
//! …/pods/web/exec?command=ls&command=-l&stdout=1     PodExecOptions   {stdout: true, command: [ls, -l]}
//! …/pods/web/proxy/a/b                               PodProxyOptions  {path: /a/b}
//! ```

use keelson_object::scalar::quote;
use keelson_object::{Object, Value};
use keelson_registry::subresource::ForeignKind;
use keelson_schema::{Field, Shape};

use crate::error::{Error, Result};
use crate::query::Query;
use crate::request_info::RequestInfo;

/// The field for the path after the subresource.
const REST: &str = "path";

/// Reads the options.
///
/// Upstream: apiserver/pkg/endpoints/handlers/get.go, getRequestOptions, and the conversions from url.Values of
/// pkg/apis/core/v1/zz_generated.conversion.go (v1.36.4).
pub(crate) fn connect(kind: &ForeignKind, info: &RequestInfo, query: &Query<'_>) -> Result<Object> {
    let mut options =
        Object { kind: kind.kind.clone(), api_version: kind.api_version(), ..Object::default() };
    let Some(schema) = kind.schema() else { return Ok(options) };
    for field in schema.root().fields() {
        let value = match field.name.as_str() {
            REST => Some(rest(info)).filter(|it| !it.is_empty()).map(Value::from),
            name if query.has(name) => read(field, query)?,
            _ => None,
        };
        if let Some(value) = value {
            options.fields.set(field.name.clone(), value);
        }
    }
    schema.arrange(&mut options);
    Ok(options)
}

/// The value of a field in the query; `None` if it is absent.
fn read(field: &Field, query: &Query<'_>) -> Result<Option<Value>> {
    let name = field.name.as_str();
    Ok(match &field.ty.shape {
        Shape::Bool => query.switch(name).filter(|it| *it).map(Value::from),
        Shape::String => query.get(name).filter(|it| !it.is_empty()).map(Value::from),
        Shape::List(item) if matches!(item.shape, Shape::Int32) => {
            let numbers = query.all(name).flat_map(|it| it.split(',')).map(port);
            Some(Value::List(numbers.collect::<Result<_>>()?))
        }
        Shape::List(_) => Some(Value::List(query.all(name).map(Value::from).collect())),
        _ => None,
    })
}

/// Upstream: apimachinery/pkg/apis/meta/v1/conversion.go, Convert_Slice_string_To_Slice_int32 (v1.36.4).
fn port(text: &str) -> Result<Value> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let problem = match text.parse::<u16>() {
        Ok(number) if is_number => return Ok(Value::from(i64::from(number))),
        _ if is_number => "value out of range",
        _ => "invalid syntax",
    };
    Err(Error::BadRequest(format!(
        "cannot convert to []int32: strconv.ParseUint: parsing {}: {problem}",
        quote(text)
    )))
}

/// The path after the subresource, with a slash before it, and one after it if the URL ends with one.
fn rest(info: &RequestInfo) -> String {
    let mut rest: String = info.parts.iter().skip(3).map(|it| format!("/{it}")).collect();
    if info.path.ends_with('/') && !rest.ends_with('/') {
        rest.push('/');
    }
    rest
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Value;
    use keelson_registry::subresource::ForeignKind;

    use super::connect;
    use crate::query::Query;
    use crate::request_info::RequestInfo;

    #[track_caller]
    fn check(kind: &str, address: &str, expected: Result<&str, &str>) {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let kind = ForeignKind { group: "".into(), version: "v1".into(), kind: kind.into() };
        let parts = path.split('/').filter(|it| !it.is_empty()).skip(4);
        let info = RequestInfo {
            path: path.into(),
            parts: parts.map(Into::into).collect(),
            ..RequestInfo::default()
        };
        let found = connect(&kind, &info, &Query::parse(query));
        let found = found.map(|it| json::to_bytes(&Value::Map(it.fields))).map_err(|it| it.to_string());
        let found = found.as_ref().map(|it| std::str::from_utf8(it).unwrap()).map_err(String::as_str);
        assert_eq!(found, expected, "{address}");
    }

    const POD: &str = "/api/v1/namespaces/default/pods/web";

    #[test]
    fn options_are_what_the_query_says() {
        let exec =
            |query: &str, expected| check("PodExecOptions", &format!("{POD}/exec?{query}"), Ok(expected));
        exec("", r#"{"command":null}"#);
        exec("stdin=0&stdout=&tty=FALSE&other=1", r#"{"stdout":true,"command":null}"#);
        exec(
            "command=ls&container=a&command=-l&stderr=true",
            r#"{"stderr":true,"container":"a","command":["ls","-l"]}"#,
        );
    }

    #[test]
    fn ports_are_numbers() {
        let check = |query: &str, expected| {
            check("PodPortForwardOptions", &format!("{POD}/portforward?{query}"), expected)
        };
        check("ports=80,443&ports=8080", Ok(r#"{"ports":[80,443,8080]}"#));
        let text = "cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax";
        check("ports=x", Err(text));
        let text = "cannot convert to []int32: strconv.ParseUint: parsing \"70000\": value out of range";
        check("ports=70000", Err(text));
    }

    #[test]
    fn what_follows_a_proxy_is_its_path() {
        let check =
            |rest: &str, expected| check("PodProxyOptions", &format!("{POD}/proxy{rest}"), Ok(expected));
        check("", "{}");
        check("/", r#"{"path":"/"}"#);
        check("/a/b?path=c", r#"{"path":"/a/b"}"#);
        check("/a/b/", r#"{"path":"/a/b/"}"#);
    }
}
