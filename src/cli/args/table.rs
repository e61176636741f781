//! The table of commands, as help, the manual, the parser and the schema see it.

use clap::Subcommand;

use crate::cli::schema::Document;

/// Example in help: its purpose, which may be empty, and the line to type.
pub(in crate::cli) type Example = (&'static str, &'static str);

/// Group of commands in the overview of help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Group {
    /// Protecting, looking, undoing.
    Daily,
    /// Sessions and checkpoints beyond that.
    Sessions,
    /// Interrupted restores, and snapshots elsewhere.
    Restore,
    /// Care of the store.
    Store,
    /// Setup of the program.
    Setup,
}

impl Group {
    /// Groups in the order of the overview.
    pub(in crate::cli) const ALL: [Self; 5] = [
        Self::Daily,
        Self::Sessions,
        Self::Restore,
        Self::Store,
        Self::Setup,
    ];

    /// Returns the heading above the group.
    pub(in crate::cli) fn title(self) -> &'static str {
        match self {
            Self::Daily => "Every day",
            Self::Sessions => "Sessions",
            Self::Restore => "Restore",
            Self::Store => "Store",
            Self::Setup => "Setup",
        }
    }
}

/// Row of the table: a command as it describes itself.
#[derive(Clone, Copy, Debug)]
pub struct CommandInfo {
    pub(in crate::cli) name: &'static str,
    /// `None` for a hidden command.
    pub(in crate::cli) group: Option<Group>,
    /// Earlier command of the group that the overview lists behind this one.
    pub(in crate::cli) before: Option<&'static str>,
    pub(in crate::cli) long: &'static str,
    pub(in crate::cli) examples: &'static [Example],
    pub(in crate::cli) documents: &'static [Document],
    pub(in crate::cli) reads_config: bool,
    pub(in crate::cli) is_read: bool,
}

/// Commands of a program: a type that clap parses, and their table.
pub trait CommandSet: Subcommand {
    /// Commands in the order in which a user meets them, hidden ones too.
    const ALL: &'static [CommandInfo];

    /// Returns the definition of a command, without its long text and its examples.
    fn definition(name: &str) -> Option<clap::Command>;

    /// Returns the commands that help shows.
    fn shown() -> impl Iterator<Item = &'static CommandInfo> {
        Self::ALL.iter().filter(|command| command.group.is_some())
    }

    /// Returns the names of the commands that help shows.
    fn names() -> impl Iterator<Item = &'static str> {
        Self::shown().map(|command| command.name)
    }

    /// Finds a command that help shows.
    #[must_use]
    fn named(name: &str) -> Option<&'static CommandInfo> {
        Self::shown().find(|command| command.name == name)
    }
}
