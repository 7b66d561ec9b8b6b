//! Overlapping file paths in volumes: the same path, or one below the other.
//!
//! The paths are kept as a tree, so that not every pair has to be compared. After `a`, `b/c` and `b/d`:
//!
//! ```text
//! root ─┬─ a  (0)
//!       └─ b ─┬─ c  (1)
//!             └─ d  (2)
//! ```
//!
//! `a/x` meets file 0 on its way down, `b` has files 1 and 2 below it, `b/e` meets nothing.

use std::collections::HashMap;

use keelson_object::scalar::quote;

/// The largest number of warnings: the header has room for fewer.
const MOST: usize = 256;

/// A file of a volume.
pub(super) struct File<'s> {
    /// The path of the file.
    pub(super) path: &'s str,
    /// The source of the file; may be empty.
    pub(super) source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        match self.source.as_str() {
            "" => quote(self.path),
            source => format!("{} ({source})", quote(self.path)),
        }
    }
}

/// The files of a volume so far.
pub(super) struct Tree<'s> {
    /// The beginning of the warnings.
    subject: String,
    files: Vec<File<'s>>,
    /// The child of a node by the name of the step; nodes are positions in `nodes`.
    steps: HashMap<(usize, &'s str), usize>,
    nodes: Vec<Node>,
    told: usize,
}

#[derive(Default)]
struct Node {
    children: Vec<usize>,
    files: Vec<usize>,
}

impl<'s> Tree<'s> {
    /// A tree without files.
    pub(super) fn new(subject: String) -> Tree<'s> {
        Tree { subject, files: Vec::new(), steps: HashMap::new(), nodes: vec![Node::default()], told: 0 }
    }

    /// Adds a file, and warns about files that overlap with it.
    pub(super) fn add(&mut self, file: File<'s>, warnings: &mut Vec<String>) {
        let path = file.path.trim_end_matches('/');
        if path.is_empty() {
            return;
        }
        let file = File { path, source: file.source };
        let mut met = Vec::new();
        let mut node = 0;
        for step in path.split('/') {
            node = self.child(node, step);
            met.extend_from_slice(&self.nodes[node].files);
        }
        self.below(node, &mut met);
        met.sort_unstable();
        for other in met {
            if self.told < MOST {
                self.told += 1;
                let other = &self.files[other];
                warnings.push(format!("{}: {} with {}", self.subject, file.shown(), other.shown()));
            }
        }
        self.nodes[node].files.push(self.files.len());
        self.files.push(file);
    }

    fn child(&mut self, node: usize, step: &'s str) -> usize {
        if let Some(child) = self.steps.get(&(node, step)) {
            return *child;
        }
        let child = self.nodes.len();
        self.nodes.push(Node::default());
        self.nodes[node].children.push(child);
        self.steps.insert((node, step), child);
        child
    }

    /// The files below a node, up to the largest number of warnings.
    fn below(&self, node: usize, met: &mut Vec<usize>) {
        let mut left: Vec<usize> = self.nodes[node].children.clone();
        while let Some(node) = left.pop() {
            if self.told + met.len() > MOST {
                return;
            }
            met.extend_from_slice(&self.nodes[node].files);
            left.extend_from_slice(&self.nodes[node].children);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{File, Tree};

    fn check(paths: &[&str], expected: &[&str]) {
        let mut tree = Tree::new("x".to_owned());
        let mut warnings = Vec::new();
        for path in paths {
            tree.add(File { path, source: String::new() }, &mut warnings);
        }
        assert_eq!(warnings, expected, "{paths:?}");
    }

    #[test]
    fn files_in_each_others_way_are_told() {
        check(&["a", "b"], &[]);
        check(&["a", "ab", "a-b"], &[]);
        check(&["a", "a"], &["x: \"a\" with \"a\""]);
        check(&["a/", "a"], &["x: \"a\" with \"a\""]);
        check(&["a", "a/b"], &["x: \"a/b\" with \"a\""]);
        check(&["a/b", "a/c/d", "a"], &["x: \"a\" with \"a/b\"", "x: \"a\" with \"a/c/d\""]);
        check(&["", "a", ""], &[]);
    }

    #[test]
    fn many_files_take_no_longer_than_their_length() {
        let paths: Vec<String> = (0..50_000).map(|it| format!("a/b{it}")).collect();
        let mut tree = Tree::new(String::new());
        let mut warnings = Vec::new();
        for path in &paths {
            tree.add(File { path, source: String::new() }, &mut warnings);
        }
        assert!(warnings.is_empty());
        let deep = "a/".repeat(100_000) + "b";
        tree.add(File { path: &deep, source: String::new() }, &mut warnings);
        tree.add(File { path: "a", source: String::new() }, &mut warnings);
        assert_eq!(warnings.len(), 256);
    }
}
