//! Programs that are known to read, each with its rule.

/// Condition under which a program changes nothing.
pub(super) enum Rule {
    /// Any arguments.
    Any,
    /// Without these options; nothing may be expanded, for that could be one.
    But(&'static [&'static str]),
    /// With these arguments and no others.
    Only(&'static [&'static str]),
    /// With so many operands; a further one is written to.
    AtMost(usize),
    /// Assignments of variables only.
    Variables,
    /// Another command stands behind its own options and `extra` words.
    Before {
        options: &'static [&'static str],
        /// Options whose value follows, or is the rest of the word.
        valued: &'static [&'static str],
        extra: usize,
    },
    /// `env`
    Environment,
    /// `command`
    Command,
    /// A shell with a line.
    Shell,
    /// `xargs`
    Each,
    /// `find`
    Find,
    /// `sed`
    Sed,
    /// `awk`
    Awk,
    /// `git`
    Git,
    /// Only asked for its version.
    Version,
}

/// Returns true if `name` is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh")
}

/// Returns the rule for the program of this name; `None` if the program is unknown.
pub(super) fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        // Nothing in their manuals writes a file, sets the system up, or starts another program.
        "cat" | "head" | "tail" | "wc" | "ls" | "dir" | "vdir" | "grep" | "egrep" | "fgrep" | "echo"
        | "pwd" | "true" | "false" | ":" | "basename" | "dirname" | "realpath" | "readlink" | "stat"
        | "du" | "df" | "whoami" | "id" | "groups" | "uname" | "nproc" | "printenv" | "which" | "type"
        | "sleep" | "seq" | "cut" | "tr" | "rev" | "tac" | "nl" | "fold" | "fmt" | "expand" | "unexpand"
        | "paste" | "join" | "comm" | "cmp" | "diff" | "cksum" | "sum" | "md5sum" | "sha1sum"
        | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum" | "b2sum" | "b3sum" | "od" | "hexdump"
        | "strings" | "column" | "ps" | "pgrep" | "free" | "uptime" | "lscpu" | "lsblk" | "tty" | "cd"
        | "exit" | "return" | "break" | "continue" | "jq" | "getconf" | "locale" | "numfmt" | "pathchk"
        | "users" | "who" | "factor" | "getent" => Rule::Any,
        // On macOS it starts the program that it names.
        "arch" => Rule::AtMost(0),
        // On macOS `-o` names a file to be written.
        "base64" | "base32" => Rule::But(&["-o", "--output"]),
        // Names of variables, and in `[[` numbers, may have an index, which may run commands.
        "test" | "[" => Rule::But(&["-v", "-R"]),
        "[[" => Rule::But(&["-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"]),
        "printf" => Rule::But(&["-v"]),
        "wait" => Rule::But(&["-p"]),
        "jobs" => Rule::But(&["-x"]),
        "rg" => Rule::But(&["--pre", "--hostname-bin"]),
        "fd" | "fdfind" => Rule::But(&["-x", "-X", "--exec", "--exec-batch"]),
        "sort" => Rule::But(&[
            "-o",
            "--output",
            "--compress-program",
            "-T",
            "--temporary-directory",
        ]),
        "tree" => Rule::But(&["-o", "-R", "--output"]),
        "date" => Rule::But(&["-s", "--set"]),
        "file" => Rule::But(&[
            "-C",
            "--compile",
            "-z",
            "-Z",
            "--uncompress",
            "--uncompress-noreport",
        ]),
        // The second operand is what they write to.
        "uniq" | "xxd" => Rule::AtMost(1),
        "hostname" => Rule::Only(&["-f", "-s", "-i", "-I", "-d", "--fqdn", "--short"]),
        "set" => Rule::Only(&[
            "-e", "-u", "-x", "-eu", "-ex", "-eux", "-euo", "-euxo", "-o", "pipefail", "+e", "+x",
        ]),
        "export" | "local" | "declare" | "typeset" | "readonly" | "read" => Rule::Variables,
        "env" => Rule::Environment,
        "command" | "builtin" => Rule::Command,
        "xargs" => Rule::Each,
        "find" => Rule::Find,
        "sed" | "gsed" => Rule::Sed,
        "awk" | "gawk" | "mawk" | "nawk" => Rule::Awk,
        "git" => Rule::Git,
        "sudo" | "doas" => Rule::Before {
            options: &["-n", "-E", "-H"],
            valued: &["-u", "-g"],
            extra: 0,
        },
        "time" => Rule::Before {
            options: &["-p"],
            valued: &[],
            extra: 0,
        },
        "nice" => Rule::Before {
            options: &[],
            valued: &["-n"],
            extra: 0,
        },
        "timeout" => Rule::Before {
            options: &["--foreground", "--preserve-status", "-v"],
            valued: &["-k", "-s", "--kill-after=", "--signal="],
            extra: 1,
        },
        "stdbuf" => Rule::Before {
            options: &[],
            valued: &["-o", "-e", "-i"],
            extra: 0,
        },
        name if is_shell(name) => Rule::Shell,
        "cargo" | "rustc" | "rustup" | "node" | "npm" | "pnpm" | "yarn" | "python" | "python3" | "pip"
        | "pip3" | "go" | "gcc" | "g++" | "cc" | "clang" | "make" | "cmake" | "java" | "javac" | "ruby"
        | "perl" | "php" | "docker" | "kubectl" | "terraform" | "deno" | "bun" | "gh" | "jackin"
        | "jackin-recovery" => Rule::Version,
        _ => return None,
    })
}
