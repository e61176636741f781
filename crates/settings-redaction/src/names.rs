//! Names of credentials.

/// Words in the name of a credential.
pub(super) const CREDENTIAL: [&str; 18] = [
    "passphrase",
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "cookie",
    "bearer",
    "authorization",
    "privatekey",
    "private_key",
    "oauth",
    "account",
    "email",
    "userid",
];

/// Endings of names that sound like a credential but name its location, or the way to get it.
const NO_CREDENTIAL: [&str; 13] = [
    "helper",
    "command",
    "credentialexport",
    "_file",
    "_path",
    "_store",
    "_env_var",
    "env_key",
    "_content",
    "url",
    "uri",
    "endpoint",
    "_executables",
];

/// Returns true if a name is that of a credential.
pub(super) fn is_credential(name: &str) -> bool {
    if name.len() < 3 {
        return false;
    }
    let is_camel = name.ends_with("Key");
    let name = name.to_lowercase();
    // What is run to get a credential is a command. Were it kept like a credential, a changed one would stay.
    if NO_CREDENTIAL.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    name == "key"
        || name.ends_with("_key")
        || name.ends_with("-key")
        || is_camel
        || CREDENTIAL.iter().any(|word| name.contains(word))
}
