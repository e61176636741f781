//! Free text, such as a prompt or a command line, and the arguments of a command, without what looks like a secret in it.

use super::heuristics::{
    Strictness, is_auth, is_no_password, is_of_secret_key, is_scheme, is_secret_key, is_short_password,
    looks_secret, names_secret,
};
use super::quotes::{Open, behind};

/// Returns a line of text with each word that looks like a secret replaced by `hidden`. Words are separated by single spaces in the
/// result. If the rest still looks like it passes a secret, all of it is replaced.
///
/// ```
/// use settings_redaction::redact_text;
///
/// assert_eq!(redact_text("fix the password reset", "…"), "fix the password reset");
/// assert_eq!(redact_text("use ghp_0123456789abcdef please", "…"), "use … please");
/// assert_eq!(redact_text("the password is swordfish", "…"), "the password is …");
/// assert_eq!(redact_text("curl -u bob:swordfish https://x", "…"), "curl -u … https://x");
/// assert_eq!(redact_text("PGPASSWORD=abc psql -h db", "…"), "PGPASSWORD=… psql -h db");
/// assert_eq!(redact_text("PGPASSWORD='a b c' psql -h db", "…"), "PGPASSWORD=… psql -h db");
/// ```
#[must_use]
pub fn redact_text(line: &str, hidden: &str) -> String {
    redact_line(line, hidden, |_| false).0
}

/// Returns a text of several lines, each as [`redact_text`] returns it; a line that ends in a backslash goes on in the next. A hidden value in quotes ends at the closing quote, also on another line;
/// a private key in PEM form is replaced from its first to its last line.
///
/// ```
/// use settings_redaction::redact_lines;
///
/// let text = "API_KEY='a\nb c' run\n-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\nls";
/// assert_eq!(redact_lines(text, "…"), "API_KEY=…\n… run\n…\nls");
/// ```
#[must_use]
pub fn redact_lines(text: &str, hidden: &str) -> String {
    // A shell reads a line that ends in a backslash together with the next one.
    let text = &text.replace("\\\n", "");
    const KEY: &str = "PRIVATE KEY";
    let bounds = |line: &str, word: &str| {
        let at = line.find(word);
        at.is_some_and(|at| line.get(at..).is_some_and(|rest| rest.contains(KEY)))
    };
    let mut out = Vec::new();
    let mut lines = text.lines();
    let mut open = None;
    while let Some(line) = lines.next() {
        if bounds(line, "BEGIN ") && line.contains("----") {
            if !bounds(line, "END ") {
                // Of a key without an end all that follows may be a part.
                lines.by_ref().find(|line| bounds(line, "END "));
            }
            out.push(hidden.to_owned());
            open = None;
            continue;
        }
        let rest = lines.clone();
        let closes = |open: Open| {
            let mut words = rest.clone().flat_map(str::split_whitespace);
            words.any(|word| behind(word, Some(open)) != Some(open))
        };
        let mut line = line;
        let mut begin = None;
        if let Some(quote) = open.take() {
            let end = end_of(line, quote);
            begin = Some(hidden);
            match end {
                Some(end) => line = line.get(end..).unwrap_or_default(),
                None => {
                    open = Some(quote);
                    line = "";
                }
            }
        }
        let (shown, left) = redact_line(line, hidden, closes);
        open = open.or(left);
        let parts = begin.into_iter().chain([shown.as_str()]);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        out.push(parts.join(" "));
    }
    out.join("\n")
}

/// Returns the position behind the word that closes `open`; `None` if the line closes it nowhere.
fn end_of(line: &str, mut open: Open) -> Option<usize> {
    let mut at = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        at += word.len();
        open = match behind(word.trim_end(), Some(open)) {
            None | Some(Open::Blank) => return Some(at),
            Some(open) => open,
        };
    }
    None
}

/// Returns the line, and the quote that a hidden value opened, if the line does not close it and what follows does (`closes`).
fn redact_line(line: &str, hidden: &str, closes: impl Fn(Open) -> bool) -> (String, Option<Open>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut shown = redact_arguments(&words, hidden);
    // A value may end at a quote that opened before its name.
    let mut names: Vec<Option<Open>> = vec![None; words.len()];
    let mut at = 0;
    while at < words.len() {
        if let Some(value) = value_after(&words, at) {
            // A header has several cookies.
            let is_header = words.get(at).is_some_and(|word| is_cookie(word));
            let rest = words.get(value..).unwrap_or_default().iter();
            let more = rest.take_while(|word| is_header && word.ends_with(';')).count();
            for word in shown.iter_mut().skip(value).take(1 + more) {
                hidden.clone_into(word);
            }
            let name = words.get(at..value).unwrap_or_default().iter();
            if let Some(open) = names.get_mut(value) {
                *open = name.fold(None, |open, word| behind(word, open));
            }
            at = value;
        }
        at += 1;
    }
    let left = drop_values(&words, &mut shown, &names, hidden);
    let is_left = shown.split(|word| word.contains(hidden)).any(|rest| {
        // The word before a hidden one names it.
        let named = rest.split_last().map_or(rest, |(_, others)| others);
        looks_secret(&named.join(" "), Strictness::Stored) || looks_secret(&last(rest), Strictness::Stored)
    });
    let shown = match is_left {
        true => hidden.to_owned(),
        false => shown.join(" "),
    };
    (shown, left.filter(|open| closes(*open)))
}

/// Removes the words in which the value of a hidden one goes on: up to the closing quote, or to the end of the line. Returns the quote that is
/// open then. `names` holds the quotes that are open behind the names of values.
fn drop_values(
    words: &[&str],
    shown: &mut Vec<String>,
    names: &[Option<Open>],
    hidden: &str,
) -> Option<Open> {
    let mut open = None;
    let mut kept = Vec::with_capacity(shown.len());
    for ((word, shown), name) in words.iter().zip(shown.drain(..)).zip(names) {
        if open.is_some() {
            open = behind(word, open);
            continue;
        }
        if shown != *word && shown.contains(hidden) {
            open = behind(word, *name);
        }
        kept.push(shown);
    }
    *shown = kept;
    open.filter(|open| *open != Open::Blank)
}

/// Returns the arguments of a command with those that look like secrets replaced by `hidden`: tokens, values of flags, variables and
/// members of JSON with a telling name, logins, and addresses with a password. The program may be the first of them.
///
/// ```
/// use settings_redaction::redact_arguments;
///
/// let arguments = ["--model", "large", "--token", "hunter2", "--api-key=abc", "API_KEY=abc", "fix the login"];
/// let shown = ["--model", "large", "--token", "…", "--api-key=…", "API_KEY=…", "fix the login"];
/// assert_eq!(redact_arguments(&arguments, "…"), shown);
/// assert_eq!(redact_arguments(&["-u", "bob:swordfish", "--user=bob:swordfish"], "…"), ["-u", "…", "--user=…"]);
/// ```
#[must_use]
pub fn redact_arguments<T: AsRef<str>>(arguments: &[T], hidden: &str) -> Vec<String> {
    let words: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    let takes = Takes::of_words(Program::default(), &words);
    let mut named: Option<&str> = None;
    let one = |(at, takes): (usize, Takes)| {
        let argument = words.get(at).copied().unwrap_or_default();
        let is_flag = argument.starts_with('-');
        if let Some(flag) = named.take()
            && !is_flag
            && !(is_auth(flag) && is_scheme(argument))
        {
            return hidden.to_owned();
        }
        if is_argument(&words, at, takes, Strictness::Shown) {
            return match set_password(argument) {
                Some(name) => format!("{name}={hidden}"),
                None => hidden.to_owned(),
            };
        }
        match argument.split_once('=') {
            Some((key, value))
                if !key.contains(char::is_whitespace)
                    && is_secret_key(key)
                    && !(is_auth(key) && is_scheme(value)) =>
            {
                format!("{key}={hidden}")
            }
            Some((key, value))
                if is_flag && (is_login_of(key, value, takes) || looks_secret(value, Strictness::Shown)) =>
            {
                format!("{key}={hidden}")
            }
            None if is_flag && !argument.contains(':') && is_secret_key(argument) => {
                named = Some(argument);
                argument.to_owned()
            }
            _ if looks_secret(argument, Strictness::Shown) || holds_secret(argument, hidden) => {
                hidden.to_owned()
            }
            _ => argument.to_owned(),
        }
    };
    takes.into_iter().enumerate().map(one).collect()
}

/// Returns true for an argument that is itself a line of a shell with a secret in it.
fn holds_secret(argument: &str, hidden: &str) -> bool {
    let is_line = argument.trim().contains(char::is_whitespace) && !argument.contains(hidden);
    is_line && redact_text(argument, hidden).contains(hidden)
}

/// Flags whose value is a login.
const LOGINS: [&str; 5] = ["-u", "--user", "--auth", "-U", "--proxy-user"];

/// Secrets that the program of a command takes in short flags, which mean something else to others.
#[derive(Clone, Copy, Debug, Default)]
struct Takes {
    /// A login with `-u`, whatever it looks like.
    login: bool,
    /// A password with `-p`, in the same word or the next.
    by_p: bool,
    /// With `-p` in a word of its own, it asks for the password, and the next word is something else.
    asks: bool,
    /// The short flag whose next word is a password: `-a` of redis-cli.
    flag: Option<&'static str>,
}

/// The program that a list of arguments belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Program {
    takes: Takes,
    is_container: bool,
    is_known: bool,
}

impl Program {
    /// Returns the program of a command, such as `/usr/bin/mysql`.
    pub(super) fn of(command: &str) -> Self {
        let name = command.trim().rsplit('/').next().unwrap_or_default();
        if RUN_ANOTHER.contains(&name) {
            return Self::default();
        }
        Self {
            takes: Takes::of(name),
            is_container: CONTAINERS.contains(&name),
            is_known: true,
        }
    }
}

/// Programs that run the one that their arguments name.
const RUN_ANOTHER: [&str; 9] = [
    "sudo", "doas", "env", "time", "nohup", "nice", "exec", "command", "xargs",
];
/// Programs that run another one with `exec`, and take a password with `login`.
const CONTAINERS: [&str; 4] = ["docker", "podman", "kubectl", "docker-compose"];

/// Returns for each argument of a program if it is certainly a secret by its place. The program may be the first of them.
pub(super) fn secret_arguments(program: Program, words: &[&str]) -> Vec<bool> {
    let takes = Takes::of_words(program, words);
    let is_secret = |(at, takes)| is_argument(words, at, takes, Strictness::Stored);
    takes.into_iter().enumerate().map(is_secret).collect()
}

impl Takes {
    fn of(program: &str) -> Self {
        let is_mysql = matches!(program, "mysql" | "mysqldump" | "mysqladmin" | "mariadb");
        Self {
            login: matches!(program, "curl" | "wget" | "http" | "https" | "ab"),
            by_p: is_mysql || matches!(program, "sshpass" | "7z" | "7za" | "twine"),
            asks: is_mysql,
            flag: match program {
                "redis-cli" => Some("-a"),
                "openssl" => Some("-k"),
                "zip" | "unzip" | "sqlcmd" => Some("-P"),
                "ldapsearch" | "ldapadd" | "ldapmodify" | "ldapdelete" => Some("-w"),
                _ => None,
            },
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            login: self.login || other.login,
            by_p: self.by_p || other.by_p,
            asks: self.asks || other.asks,
            flag: self.flag.or(other.flag),
        }
    }

    /// Returns this for each word of a command line. The program is the first word of a command, behind `sudo` and the like, or a path;
    /// `docker exec` runs another one.
    fn of_words(program: Program, words: &[&str]) -> Vec<Self> {
        let (mut takes, mut begins, mut is_value) = (program.takes, !program.is_known, false);
        let (mut is_container, mut runs) = (program.is_container, false);
        let mut all = Vec::with_capacity(words.len());
        for word in words {
            all.push(takes);
            let bare = word.trim_matches(['\'', '"', '`', '(', ')', '$']);
            // A permission names its tool first: `Bash(curl …)`.
            let name = bare.rsplit(['/', '(']).next().unwrap_or_default();
            if matches!(*word, "&&" | "||" | "|" | "&") || word.ends_with(';') {
                (takes, begins, is_value) = (Self::default(), true, false);
                (is_container, runs) = (false, false);
            } else if begins {
                if std::mem::replace(&mut is_value, false) {
                    continue;
                }
                // Of sudo, or of a program that is not among the words.
                if word.starts_with('-') {
                    is_value = matches!(*word, "-u" | "-g" | "-n");
                } else if !word.contains('=') && !RUN_ANOTHER.contains(&name) {
                    takes = Self::of(name);
                    is_container = CONTAINERS.contains(&name);
                    begins = false;
                }
            } else if *word == "-c" {
                begins = true;
            } else if runs || bare.contains("/bin/") {
                takes = takes.or(Self::of(name));
            } else if is_container {
                runs = bare == "exec";
                takes.by_p |= bare == "login";
            }
        }
        all
    }

    /// Returns true for a flag that has a login as its value.
    fn has_login(self, flag: &str) -> bool {
        // Short flags in one word, such as `-su` of curl.
        let letters = flag.strip_prefix('-').unwrap_or_default();
        let is_joined = letters.ends_with('u') && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
        LOGINS.contains(&flag) || self.login && is_joined
    }
}

/// Returns true if `value` is a user with a password, behind a flag that takes one.
fn is_login_of(flag: &str, value: &str, takes: Takes) -> bool {
    // A user and a group are numbers.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_certain = takes.login || matches!(flag, "--auth" | "--proxy-user");
    takes.has_login(flag)
        && value.split_once(':').is_some_and(|(user, pass)| {
            let is_empty = user.is_empty() || pass.is_empty();
            let is_id = is_number(user) && is_number(pass);
            !(is_empty || is_id || pass.starts_with('/')) && (is_certain || looks_like_login(user, pass))
        })
}

/// Returns false for a user with a group, a host with a path, and a remote with a branch.
fn looks_like_login(user: &str, pass: &str) -> bool {
    const SHORTEST: usize = 5;
    const REMOTES: [&str; 3] = ["origin", "upstream", "HEAD"];
    const BRANCHES: [&str; 3] = ["master", "trunk", "develop"];
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.');
    let is_host = |text: &str| text == "localhost" || text.contains('.') && is_name(text);
    let is_place = |text: &str| text.contains('/') || is_host(text);
    let is_id = user.bytes().all(|byte| byte.is_ascii_digit());
    let is_branch = REMOTES.contains(&user) || BRANCHES.contains(&pass);
    user != pass && pass.len() >= SHORTEST && !is_id && !is_branch && !is_place(user) && !is_place(pass)
}

/// Returns true for ports as in `-p 3306:3306`.
fn is_ports(word: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    word.contains(':') && word.split(':').all(is_number)
}

/// Returns true if the word at `at` is a secret by the place where a command has it: a login behind `-u`, a password behind `--pass`, or
/// behind `-p` or `-a` of a program that takes one so, or what a name like `DB_PASS` is set to. For storage it must be certain.
fn is_argument(words: &[&str], at: usize, takes: Takes, strictness: Strictness) -> bool {
    let Some(word) = words.get(at).map(|word| word.trim_matches(['\'', '"'])) else {
        return false;
    };
    let before = at
        .checked_sub(1)
        .and_then(|at| words.get(at))
        .copied()
        .unwrap_or_default();
    let is_stored = strictness == Strictness::Stored;
    if is_stored && is_reference(words.get(at).copied().unwrap_or_default()) {
        return false;
    }
    let is_login = |flag: &str, login: &str| {
        let is_certain = takes.login || matches!(flag, "--auth" | "--proxy-user");
        (is_certain || !is_stored) && is_login_of(flag, login, takes)
    };
    let is_named = before.strip_prefix("--").is_some_and(is_short_password);
    let is_apart = before == "-p" && !is_ports(word) && !(is_stored && takes.asks);
    set_password(word).is_some()
        || is_named && !word.starts_with('-') && !is_no_password(word)
        || word.starts_with("pass:") && word.len() > 5
        || is_login(before, word)
        || word
            .strip_prefix("-u")
            .is_some_and(|login| !login.starts_with(' ') && is_login("-u", login))
        || takes.by_p && (is_apart || word.starts_with("-p") && word.len() > 2)
        || takes.flag.is_some_and(|flag| flag == before)
        || before.ends_with("secret_access_key")
}

/// Returns true for a word whose value is named elsewhere, as `-p"$PASSWORD"`, or is a part of a pattern, as `-u me:*`.
fn is_reference(word: &str) -> bool {
    let named = |value: &str| {
        let value = value.trim_matches(['"', ')']);
        value.is_empty() || value.starts_with(['$', '*', '<', '{']) || matches!(value, ":*" | ":")
    };
    let value = ["-p", "-u"].iter().find_map(|flag| word.strip_prefix(flag));
    let value = value.or_else(|| Some(word.split_once('=')?.1)).unwrap_or(word);
    named(value) || value.split_once(':').is_some_and(|(_, pass)| named(pass))
}

/// Returns the name in a word such as `DB_PASS=…` or `-Ddb.pass=…`; `None` if it sets no password.
fn set_password(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=')?;
    let bare = name.trim_matches(['\'', '"']).trim_start_matches('-');
    let last = bare.rsplit('.').next().unwrap_or_default();
    // A blank makes it the line of a shell.
    (!name.contains(char::is_whitespace)
        && is_short_password(last)
        && !value.is_empty()
        && !is_no_password(value))
    .then_some(name)
}

fn last(words: &[String]) -> String {
    words.last().cloned().unwrap_or_default()
}

/// Returns true for the name of a header with cookies, of which each is a secret.
fn is_cookie(word: &str) -> bool {
    let name = word.trim_end_matches(':');
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    name.eq_ignore_ascii_case("cookie")
}

/// Returns the position of the word that the one at `at` says is a secret: after `password:`, `password =`, `password =>`, `password is`, or
/// the scheme of an `Authorization:`.
fn value_after(words: &[&str], at: usize) -> Option<usize> {
    let word = words.get(at)?;
    let name = word.trim_end_matches([':', '=']);
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_header = name.eq_ignore_ascii_case("authorization") || is_cookie(word);
    let before = at.checked_sub(1).and_then(|at| words.get(at));
    let is_secret_key = name.eq_ignore_ascii_case("key") && before.is_some_and(|word| is_of_secret_key(word));
    if !is_header && !is_secret_key && !names_secret(&name.to_ascii_lowercase()) {
        return None;
    }
    let mut value = at + 1;
    if !word.ends_with([':', '=']) {
        match words.get(value)? {
            &(":" | "=" | "is" | "=>" | "->") => value += 1,
            // `API_KEY ="…"`
            word if word.len() > 1 && word.starts_with('=') && !word.starts_with("==") => return Some(value),
            _ => return None,
        }
    }
    let scheme = words.get(value)?.to_ascii_lowercase();
    if matches!(scheme.as_str(), "bearer" | "basic" | "token") {
        value += 1;
    }
    (value < words.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::{redact_arguments, redact_lines, redact_text};

    #[test]
    fn arguments_with_secrets_are_hidden_and_others_are_not() {
        for arguments in [
            &["-u", "admin:MARK1"][..],
            &["--user", "admin:MARK1"],
            &["--user=admin:MARK1"],
            &["-uadmin:MARK1"],
            &["--auth", "MARK1"],
            &["--auth=MARK1"],
            &["{\"apiKey\":\"MARK1\"}"],
            &["{\"a\":[1,{\"db\":{\"password\":\"MARK1\"}}]}"],
            &["--data={\"auth\":\"MARK1\"}"],
            &["password:MARK1"],
            &["host=db;password=MARK1"],
            &["X-Api-Key:MARK1"],
            &["X-Api-Key: MARK1"],
            &["sh", "-c", "curl -u admin:MARK1 example.org"],
            &["mysql", "-pMARK1"],
            &["DB_PASS=MARK1"],
        ] {
            let shown = redact_arguments(arguments, "(hidden)").join(" ");
            assert!(
                !shown.contains("MARK1") && shown.contains("(hidden)"),
                "{arguments:?}: {shown}"
            );
        }
        for arguments in [
            &["-u", "1000:1000"][..],
            &["-v", "a:/b", "--user", "bob"],
            &["{\"model\":\"large\",\"maxTokens\":100}"],
            &["src/token.rs:12", "localhost:8080", "feature/password-reset"],
            &["sh", "-c", "cd a && make test"],
            &["--auth-type=basic"],
        ] {
            assert_eq!(redact_arguments(arguments, "(hidden)"), arguments);
        }
    }

    #[test]
    fn harmless_words_stay_and_secrets_like_them_do_not() {
        let both = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let arguments = redact_arguments(&words, "(hidden)").join(" ");
            let one = redact_arguments(&["sh", line], "(hidden)").split_off(1).join(" ");
            [redact_text(line, "(hidden)"), arguments, one]
        };
        let mut wrong = Vec::new();
        for line in [
            "key: value",
            r#"{"key":"name","order":"asc"}"#,
            r#"{"sortKey":"name"}"#,
            "primary_key:id",
            "hotKey:ctrl+k",
            "https://example.org:443/path?key=1",
            "open http://localhost:3000/items?key=7 and click",
            r#"react key="row" is duplicated"#,
            "fix the key: it is wrong",
            "--auth=basic",
            "--auth none",
            "auth=none",
            "--set auth=false",
            "auth: add login",
            "account:main",
            "email:a@b.c",
            "token:12",
            "sort -u a:b",
            "rsync -u host:dir/x",
            "git push -u origin:main",
            "diff -U a:b",
            "docker run -u node:node",
            "--user=app:app",
            "-u www-data:www-data",
            "docker run --name mysql -p 3306:3306",
            "sudo mysql -p 3306:3306",
            "ssh login -p 22",
            "npm login -port",
            r#"claude -p "fix the mysql -p flag""#,
            "PWD=/home/ann",
            "x264 --pass=2 a",
            "x264 --pass 2 a",
        ] {
            for shown in both(line) {
                if shown != line {
                    wrong.push(format!("{line}: {shown}"));
                }
            }
        }
        for line in [
            "true -u admin:MARK1S3cr3tPassw0rd",
            "--user=admin:MARK1S3cr3tPassw0rd4",
            r#"{"apiKey":"MARK1xk9f8a7s6d5f4g3h2j1"}"#,
            "--auth MARK1xk9f8a7s6d5f4g3h2j2",
            "curl -u a:MARK1 x",
            "curl -su u:MARK1 x",
            "sudo -u me curl -u me:MARK1 x",
            "sudo mysql -pMARK1",
            "ls && /usr/bin/mysql -p MARK1",
            "docker exec -it db mysql -uroot -pMARK1",
            "docker login -u me -p MARK1",
            "--pass MARK1",
            "--pass=MARK1",
            "--pwd MARK1",
            r#"{"pass":"MARK1"}"#,
            r#"{"pwd":"MARK1"}"#,
            "pwd=MARK1",
            "Server=db;Pwd=MARK1",
            "java -Ddb.pass=MARK1",
            "--password:MARK1",
        ] {
            for shown in both(line) {
                if shown.contains("MARK1") {
                    wrong.push(format!("{line}: {shown}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn ordinary_text_stays_and_secrets_do_not() {
        for plain in [
            "fix the login test",
            "mkdir -p src/a && cp -p a b",
            "docker run -u 1000:1000 -v a:/b image",
            "Rotate the token and rename password.rs to secrets.rs",
            "rm -rf data && cargo test --workspace",
            "why is commit 4f5e6d7 failing?",
            "",
        ] {
            assert_eq!(redact_text(plain, "(hidden)"), plain);
        }
        for (text, secret) in [
            ("my key is sk-0123456789abcdefghij", "sk-0123456789"),
            ("export DB_PASS=swordfish", "swordfish"),
            ("curl -u bob:swordfish https://example.org", "swordfish"),
            ("curl -ubob:swordfish https://example.org", "swordfish"),
            ("http --auth bob:swordfish example.org", "swordfish"),
            ("mysql -pswordfish shop", "swordfish"),
            ("sshpass -p swordfish ssh host", "swordfish"),
            ("docker login -u bob -p swordfish", "swordfish"),
            ("redis-cli -a swordfish ping", "swordfish"),
            ("zip -P swordfish a.zip a", "swordfish"),
            ("unzip -q -P swordfish a.zip", "swordfish"),
            ("7z x -pswordfish a.7z", "swordfish"),
            ("twine upload -u me -p swordfish dist/x", "swordfish"),
            ("ldapsearch -x -D cn=me -w swordfish", "swordfish"),
            ("SSHPASS=swordfish sshpass -e ssh host", "swordfish"),
            (
                "curl -H 'Cookie: sid=a; other=swordfish; third=swordfish' https://x",
                "swordfish",
            ),
            ("API_KEY =\"swordfish\"", "swordfish"),
            ("'password' => 'swordfish',", "swordfish"),
            ("set password -> swordfish", "swordfish"),
            ("openssl enc -pass pass:swordfish", "swordfish"),
            ("openssl enc -aes-256-cbc -k swordfish -in a", "swordfish"),
            ("aws configure set aws_secret_access_key swordfish", "swordfish"),
            ("export API_KEY=abcd1234; run", "abcd1234"),
            ("curl https://me:swordfish@example.org/x", "swordfish"),
            ("mysql --password hunter2 -e x", "hunter2"),
            ("mysql --password=hunter2 -e x", "hunter2"),
            ("password: hunter2", "hunter2"),
            ("my api key: hunter2", "hunter2"),
            ("password = hunter2", "hunter2"),
            (
                "set \"token\": \"0123456789abcdef0123456789abcdef\"",
                "0123456789abcdef",
            ),
            ("curl -H \"Authorization: Basic aGVsbG8=\"", "aGVsbG8"),
            ("docker login -u me -p hunter2secret registry", "hunter2secret"),
            ("docker login -p hunter=2", "hunter"),
            ("sshpass -p c3dvcmRmaXNo= ssh host", "c3dvcmRmaXNo"),
            ("curl -u bob:swordfish= https://example.org", "swordfish"),
            (r#"export DB_PASSWORD="a swordfish b"; ./deploy"#, "swordfish"),
            ("mysql --password 'a swordfish' -e x", "swordfish"),
            ("mysql --password='a swordfish' -e x", "swordfish"),
            ("mysql -p'a swordfish' -e x", "swordfish"),
            ("sshpass -p 'a swordfish' ssh host", "swordfish"),
            ("curl -u 'bob:a swordfish' https://x", "swordfish"),
            (
                r#"curl -H "Authorization: Digest a, swordfish" https://x"#,
                "swordfish",
            ),
            (r#"curl -d "password=a swordfish" https://x"#, "swordfish"),
            (r#"{"password": "a swordfish", "b": 1}"#, "swordfish"),
            (r#"{"password":"a swordfish"}"#, "swordfish"),
            (
                r#"sh -c "curl -d '{\"password\": \"a swordfish\"}'""#,
                "swordfish",
            ),
            ("POSTGRES_PASSWORD='a swordfish' up", "swordfish"),
            (r"POSTGRES_PASSWORD=a\ swordfish up", "swordfish"),
            (r#"password = "a swordfish""#, "swordfish"),
            ("the password is 'a swordfish' as ever", "swordfish"),
            ("DB_PASSWORD='a'\"b swordfish\" up", "swordfish"),
        ] {
            let shown = redact_text(text, "(hidden)");
            assert!(!shown.contains(secret), "{text}: {shown}");
        }
    }

    #[test]
    fn what_follows_a_quoted_value_stays() {
        for (line, expected) in [
            (
                r#"export DB_PASSWORD="a b"; ./deploy"#,
                "export DB_PASSWORD=… ./deploy",
            ),
            (
                "echo 'the password: swordfish' && ls 'a b'",
                "echo 'the password: … && ls 'a b'",
            ),
            (
                r#"say "token: abc" to "them all""#,
                r#"say "token: … to "them all""#,
            ),
            ("mysql --password 'a b' -e x", "mysql --password … -e x"),
        ] {
            assert_eq!(redact_text(line, "…"), expected);
        }
    }

    #[test]
    fn a_private_key_and_a_quoted_value_go_from_begin_to_end() {
        for (text, expected) in [
            (
                "use\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAg==\n-----END RSA PRIVATE KEY-----\nplease",
                "use\n…\nplease",
            ),
            ("a\n-----BEGIN PRIVATE KEY-----\nMIIE\nAg==", "a\n…"),
            (
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAg==\n-----END PGP PRIVATE KEY BLOCK-----\nb",
                "…\nb",
            ),
            ("DB_PASSWORD='a\nb c\nd' run\nls", "DB_PASSWORD=…\n…\n… run\nls"),
            ("mysql \\\n  -u root \\\n  -pswordfish\nls", "mysql -u root …\nls"),
            ("PASSWORD=sword\\\nfish run", "PASSWORD=… run"),
            // Without a closing quote the value ends with its line.
            ("the password is 'a b\nls", "the password is …\nls"),
            ("a  b\n\nc", "a b\n\nc"),
        ] {
            assert_eq!(redact_lines(text, "…"), expected);
        }
    }
}
