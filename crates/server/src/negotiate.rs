//! Content negotiation: encoding, shape, and pretty printing.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/negotiation/negotiate.go (v1.36.4).

use http::{HeaderMap, HeaderName, header};
use keelson_codec::media_type::{Accept, ContentType, Conversion, MediaType, parse_accept};

use crate::error::{Error, Result};
use crate::openapi::Offered;
use crate::query::Query;

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Protobuf in its envelope.
    Protobuf,
    /// CBOR.
    Cbor,
}

/// All encodings, in order of preference.
const ENCODINGS: [Encoding; 4] = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf, Encoding::Cbor];

/// The encodings that are offered besides JSON and YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) protobuf: Protobuf,
    /// CBOR, if the feature gate is on.
    pub(crate) cbor: Offered,
}

impl Offer {
    fn has(self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Json | Encoding::Yaml => true,
            Encoding::Protobuf => self.protobuf != Protobuf::Unknown,
            Encoding::Cbor => self.cbor == Offered::Yes,
        }
    }
}

/// Whether protobuf is offered: only built-in kinds have that form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protobuf {
    Offered,
    /// Only for metadata: that of custom resources.
    OfMetadata,
    Unknown,
}

/// The version of the meta group in which a converted response is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    /// `meta.k8s.io/v1`.
    #[default]
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// The `apiVersion`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            MetaVersion::V1 => "meta.k8s.io/v1",
            MetaVersion::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The shape in which objects are returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As they are.
    #[default]
    Object,
    /// As a Table.
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
    /// The encoding.
    pub(crate) encoding: Encoding,
    /// The shape.
    pub(crate) shape: Shape,
    /// The layout.
    pub(crate) layout: Layout,
}

impl Output {
    /// Compact JSON without conversion.
    pub(crate) const JSON: Output =
        Output { encoding: Encoding::Json, shape: Shape::Object, layout: Layout::Compact };
}

/// The media types that can be served, in order of preference, as errors list them.
fn served(offer: Offer) -> String {
    let names = ENCODINGS.into_iter().filter(|it| offer.has(*it)).map(|it| it.media_type().as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// The media types that can be streamed.
fn streamed(offer: Offer) -> String {
    let names = ENCODINGS.into_iter().filter(|it| offer.has(*it)).filter_map(|it| match it {
        Encoding::Json => Some("application/json;stream=watch"),
        Encoding::Yaml => None,
        Encoding::Protobuf => Some("application/vnd.kubernetes.protobuf;stream=watch"),
        Encoding::Cbor => Some(CBOR_SEQUENCE),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Refuses clients that accept no representation of a URL. Words are compared: `application/*` matches no
/// type.
///
/// Upstream: github.com/emicklei/go-restful/v3, Route.matchesAccept (v1.36.4).
pub(crate) fn has_representation(headers: &HeaderMap, offer: Offer, address: Address) -> Result<()> {
    let available = match address {
        Address::One => served(offer),
        Address::Collection => format!("{}, {}", served(offer), streamed(offer)),
    };
    has_one_of(headers, available)
}

/// The same for a URL with these representations, separated as in a header.
pub(crate) fn has_one_of(headers: &HeaderMap, available: String) -> Result<()> {
    let accept = text(headers, header::ACCEPT).trim();
    let is_there = |word: &str| word == "*/*" || available.split(", ").any(|it| it == word);
    let mut words = accept.split(',').map(|it| it.split(';').next().unwrap_or_default().trim_matches(' '));
    if accept.is_empty() || words.any(is_there) { Ok(()) } else { Err(Error::NoRepresentation { available }) }
}

/// Whether a URL is that of an object or of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// One object.
    One,
    /// A collection, which can be watched.
    Collection,
}

/// The media type of a watch in CBOR: one item after the other.
pub(crate) const CBOR_SEQUENCE: &str = "application/cbor-seq";

/// Negotiates the representation of objects. Objects that are not stored have no tables.
pub(crate) fn output(
    headers: &HeaderMap,
    query: &Query<'_>,
    offer: Offer,
    tables: Offered,
) -> Result<Output> {
    let shape = |conversion: Option<&Conversion>| {
        shape(conversion).filter(|it| tables == Offered::Yes || !matches!(it, Shape::Table(_)))
    };
    let mut output = negotiate(headers, offer, shape).ok_or_else(|| not_acceptable(&served(offer)))?;
    if is_for_eyes(headers, query) {
        output.layout = Layout::Pretty;
    }
    Ok(output)
}

/// Refuses to stream a representation that cannot be streamed.
pub(crate) fn can_be_streamed(output: Output, offer: Offer) -> Result<()> {
    match output.encoding {
        Encoding::Json | Encoding::Protobuf | Encoding::Cbor => Ok(()),
        Encoding::Yaml => Err(not_acceptable(&streamed(offer))),
    }
}

/// Negotiates the representation of a response that is not an object: an error, a discovery document. `None`
/// if nothing is acceptable. CBOR is only for responses of resources.
pub(crate) fn plain(headers: &HeaderMap, query: &Query<'_>, cbor: Offered) -> Option<Output> {
    let shape = |conversion: Option<&Conversion>| conversion.is_none().then_some(Shape::Object);
    let mut output = negotiate(headers, Offer { protobuf: Protobuf::Offered, cbor }, shape)?;
    if is_for_eyes(headers, query) {
        output.layout = Layout::Pretty;
    }
    Some(output)
}

/// The error for a client that accepts no media type of the server.
pub(crate) fn not_acceptable(served: &str) -> Error {
    Error::NotAcceptable(format!("only the following media types are accepted: {served}"))
}

/// The error for a client that accepts no media type of the server.
pub(crate) fn nothing_acceptable() -> Error {
    not_acceptable(&served(Offer { protobuf: Protobuf::Offered, cbor: Offered::No }))
}

/// The encoding of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
    /// `application/cbor`.
    Cbor,
}

/// The encoding of a request body. An absent header means JSON.
pub(crate) fn input(headers: &HeaderMap, cbor: Offered) -> Result<Input> {
    let header = text(headers, header::CONTENT_TYPE);
    if header.is_empty() {
        return Ok(Input::Json);
    }
    match ContentType::parse(header).map_or(MediaType::Unknown, |it| it.media_type()) {
        MediaType::Json => Ok(Input::Json),
        MediaType::Yaml => Ok(Input::Yaml),
        MediaType::Protobuf => Ok(Input::Protobuf),
        MediaType::Cbor if cbor == Offered::Yes => Ok(Input::Cbor),
        MediaType::Cbor | MediaType::Unknown => {
            Err(Error::UnsupportedMediaType(unknown_format(&served(Offer {
                protobuf: Protobuf::Offered,
                cbor,
            }))))
        }
    }
}

/// The message for a client whose body has another media type than these.
pub(crate) fn unknown_format(accepted: &str) -> String {
    format!("the body of the request was in an unknown format - accepted media types include: {accepted}")
}

/// Goes through the media types that the client accepts, best first; `shape` decides which conversions are
/// possible.
fn negotiate(
    headers: &HeaderMap,
    offer: Offer,
    shape: impl Fn(Option<&Conversion>) -> Option<Shape>,
) -> Option<Output> {
    let header = text(headers, header::ACCEPT);
    if header.is_empty() {
        return Some(Output::JSON);
    }
    parse_accept(header).iter().find_map(|accept| {
        let shape = shape(accept.conversion().as_ref())?;
        // Tables are served as JSON or YAML only, and custom resources have no protobuf form.
        let fits = |it: &Encoding| match (it, shape) {
            (Encoding::Json | Encoding::Yaml, _) => true,
            (_, Shape::Table(_)) => false,
            (Encoding::Protobuf, Shape::Object) => offer.protobuf != Protobuf::OfMetadata,
            _ => true,
        };
        let encoding = ENCODINGS.into_iter().find(|it| {
            offer.has(*it) && accept.takes(it.media_type()) && can_stream(accept, *it) && fits(it)
        })?;
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
    /// The media type of the encoding.
    pub(crate) fn media_type(self) -> MediaType {
        match self {
            Encoding::Json => MediaType::Json,
            Encoding::Yaml => MediaType::Yaml,
            Encoding::Protobuf => MediaType::Protobuf,
            Encoding::Cbor => MediaType::Cbor,
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

/// `?pretty=` decides; without it, the user agents of browsers and command line tools get pretty output.
pub(crate) fn is_for_eyes(headers: &HeaderMap, query: &Query<'_>) -> bool {
    if let Some(pretty) = query.get("pretty").filter(|it| !it.is_empty()) {
        return matches!(pretty, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = text(headers, header::USER_AGENT);
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|it| agent.starts_with(it))
}

/// The first value of a header; empty if it is absent or not text.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{
        Address, Offer, Output, Protobuf, can_be_streamed, has_representation, input, output, plain,
    };
    use crate::error::Result;
    use crate::openapi::Offered;
    use crate::query::Query;

    const TEXT: Offer = Offer { protobuf: Protobuf::Unknown, cbor: Offered::No };
    const BUILT_IN: Offer = Offer { protobuf: Protobuf::Offered, ..TEXT };
    const ALL: Offer = Offer { cbor: Offered::Yes, ..BUILT_IN };

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[track_caller]
    fn check(accept: &str, expected: &str) {
        let found = match output(&headers(&[("accept", accept)]), &Query::default(), TEXT, Offered::Yes) {
            Ok(it) => format!("{:?} {:?} {:?}", it.encoding, it.shape, it.layout),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{accept}");
    }

    #[test]
    fn what_is_not_stored_has_no_tables() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let ask = |accept: &str| {
            output(&headers(&[("accept", accept)]), &Query::default(), TEXT, Offered::No)
                .map(|it| format!("{:?}", it.shape))
        };
        assert!(ask(table).is_err());
        assert_eq!(ask(&format!("{table},application/json")).unwrap(), "Object");
        assert_eq!(
            ask("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").unwrap(),
            "Metadata(V1)"
        );
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
    fn an_address_has_representations() {
        let check = |accept: &str, address: Address, expected: &str| {
            let found = has_representation(&headers(&[("accept", accept)]), ALL, address);
            assert_eq!(found.map_or_else(|it| it.to_string(), |()| String::new()), expected, "{accept}");
        };
        let one = "no acceptable representation, only application/json, application/yaml, \
             application/vnd.kubernetes.protobuf, application/cbor";
        let many = format!(
            "{one}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch, \
             application/cbor-seq"
        );
        for accept in ["", "*/*", "application/json;q=0", "text/html, */*;q=0.1", "application/cbor;as=Table"]
        {
            check(accept, Address::One, "");
        }
        for accept in ["application/*", "text/html", "application/JSON", "*", ",", "application/cbor-seq"] {
            check(accept, Address::One, one);
        }
        check("application/cbor-seq", Address::Collection, "");
        check("application/*", Address::Collection, &many);
    }

    fn stream(accept: &str, offer: Offer) -> Result<Output> {
        let output = output(&headers(&[("accept", accept)]), &Query::default(), offer, Offered::Yes)?;
        can_be_streamed(output, offer).map(|()| output)
    }

    #[test]
    fn watches_are_json() {
        assert!(stream("application/json;stream=watch", TEXT).is_ok());
        let error = stream("application/yaml", TEXT).unwrap_err();
        let expected =
            "not acceptable: only the following media types are accepted: application/json;stream=watch";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn failures_are_not_converted() {
        assert!(
            plain(
                &headers(&[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")]),
                &Query::default(),
                Offered::No
            )
            .is_none()
        );
        assert!(plain(&headers(&[("accept", "application/yaml")]), &Query::default(), Offered::No).is_some());
    }

    #[test]
    fn people_get_white_space() {
        let check = |query: &str, agent: &str, expected: &str| {
            let found =
                output(&headers(&[("user-agent", agent)]), &Query::parse(query), TEXT, Offered::Yes).unwrap();
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
            let found = output(&headers(&[("accept", accept)]), &Query::default(), BUILT_IN, Offered::Yes);
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
            let found = input(&headers(&[("content-type", content_type)]), Offered::No);
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

    #[test]
    fn cbor_is_there_when_the_gate_is_open() {
        let check = |accept: &str, offer: Offer, expected: &str| {
            let found = output(&headers(&[("accept", accept)]), &Query::default(), offer, Offered::Yes);
            let found = found.map_or_else(|it| it.to_string(), |it| format!("{:?}", it.encoding));
            assert_eq!(found, expected, "{accept}");
        };
        let without = "not acceptable: only the following media types are accepted: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf";
        check("application/cbor", BUILT_IN, without);
        check("application/cbor,application/json", BUILT_IN, "Json");
        check("application/cbor", ALL, "Cbor");
        check("application/json;q=0.5,application/cbor", ALL, "Cbor");
        check("application/cbor;q=0.5,application/yaml", ALL, "Yaml");
        check("*/*", ALL, "Json");
        check("application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ALL, "Cbor");
        let with = format!("{without}, application/cbor");
        check("application/cbor;as=Table;g=meta.k8s.io;v=v1", ALL, &with);
        check("application/cbor-seq", ALL, &with);
    }

    #[test]
    fn cbor_is_streamed_as_a_sequence() {
        let check = |accept: &str, expected: &str| {
            let found = stream(accept, ALL);
            let found = found.map_or_else(|it| it.to_string(), |it| format!("{:?}", it.encoding));
            assert_eq!(found, expected, "{accept}");
        };
        check("application/cbor", "Cbor");
        check("application/cbor;stream=watch", "Cbor");
        check(
            "application/yaml",
            "not acceptable: only the following media types are accepted: application/json;stream=watch, \
             application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq",
        );
    }

    #[test]
    fn cbor_is_read_when_the_gate_is_open() {
        let check = |content_type: &str, cbor: Offered, expected: &str| {
            let found = input(&headers(&[("content-type", content_type)]), cbor);
            assert_eq!(found.map_or_else(|it| it.to_string(), |it| format!("{it:?}")), expected);
        };
        let refused = "unsupported media type: the body of the request was in an unknown format - accepted media types \
             include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
        check("application/cbor", Offered::Yes, "Cbor");
        check("application/cbor", Offered::No, refused);
        check("application/cbor-seq", Offered::Yes, &format!("{refused}, application/cbor"));
    }
}
