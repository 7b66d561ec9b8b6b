//! Unification: which types fit which, and what the unknowns of the checker stand for.

use crate::types::{Param, Type};

/// What the unknowns stand for. Failed attempts are undone with the trail.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    found: Vec<Option<Type>>,
    trail: Vec<(u32, Option<Type>)>,
}

impl Substitution {
    /// A new unknown.
    pub(super) fn fresh(&mut self) -> Type {
        let number = self.found.len() as u32;
        self.found.push(None);
        Type::Param(Param::Fresh(number))
    }

    fn get(&self, of: &Type) -> Option<&Type> {
        match of {
            Type::Param(Param::Fresh(number)) => self.found[*number as usize].as_ref(),
            _ => None,
        }
    }

    fn set(&mut self, of: &Type, to: Type) {
        if let Type::Param(Param::Fresh(number)) = of {
            let old = self.found[*number as usize].replace(to);
            self.trail.push((*number, old));
        }
    }

    /// Can a value of one type be used for the other? Unknowns are decided if so.
    pub(super) fn assignable(&mut self, one: &Type, other: &Type) -> bool {
        self.attempt(|this| this.fits(one, other))
    }

    /// The same for lists of the same length.
    pub(super) fn all_assignable(&mut self, ones: &[Type], others: &[Type]) -> bool {
        self.attempt(|this| this.all_fit(ones, others))
    }

    fn attempt(&mut self, fits: impl FnOnce(&mut Self) -> bool) -> bool {
        self.trail.clear();
        if fits(self) {
            return true;
        }
        while let Some((number, old)) = self.trail.pop() {
            self.found[number as usize] = old;
        }
        false
    }

    fn all_fit(&mut self, ones: &[Type], others: &[Type]) -> bool {
        ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| self.fits(one, other))
    }

    /// Upstream: cel-go checker/types.go, internalIsAssignable (v0.26.0).
    fn fits(&mut self, one: &Type, other: &Type) -> bool {
        if is_param(other) {
            match self.decide(other, one) {
                Decision::Fits => return true,
                Decision::Contradicts => return false,
                Decision::Circular => {}
            }
        }
        if is_param(one) {
            return matches!(self.decide(one, other), Decision::Fits);
        }
        if is_dyn_or_error(one) || is_dyn_or_error(other) {
            return true;
        }
        match (one, other) {
            (Type::Null, of) | (of, Type::Null) => accepts_null(of),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(_), Type::List(_)) | (Type::Map(_), Type::Map(_)) => {
                self.all_fit(one.parameters(), other.parameters())
            }
            (Type::Opaque(a), Type::Opaque(b)) => {
                a.name == b.name && self.all_fit(&a.parameters, &b.parameters)
            }
            _ => one == other,
        }
    }

    /// Lets an unknown stand for a type.
    /// Upstream: cel-go checker/types.go, isValidTypeSubstitution (v0.26.0).
    fn decide(&mut self, unknown: &Type, to: &Type) -> Decision {
        if unknown == to {
            return Decision::Fits;
        }
        if let Some(known) = self.get(unknown).cloned() {
            if known == *to {
                return Decision::Fits;
            }
            if !self.fits(to, &known) {
                return Decision::Contradicts;
            }
            let general = most_general(to, &known);
            if self.is_absent(unknown, general) {
                let general = general.clone();
                self.set(unknown, general);
            }
            return Decision::Fits;
        }
        if self.is_absent(unknown, to) {
            self.set(unknown, to.clone());
            return Decision::Fits;
        }
        Decision::Circular
    }

    /// Does the unknown not occur in the type?
    fn is_absent(&self, unknown: &Type, within: &Type) -> bool {
        if unknown == within {
            return false;
        }
        if is_param(within) {
            return self.get(within).is_none_or(|known| self.is_absent(unknown, known));
        }
        within.parameters().iter().all(|parameter| self.is_absent(unknown, parameter))
    }

    /// The type with what the unknowns stand for. Unknowns that are not decided remain.
    pub(super) fn resolve(&self, of: &Type) -> Type {
        self.replace(of, false)
    }

    /// The type with what the unknowns stand for. Unknowns that are not decided become `dyn`.
    pub(super) fn finish(&self, of: &Type) -> Type {
        self.replace(of, true)
    }

    fn replace(&self, of: &Type, to_dyn: bool) -> Type {
        if let Some(known) = self.get(of) {
            return self.replace(known, to_dyn);
        }
        match of {
            Type::Param(_) if to_dyn => Type::Dyn,
            _ => map_parameters(of, &|parameter| self.replace(parameter, to_dyn)),
        }
    }
}

enum Decision {
    Fits,
    /// It stands for something else already.
    Contradicts,
    /// It would contain itself.
    Circular,
}

/// The type with every parameter replaced; a type without unknowns is only cloned.
pub(super) fn map_parameters(of: &Type, replace: &impl Fn(&Type) -> Type) -> Type {
    if !has_param(of) {
        return of.clone();
    }
    match of {
        Type::List(element) => Type::list(replace(element)),
        Type::Map(entry) => Type::map(replace(&entry[0]), replace(&entry[1])),
        Type::Type(Some(of)) => Type::type_of(replace(of)),
        Type::Opaque(opaque) => Type::Opaque(std::sync::Arc::new(crate::types::Opaque {
            name: opaque.name.clone(),
            parameters: opaque.parameters.iter().map(replace).collect(),
        })),
        _ => of.clone(),
    }
}

fn has_param(of: &Type) -> bool {
    is_param(of) || of.parameters().iter().any(has_param)
}

fn is_param(of: &Type) -> bool {
    matches!(of, Type::Param(_))
}

pub(super) fn is_dyn(of: &Type) -> bool {
    matches!(of, Type::Dyn | Type::Any)
}

pub(super) fn is_dyn_or_error(of: &Type) -> bool {
    is_dyn(of) || *of == Type::Error
}

fn accepts_null(of: &Type) -> bool {
    matches!(of, Type::Null | Type::Opaque(_) | Type::Struct(_) | Type::Duration | Type::Timestamp)
}

/// Upstream: cel-go checker/types.go, mostGeneral (v0.26.0).
pub(super) fn most_general<'a>(one: &'a Type, other: &'a Type) -> &'a Type {
    if is_equal_or_less_specific(one, other) { one } else { other }
}

fn is_equal_or_less_specific(one: &Type, other: &Type) -> bool {
    if is_dyn(one) || is_param(one) {
        return true;
    }
    if is_dyn(other) || is_param(other) {
        return false;
    }
    let inner = |a: &[Type], b: &[Type]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal_or_less_specific(a, b))
    };
    match (one, other) {
        (Type::Opaque(a), Type::Opaque(b)) => a.name == b.name && inner(&a.parameters, &b.parameters),
        (Type::List(_), Type::List(_)) | (Type::Map(_), Type::Map(_)) => {
            inner(one.parameters(), other.parameters())
        }
        (Type::Type(_), Type::Type(_)) => true,
        _ => one == other,
    }
}
