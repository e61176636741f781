//! Identity of the other end, and the abilities of its tools.

use std::io;

use super::line::Line;
use handle_fs::home_in;
use handle_fs::remote::protocol::{Bytes, Greeting, VERSION};
use handle_fs::remote::{MISSING, machine_id};

/// Abilities of the other machine's tools beyond the required ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abilities {
    /// True if `touch` sets fractions of a second; without it times are set in whole seconds.
    pub(super) fine_times: bool,
    /// True if `date` prints fractions of a second.
    pub(super) fine_clock: bool,
    /// True if `sync` syncs single files and file systems and reports errors; without it everything is synced, and errors go
    /// unreported.
    pub(super) syncs: bool,
    /// True if `flock` exists.
    pub(super) locks: bool,
    /// True if `tar` can skip the content of a directory.
    pub(super) stays_flat: bool,
}

/// Tools, and a question that only one that can do what is needed answers well. Nothing is written by any.
const NEEDED: [(&str, &str); 17] = [
    (
        "find (with -xdev, -mindepth, -maxdepth, -print0, -exec … {} +)",
        "find / -xdev -mindepth 0 -maxdepth 0 -print0 -exec stat -c %i {} +",
    ),
    ("stat (with -c and -f)", "stat -c %i / && stat -f -c %t /"),
    ("tar", "tar -cf - -C / --help || command -v tar"),
    (
        "dd (with iflag=fullblock)",
        "dd if=/dev/null iflag=fullblock count=0",
    ),
    ("mv (with -T)", "q mv -T"),
    ("ln (with -T)", "q ln -T"),
    (
        "touch (with -h and -d @SECONDS)",
        "touch -c -h -m -d @1 /no/such/file || q touch -c -h -m -d @1",
    ),
    ("readlink", "command -v readlink"),
    ("rm", "command -v rm"),
    ("rmdir", "command -v rmdir"),
    ("mkdir", "command -v mkdir"),
    ("mkfifo", "command -v mkfifo"),
    ("chmod", "command -v chmod"),
    ("chown", "command -v chown"),
    ("sync", "command -v sync"),
    ("date", "date +%s"),
    ("id", "id -u"),
];

/// A question about names that are not there: whether the option was understood.
const ASK: &str = "q() { case $(\"$@\" /no/such/file /no/such/other 2>&1) in \
    *ption*|*sage*|*nvalid*) return 1;; esac; command -v \"$1\"; }";

/// Asks who is there and what its tools can do.
///
/// # Errors
/// Missing programs, in words, or the error of the channel.
pub(super) fn greet(line: &mut Line) -> io::Result<(Greeting, Abilities)> {
    let mut command = format!("{ASK}; ");
    for (at, (_, question)) in NEEDED.iter().enumerate() {
        command.push_str(&format!("{{ {question}; }} >/dev/null 2>&1 || echo {at}; "));
    }
    let parting = line.parting();
    // Nothing is written back in `/proc`; the root may have much of it.
    let facts = [
        "uname -s",
        "id -u",
        "id -g",
        "id -G",
        "cat /etc/machine-id 2>/dev/null",
        "uname -n",
        "readlink /proc/self/ns/mnt 2>/dev/null",
        "cat /etc/passwd 2>/dev/null",
        "{ touch -c -h -m -d @1.5 /no/such/file 2>&1; date +%N; command -v flock; \
         { sync -f -- /proc || sync -f -- /; } 2>/dev/null && echo syncs; \
         tar --no-recursion -cf - -C /dev null 2>/dev/null >/dev/null && echo flat; }",
        "true",
    ];
    for fact in facts {
        command.push_str(&format!("{parting}; {fact}; "));
    }
    let said = line.run(command.trim_end_matches("; ").as_bytes())?;
    let parts = line.parted(&said.out);
    let text = |at: usize| {
        let part = parts.get(at).copied().unwrap_or_default();
        String::from_utf8_lossy(part).trim().to_owned()
    };
    let missing: Vec<&str> = text(0)
        .lines()
        .filter_map(|number| Some(NEEDED.get(number.parse::<usize>().ok()?)?.0))
        .collect();
    if !missing.is_empty() {
        return Err(io::Error::other(format!(
            "{} there: {}",
            MISSING,
            missing.join(", ")
        )));
    }
    let number = |at| {
        text(at)
            .parse::<u32>()
            .map_err(|_| io::Error::other("its id does not tell who acts there"))
    };
    let (uid, gid) = (number(2)?, number(3)?);
    let part = |at: usize| parts.get(at).copied().unwrap_or_default();
    let line_of = |at: usize| part(at).strip_suffix(b"\n").unwrap_or(part(at));
    let abilities = text(9);
    let digits = |line: &str| line.len() == 9 && line.bytes().all(|byte| byte.is_ascii_digit());
    Ok((
        Greeting {
            version: VERSION,
            system: text(1).to_ascii_lowercase(),
            machine: machine_id(part(5), line_of(6), line_of(7)),
            uid,
            gid,
            groups: text(4)
                .split(' ')
                .filter_map(|group| group.parse().ok())
                .collect(),
            home: home_in(part(8), uid).map(|home| Bytes::from(home.as_path())),
        },
        Abilities {
            fine_times: !abilities.contains("nvalid"),
            fine_clock: abilities.lines().any(digits),
            syncs: abilities.lines().any(|line| line == "syncs"),
            stays_flat: abilities.lines().any(|line| line == "flat"),
            locks: abilities.lines().any(|line| line.ends_with("flock")),
        },
    ))
}
