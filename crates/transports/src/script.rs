//! Shell scripts that start the agent on another machine. They say who listens behind the word in `T`.

use super::product::Product;

/// Kills remote processes once the connection is gone, as a hanging process would not notice. A command that sshd runs leads a session of
/// its own, and its parent is the connection.
pub(crate) const WATCH: &str = "if kill -0 $PPID && read -r _ _ _ _ G _ </proc/$$/stat && [ \"$G\" = $$ ]; then \
    (while kill -0 $PPID && kill -0 $$; do sleep 2; done; kill -9 0) </dev/null >/dev/null 2>&1 & fi 2>/dev/null; ";

/// Starts what is installed there, by the first of its commands that exists.
pub(crate) fn installed(product: &Product) -> String {
    let one = |(check, serve): &(&str, &str)| {
        format!("if {check} >/dev/null 2>&1; then echo \"$T agent\"; exec {serve}; ")
    };
    let all: Vec<String> = product.installed.iter().map(one).collect();
    match all.is_empty() {
        true => String::new(),
        false => all.join("el") + "fi; ",
    }
}

/// Number of [`directories`].
pub(crate) const DIRECTORIES: u8 = 3;

/// Directories in which a copy may lie, as words of a shell.
fn directories() -> &'static str {
    "\"${TMPDIR:-/tmp}\" /var/tmp /dev/shm"
}

/// Runs the copy that an earlier connection kept in a directory of this name, if the other side says that it is the same program. One that
/// another user could have put there is passed over, and one of another version removed.
pub(crate) fn kept(product: &Product, name: &str) -> String {
    [
        "for D in ",
        directories(),
        "; do d=\"$D/",
        name,
        "\"; if [ -d \"$d\" ] && [ ! -L \"$d\" ] && [ -O \"$d\" ] && \
         [ -f \"$d/agent\" ] && [ ! -L \"$d/agent\" ] && [ -O \"$d/agent\" ] && \
         S=$(sha256sum <\"$d/agent\" 2>/dev/null); then echo \"$T has ${S%% *} $(uname -sm)\"; read -r U || exit; \
         if [ \"$U\" = use ]; then \"$d/agent\" ",
        product.serve_arguments,
        " --kept \"$d\" --listening \"$T agent\"; case $? in 126|127) U=no;; *) exit;; esac; fi; \
         if [ \"$U\" = no ]; then rm -rf \"$d\"; fi; fi; done; ",
    ]
    .concat()
}

/// Takes a copy of the program in and runs it, if a directory can be made in which programs may run. It says which machine it is, reads
/// the length of the copy (0: there is none for it), then the copy. The copy removes itself and its directory when it starts, and says
/// who listens. Where it cannot run, all of it was read, nothing of it stays, and the script goes on with the reason in `W`. Where `dd`
/// can read whole blocks from a pipe it reads most of the copy: the `head` of busybox takes three times as long.
pub(crate) fn offer(product: &Product) -> String {
    let Product {
        package,
        version_arguments,
        serve_arguments,
        ..
    } = product;
    [
        "W=\"no directory lets it run (TMPDIR, /tmp, /var/tmp, /dev/shm)\"; \
         for D in ",
        directories(),
        "; do if d=$(mktemp -d \"$D/",
        package,
        ".XXXXXXXXXX\"); then trap \"rm -rf \\\"\\$d\\\"\" 0; trap \"exit 1\" 1 2 13 15; \
         echo exit >\"$d/agent\" && chmod 700 \"$d/agent\" && \"$d/agent\" && break; rm -rf \"$d\"; trap - 0 1 2 13 15; fi 2>/dev/null; d=; done; \
         if [ -n \"$d\" ]; then echo \"$T wants $(uname -sm)\"; IFS=\" \" read -r N V; W=\"there is no static build for $(uname -sm)\"; \
         if [ \"${N:-0}\" -gt 0 ]; then W=\"it cannot be stored in $d\"; \
         if { if echo ok | dd bs=3 count=1 iflag=fullblock >/dev/null; then dd bs=65536 count=$((N / 65536)) iflag=fullblock && \
         head -c $((N % 65536)); else head -c \"$N\"; fi; } 2>/dev/null | { cat >\"$d/agent\" || { cat >/dev/null; false; }; } 2>/dev/null; then W=\"it does not run there, or is another version\"; \
         if [ \"$(\"$d/agent\" ",
        version_arguments,
        " </dev/null 2>/dev/null)\" = \"$V\" ]; then \"$d/agent\" ",
        serve_arguments,
        " --remove \"$d\" --listening \"$T agent\"; exit; fi; fi; fi; rm -rf \"$d\"; trap - 0 1 2 13 15; fi; ",
    ]
    .concat()
}

/// Ends a script whose copy of the program cannot run.
pub(crate) fn no_copy(product: &Product) -> String {
    format!("echo \"{} cannot be copied there: $W\" >&2; exit 1", product.name)
}

/// Ends a script for a build that cannot work through a shell.
pub(crate) fn no_shell(product: &Product) -> String {
    format!(
        "echo \"{} is not installed there, cannot be copied there ($W), and was built without the feature remote-shell\" >&2; exit 1",
        product.name
    )
}

#[cfg(test)]
mod tests {
    use super::{WATCH, installed, kept, no_copy, no_shell, offer};
    use crate::product::{EXAMPLE, Product};

    #[test]
    fn each_installed_command_is_tried() {
        assert_eq!(
            installed(&EXAMPLE),
            "if command -v tool-box >/dev/null 2>&1; then echo \"$T agent\"; exec tool-box serve; \
             elif tool --version >/dev/null 2>&1; then echo \"$T agent\"; exec tool serve; fi; "
        );
        let none = Product {
            installed: &[],
            ..EXAMPLE
        };
        assert_eq!(installed(&none), "");
    }

    #[test]
    fn a_script_fits_between_single_quotes() {
        let all = [
            kept(&EXAMPLE, "tool-box-1"),
            installed(&EXAMPLE),
            offer(&EXAMPLE),
            no_copy(&EXAMPLE),
            no_shell(&EXAMPLE),
        ];
        for script in all.iter().map(String::as_str).chain([WATCH]) {
            assert!(!script.contains(['\'', '\n']), "{script}");
        }
        assert!(offer(&EXAMPLE).contains("\"$d/agent\" serve --remove \"$d\""));
    }
}
