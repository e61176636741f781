//! Files that import each other in a circle.
//!
//! An import counts for the file that defines the thing: re-exports are followed. A file may use what its own parents define, and a parent
//! may name and re-export its children: that is how a module and its parts belong together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::source::{Named, Source};

/// A module as the names from the crate's root to it.
type Module = Vec<String>;

/// Files with what they import.
pub(crate) struct Imports {
    paths: BTreeMap<Module, Vec<Named>>,
    /// Each name that a module imports or re-exports, and the path that it stands for.
    names: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Imports {
    /// Reads files of `src`, given by path and text.
    pub(crate) fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut imports = Self {
            paths: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        for (path, text) in files {
            imports.paths.insert(module(path), Source::of(text).paths());
        }
        for (own, paths) in &imports.paths {
            let names = paths.iter().filter(|named| named.imported).filter_map(|named| {
                let to = imports.absolute(own, &named.parts)?;
                Some((named.alias.clone().or_else(|| to.last().cloned())?, to))
            });
            imports.names.insert(own.clone(), names.collect());
        }
        imports
    }

    /// Returns every circle: the shortest one through its first file, as one line for each import.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let edges: BTreeMap<&Module, BTreeMap<Module, &Named>> =
            self.paths.keys().map(|own| (own, self.edges(own))).collect();
        let mut found = Vec::new();
        let mut seen: BTreeSet<Module> = BTreeSet::new();
        for start in self.paths.keys() {
            if seen.contains(start) {
                continue;
            }
            if let Some(circle) = shortest(start, &edges) {
                let steps = circle.iter().zip(circle.iter().skip(1));
                let lines = steps.map(|(from, to)| {
                    let named = edges[from][to];
                    format!(
                        "{}:{} imports {} ({})",
                        file(from),
                        named.line,
                        file(to),
                        named.parts.join("::")
                    )
                });
                found.push(lines.collect());
                seen.extend(circle);
            }
        }
        found
    }

    /// Returns every import of a part of `room` by a file that is neither `room` itself nor below that part: each as one line.
    pub(crate) fn imports_of_parts_of(&self, room: &str) -> Vec<String> {
        let room = module(room);
        let mut found = Vec::new();
        for own in self.paths.keys().filter(|own| **own != room) {
            for (to, named) in self.edges(own) {
                let part = to.get(..=room.len()).filter(|part| part.starts_with(&room));
                if part.is_some_and(|part| !own.starts_with(part)) {
                    let path = named.parts.join("::");
                    found.push(format!(
                        "{}:{} imports {} ({path})",
                        file(own),
                        named.line,
                        file(&to)
                    ));
                }
            }
        }
        found
    }

    /// Returns the modules that a file imports something of, each with one of these imports.
    fn edges(&self, own: &Module) -> BTreeMap<Module, &Named> {
        let mut edges = BTreeMap::new();
        for named in &self.paths[own] {
            let Some(to) = self.absolute(own, &named.parts) else {
                continue;
            };
            let to = self.defined_in(&to, &mut BTreeSet::new());
            let is_of_parent = own.starts_with(&to);
            let is_re_export = named.public && to.starts_with(own);
            if !is_of_parent && !is_re_export {
                edges.entry(to).or_insert(named);
            }
        }
        edges
    }

    /// Returns a path from the crate's root; `None` for one that leads out of the crate.
    fn absolute(&self, own: &Module, parts: &[String]) -> Option<Module> {
        let up = parts.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match parts.first()?.as_str() {
            "crate" => (&[][..], &parts[1..]),
            "self" => (own.as_slice(), &parts[1..]),
            "super" => (&own[..own.len().checked_sub(up)?], &parts[up..]),
            first => {
                let child = [own.as_slice(), &[first.to_owned()]].concat();
                self.paths
                    .contains_key(&child)
                    .then_some((own.as_slice(), parts))?
            }
        };
        Some([base, rest].concat())
    }

    /// Returns the module that defines what a path names.
    fn defined_in(&self, path: &Module, followed: &mut BTreeSet<Module>) -> Module {
        let known = (0..=path.len())
            .rev()
            .find(|end| self.paths.contains_key(&path[..*end]));
        let Some(end) = known else {
            return Vec::new();
        };
        let own = path[..end].to_vec();
        let next = path.get(end).and_then(|name| self.names[&own].get(name));
        match next {
            Some(to) if followed.insert(to.clone()) => {
                let to = [to.as_slice(), &path[end + 1..]].concat();
                self.defined_in(&to, followed)
            }
            _ => own,
        }
    }
}

/// Returns the shortest way from a module back to itself, with the module at both ends.
fn shortest(start: &Module, edges: &BTreeMap<&Module, BTreeMap<Module, &Named>>) -> Option<Vec<Module>> {
    let mut from: BTreeMap<Module, Module> = BTreeMap::new();
    let mut open = VecDeque::from([start.clone()]);
    while let Some(module) = open.pop_front() {
        for to in edges.get(&module)?.keys() {
            if from.contains_key(to) {
                continue;
            }
            from.insert(to.clone(), module.clone());
            if to != start {
                open.push_back(to.clone());
                continue;
            }
            let mut circle = vec![start.clone()];
            let mut at = start;
            while let Some(before) = from.get(at) {
                circle.push(before.clone());
                if before == start {
                    break;
                }
                at = before;
            }
            circle.reverse();
            return Some(circle);
        }
    }
    None
}

fn module(path: &str) -> Module {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs");
    if path == "lib" {
        return Vec::new();
    }
    path.split('/').map(str::to_owned).collect()
}

fn file(module: &Module) -> String {
    match module.is_empty() {
        true => "src/lib.rs".to_owned(),
        false => format!("src/{}.rs", module.join("/")),
    }
}
