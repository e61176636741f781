//! Lets a test kill the program at a point of a restore, as a power cut would. Only in builds with debug assertions; a released
//! program knows nothing of it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::environment::Environment;
use crate::observer::{Observer, Phase};

/// The variable: the name of a point, or `any`; behind a colon, which time (from 1).
const VARIABLE: &str = "JACKIN_RECOVERY_FAIL_AT";

/// Passes everything on, and dies where it was told to.
pub(super) struct FailPoint<O> {
    inner: O,
    point: Option<String>,
    left: AtomicU64,
}

impl<O> FailPoint<O> {
    pub(super) fn new(environment: &Environment, inner: O) -> Self {
        let wanted = wanted(environment);
        let (point, count) = match wanted.as_deref().map(|wanted| wanted.split_once(':')) {
            Some(Some((point, count))) => (Some(point.to_owned()), count.parse().unwrap_or(1)),
            Some(None) => (wanted, 1),
            None => (None, 0),
        };
        Self {
            inner,
            point,
            left: AtomicU64::new(count),
        }
    }
}

fn wanted(environment: &Environment) -> Option<String> {
    let mut variables = environment.variables.iter().filter(|_| cfg!(debug_assertions));
    let wanted = variables.find(|(name, _)| *name == VARIABLE);
    wanted.map(|(_, value)| value.to_string_lossy().into_owned())
}

/// Returns true if a test wants `point`, which is outside of a restore, to fail.
pub(super) fn is_at(environment: &Environment, point: &str) -> bool {
    wanted(environment).is_some_and(|wanted| wanted == point)
}

impl<O: Observer> Observer for FailPoint<O> {
    fn begin(&self, phase: Phase) {
        self.inner.begin(phase);
    }

    fn expect(&self, entries: u64, bytes: u64) {
        self.inner.expect(entries, bytes);
    }

    fn advance(&self, entries: u64, bytes: u64) {
        self.inner.advance(entries, bytes);
    }

    fn end(&self) {
        self.inner.end();
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }

    fn reached(&self, point: &'static str) {
        let meant = self.point.as_deref().is_some_and(|at| at == "any" || at == point);
        if meant && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            crate::process::die();
        }
    }
}
