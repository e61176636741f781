//! What help and manual say beyond one line a flag: examples, and how each verb behaves.

/// Examples of a verb, or of the whole (the empty name): what it does, and the line to type.
pub(in crate::cli) fn examples(verb: &str) -> &'static [(&'static str, &'static str)] {
    match verb {
        "" => &[
            (
                "Let an agent work on this directory, then look, then go back:",
                "jackin recovery launch --snapshot project . -- claude",
            ),
            ("", "jackin recovery diff @latest"),
            ("", "jackin recovery restore @latest"),
        ],
        "explain" => &[
            (
                "For this directory:",
                "jackin recovery explain --snapshot project .",
            ),
            (
                "For the workspace shop, as its configuration says:",
                "jackin recovery explain shop",
            ),
        ],
        "launch" => &[
            (
                "Without any configuration:",
                "jackin recovery launch --snapshot project . -- claude",
            ),
            (
                "The workspace shop, whose configuration says how:",
                "jackin recovery launch shop -- codex --full-auto",
            ),
            (
                "Leave out what a build makes again:",
                "jackin recovery launch --snapshot project --exclude target/ . -- make",
            ),
        ],
        "begin" => &[
            (
                "Until the process 4711 is gone:",
                "jackin recovery begin --snapshot project --pid 4711 .",
            ),
            ("Until `end`:", "id=$(jackin recovery begin shop)"),
        ],
        "end" => &[("", "jackin recovery end \"$id\"")],
        "checkpoint" => &[
            (
                "Inside a session:",
                "jackin recovery checkpoint --name before-upgrade",
            ),
            (
                "From outside:",
                "jackin recovery checkpoint @latest --message \"tests pass\"",
            ),
        ],
        "exec" => &[(
            "From a script, in a session that was begun before:",
            "jackin recovery exec \"$id\" -- make generate",
        )],
        "list" => &[("", "jackin recovery list")],
        "show" => &[("", "jackin recovery show @latest")],
        "diff" => &[
            (
                "What the last session changed, path by path:",
                "jackin recovery diff @latest",
            ),
            (
                "Line by line, in one directory:",
                "jackin recovery diff @latest --patch src",
            ),
            (
                "Between two moments of a session:",
                "jackin recovery diff shop --from before-upgrade --to closing",
            ),
            (
                "A path that begins with a dash stands behind `--`:",
                "jackin recovery diff @latest -- -odd-name",
            ),
        ],
        "restore" => &[
            (
                "See what would be done:",
                "jackin recovery restore @latest --dry-run",
            ),
            ("One directory only:", "jackin recovery restore @latest src"),
            (
                "Move a build directory away too, for the agent could write to it and no snapshot holds it:",
                "jackin recovery restore @latest --set-aside-excluded target",
            ),
            (
                "Into a new directory, touching nothing else:",
                "jackin recovery restore shop --to /tmp/before",
            ),
        ],
        "undo" => &[
            ("The last restore:", "jackin recovery undo"),
            (
                "An older one, by its number in `log`:",
                "jackin recovery undo --receipt 12",
            ),
        ],
        "resume" => &[("", "jackin recovery resume")],
        "abort" => &[("", "jackin recovery abort")],
        "fork" => &[
            (
                "The files as they were before the last session, in a place of their own:",
                "jackin recovery fork @latest",
            ),
            (
                "Two agents side by side, each from the same moment:",
                "jackin recovery fork shop ../shop-codex --branch codex",
            ),
            ("", "jackin recovery fork shop ../shop-claude --branch claude"),
            (
                "Once more the snapshot of a fork that was made:",
                "jackin recovery fork \"$reference\" ../again",
            ),
        ],
        "export" => &[
            (
                "To carry it to another machine, where `import` reads it:",
                "jackin recovery export @latest before.tar.zst",
            ),
            (
                "The files as they were at the end:",
                "jackin recovery export shop shop.tar.zst --from closing",
            ),
        ],
        "import" => &[
            (
                "See what is in it, and what would be dropped:",
                "jackin recovery import before.tar.zst --dry-run",
            ),
            ("Take it over:", "jackin recovery import before.tar.zst"),
        ],
        "verify" => &[("", "jackin recovery verify --read-data")],
        "log" => &[
            ("", "jackin recovery log --verify"),
            (
                "What to keep elsewhere, so that a chain that was written anew is noticed:",
                "jackin recovery log --anchor",
            ),
        ],
        "replicate" => &[
            ("See what waits:", "jackin recovery replicate --dry-run"),
            ("Copy it, and what is missing there:", "jackin recovery replicate"),
        ],
        "prune" => &[("See what would go:", "jackin recovery prune --dry-run")],
        "pin" => &[
            (
                "A session with all of its snapshots:",
                "jackin recovery pin @latest",
            ),
            ("One checkpoint:", "jackin recovery pin shop before-upgrade"),
        ],
        "unpin" => &[("", "jackin recovery unpin @latest")],
        "rebuild" => &[("", "jackin recovery rebuild")],
        "doctor" => &[
            ("", "jackin recovery doctor"),
            (
                "For a script, which looks at the exit code:",
                "jackin recovery doctor --json",
            ),
        ],
        "init" => &[
            (
                "See what would be added for the workspace shop:",
                "jackin recovery init shop --dry-run",
            ),
            (
                "For the workspace that this directory belongs to:",
                "jackin recovery init .",
            ),
        ],
        "hook" => &[
            (
                "See what would be written into the settings of Claude Code:",
                "jackin recovery hook install claude --dry-run",
            ),
            (
                "For this project only, where the agent could change it:",
                "jackin recovery hook install codex --scope project",
            ),
            ("Which agents have our hooks:", "jackin recovery hook status"),
            ("Take them out again:", "jackin recovery hook uninstall claude"),
        ],
        "mcp" => &[
            ("What the settings of an agent start:", "jackin recovery mcp"),
            (
                "For an agent that should only read:",
                "jackin recovery mcp --read-only",
            ),
        ],
        "ui" => &[
            ("All sessions:", "jackin recovery ui"),
            ("The latest one:", "jackin recovery ui @latest"),
        ],
        "completions" => &[(
            "For bash, from the next shell on:",
            "mkdir -p ~/.local/share/bash-completion/completions\njackin recovery completions bash \\\n    > ~/.local/share/bash-completion/completions/jackin",
        )],
        "man" => &[("", "jackin recovery man restore | man -l -")],
        _ => &[],
    }
}

/// What `verb` does beyond its first line, for `--help` and the manual.
pub(super) fn long_about(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "explain" => {
            "Prints the recovery contract: what would be captured and what not, where it would be kept, and what a restore could \
            overwrite. Nothing is written."
        }
        "launch" => {
            "Prints the contract, takes the baseline, runs CMD in the current directory, takes the closing snapshot, and says what \
            changed and how to undo it. Returns what CMD returns, 128+N when signal N ended it. Before CMD runs: 2 when the command \
            line or the configuration is wrong, 125 when anything else stops it, 126 when CMD cannot be executed, 127 when it is \
            not found."
        }
        "begin" => {
            "The first half of `launch`, for a launcher that starts the agent itself: prints the contract, takes the baseline, and prints \
            the id of the session. The agent should find that id in JACKIN_RECOVERY_INSTANCE."
        }
        "end" => {
            "The second half of `launch`: takes the closing snapshot of a session that `begin` began, and says what changed."
        }
        "checkpoint" => {
            "A checkpoint is a moment to compare with and to go back to. Only what changed since the last snapshot is stored."
        }
        "list" => "Newest first. A session is active while any of its processes lives.",
        "show" => "What was agreed, which snapshots there are, what they lack, and what was restored since.",
        "diff" => {
            "Compares the baseline with the files as they are, unless told otherwise. What a restore would change is exactly what is \
            shown. Names and contents are shown so that they cannot steer the terminal."
        }
        "restore" => {
            "Prints the plan with every path, asks, takes an emergency snapshot of what is there, and only then changes anything; \
            `undo` brings that back. It deletes only what is proved to be new, and keeps what was edited after the session: such \
            paths are conflicts, are named, and give exit code 6. What the session's excludes leave out is in no snapshot and stays as \
            it is; --set-aside-excluded moves such a directory away as a whole, and `undo` brings it back."
        }
        "undo" => {
            "Puts back what the last restore replaced or deleted, and only that. It is a restore itself: a second `undo` takes the first \
            one back."
        }
        "resume" => {
            "A restore that was killed, or lost its power, waits: until it is finished or taken back some paths may be old and some \
            new, every command says so, and nothing else may be restored or begun there (exit code 8). This finishes it: afterwards \
            every path is new. What you changed meanwhile at a path that was not put back yet stops it."
        }
        "abort" => {
            "The other way out of an interrupted restore: afterwards every path is as it was before it. What you changed meanwhile \
            at a path that had been put back is kept aside and named."
        }
        "fork" => {
            "Writes all files of a snapshot into a directory that is absent or empty, with their modes, links, attributes and times, reads \
            each back, and touches nothing else. Only you may enter the directory. Prints one line of JSON that names the fork; `fork` and \
            `show` take it in the place of a session. `list` tells which forks there are, and which session began in one. What the file \
            system there cannot hold is named (exit code 6)."
        }
        "export" => {
            "Writes all files of a snapshot into one compressed archive that depends on nothing: its files lie at LABEL/PATH, one label a \
            mount, and `tar --zstd -xf FILE` unpacks them. Only you may read it. It gets its name when it is whole, on disk, and read back. Credentials that the snapshot \
            withholds are not in it, and what is encrypted stays so."
        }
        "import" => {
            "Reads the whole file as a stranger's, checks every digest, shows what it is, asks, and stores it as a new session with one \
            snapshot. Owners become you; set-user-id and set-group-id bits, capabilities and all attributes but `user.…`, ACLs, inode flags \
            and devices are dropped and named, unless --trust is given. What is damaged or comes from a newer version is refused (exit code \
            7), and nothing of it stays. Its paths are another machine's, so `restore` refuses it; `fork` and `restore --to` write its files."
        }
        "replicate" => {
            "Copies archives, records and receipts to the bucket that `replicate` in [recovery.store] of config.toml names, each encrypted to \
            the recipients of [recovery.state] there, and only where nothing is. It happens by itself after each snapshot; this is for \
            timers, and after an outage. It also looks what is there, and puts again what is missing. Region, endpoint and credentials are \
            found where AWS's own tools find them. The store here stays the truth: nothing is read back, and nothing is removed there \
            unless prune_replica is set. On another machine `import --from s3://… --identity FILE` brings everything back."
        }
        "verify" => "Checks that every snapshot has all that it needs and names each one that does not.",
        "log" => {
            "Every act leaves a receipt, and each receipt holds the hash of the one before. Newest first. Receipts stay when their \
            snapshots go. Who can write the store can write a whole chain anew: what --anchor prints, kept elsewhere, shows that."
        }
        "prune" => {
            "What goes beyond [recovery.retention] goes by itself when a session ends; this shows all of it, with the bytes for each \
            reason, and asks. Never given up are: what is pinned, the baseline and the closing snapshot of an active session and of the \
            newest one of each workspace, and what an interrupted restore or the undo of the last one needs. Archives that are mostly \
            dead, and many small ones, are packed anew. Receipts stay."
        }
        "pin" => {
            "What is pinned is never given up. The snapshots of a pinned session do not count for the rules."
        }
        "unpin" => "Of a whole session: with every snapshot of it that was pinned by itself.",
        "rebuild" => {
            "The catalog is only an index. Snapshots and receipts are the truth, and are not changed."
        }
        "doctor" => {
            "Looks at configuration, store, locks, sessions, mounts and versions, and changes nothing. Each finding comes with the \
            command or step that deals with it. Exit code 0 without an error, 7 when stored data is damaged or comes from a newer \
            version, else 1. Contents are read by `verify --read-data`."
        }
        "exec" => {
            "A checkpoint is taken only when something changed since the last snapshot, and none before a command that only reads. The \
            command's status is the status. When no checkpoint can be taken the command runs all the same, with a warning, unless \
            [recovery.agent] on_failure says \"block\"."
        }
        "init" => {
            "Adds a [recovery] table to the file that defines the workspace, shows what is added, and asks. Every other byte of the file \
            stays as it is. What is excluded automatically for the detected stack is named in a comment. A workspace that has such a table \
            is left alone."
        }
        "hook" => {
            "`install` adds our hooks to the settings of an agent (claude, codex, gemini, opencode, cursor, copilot), shows what is \
            added, and asks. Everything else in the file stays, byte for byte, and `uninstall` leaves the file as it was. With \
            --scope project the hooks stand in files of the current directory, which the agent itself can write: they are a \
            convenience then, no protection. `status` says which agents have our hooks, and which program they call. \
            `run` is what they call: in a workspace that is captured it begins a session by itself, and takes a checkpoint before each \
            tool call that may change files, when something changed. It never stops the agent, unless [recovery.agent] on_failure says \
            \"block\"."
        }
        "mcp" => {
            "Speaks the Model Context Protocol on standard input and output, for an agent that starts it. The tools (snapshot_create, \
            snapshot_list, snapshot_diff, snapshot_restore, snapshot_fork, session_checkpoint, session_checkpoints, session_restore) \
            act on the session that the agent runs in, and on no other; where none was begun and the workspace is captured, the first \
            snapshot begins one. A session that is named and that the agent does not run in can only be read. Restoring and forking are \
            offered only where [recovery.agent] restore says \"checkpoints\". What is restored are checkpoints of that session, never its \
            baseline, which can be forked and compared with; each restore has its emergency snapshot, so that `undo` takes it back when \
            the session is over. Let the agent start it directly, for by its process the session is found: \
            `claude mcp add --scope user jackin-recovery -- jackin recovery mcp` tells Claude Code of it."
        }
        "ui" => {
            "Sessions, what happened in each, what changed since, line by line, and the way back, on one screen: by keys, which stand at \
            the bottom (`?` explains them), or with the mouse. A restore is the one of `restore`: a plan first, a question, an emergency \
            snapshot, and the same refusals; `u` takes the last one back. Nothing is put back under a session that is active."
        }
        "completions" => "Prints the completions for the name that the program was called by.",
        "man" => "Prints a page in the form that man(1) reads.",
        _ => return None,
    })
}
