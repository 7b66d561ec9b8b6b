//! YAML anchors, and the cost of aliases to them.
//!
//! Nine lines of `&b [*a,*a,*a,*a,*a,*a,*a,*a,*a]` ask for 9⁹ nodes. Upstream counts every node that it
//! makes, and how many of those it makes for aliases. Small documents may consist almost wholly of aliases,
//! large ones hardly:
//!
//! ```text
//! nodes made              ≤ 400,000 ………………… ≥ 4,000,000
//! of these for aliases      ≤ 99 %    (linear)     ≤ 10 %
//! ```
//!
//! The cost of an alias is known before it is copied, so a bomb does not even begin to go off.

use std::collections::HashMap;

use keelson_object::Value;

use super::error::Error;
use crate::limits::{ALIAS_RATIO_HIGH, ALIAS_RATIO_LOW, MAX_YAML_NODES};

/// The maximum depth of a value with an anchor: copies of it are made by recursion.
const MAX_ANCHORED_HEIGHT: usize = 200;

/// The limit of nodes that are kept for aliases: nested anchors are kept with each of the outer ones.
const MAX_KEPT_NODES: usize = 500_000;

#[derive(Default)]
pub(super) struct Anchors {
    values: HashMap<usize, Anchored>,
    kept: usize,
    made: usize,
    made_for_aliases: usize,
}

/// A value with an anchor.
pub(super) struct Anchored {
    pub(super) value: Value,
    /// The number of nodes that were made for it.
    cost: usize,
    /// The depth of nested containers in it.
    pub(super) height: usize,
}

impl Anchors {
    /// The number of nodes that were made.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Counts a node.
    pub(super) fn count(&mut self) -> Result<(), Error> {
        self.made += 1;
        self.check()
    }

    /// Keeps a value that began when there were `made` nodes.
    pub(super) fn keep(&mut self, id: usize, value: &Value, height: usize, made: usize) -> Result<(), Error> {
        let cost = self.made - made;
        self.kept += cost;
        if height > MAX_ANCHORED_HEIGHT || self.kept > MAX_KEPT_NODES {
            return Err(Error::ExcessiveAliasing);
        }
        self.values.insert(id, Anchored { value: value.clone(), cost, height });
        Ok(())
    }

    /// The value of an alias; `None` while that is still being read.
    pub(super) fn expand(&mut self, id: usize) -> Result<Option<&Anchored>, Error> {
        self.count()?;
        let Some(cost) = self.values.get(&id).map(|it| it.cost) else { return Ok(None) };
        self.made += cost;
        self.made_for_aliases += cost;
        self.check()?;
        Ok(self.values.get(&id))
    }

    fn check(&self) -> Result<(), Error> {
        let (made, aliased) = (self.made as f64, self.made_for_aliases as f64);
        let is_bomb =
            self.made_for_aliases > 100 && self.made > 1000 && aliased / made > allowed_ratio(self.made);
        if is_bomb || self.made > MAX_YAML_NODES { Err(Error::ExcessiveAliasing) } else { Ok(()) }
    }
}

/// Upstream: go.yaml.in/yaml/v2, allowedAliasRatio.
fn allowed_ratio(made: usize) -> f64 {
    if made <= ALIAS_RATIO_LOW {
        0.99
    } else if made >= ALIAS_RATIO_HIGH {
        0.10
    } else {
        let way = (made - ALIAS_RATIO_LOW) as f64 / (ALIAS_RATIO_HIGH - ALIAS_RATIO_LOW) as f64;
        0.99 - 0.89 * way
    }
}
