//! `export`: a snapshot as one file that needs no store.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_file::NamedFile;
use crate::cli::schema::Document;
use crate::cli::snapshot_arg::named_by_options;
use crate::cli::view;
use crate::recovery::ExportedSnapshot;
use crate::report::{ExportDocument, Head, HostPathDocument};
use crate::terminal::size;

/// Write a snapshot to a self-contained file
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// The file to write; must not exist
    #[arg(value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub file: OsString,
    /// The snapshot: a kind, `latest`, a checkpoint's name or number, or an id or its prefix [default: the baseline]
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ExportArgs {
    const NAME: &'static str = "export";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "\
        Writes all files of a snapshot to one compressed archive, which `tar --zstd -xf FILE` unpacks to LABEL/PATH, \
        one label per mount. Only you can read it. It gets its name once it is complete, synced and verified. \
        Skipped credentials are not in it, and encrypted ones stay encrypted.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Carry a snapshot to another machine (see `import`):",
            "jackin recovery export @latest before.tar.zst",
        ),
        (
            "Export the files at the end of the session:",
            "jackin recovery export shop shop.tar.zst --from closing",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ExportDocument>("export")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let engine = context.engine();
        let options = [("--from", args.from.as_deref())];
        let (_, [from]) = named_by_options(context, Some(&args.instance), false, options)?;
        let subject = engine.export_subject(&args.instance, from.as_deref())?;
        if args.file == "-" {
            let error = CliError::new(ErrorKind::Usage, "export cannot write to stdout");
            return Err(error.hint("name a file; write ./- for a file named -"));
        }
        let NamedFile { path: file, shown } = NamedFile::settle(context, args.file.as_ref())?;
        let done = engine.export(subject, &file)?;
        let ExportedSnapshot {
            row,
            record,
            exported,
        } = &done;
        let terminal = context.terminal;
        if args.json {
            let place = HostPathDocument::new(&file);
            terminal.json(&ExportDocument {
                head: Head::default(),
                instance: row.id.to_string(),
                snapshot: record.id.to_string(),
                file: place.path,
                file_bytes: place.path_bytes,
                size: exported.size,
                digest: exported.digest.to_string(),
                complete: record.complete,
                entries: record.entries(),
                encrypted: record.encrypted(),
            });
            return Ok(ExitCode::Done.into());
        }
        terminal.out(&format!(
            "{shown}\n{} ({} bytes), {}\nBLAKE3 {}",
            size::bytes(exported.size),
            size::count(exported.size),
            size::counted(record.entries(), "entry", "entries"),
            exported.digest
        ));
        if !record.complete {
            terminal.warn(&format!(
                "the snapshot and so the file are incomplete; `show {}` lists what is missing",
                row.id
            ));
        }
        if record.encrypted() > 0 {
            terminal.note(&format!(
                "encrypted in it: {}",
                view::import::encrypted(record.encrypted())
            ));
        }
        Ok(ExitCode::Done.into())
    }
}
