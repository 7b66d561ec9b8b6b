//! OpenAPI documents: the list of documents, and the routes that each one describes.

use keelson_registry::Catalog;
use keelson_registry::catalog::{Origin, ServedGroup};
use keelson_schema::openapi::{Components, Form, Home};

use super::media;
use super::route::{Method, Model, Parameter, Route};
use super::write::About;
use super::{Extra, Settings, custom, resource, v2, v3};

/// The subject of one v3 document.
#[derive(Clone, Copy)]
pub(super) enum Subject<'c> {
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/apps`.
    Group(&'c str),
    /// `/apis/apps/v1`, or `/api/v1`.
    Version(&'c ServedGroup, &'c str),
    /// `/version`.
    ServerVersion,
    /// `/logs`.
    Logs,
    /// `/.well-known/openid-configuration`.
    IssuerConfiguration,
    /// `/openid/v1/jwks`.
    IssuerKeys,
}

impl<'c> Subject<'c> {
    /// The subjects of all documents.
    pub(super) fn all(catalog: &'c Catalog, settings: &Settings) -> Vec<Subject<'c>> {
        let mut subjects = Subject::fixed(settings);
        subjects.extend(catalog.groups().iter().flat_map(|group| Subject::of_group(group)));
        subjects
    }

    /// The subjects that do not depend on the catalog.
    fn fixed(settings: &Settings) -> Vec<Subject<'c>> {
        let mut subjects = vec![Subject::Groups, Subject::ServerVersion];
        for extra in &settings.extras {
            match extra {
                Extra::Logs => subjects.push(Subject::Logs),
                Extra::Issuer => subjects.extend([Subject::IssuerConfiguration, Subject::IssuerKeys]),
            }
        }
        subjects
    }

    /// Only a built-in group has a document of its own.
    fn of_group(group: &'c ServedGroup) -> impl Iterator<Item = Subject<'c>> {
        let own = group.is_builtin().then_some(match &*group.name {
            "" => Subject::CoreVersions,
            name => Subject::Group(name),
        });
        own.into_iter().chain(group.versions.iter().map(move |version| Subject::Version(group, version)))
    }

    /// The document at a path below `/openapi/v3/`. Only its own group is read.
    pub(super) fn find(catalog: &'c Catalog, settings: &Settings, path: &str) -> Option<Subject<'c>> {
        let mut parts = path.split('/');
        let group = match (parts.next(), parts.next()) {
            (Some("api"), _) => catalog.group(""),
            (Some("apis"), Some(name)) if !name.is_empty() => catalog.group(name),
            _ => None,
        };
        let of_group = group.into_iter().flat_map(|group| Subject::of_group(group));
        Subject::fixed(settings).into_iter().chain(of_group).find(|it| it.path() == path)
    }

    /// A stamp of what the document is made from: the document changes only if the stamp does. 0 for
    /// documents that never change.
    pub(super) fn stamp(&self) -> u64 {
        match self {
            Subject::Version(group, version) => group.stamp_of(version),
            _ => 0,
        }
    }

    /// Whether the document is about custom resources.
    pub(super) fn is_custom(&self) -> bool {
        matches!(self, Subject::Version(group, version) if group.origin(version) == Origin::Custom)
    }

    /// A fingerprint of the document, computed without making the document, if that is possible.
    pub(super) fn fingerprint(&self, settings: &Settings) -> Option<Vec<u8>> {
        match self {
            Subject::Version(group, version) if self.is_custom() => {
                Some(custom::fingerprint(&group.served(version), settings.features.enums))
            }
            _ => None,
        }
    }

    /// The path of the document below `/openapi/v3/`, which is that of its subject.
    pub(super) fn path(&self) -> String {
        match self {
            Subject::CoreVersions => "api".to_owned(),
            Subject::Groups => "apis".to_owned(),
            Subject::Group(group) => format!("apis/{group}"),
            Subject::Version(group, version) if group.name.is_empty() => format!("api/{version}"),
            Subject::Version(group, version) => format!("apis/{}/{version}", group.name),
            Subject::ServerVersion => "version".to_owned(),
            Subject::Logs => "logs".to_owned(),
            Subject::IssuerConfiguration => ".well-known/openid-configuration".to_owned(),
            Subject::IssuerKeys => "openid/v1/jwks".to_owned(),
        }
    }

    /// The v3 document.
    pub(super) fn v3(&self, settings: &Settings) -> Vec<u8> {
        let (routes, components) = self.pieces(settings);
        v3::write(&routes, &components, &self.about(settings))
    }

    /// The v3 document in protobuf.
    pub(super) fn v3_protobuf(&self, settings: &Settings) -> Vec<u8> {
        let (routes, components) = self.pieces(settings);
        v3::write_protobuf(&routes, &components, &self.about(settings))
    }

    /// Documents of custom resources have a title of their own.
    fn about<'s>(&self, settings: &'s Settings) -> About<'s> {
        if self.is_custom() { About::CUSTOM } else { About::kubernetes(&settings.version) }
    }

    fn pieces(&self, settings: &Settings) -> (Vec<Route>, Components<'c>) {
        let home = match *self {
            Subject::Version(group, version) => Some(Home { group: &group.name, version }),
            _ => None,
        };
        let mut components = Components::new(Form::V3, settings.features.enums, home);
        let routes = self.routes(&mut components, settings);
        (routes, components)
    }

    fn routes(&self, components: &mut Components<'c>, settings: &Settings) -> Vec<Route> {
        let place = Place { path: format!("/{}/", self.path()), types: media::discovery() };
        match self {
            Subject::CoreVersions => {
                vec![place.read("APIVersions", "get available API versions", components.meta("APIVersions"))]
            }
            Subject::Groups => {
                vec![place.read("APIVersions", "get available API versions", components.meta("APIGroupList"))]
            }
            Subject::Group(_) => {
                vec![place.read("APIGroup", "get information of a group", components.meta("APIGroup"))]
            }
            Subject::ServerVersion => {
                let place = Place { types: media::plain(), ..place };
                let description = "get the version information for this server";
                vec![place.read("CodeVersion", description, components.version())]
            }
            Subject::Logs => logs(&place.path),
            Subject::IssuerConfiguration => {
                let description = "get service account issuer OpenID configuration, also known as the 'OIDC \
                                   discovery doc'";
                let place = Place { types: media::plain(), ..place };
                vec![place.read_text("ServiceAccountIssuerOpenIDConfiguration", description)]
            }
            Subject::IssuerKeys => {
                let description = "get service account issuer OpenID JSON Web Key Set (contains public token \
                                   verification keys)";
                let place = Place { types: media::keys(), ..place };
                vec![place.read_text("ServiceAccountIssuerOpenIDKeyset", description)]
            }
            Subject::Version(group, version) => match group.origin(version) {
                Origin::Builtin => self.builtin_routes((group, version), components, settings),
                Origin::Custom => {
                    let shown = group.served(version);
                    shown.iter().flat_map(|it| custom::routes(it, components)).collect()
                }
            },
        }
    }

    fn builtin_routes(
        &self,
        (group, version): (&ServedGroup, &str),
        components: &mut Components<'c>,
        settings: &Settings,
    ) -> Vec<Route> {
        let (base, features) = (format!("/{}", self.path()), settings.features);
        let place =
            Place { path: format!("{base}/"), types: media::objects(media::Origin::Builtin, features) };
        let model = components.meta("APIResourceList");
        let mut routes = vec![place.read("APIResources", "get available resources", model)];
        for shown in group.served(version) {
            routes.extend(resource::routes(&base, shown.resource, shown.version, components, features));
        }
        routes
    }
}

/// The v2 document, which describes everything.
pub(super) fn v2(catalog: &Catalog, settings: &Settings) -> Vec<u8> {
    let (routes, components) = everything(catalog, settings);
    v2::write(&routes, &components, &About::kubernetes(&settings.version))
}

/// The v2 document in protobuf.
pub(super) fn v2_protobuf(catalog: &Catalog, settings: &Settings) -> Vec<u8> {
    let (routes, components) = everything(catalog, settings);
    v2::write_protobuf(&routes, &components, &About::kubernetes(&settings.version))
}

/// The routes of everything. Custom resources come last: where names collide, those of built-in ones are
/// kept.
fn everything<'c>(catalog: &'c Catalog, settings: &Settings) -> (Vec<Route>, Components<'c>) {
    let mut components = Components::new(Form::V2, settings.features.enums, None);
    let mut subjects = Subject::all(catalog, settings);
    subjects.sort_by_key(Subject::is_custom);
    let routes = subjects.iter().flat_map(|it| it.routes(&mut components, settings)).collect();
    (routes, components)
}

/// The log files. Their names and contents are not described.
fn logs(base: &str) -> Vec<Route> {
    let bare = |path: String, verb: &'static str| {
        let route = Place { path, types: Vec::new() }.read("", "", String::new());
        Route { verb, answers: Vec::new(), ..route }
    };
    let mut file = bare(format!("{base}{{logpath}}"), "logFileHandler");
    file.parameters.push(Parameter::path("logpath", ""));
    vec![bare(base.to_owned(), "logFileListHandler"), file]
}

/// A path that is not a resource.
struct Place {
    path: String,
    types: Vec<&'static str>,
}

impl Place {
    /// A text that the server itself produces.
    fn read_text(self, rest: &str, description: &str) -> Route {
        let route = self.read(rest, description, String::new());
        Route { answers: vec![(200, Model::Text)], consumes: Vec::new(), ..route }
    }

    fn read(self, rest: &str, description: &str, model: String) -> Route {
        Route {
            path: self.path,
            method: Method::Get,
            action: "",
            verb: "get",
            rest: rest.to_owned(),
            description: description.to_owned(),
            kind: None,
            parameters: Vec::new(),
            body: None,
            answers: vec![(200, model.into())],
            consumes: self.types.clone(),
            produces: self.types,
        }
    }
}
