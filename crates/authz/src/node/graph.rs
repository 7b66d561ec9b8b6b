//! Graph: the objects that each node may access.
//!
//! ```text
//! secret default/key <──┐
//! claim default/data <──┴── pod default/web ──> node-1
//!    ^
//! volume pv-7 ──> secret storage/cred
//! ```
//!
//! These edges are not walked when a kubelet sends a request. Each object holds its nodes, and for each node
//! the number of references from there, so that a check is one lookup:
//!
//! ```text
//! secret default/key   {node-1: 1}     claim default/data   {node-1: 1}
//! volume pv-7          {node-1: 1}     secret storage/cred  {node-1: 1}
//! ```
//!
//! A pod adds its node to all objects that it names, and removes it when the pod is deleted. A claim that
//! gets its first pod on a node adds that node to its volumes and to their secrets; a volume that is bound
//! gets all nodes of its claim.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use keelson_object::SmolStr;
use parking_lot::RwLock;

/// A kind that a kubelet may access if the object is related to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
    Claim,
    Volume,
    ResourceClaim,
    ServiceAccount,
    Pod,
    Attachment,
    Slice,
    CertificateRequest,
}

const KINDS: usize = 10;

/// An object that a node has to do with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Need {
    pub(super) kind: Kind,
    pub(super) namespace: SmolStr,
    pub(super) name: SmolStr,
}

impl Need {
    pub(super) fn new(kind: Kind, namespace: &str, name: &str) -> Need {
        Need { kind, namespace: namespace.into(), name: name.into() }
    }
}

/// The relation between an object and its node: the node, and the objects needed there, including the object
/// itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bond {
    pub(super) node: SmolStr,
    pub(super) needs: HashSet<Need>,
}

/// The references of a bound volume.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) claim: Need,
    pub(super) secrets: HashSet<Need>,
}

/// The relations between objects and nodes.
#[derive(Default)]
pub struct Graph(RwLock<State>);

#[derive(Default)]
struct State {
    /// The nodes of each object, by kind, namespace and name.
    nodes: [Table<Nodes>; KINDS],
    /// The bonds of pods, attachments, slices and certificate requests.
    bonds: HashMap<Need, Bond>,
    /// The bindings of volumes, by volume name.
    bindings: HashMap<SmolStr, Binding>,
    /// The volumes of each claim: hardly ever more than one.
    volumes: HashMap<Need, HashSet<SmolStr>>,
}

/// The number of references from each node.
type Nodes = HashMap<SmolStr, u32>;
type Table<V> = HashMap<SmolStr, HashMap<SmolStr, V>>;

impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Whether an object is related to `node`.
    pub(super) fn has(&self, node: &str, (kind, namespace, name): (Kind, &str, &str)) -> bool {
        let state = self.0.read();
        let nodes = state.nodes[kind as usize].get(namespace).and_then(|it| it.get(name));
        nodes.is_some_and(|it| it.contains_key(node))
    }

    /// Sets or removes the bond of an object.
    pub(super) fn tell(&self, who: &Need, bond: Option<Bond>) {
        self.0.write().tell(who, bond);
    }

    /// Sets or removes the binding of a volume.
    pub(super) fn bind(&self, volume: &str, binding: Option<Binding>) {
        self.0.write().bind(volume, binding);
    }

    /// Forgets all objects of a kind but these.
    pub(super) fn keep(&self, kind: Kind, wanted: &HashSet<Need>) {
        let mut state = self.0.write();
        if kind == Kind::Volume {
            let known = state.bindings.keys().map(|it| Need::new(kind, "", it));
            for gone in known.filter(|it| !wanted.contains(it)).collect::<Vec<_>>() {
                state.bind(&gone.name, None);
            }
            return;
        }
        let known = state.bonds.keys().filter(|it| it.kind == kind && !wanted.contains(it));
        for gone in known.cloned().collect::<Vec<_>>() {
            state.tell(&gone, None);
        }
    }

    /// The number of objects that have nodes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let state = self.0.read();
        state.nodes.iter().flat_map(HashMap::values).map(HashMap::len).sum()
    }
}

impl State {
    fn tell(&mut self, who: &Need, bond: Option<Bond>) {
        if self.bonds.get(who) == bond.as_ref() {
            return;
        }
        if let Some(old) = self.bonds.remove(who) {
            for need in &old.needs {
                self.take(need, &old.node);
            }
        }
        if let Some(bond) = bond {
            for need in &bond.needs {
                self.give(need, &bond.node);
            }
            self.bonds.insert(who.clone(), bond);
        }
    }

    fn bind(&mut self, volume: &str, binding: Option<Binding>) {
        if self.bindings.get(volume) == binding.as_ref() {
            return;
        }
        if let Some((name, old)) = self.bindings.remove_entry(volume) {
            for node in self.nodes_of(&old.claim) {
                self.pass(&name, &old, &node, State::take_one);
            }
            drop_from(&mut self.volumes, &old.claim, &name);
        }
        if let Some(binding) = binding {
            let name = SmolStr::new(volume);
            for node in self.nodes_of(&binding.claim) {
                self.pass(&name, &binding, &node, State::give_one);
            }
            self.volumes.entry(binding.claim.clone()).or_default().insert(name.clone());
            self.bindings.insert(name, binding);
        }
    }

    fn nodes_of(&self, need: &Need) -> Vec<SmolStr> {
        let nodes = self.nodes[need.kind as usize].get(&need.namespace).and_then(|it| it.get(&need.name));
        nodes.into_iter().flat_map(HashMap::keys).cloned().collect()
    }

    /// Adds a node to an object, and to the objects behind it.
    fn give(&mut self, need: &Need, node: &SmolStr) {
        if self.give_one(need, node) && need.kind == Kind::Claim {
            self.pass_on(need, node, State::give_one);
        }
    }

    /// Removes a node from an object, and from the objects behind it.
    fn take(&mut self, need: &Need, node: &SmolStr) {
        if self.take_one(need, node) && need.kind == Kind::Claim {
            self.pass_on(need, node, State::take_one);
        }
    }

    fn pass_on(&mut self, claim: &Need, node: &SmolStr, what: fn(&mut State, &Need, &SmolStr) -> bool) {
        let Some(volumes) = self.volumes.get(claim) else { return };
        for volume in volumes.clone() {
            let Some((name, binding)) = self.bindings.remove_entry(&volume) else { continue };
            self.pass(&name, &binding, node, what);
            self.bindings.insert(name, binding);
        }
    }

    fn pass(
        &mut self,
        volume: &str,
        binding: &Binding,
        node: &SmolStr,
        what: fn(&mut State, &Need, &SmolStr) -> bool,
    ) {
        what(self, &Need::new(Kind::Volume, "", volume), node);
        for secret in &binding.secrets {
            what(self, secret, node);
        }
    }

    /// Adds a reference; returns whether the node is new to the object.
    fn give_one(&mut self, need: &Need, node: &SmolStr) -> bool {
        let table = &mut self.nodes[need.kind as usize];
        let nodes = table.entry(need.namespace.clone()).or_default().entry(need.name.clone()).or_default();
        let count = nodes.entry(node.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// Removes a reference; returns whether the node is no longer related to the object.
    fn take_one(&mut self, need: &Need, node: &SmolStr) -> bool {
        let table = &mut self.nodes[need.kind as usize];
        let Some(namespace) = table.get_mut(&need.namespace) else { return false };
        let Some(nodes) = namespace.get_mut(&need.name) else { return false };
        let Some(count) = nodes.get_mut(node) else { return false };
        *count -= 1;
        if *count > 0 {
            return false;
        }
        nodes.remove(node);
        if nodes.is_empty() {
            namespace.remove(&need.name);
        }
        if namespace.is_empty() {
            table.remove(&need.namespace);
        }
        true
    }
}

fn drop_from<K: Hash + Eq, V: Hash + Eq>(map: &mut HashMap<K, HashSet<V>>, key: &K, value: &V) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}
