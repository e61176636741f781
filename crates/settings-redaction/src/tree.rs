//! A settings file as a tree of values with their positions.

use std::collections::HashSet;
use std::ops::Range;

/// Maximum nesting depth of values.
pub(super) const MAX_DEPTH: usize = 100;

/// Maximum number of values in a file.
pub(super) const MAX_NODES: usize = 400_000;

/// Members that make a subtree something that is run.
const RUN: [&str; 6] = [
    "command",
    "args",
    "hooks",
    "mcpservers",
    "mcp_servers",
    "statusline",
];

/// A value and its position.
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// True if the value is written in one piece; tables of TOML are spread over the file and are not.
    pub(super) in_one: bool,
    /// True if something in it is run as a program.
    pub(super) runs: bool,
    /// True if it is the placeholder of a secret.
    pub(super) is_withheld: bool,
}

/// Kind and content of a value.
pub(super) enum Kind {
    /// A number, a boolean, nothing, or a date.
    Plain,
    /// A string, unescaped.
    Text(String),
    /// A list.
    List(Vec<Node>, Layout),
    /// An object, a table or a mapping.
    Map(Vec<Member>, Layout),
}

/// Layout of the members of a container.
pub(super) enum Layout {
    /// Within brackets, with commas at these places; a trailing comma follows the last value.
    Commas { at: Vec<usize>, trailing: bool },
    /// On lines of their own; `body` is where the first line of a table would be.
    Lines { body: Option<usize> },
    /// A part of the dotted keys of the inline table around it.
    Dotted,
}

/// A named value.
pub(super) struct Member {
    pub(super) name: String,
    /// Range of the name.
    pub(super) key: Range<usize>,
    pub(super) node: Node,
}

impl Node {
    pub(super) fn plain(span: Range<usize>) -> Self {
        Self {
            span,
            kind: Kind::Plain,
            in_one: true,
            runs: false,
            is_withheld: false,
        }
    }

    pub(super) fn text(span: Range<usize>, text: String) -> Self {
        Self {
            span,
            kind: Kind::Text(text),
            in_one: true,
            runs: false,
            is_withheld: false,
        }
    }

    pub(super) fn list(span: Range<usize>, elements: Vec<Self>, layout: Layout) -> Self {
        let runs = elements.iter().any(|element| element.runs);
        Self {
            span,
            kind: Kind::List(elements, layout),
            in_one: true,
            runs,
            is_withheld: false,
        }
    }

    /// Creates an object; `None` if a name occurs twice.
    pub(super) fn map(span: Range<usize>, members: Vec<Member>, layout: Layout) -> Option<Self> {
        let mut names = HashSet::new();
        if !members.iter().all(|member| names.insert(member.name.as_str())) {
            return None;
        }
        let runs = members
            .iter()
            .any(|member| member.node.runs || RUN.iter().any(|name| member.name.eq_ignore_ascii_case(name)));
        Some(Self {
            span,
            kind: Kind::Map(members, layout),
            in_one: true,
            runs,
            is_withheld: false,
        })
    }

    /// Marks each value that is the placeholder.
    pub(super) fn mark(&mut self, placeholder: &str) {
        match &mut self.kind {
            Kind::Plain => {}
            Kind::Text(text) => self.is_withheld = text == placeholder,
            Kind::List(elements, _) => elements.iter_mut().for_each(|element| element.mark(placeholder)),
            Kind::Map(members, _) => members
                .iter_mut()
                .for_each(|member| member.node.mark(placeholder)),
        }
    }

    /// Returns the same value, but not to be withheld as a whole.
    pub(super) fn spread(mut self) -> Self {
        self.in_one = false;
        self
    }

    pub(super) fn is_container(&self) -> bool {
        matches!(self.kind, Kind::List(..) | Kind::Map(..))
    }

    /// Returns true if the value holds nothing that could be secret by its name.
    pub(super) fn is_void(&self) -> bool {
        match &self.kind {
            Kind::Plain => true,
            Kind::Text(text) => text.is_empty(),
            Kind::List(elements, _) => elements.is_empty(),
            Kind::Map(members, _) => members.is_empty(),
        }
    }
}
