//! Which documents there are, and the routes that each describes.

use keelson_object::SmolStr;
use keelson_registry::{Catalog, Resource};
use keelson_schema::openapi::{Components, Form, Home};

use super::media::{self, Origin};
use super::route::{Method, Model, Parameter, Route};
use super::{Extra, Settings, resource, v2, v3};

/// A group as documents see it.
pub(super) struct Served<'c> {
    group: &'c str,
    versions: Vec<SmolStr>,
    resources: Vec<&'c Resource>,
}

impl<'c> Served<'c> {
    /// Everything that a catalog serves.
    pub(super) fn all(catalog: &'c Catalog) -> Vec<Served<'c>> {
        let served = |group: &'c keelson_registry::catalog::ServedGroup| Served {
            group: &group.name,
            versions: group.versions.clone(),
            resources: group.resources.iter().map(|live| &live.resource).collect(),
        };
        catalog.groups().iter().map(|it| served(it)).collect()
    }

    /// Groups that nobody serves yet.
    #[cfg(test)]
    pub(super) fn groups(groups: &'c [keelson_registry::Group]) -> Vec<Served<'c>> {
        let served = |group: &'c keelson_registry::Group| Served {
            group: &group.name,
            versions: group.versions(),
            resources: group.resources.iter().collect(),
        };
        groups.iter().map(served).collect()
    }
}

/// What one v3 document is about.
pub(super) enum Subject<'c> {
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/apps`.
    Group(&'c str),
    /// `/apis/apps/v1`, or `/api/v1`.
    Version(&'c Served<'c>, SmolStr),
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
    /// Every document of what is served.
    pub(super) fn all(served: &'c [Served<'c>], settings: &Settings) -> Vec<Subject<'c>> {
        let mut subjects = vec![Subject::Groups, Subject::ServerVersion];
        for extra in &settings.extras {
            match extra {
                Extra::Logs => subjects.push(Subject::Logs),
                Extra::Issuer => subjects.extend([Subject::IssuerConfiguration, Subject::IssuerKeys]),
            }
        }
        for group in served {
            subjects.push(if group.group.is_empty() {
                Subject::CoreVersions
            } else {
                Subject::Group(group.group)
            });
            subjects.extend(group.versions.iter().map(|version| Subject::Version(group, version.clone())));
        }
        subjects
    }

    /// The path of the document below `/openapi/v3/`, which is that of what it describes.
    pub(super) fn path(&self) -> String {
        match self {
            Subject::CoreVersions => "api".to_owned(),
            Subject::Groups => "apis".to_owned(),
            Subject::Group(group) => format!("apis/{group}"),
            Subject::Version(served, version) if served.group.is_empty() => format!("api/{version}"),
            Subject::Version(served, version) => format!("apis/{}/{version}", served.group),
            Subject::ServerVersion => "version".to_owned(),
            Subject::Logs => "logs".to_owned(),
            Subject::IssuerConfiguration => ".well-known/openid-configuration".to_owned(),
            Subject::IssuerKeys => "openid/v1/jwks".to_owned(),
        }
    }

    /// The v3 document.
    pub(super) fn v3(&self, settings: &Settings) -> Vec<u8> {
        let (routes, components) = self.pieces(settings);
        v3::write(&routes, &components, settings)
    }

    /// The v3 document in protobuf.
    pub(super) fn v3_protobuf(&self, settings: &Settings) -> Vec<u8> {
        let (routes, components) = self.pieces(settings);
        v3::write_protobuf(&routes, &components, settings)
    }

    fn pieces(&self, settings: &Settings) -> (Vec<Route>, Components<'_>) {
        let home = match self {
            Subject::Version(served, version) => Some(Home { group: served.group, version }),
            _ => None,
        };
        let mut components = Components::new(Form::V3, settings.features.enums, home);
        let routes = self.routes(&mut components, settings);
        (routes, components)
    }

    fn routes(&self, components: &mut Components<'_>, settings: &Settings) -> Vec<Route> {
        let features = settings.features;
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
            Subject::Version(served, version) => {
                let base = format!("/{}", self.path());
                let place = Place { types: media::objects(Origin::Builtin, features), ..place };
                let model = components.meta("APIResourceList");
                let mut routes = vec![place.read("APIResources", "get available resources", model)];
                for one in &served.resources {
                    if let Some(version) = one.served_version(version) {
                        routes.extend(resource::routes(&base, one, version, components, features));
                    }
                }
                routes
            }
        }
    }
}

/// The v2 document, which is about everything.
pub(super) fn v2(served: &[Served<'_>], settings: &Settings) -> Vec<u8> {
    let (routes, components) = everything(served, settings);
    v2::write(&routes, &components, settings)
}

/// The v2 document in protobuf.
pub(super) fn v2_protobuf(served: &[Served<'_>], settings: &Settings) -> Vec<u8> {
    let (routes, components) = everything(served, settings);
    v2::write_protobuf(&routes, &components, settings)
}

fn everything(served: &[Served<'_>], settings: &Settings) -> (Vec<Route>, Components<'static>) {
    let mut components = Components::new(Form::V2, settings.features.enums, None);
    let subjects = Subject::all(served, settings);
    let routes = subjects.iter().flat_map(|it| it.routes(&mut components, settings)).collect();
    (routes, components)
}

/// The files of the folder with logs. What they are called and contain is not described.
fn logs(base: &str) -> Vec<Route> {
    let bare = |path: String, verb: &'static str| {
        let route = Place { path, types: Vec::new() }.read("", "", String::new());
        Route { verb, answers: Vec::new(), ..route }
    };
    let mut file = bare(format!("{base}{{logpath}}"), "logFileHandler");
    file.parameters.push(Parameter::path("logpath", ""));
    vec![bare(base.to_owned(), "logFileListHandler"), file]
}

/// A path that is no resource.
struct Place {
    path: String,
    types: Vec<&'static str>,
}

impl Place {
    /// Text that is made by the server itself.
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
