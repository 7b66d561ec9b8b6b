//! What the client takes: encoding, shape, and whether human eyes will read it.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/negotiation/negotiate.go (v1.36.4).

use http::{HeaderMap, HeaderName, header};
use keelson_codec::media_type::{Accept, ContentType, Conversion, MediaType, parse_accept};

use crate::error::{Error, Result};
use crate::query::Query;

/// How an answer is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Protobuf in its envelope.
    Protobuf,
}

/// Whether protobuf can be had: only built-in kinds have that form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protobuf {
    Offered,
    Unknown,
}

/// Which version of the meta group a converted answer is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    /// `meta.k8s.io/v1`.
    #[default]
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// As it stands in `apiVersion`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            MetaVersion::V1 => "meta.k8s.io/v1",
            MetaVersion::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What becomes of an object on its way to the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It stays as it is.
    #[default]
    Object,
    /// Rows and columns.
    Table(MetaVersion),
    /// The metadata of one object.
    Metadata(MetaVersion),
    /// The metadata of many objects.
    MetadataList(MetaVersion),
}

/// Whether white space is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As few bytes as possible.
    #[default]
    Compact,
    /// Indented.
    Pretty,
}

/// What was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    /// How it is encoded.
    pub(crate) encoding: Encoding,
    /// What becomes of objects.
    pub(crate) shape: Shape,
    /// For whose eyes.
    pub(crate) layout: Layout,
}

impl Output {
    /// Compact JSON, as it is.
    pub(crate) const JSON: Output =
        Output { encoding: Encoding::Json, shape: Shape::Object, layout: Layout::Compact };
}

/// What can be served, in order of preference, as clients read it.
fn served(protobuf: Protobuf) -> &'static str {
    match protobuf {
        Protobuf::Offered => READ,
        Protobuf::Unknown => "application/json, application/yaml",
    }
}

/// What can be streamed.
fn streamed(protobuf: Protobuf) -> &'static str {
    match protobuf {
        Protobuf::Offered => {
            "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        }
        Protobuf::Unknown => "application/json;stream=watch",
    }
}

/// What an answer about objects looks like.
pub(crate) fn output(headers: &HeaderMap, query: &Query<'_>, protobuf: Protobuf) -> Result<Output> {
    let mut output = negotiate(headers, protobuf, shape).ok_or_else(|| not_acceptable(served(protobuf)))?;
    if is_for_eyes(headers, query) {
        output.layout = Layout::Pretty;
    }
    Ok(output)
}

/// What the frames of a watch look like.
pub(crate) fn stream(headers: &HeaderMap, protobuf: Protobuf) -> Result<Output> {
    let output = negotiate(headers, protobuf, shape).ok_or_else(|| not_acceptable(served(protobuf)))?;
    match output.encoding {
        Encoding::Json | Encoding::Protobuf => Ok(output),
        Encoding::Yaml => Err(not_acceptable(streamed(protobuf))),
    }
}

/// What an answer that is no object looks like: a failure, a discovery document. `None` if nothing will do.
pub(crate) fn plain(headers: &HeaderMap, query: &Query<'_>) -> Option<Output> {
    let shape = |conversion: Option<&Conversion>| conversion.is_none().then_some(Shape::Object);
    let mut output = negotiate(headers, Protobuf::Offered, shape)?;
    if is_for_eyes(headers, query) {
        output.layout = Layout::Pretty;
    }
    Some(output)
}

/// The answer to a client that takes nothing we have.
pub(crate) fn not_acceptable(served: &str) -> Error {
    Error::NotAcceptable(format!("only the following media types are accepted: {served}"))
}

/// The answer to a client that takes nothing we have.
pub(crate) fn nothing_acceptable() -> Error {
    not_acceptable(served(Protobuf::Offered))
}

/// How a body may be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

/// What bodies may be.
const READ: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// How a body is encoded. An absent header means JSON.
pub(crate) fn input(headers: &HeaderMap) -> Result<Input> {
    let header = text(headers, header::CONTENT_TYPE);
    if header.is_empty() {
        return Ok(Input::Json);
    }
    match ContentType::parse(header).map_or(MediaType::Unknown, |it| it.media_type()) {
        MediaType::Json => Ok(Input::Json),
        MediaType::Yaml => Ok(Input::Yaml),
        MediaType::Protobuf => Ok(Input::Protobuf),
        MediaType::Cbor | MediaType::Unknown => Err(Error::UnsupportedMediaType(format!(
            "the body of the request was in an unknown format - accepted media types include: {READ}"
        ))),
    }
}

/// Walks through what the client takes, best first; `shape` says what conversions are possible.
fn negotiate(
    headers: &HeaderMap,
    protobuf: Protobuf,
    shape: impl Fn(Option<&Conversion>) -> Option<Shape>,
) -> Option<Output> {
    let header = text(headers, header::ACCEPT);
    if header.is_empty() {
        return Some(Output::JSON);
    }
    parse_accept(header).iter().find_map(|accept| {
        let shape = shape(accept.conversion().as_ref())?;
        let fits = |it: &Encoding| match it {
            // Tables have no form in protobuf.
            Encoding::Protobuf => protobuf == Protobuf::Offered && !matches!(shape, Shape::Table(_)),
            Encoding::Json | Encoding::Yaml => true,
        };
        let encoding = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf]
            .into_iter()
            .find(|it| accept.takes(it.media_type()) && can_stream(accept, *it) && fits(it))?;
        let layout = if accept.is_pretty() { Layout::Pretty } else { Layout::Compact };
        Some(Output { encoding, shape, layout })
    })
}

fn can_stream(accept: &Accept, encoding: Encoding) -> bool {
    match accept.stream() {
        "" => true,
        "watch" => encoding != Encoding::Yaml,
        _ => false,
    }
}

impl Encoding {
    /// Its media type.
    pub(crate) fn media_type(self) -> MediaType {
        match self {
            Encoding::Json => MediaType::Json,
            Encoding::Yaml => MediaType::Yaml,
            Encoding::Protobuf => MediaType::Protobuf,
        }
    }
}

fn shape(conversion: Option<&Conversion>) -> Option<Shape> {
    let Some(conversion) = conversion else { return Some(Shape::Object) };
    let version = match (&*conversion.group, &*conversion.version) {
        ("meta.k8s.io", "v1") => MetaVersion::V1,
        ("meta.k8s.io", "v1beta1") => MetaVersion::V1Beta1,
        _ => return None,
    };
    match &*conversion.kind {
        "Table" => Some(Shape::Table(version)),
        "PartialObjectMetadata" => Some(Shape::Metadata(version)),
        "PartialObjectMetadataList" => Some(Shape::MetadataList(version)),
        _ => None,
    }
}

/// `?pretty=` decides; without it, what browsers and command line tools call themselves.
fn is_for_eyes(headers: &HeaderMap, query: &Query<'_>) -> bool {
    if let Some(pretty) = query.get("pretty").filter(|it| !it.is_empty()) {
        return matches!(pretty, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = text(headers, header::USER_AGENT);
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|it| agent.starts_with(it))
}

/// The first value of a header; empty where it is absent or no text.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{Protobuf, input, output, plain, stream};
    use crate::query::Query;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[track_caller]
    fn check(accept: &str, expected: &str) {
        let found = match output(&headers(&[("accept", accept)]), &Query::default(), Protobuf::Unknown) {
            Ok(it) => format!("{:?} {:?} {:?}", it.encoding, it.shape, it.layout),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{accept}");
    }

    #[test]
    fn the_best_acceptable_type_is_taken() {
        check("", "Json Object Compact");
        check("*/*", "Json Object Compact");
        check("application/*", "Json Object Compact");
        check("application/json;q=0.1, application/yaml", "Yaml Object Compact");
        check("application/vnd.kubernetes.protobuf, application/json", "Json Object Compact");
        check("application/json;pretty=1", "Json Object Pretty");
        check("application/json;stream=watch", "Json Object Compact");
        check("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "Json Table(V1) Compact");
        check("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "Json Object Compact");
        check(
            "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
            "Json Metadata(V1Beta1) Compact",
        );
        let nothing =
            "not acceptable: only the following media types are accepted: application/json, application/yaml";
        check("text/html", nothing);
        check("application/json;as=Foo;v=v1;g=meta.k8s.io", nothing);
        check("application/json;stream=foo", nothing);
    }

    #[test]
    fn watches_are_json() {
        assert!(stream(&headers(&[("accept", "application/json;stream=watch")]), Protobuf::Unknown).is_ok());
        let error = stream(&headers(&[("accept", "application/yaml")]), Protobuf::Unknown).unwrap_err();
        let expected =
            "not acceptable: only the following media types are accepted: application/json;stream=watch";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn failures_are_not_converted() {
        assert!(
            plain(&headers(&[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")]), &Query::default())
                .is_none()
        );
        assert!(plain(&headers(&[("accept", "application/yaml")]), &Query::default()).is_some());
    }

    #[test]
    fn people_get_white_space() {
        let check = |query: &str, agent: &str, expected: &str| {
            let found =
                output(&headers(&[("user-agent", agent)]), &Query::parse(query), Protobuf::Unknown).unwrap();
            assert_eq!(format!("{:?}", found.layout), expected, "{query} {agent}");
        };
        check("", "curl/8.0", "Pretty");
        check("", "Mozilla/5.0 (X11)", "Pretty");
        check("", "kubectl/v1.36", "Compact");
        check("pretty=true", "kubectl/v1.36", "Pretty");
        check("pretty=false", "curl/8.0", "Compact");
        check("pretty=nonsense", "curl/8.0", "Compact");
        check("pretty=", "curl/8.0", "Pretty");
    }

    #[test]
    fn built_in_kinds_are_also_served_in_protobuf() {
        let check = |accept: &str, expected: &str| {
            let found = output(&headers(&[("accept", accept)]), &Query::default(), Protobuf::Offered);
            assert_eq!(found.map_or("refused".to_owned(), |it| format!("{:?}", it.encoding)), expected);
        };
        check("application/vnd.kubernetes.protobuf", "Protobuf");
        check("application/vnd.kubernetes.protobuf,application/json", "Protobuf");
        check("application/json,application/vnd.kubernetes.protobuf", "Json");
        check(
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "Protobuf",
        );
        check("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", "refused");
        check("*/*", "Json");
    }

    #[test]
    fn bodies_are_json_yaml_or_protobuf() {
        let check = |content_type: &str, expected: &str| {
            let found = input(&headers(&[("content-type", content_type)]));
            assert_eq!(found.map_or_else(|it| it.to_string(), |it| format!("{it:?}")), expected);
        };
        check("", "Json");
        check("application/json; charset=utf-8", "Json");
        check("application/yaml", "Yaml");
        check("application/vnd.kubernetes.protobuf", "Protobuf");
        check(
            "text/plain",
            "unsupported media type: the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        );
    }
}
