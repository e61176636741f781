//! Parts that a build lacks.

use super::product::Product;

/// An optional part that this build lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this build of {name} cannot {work}: it was built without the feature `{feature}`")]
pub struct NotBuilt {
    name: &'static str,
    work: &'static str,
    feature: &'static str,
}

impl NotBuilt {
    /// Returns the error for pods and claims of clusters.
    pub(crate) const fn kubernetes(product: &Product) -> Self {
        Self {
            name: product.name,
            work: "reach a cluster",
            feature: "kubernetes",
        }
    }

    /// Returns the error for machines that have nothing but a shell.
    pub(crate) const fn remote_shell(product: &Product) -> Self {
        Self {
            name: product.name,
            work: "work through the shell of another machine",
            feature: "remote-shell",
        }
    }
}
