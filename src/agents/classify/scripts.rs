//! Programs whose arguments are a language of their own.

use crate::agents::shell::Word;

fn texts(words: &[Word]) -> Option<Vec<&str>> {
    words
        .iter()
        .map(|word| word.is_fixed.then_some(word.text.as_str()))
        .collect()
}

/// `find`: only with tests and actions that print.
pub(super) fn find_reads(arguments: &[Word]) -> bool {
    // With its value behind it: true.
    const KNOWN: &[(&str, bool)] = &[
        ("-name", true),
        ("-iname", true),
        ("-path", true),
        ("-ipath", true),
        ("-wholename", true),
        ("-regex", true),
        ("-iregex", true),
        ("-regextype", true),
        ("-lname", true),
        ("-ilname", true),
        ("-type", true),
        ("-xtype", true),
        ("-size", true),
        ("-perm", true),
        ("-user", true),
        ("-group", true),
        ("-uid", true),
        ("-gid", true),
        ("-links", true),
        ("-inum", true),
        ("-samefile", true),
        ("-newer", true),
        ("-anewer", true),
        ("-cnewer", true),
        ("-newermt", true),
        ("-newerct", true),
        ("-mtime", true),
        ("-mmin", true),
        ("-ctime", true),
        ("-cmin", true),
        ("-atime", true),
        ("-amin", true),
        ("-fstype", true),
        ("-maxdepth", true),
        ("-mindepth", true),
        ("-printf", true),
        ("-empty", false),
        ("-readable", false),
        ("-writable", false),
        ("-executable", false),
        ("-nouser", false),
        ("-nogroup", false),
        ("-print", false),
        ("-print0", false),
        ("-ls", false),
        ("-prune", false),
        ("-quit", false),
        ("-depth", false),
        ("-xdev", false),
        ("-mount", false),
        ("-follow", false),
        ("-not", false),
        ("-and", false),
        ("-or", false),
        ("-true", false),
    ];
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        // A pattern may become an action's name.
        if !word.is_fixed {
            return false;
        }
        let text = word.text.as_str();
        if !text.starts_with('-') || matches!(text, "-o" | "-a" | "-L" | "-H" | "-P" | "-E") {
            continue;
        }
        match KNOWN.iter().find(|(name, _)| *name == text) {
            Some((_, true)) if words.next().is_some_and(|value| value.is_fixed) => {}
            Some((_, false)) => {}
            _ => return false,
        }
    }
    true
}

/// `sed`: without `-i`, and with commands that print, delete and replace.
pub(super) fn sed_reads(arguments: &[Word]) -> bool {
    let Some(texts) = texts(arguments) else {
        return false;
    };
    let mut scripts = Vec::new();
    let mut rest = texts.into_iter();
    while let Some(text) = rest.next() {
        match text {
            "-n" | "-E" | "-r" | "-u" | "-z" | "-s" | "-nE" | "-En" | "-nr" | "--quiet" | "--silent"
            | "--posix" | "--debug" => {}
            "-e" | "-ne" => scripts.extend(rest.next()),
            option if option.starts_with('-') && option != "-" => return false,
            script if scripts.is_empty() => scripts.push(script),
            _ => {}
        }
    }
    !scripts.is_empty() && scripts.iter().all(|script| sed_script_reads(script))
}

/// Commands of one letter with addresses in numbers or one pattern, and `s` without `w` and `e`.
fn sed_script_reads(script: &str) -> bool {
    // One pattern or replacement may hold a separator: cut only where none is open.
    if script.contains(['{', '}', '\n']) {
        return false;
    }
    let commands: Vec<&str> = if script.contains("s/") || script.contains('/') {
        vec![script]
    } else {
        script.split(';').collect()
    };
    commands.into_iter().all(|command| {
        let rest = without_address(command.trim());
        match rest.chars().next() {
            Some('p' | 'd' | 'q' | 'Q' | '=' | 'P' | 'D' | 'l') => rest
                .get(1..)
                .is_some_and(|more| more.trim().bytes().all(|byte| byte.is_ascii_digit())),
            Some('s') => substitution_reads(rest),
            _ => false,
        }
    })
}

/// Returns a `sed` command without its address (`12`, `1,5`, `$`, `/pattern/`, `/a/,/b/`) and without `!`.
fn without_address(command: &str) -> &str {
    let one = |text: &str| -> Option<usize> {
        if let Some(pattern) = text.strip_prefix('/') {
            let end = pattern.find('/')?;
            // An escaped slash is the pattern's own.
            let before = pattern.get(..end)?;
            return (!before.ends_with('\\')).then_some(end + 2);
        }
        let digits = text
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'$' || *byte == b'~')
            .count();
        (digits > 0).then_some(digits)
    };
    let mut rest = command;
    if let Some(end) = one(rest) {
        rest = rest.get(end..).unwrap_or_default();
        if let Some(second) = rest.strip_prefix(',') {
            let end = one(second).unwrap_or(0);
            rest = second.get(end..).unwrap_or_default();
        }
    }
    rest.trim_start().strip_prefix('!').unwrap_or(rest).trim_start()
}

/// `s` with any sign between its parts, and only flags that change what is shown.
fn substitution_reads(command: &str) -> bool {
    let mut chars = command.chars().skip(1);
    let Some(sign) = chars
        .next()
        .filter(|sign| sign.is_ascii_punctuation() && *sign != '\\')
    else {
        return false;
    };
    let (mut signs, mut is_escaped, mut flags) = (0, false, String::new());
    for next in chars {
        match (signs, next) {
            (2, flag) => flags.push(flag),
            (_, _) if is_escaped => is_escaped = false,
            (_, '\\') => is_escaped = true,
            (_, next) if next == sign => signs += 1,
            _ => {}
        }
    }
    signs == 2 && flags.chars().all(|flag| "gpiI0123456789".contains(flag))
}

/// `awk`: a script that neither writes, nor starts, nor reads what is not named.
pub(super) fn awk_reads(arguments: &[Word]) -> bool {
    let Some(texts) = texts(arguments) else {
        return false;
    };
    let mut rest = texts.into_iter();
    while let Some(text) = rest.next() {
        match text {
            "-F" | "-v" => {
                if rest.next().is_none() {
                    return false;
                }
            }
            option if option.starts_with("-F") => {}
            option if option.starts_with('-') => return false,
            script => {
                let odd = [">", "|", "system", "getline", "close", "fflush", "@"];
                return !odd.into_iter().any(|odd| script.contains(odd));
            }
        }
    }
    false
}

/// `git`: only queries for names and paths. Any other command may run programs that a repository's configuration names (a file
/// system monitor, filters, pagers, external diffs), write the index, or fetch missing objects.
pub(super) fn git_reads(arguments: &[Word]) -> bool {
    const ASKED: [&str; 14] = [
        "--show-toplevel",
        "--git-dir",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-prefix",
        "--show-cdup",
        "--is-inside-work-tree",
        "--is-inside-git-dir",
        "--is-bare-repository",
        "--abbrev-ref",
        "--short",
        "--verify",
        "HEAD",
        "@",
    ];
    let Some(texts) = texts(arguments) else {
        return false;
    };
    let rest = match texts.as_slice() {
        ["-C", _, rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        ["--version" | "version"] => true,
        ["rev-parse", asked @ ..] => asked.iter().all(|word| ASKED.contains(word)),
        ["symbolic-ref", "HEAD"] | ["symbolic-ref", "-q" | "--short", "HEAD"] => true,
        _ => false,
    }
}
