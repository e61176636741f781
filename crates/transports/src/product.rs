//! Names and commands of the program that connects.

/// The program that connects: its names, and the commands by which it serves.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Name in messages, and the first part of the file names of its static builds.
    pub name: &'static str,
    /// Name of its package: of the directory of its static builds, and of all that it creates elsewhere.
    pub package: &'static str,
    /// Line that the program prints for `version_arguments`.
    pub version: &'static str,
    /// Arguments that print the version.
    pub version_arguments: &'static str,
    /// Arguments that serve. `--remove DIRECTORY` removes the copy that runs, `--listening LINE` prints a line first.
    pub serve_arguments: &'static str,
    /// Commands where it is installed: one that succeeds if it is, and one that serves.
    pub installed: &'static [(&'static str, &'static str)],
    /// Argument that runs the cleanup process ([`hold`](crate::hold)); a program and its arguments follow behind `--`.
    pub cleanup_argument: &'static str,
    /// Variable that the cleanup process must not have.
    pub cleanup_without: &'static str,
    /// Variable that names the image of helpers, for messages.
    pub image_variable: &'static str,
    /// Variable that sets the time limit of connections, for messages.
    pub timeout_variable: &'static str,
}

/// A product of the tests.
#[cfg(test)]
pub(crate) const EXAMPLE: Product = Product {
    name: "tool",
    package: "tool-box",
    version: "tool-box 1.0",
    version_arguments: "--version",
    serve_arguments: "serve",
    installed: &[
        ("command -v tool-box", "tool-box serve"),
        ("tool --version", "tool serve"),
    ],
    cleanup_argument: "cleanup",
    cleanup_without: "TOOL_NAME",
    image_variable: "TOOL_IMAGE",
    timeout_variable: "TOOL_TIMEOUT",
};
