//! Tests of sealing and opening, with keys made for the test.

use std::io::{Read as _, Write};
use std::process::{Command, Stdio};

use age::secrecy::ExposeSecret;

use super::bundle::{HEADER_LINES, HEADER_MOST, decrypt};
use super::*;

mod hostile;
mod keys;
mod round_trips;

const MOST: u64 = 1 << 20;

/// Used where there is no `ssh-keygen`. It protects nothing.
const FIXED_PUBLIC: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOlV7TxK4hIukdhyPpohq+u8SL6zte71tVGQ8Cv4izzZ fixture";
const FIXED_PRIVATE: &str = "-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACDpVe08SuISLpHYcj6aIavrvEi+s7Xu9bVRkPAr+Is82QAAAJDRMAu80TAL
vAAAAAtzc2gtZWQyNTUxOQAAACDpVe08SuISLpHYcj6aIavrvEi+s7Xu9bVRkPAr+Is82Q
AAAECygOMWQHzt9T4uC4d4qNbHAdJ3+v7UJR6U2KDxfuA9HelV7TxK4hIukdhyPpohq+u8
SL6zte71tVGQ8Cv4izzZAAAAB2ZpeHR1cmUBAgMEBQY=
-----END OPENSSH PRIVATE KEY-----
";

/// A key pair as the two files hold it.
struct Pair {
    public: String,
    private: String,
}

fn skip(why: &str) {
    skipped::skipped(why);
}

fn age_pair() -> Pair {
    let key = age::x25519::Identity::generate();
    let private = format!(
        "# created: now\n# public key: x\n{}\n",
        key.to_string().expose_secret()
    );
    Pair {
        public: key.to_public().to_string(),
        private,
    }
}

/// Makes a key by `ssh-keygen`, if there is one.
fn ssh_pair(arguments: &[&str]) -> Option<Pair> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-a", "1", "-C", "me@host", "-f"])
        .arg(&file)
        .args(arguments)
        .stdin(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip("no usable ssh-keygen");
        return None;
    }
    let private = std::fs::read_to_string(&file).unwrap();
    Some(Pair {
        public: std::fs::read_to_string(file.with_extension("pub")).unwrap(),
        private,
    })
}

fn ed25519_pair() -> Pair {
    ssh_pair(&["-t", "ed25519", "-N", ""]).unwrap_or(Pair {
        public: FIXED_PUBLIC.to_owned(),
        private: FIXED_PRIVATE.to_owned(),
    })
}

fn recipients(pairs: &[&Pair]) -> Recipients {
    let texts: Vec<String> = pairs.iter().map(|pair| pair.public.clone()).collect();
    Recipients::parse(&texts).unwrap()
}

fn identities(pair: &Pair) -> Identities {
    Identities::parse(pair.private.as_bytes(), &|| None).unwrap()
}

fn file(path: &[u8], content: &[u8]) -> SealedFile {
    SealedFile {
        path: path.to_vec(),
        content: content.to_vec(),
    }
}

/// Encrypts any bytes the way `seal` encrypts an archive.
fn encrypted(packed: &[u8], to: &Recipients) -> Vec<u8> {
    let mut bundle = Vec::new();
    let mut writer = age::Encryptor::with_recipients(to.iter())
        .unwrap()
        .wrap_output(&mut bundle)
        .unwrap();
    writer.write_all(packed).unwrap();
    writer.finish().unwrap();
    bundle
}
