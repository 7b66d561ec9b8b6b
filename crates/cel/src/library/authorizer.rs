//! Authorizer library: checks are built step by step; `check` looks for the decision.

use keelson_object::SmolStr;
use keelson_object::selector::name_rules;

use super::mismatch;
use crate::authz::{Check, ResourceTarget, Selector, Subject, Target};
use crate::fail::{Failure, Outcome, fail};
use crate::program::{Function, Site};
use crate::run::Run;
use crate::value::{Opaque, Val};

pub(super) fn find(function: &str, count: usize) -> Option<Function> {
    Some(match (function, count) {
        ("path", 2) => path,
        ("group", 2) => group,
        ("serviceAccount", 3) => service_account,
        ("resource", 2) => resource,
        ("subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector", 2) => narrow,
        ("check", 2) => check,
        ("allowed" | "reason" | "error" | "errored", 1) => decision,
        _ => return None,
    })
}

fn opaque<'v, 'a>(args: &'v [Val<'a>]) -> Option<&'v Opaque<'a>> {
    match args.first() {
        Some(Val::Opaque(value)) => Some(value),
        _ => None,
    }
}

fn path<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (Some(Opaque::Authorizer(subject)), [_, Val::Str(path)]) = (opaque(args), args) else {
        return mismatch(site, args);
    };
    if path.trim().is_empty() {
        return fail!("path must not be empty");
    }
    Ok(Val::opaque(Opaque::PathCheck(subject.clone(), path.as_str().into())))
}

fn group<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match (opaque(args), args) {
        (Some(Opaque::Authorizer(subject)), [_, Val::Str(group)]) => {
            Ok(Val::opaque(Opaque::GroupCheck(subject.clone(), group.as_str().into())))
        }
        _ => mismatch(site, args),
    }
}

fn service_account<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (Some(Opaque::Authorizer(_)), [_, Val::Str(namespace), Val::Str(name)]) = (opaque(args), args) else {
        return mismatch(site, args);
    };
    if !name_rules::dns1123_subdomain(name).is_empty() {
        return fail!("Invalid service account name");
    }
    if !name_rules::dns1123_label(namespace).is_empty() {
        return fail!("Invalid service account namespace");
    }
    let subject =
        Subject::ServiceAccount { namespace: namespace.as_str().into(), name: name.as_str().into() };
    Ok(Val::opaque(Opaque::Authorizer(subject)))
}

fn resource<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (Some(Opaque::GroupCheck(subject, group)), [_, Val::Str(resource)]) = (opaque(args), args) else {
        return mismatch(site, args);
    };
    if resource.trim().is_empty() {
        return fail!("resource must not be empty");
    }
    let target = ResourceTarget {
        group: group.clone(),
        resource: resource.as_str().into(),
        ..ResourceTarget::default()
    };
    Ok(Val::opaque(Opaque::ResourceCheck(subject.clone(), Box::new(target))))
}

fn narrow<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (Some(Opaque::ResourceCheck(subject, target)), [_, Val::Str(text)]) = (opaque(args), args) else {
        return mismatch(site, args);
    };
    let mut target = target.clone();
    let text = SmolStr::new(text.as_str());
    let selector = |text: SmolStr| if text.is_empty() { Selector::None } else { Selector::Text(text) };
    match site.function.as_str() {
        "subresource" => target.subresource = text,
        "namespace" => target.namespace = text,
        "name" => target.name = text,
        "fieldSelector" => target.field_selector = selector(text),
        _ => target.label_selector = selector(text),
    }
    Ok(Val::opaque(Opaque::ResourceCheck(subject.clone(), target)))
}

fn check<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (Some(first), [_, Val::Str(verb)]) = (opaque(args), args) else { return mismatch(site, args) };
    let (subject, target) = match first {
        Opaque::PathCheck(subject, path) => (subject, Target::Path(path.clone())),
        Opaque::ResourceCheck(subject, target) => (subject, Target::Resource(target.clone())),
        _ => return mismatch(site, args),
    };
    let check = Check { subject: subject.clone(), verb: verb.as_str().into(), target };
    match run.options.decisions.and_then(|decisions| decisions.get(&check)) {
        Some(decision) => Ok(Val::opaque(Opaque::Decision(decision.clone()))),
        None => Err(Failure::needs_decision(check)),
    }
}

fn decision<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(Opaque::Decision(decision)) = opaque(args) else { return mismatch(site, args) };
    Ok(match site.function.as_str() {
        "allowed" => Val::Bool(decision.allowed),
        "reason" => Val::text(&decision.reason),
        "errored" => Val::Bool(decision.error.is_some()),
        _ => Val::text(decision.error.as_deref().unwrap_or_default()),
    })
}
