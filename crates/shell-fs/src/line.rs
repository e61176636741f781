//! Commands to a shell, and its replies. A command is one line that begins with a secret mark, so that content is never taken for
//! a command. After the output of the command, the mark precedes its exit status.

use std::io::{self, Read, Write};

use rustix::io::Errno;

/// More than this is no answer (bytes): a directory of five million long names fits.
const LONGEST: usize = 2 << 30;

/// Commands of the shell's own, said once. Each is one line.
const WORDS: [&str; 18] = [
    // A login may begin in a directory that its user may not enter, and `find` goes back to where it began.
    "cd /",
    // A newline, for names that have one.
    "n=$(printf \"\\nx\"); n=${n%x}",
    "exec 3>&1",
    // How a command ended.
    "z() { S=$?; printf \"\\n%s %s\\n%s\\n%s\\n\" \"$M\" \"$S\" \"$E\" \"$M\"; }",
    // Why a directory cannot be entered: shells do not say, so `stat` is asked.
    "w() { stat -L -c %i -- \"$1/.\" >/dev/null && echo \"Permission denied\" >&2; return 1; }",
    // Enters a directory, through links.
    "f() { cd -P -- \"$1\" 2>/dev/null || w \"$1\"; }",
    // Enters a directory, through none: where one ends up is looked at, and from then on nothing can be put in its place.
    "d() { f \"$1\" && { [ \"$PWD\" = \"$1\" ] || { echo \"Too many levels of symbolic links\" >&2; return 1; }; }; }",
    // Enters the directory that has this number.
    "i() { d \"$1\" && { [ \"$(stat -c %i .)\" = \"$2\" ] || { echo \"Stale file handle\" >&2; return 1; }; }; }",
    // The regular file of this name has this number.
    "o() { [ -f \"$1\" ] && [ ! -L \"$1\" ] && [ \"$(stat -c %i -- \"$1\")\" = \"$2\" ] || { echo \"Stale file \
    handle\" >&2; return 1; }; }",
    // The object of this name, which is no link, has this number.
    "u() { [ ! -L \"$1\" ] && [ \"$(stat -c %i -- \"$1\")\" = \"$2\" ] || { echo \"Stale file handle\" >&2; return 1; }; }",
    // What was opened has this number, whatever has its name by now.
    "k() { [ ! -e \"/proc/self/fd/$1\" ] || [ \"$(stat -L -c %i \"/proc/self/fd/$1\")\" = \"$2\" ] || \
     { echo \"Stale file handle\" >&2; return 1; }; }",
    // Something has this name; nothing has it.
    "t() { [ -e \"$1\" ] || [ -L \"$1\" ] || stat -c %i -- \"$1\" >/dev/null; }",
    "e() { if [ -e \"$1\" ] || [ -L \"$1\" ]; then echo \"File exists\" >&2; return 1; fi; }",
    // The path of a name here, which is there.
    "p() { a=${PWD%/}/$1; t \"$a\"; }",
    // It is no directory.
    "y() { if [ -d \"$a\" ] && [ ! -L \"$a\" ]; then echo \"$1\" >&2; return 1; fi; }",
    // Two names lie on one file system: else a move would be a copy.
    "v() { [ \"$(stat -c %d -- \"$1\")\" = \"$(stat -c %d -- \"$2\")\" ] || { echo \"Invalid cross-device link\" \
    >&2; return 1; }; }",
    // Enters the directory that has this number; its device.
    "h() { d \"$1\" && s=$(stat -c \"%i %d\" .) && { [ \"${s%% *}\" = \"$2\" ] || { echo \"Stale file handle\" >&2; return 1; }; } \
    && D=${s#* }; }",
    // Moves a name between directories that descriptors hold, never over another one, and counts it.
    "m() { a=/proc/self/fd/$1/$2; b=/proc/self/fd/$3/$4; t \"$a\" && e \"$b\" && mv -n -T -- \"$a\" \"$b\" && e \"$a\" && c=$((c+1)); }",
];

/// Endings of the tools' error messages, in the words of glibc and of musl.
const COMPLAINTS: [(&str, Errno); 29] = [
    ("No such file or directory", Errno::NOENT),
    ("Permission denied", Errno::ACCESS),
    ("Operation not permitted", Errno::PERM),
    ("File exists", Errno::EXIST),
    ("file exists", Errno::EXIST),
    ("Not a directory", Errno::NOTDIR),
    ("Is a directory", Errno::ISDIR),
    ("is a directory", Errno::ISDIR),
    ("Directory not empty", Errno::NOTEMPTY),
    ("Too many levels of symbolic links", Errno::LOOP),
    ("Symbolic link loop", Errno::LOOP),
    ("No space left on device", Errno::NOSPC),
    ("Disk quota exceeded", Errno::DQUOT),
    ("Quota exceeded", Errno::DQUOT),
    ("Read-only file system", Errno::ROFS),
    ("File name too long", Errno::NAMETOOLONG),
    ("Filename too long", Errno::NAMETOOLONG),
    ("Invalid cross-device link", Errno::XDEV),
    ("Cross-device link", Errno::XDEV),
    ("Stale file handle", Errno::STALE),
    ("Text file busy", Errno::TXTBSY),
    ("Device or resource busy", Errno::BUSY),
    ("Resource busy", Errno::BUSY),
    ("Too many links", Errno::MLINK),
    ("File too large", Errno::FBIG),
    ("Too many open files", Errno::MFILE),
    ("Cannot allocate memory", Errno::NOMEM),
    ("Invalid argument", Errno::INVAL),
    ("Operation not supported", Errno::OPNOTSUPP),
];

/// Phrases that the tools themselves put into error messages, anywhere in the line.
const PHRASES: [(&str, Errno); 4] = [
    ("cannot overwrite existing file", Errno::EXIST),
    ("cannot overwrite directory", Errno::ISDIR),
    ("cannot overwrite non-directory", Errno::NOTDIR),
    ("to a subdirectory of itself", Errno::INVAL),
];

/// Reply to a command.
#[derive(Debug)]
pub(super) struct Said {
    /// Standard output.
    pub(super) out: Vec<u8>,
    /// True if the command succeeded.
    pub(super) fine: bool,
    complaint: Vec<u8>,
}

impl Said {
    /// Returns the error that the command reported, as the system's number; `None` if it reported none.
    ///
    /// A name in the message cannot fake the reason: that stands at the end of a line, or of the last line if the name has several.
    pub(super) fn complaint(&self) -> Option<Errno> {
        let text = String::from_utf8_lossy(&self.complaint);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let at_end = |line: &&str| {
            COMPLAINTS
                .iter()
                .find(|(words, _)| line.trim_end().ends_with(words))
        };
        let within = |line: &&str| PHRASES.iter().find(|(words, _)| line.contains(words));
        let known = lines.iter().rev().find_map(at_end);
        let known = known.or_else(|| lines.iter().rev().find_map(within));
        (!lines.is_empty()).then(|| known.map_or(Errno::IO, |(_, errno)| *errno))
    }

    /// Returns the number of missing objects if every message reports one; `None` otherwise.
    pub(super) fn missing(&self) -> Option<usize> {
        let text = String::from_utf8_lossy(&self.complaint);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let is_one = |line: &str| line.ends_with(": No such file or directory");
        let count = lines.clone().count();
        lines.all(is_one).then_some(count)
    }

    /// Its output, when it ended well.
    pub(super) fn output(self) -> Result<Vec<u8>, Errno> {
        match self.fine {
            true => Ok(self.out),
            false => Err(self.complaint().unwrap_or(Errno::IO)),
        }
    }
}

/// The channel to a shell.
pub(super) struct Line {
    from: Box<dyn Read + Send>,
    to: Box<dyn Write + Send>,
    mark: String,
}

impl Line {
    /// Tells it the mark, and the words that commands are made of. `mark`: unguessable letters and digits.
    pub(super) fn new(
        from: Box<dyn Read + Send>,
        to: Box<dyn Write + Send>,
        mark: String,
    ) -> io::Result<Self> {
        let mut line = Self { from, to, mark };
        writeln!(line.to, "{}", line.mark)?;
        for words in WORDS {
            line.send(words.as_bytes(), &[])?;
        }
        Ok(line)
    }

    fn send(&mut self, words: &[u8], content: &[u8]) -> io::Result<()> {
        let line = [self.mark.as_bytes(), b" ", words, b"\n", content].concat();
        self.to.write_all(&line)?;
        self.to.flush()
    }

    /// Ends the shell, without waiting for a reply.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        self.send(b"exit 0", &[])
    }

    /// Returns the command that separates parts of an output.
    pub(super) fn parting(&self) -> &'static str {
        "printf \"\\n%s-\\n\" \"$M\""
    }

    /// The parts of an output.
    pub(super) fn parted<'o>(&self, out: &'o [u8]) -> Vec<&'o [u8]> {
        let parting = format!("\n{}-\n", self.mark).into_bytes();
        let mut parts = Vec::new();
        let mut rest = out;
        while let Some(at) = find(rest, &parting) {
            parts.push(rest.get(..at).unwrap_or_default());
            rest = rest.get(at + parting.len()..).unwrap_or_default();
        }
        parts.push(rest);
        parts
    }

    /// Runs a command in a shell of its own: it changes no directory but there.
    pub(super) fn run(&mut self, command: &[u8]) -> io::Result<Said> {
        let words = [b"E=$( { ", command, b"; } 2>&1 >&3 3>&- </dev/null ); z"].concat();
        self.send(&words, &[])?;
        self.hear()
    }

    /// The same for a command that takes all of `content` from its input, whatever happens.
    pub(super) fn give(&mut self, command: &[u8], content: &[u8]) -> io::Result<Said> {
        let words = [b"E=$( { ", command, b"; } 2>&1 >&3 3>&- ); z"].concat();
        self.send(&words, content)?;
        self.hear()
    }

    /// The same in the shell itself: what it opens stays open.
    pub(super) fn stay(&mut self, command: &[u8]) -> io::Result<Said> {
        self.send(&[b"E=; ", command, b"; z"].concat(), &[])?;
        self.hear()
    }

    fn hear(&mut self) -> io::Result<Said> {
        let head = format!("\n{} ", self.mark).into_bytes();
        let tail = format!("\n{}\n", self.mark).into_bytes();
        let mut heard = Vec::new();
        let out = self.until(&mut heard, 0, &head)?;
        let rest = out + head.len();
        let end = self.until(&mut heard, rest, &tail)?;
        let told = heard.get(rest..end).unwrap_or_default().to_vec();
        heard.truncate(out);
        let (status, complaint) = match told.iter().position(|byte| *byte == b'\n') {
            Some(at) => told.split_at(at),
            None => (told.as_slice(), &[][..]),
        };
        Ok(Said {
            out: heard,
            fine: status == b"0",
            complaint: complaint.to_vec(),
        })
    }

    /// Hears on until `pattern` is among what was heard from `begin` on; where it begins.
    fn until(&mut self, heard: &mut Vec<u8>, begin: usize, pattern: &[u8]) -> io::Result<usize> {
        let mut seen = begin;
        let mut room = vec![0; 1 << 16];
        loop {
            if let Some(at) = heard.get(seen..).and_then(|fresh| find(fresh, pattern)) {
                return Ok(seen + at);
            }
            seen = (heard.len() + 1).saturating_sub(pattern.len()).max(begin);
            let count = match self.from.read(&mut room) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            heard.extend_from_slice(room.get(..count).unwrap_or_default());
            if heard.len() > LONGEST {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "its answer has no end",
                ));
            }
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, pattern)
}

/// A word that the shell takes as it is. What has a zero byte is no name.
pub(super) fn quoted(word: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut quoted = vec![b'\''];
    for byte in word {
        match byte {
            0 => return Err(Errno::INVAL),
            b'\'' => quoted.extend(b"'\\''"),
            b'\n' => quoted.extend(b"'\"$n\"'"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    Ok(quoted)
}

/// Words with a space between them.
pub(super) fn words(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(&b' ')
}
