//! The registry: the trait by which a command describes itself, and the macro that makes the table of commands.

use crate::cli::args::{CommandInfo, Example, Group};
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;

/// Command, implemented by its arguments. The summary above them is the first line of its help.
pub(in crate::cli) trait Command: clap::Args {
    /// Name on the command line.
    const NAME: &'static str;
    /// Group in the overview of help; `None` for a hidden command, which only this program calls.
    const GROUP: Option<Group>;
    /// Earlier command of the group that the overview lists behind this one; `None` for the order of the table.
    const BEFORE: Option<&'static str> = None;
    /// Text below the first line, for `--help` and the manual.
    const LONG: &'static str = "";
    /// Examples, for help and the manual.
    const EXAMPLES: &'static [Example] = &[];
    /// JSON documents that it prints or writes.
    const DOCUMENTS: &'static [Document] = &[];
    /// True if its manual page refers to the page of the configuration.
    const READS_CONFIG: bool = false;
    /// True if its result is something to read, which a pager may show.
    const IS_READ: bool = false;

    /// Returns true if opening the store reports interrupted restores: a tree that is half restored can be read, but is half true.
    fn tells_pending(&self) -> bool {
        false
    }

    /// Returns true if opening the store for writing stores or removes what dead processes froze.
    fn takes_up_frozen(&self) -> bool {
        true
    }

    /// Returns true if `--json` was given.
    fn json(&self) -> bool {
        false
    }

    /// Returns true if the command changes files, the store or settings; its output then only reports the result.
    fn changes_something(&self) -> bool {
        false
    }

    /// Returns the exit code for an error of this kind.
    fn exit_code(&self, kind: ErrorKind) -> ExitCode {
        kind.exit_code()
    }

    /// Runs the command.
    fn run(&self, context: Context<'_>) -> Result<Status, CliError>;
}

/// Returns the row of a command in the table.
pub(super) const fn info<C: Command>() -> CommandInfo {
    CommandInfo {
        name: C::NAME,
        group: C::GROUP,
        before: C::BEFORE,
        long: C::LONG,
        examples: C::EXAMPLES,
        documents: C::DOCUMENTS,
        reads_config: C::READS_CONFIG,
        is_read: C::IS_READ,
    }
}

/// Declares the modules of commands, the enum that clap parses and the table of it.
///
/// A line is `mod file: Variant(file::Args);`, with a comma between the commands of one file. The order of the lines is the order
/// of the table. The names in the macro are those of `commands.rs`, its only caller.
macro_rules! commands {
    ($($visibility:vis mod $module:ident: $($verb:ident($args:path)),+;)+) => {
        $($visibility mod $module;)+

        /// Commands with their arguments, in the order in which a user meets them.
        #[derive(Clone, Debug, clap::Subcommand)]
        #[allow(missing_docs, reason = "the summary of its arguments describes a command")]
        pub enum Verb {
            $($(
                #[command(name = <$args as Command>::NAME, hide = <$args as Command>::GROUP.is_none())]
                $verb($args),
            )+)+
        }

        impl CommandSet for Verb {
            const ALL: &'static [CommandInfo] = &[$($(info::<$args>(),)+)+];

            fn definition(name: &str) -> Option<clap::Command> {
                match name {
                    $($(<$args as Command>::NAME => {
                        let command = clap::Command::new(<$args as Command>::NAME);
                        Some(<$args as clap::Args>::augment_args(command))
                    })+)+
                    _ => None,
                }
            }
        }

        impl Verb {
            fn info(&self) -> CommandInfo {
                match self {
                    $($(Self::$verb(_) => info::<$args>(),)+)+
                }
            }

            fn tells_pending(&self) -> bool {
                match self {
                    $($(Self::$verb(args) => Command::tells_pending(args),)+)+
                }
            }

            fn takes_up_frozen(&self) -> bool {
                match self {
                    $($(Self::$verb(args) => Command::takes_up_frozen(args),)+)+
                }
            }

            /// Returns true if `--json` was given.
            #[must_use]
            pub fn json(&self) -> bool {
                match self {
                    $($(Self::$verb(args) => Command::json(args),)+)+
                }
            }

            /// Returns true if the command changes files, the store or settings; its output then only reports the result.
            #[must_use]
            pub fn changes_something(&self) -> bool {
                match self {
                    $($(Self::$verb(args) => Command::changes_something(args),)+)+
                }
            }

            /// Returns the exit code for an error of this kind.
            #[must_use]
            pub fn exit_code(&self, kind: ErrorKind) -> ExitCode {
                match self {
                    $($(Self::$verb(args) => Command::exit_code(args, kind),)+)+
                }
            }

            fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
                match self {
                    $($(Self::$verb(args) => Command::run(args, context),)+)+
                }
            }
        }
    };
}

pub(super) use commands;
