//! A session as data: what is done before it, in it and behind it, and what the restore is asked for. One that fails is shown as
//! the commands that lead to it.

use std::fmt;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::expected::{Asked, Expected, expected};
use super::rules::{Rule, is_hidden, rules};
use super::seen::{Node, Seen, What};
use super::steps::{Spot, Step, spot, steps};

/// One session, and what is asked for afterwards.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) building: Vec<Step>,
    pub(super) damage: Vec<Step>,
    pub(super) later: Vec<Step>,
    pub(super) rules: Vec<Rule>,
    pub(super) tracked: Vec<Spot>,
    pub(super) scope: Option<Vec<Spot>>,
    /// Paths selected in addition to the scope.
    pub(super) also: Vec<String>,
    /// Paths that stay because they were moved from one that stays.
    pub(super) moved: Vec<String>,
    pub(super) overwrite: bool,
    pub(super) delete: bool,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let block = |f: &mut fmt::Formatter<'_>, steps: &[Step]| {
            steps.iter().try_for_each(|step| writeln!(f, "  {step:?}"))
        };
        writeln!(f, "\n  # before the session")?;
        block(f, &self.building)?;
        write!(f, "  jackin recovery begin --snapshot project .")?;
        for rule in &self.rules {
            write!(f, " --exclude {rule:?}")?;
        }
        for path in &self.tracked {
            write!(f, " --path {path:?}")?;
        }
        writeln!(f)?;
        block(f, &self.damage)?;
        writeln!(f, "  jackin recovery end @latest")?;
        block(f, &self.later)?;
        write!(f, "  jackin recovery restore @latest --yes")?;
        if self.overwrite {
            write!(f, " --overwrite-later-edits")?;
        }
        if self.delete {
            write!(f, " --delete-later-files")?;
        }
        for path in self.scope.iter().flatten() {
            write!(f, " {path:?}")?;
        }
        writeln!(f)
    }
}

/// Any; with `links` files get further names.
pub(super) fn case(links: bool) -> impl Strategy<Value = Case> {
    let scope = prop_oneof![
        2 => Just(None),
        1 => prop::collection::vec(spot(), 1..=2).prop_map(Some),
    ];
    let all = (
        steps(links, 2, 25),
        steps(links, 1, 14),
        prop_oneof![1 => Just(Vec::new()), 2 => steps(links, 1, 10)],
        rules(),
        prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(spot(), 1..=2)],
        scope,
        any::<bool>(),
        any::<bool>(),
    );
    all.prop_map(
        |(building, damage, later, rules, tracked, scope, overwrite, delete)| Case {
            building,
            damage,
            later,
            rules,
            tracked,
            scope,
            also: Vec::new(),
            moved: Vec::new(),
            overwrite,
            delete,
        },
    )
}

impl Case {
    /// The outermost of the directories that the session is about, but for those that could not be given: excluded ones, and
    /// those behind a link.
    pub(super) fn tracked(&self, before: &Seen) -> Vec<String> {
        let mut tops: Vec<String> = self.tracked.iter().map(Spot::text).collect();
        tops.retain(|top| {
            let is_dir = before.get(top).is_none_or(Node::is_dir);
            let links = before
                .iter()
                .filter(|(_, node)| matches!(node.what, What::Link(_)));
            !is_hidden(&self.rules, top, is_dir)
                && !links
                    .into_iter()
                    .any(|(link, _)| top.starts_with(&format!("{link}/")))
        });
        tops.sort();
        tops.dedup();
        let all = tops.clone();
        tops.retain(|top| !all.iter().any(|other| top.starts_with(&format!("{other}/"))));
        tops
    }

    /// Returns the expected result.
    pub(super) fn expected(&self, before: &Seen, ended: &Seen, now: &Seen) -> Expected {
        let asked = Asked {
            rules: &self.rules,
            tracked: self.tracked(before),
            scope: self.scope.as_ref().map(|spots| {
                spots
                    .iter()
                    .map(Spot::text)
                    .chain(self.also.iter().cloned())
                    .collect()
            }),
            overwrite: self.overwrite,
            delete: self.delete,
            moved: &self.moved,
        };
        expected(before, ended, now, &asked)
    }
}

/// A number that the environment gives.
fn wanted<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs random cases, and makes one that fails smaller.
pub(super) struct Runner {
    runner: TestRunner,
    seed: u64,
}

/// Runs so many cases, unless `JACKIN_CASES` says otherwise, and makes one that fails smaller in so many steps. `JACKIN_SEED` draws the
/// cases again that a failure named; without it they are those of every other property test.
pub(super) fn runner(usual: u32, shrinking: u32) -> Runner {
    let config = Config {
        cases: wanted("JACKIN_CASES").unwrap_or(usual),
        max_shrink_iters: shrinking,
        failure_persistence: None,
        ..Config::default()
    };
    let seed = wanted("JACKIN_SEED")
        .or_else(|| wanted("PROPTEST_RNG_SEED"))
        .unwrap_or_else(|| getrandom::u64().unwrap());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    Runner {
        runner: TestRunner::new_with_rng(config, rng),
        seed,
    }
}

impl Runner {
    /// Tries every case; a failure names the seed and the smallest case that fails.
    pub(super) fn run<S: Strategy>(
        mut self,
        strategy: &S,
        test: impl Fn(S::Value) -> Result<(), TestCaseError>,
    ) -> Result<(), String>
    where
        S::Value: fmt::Debug,
    {
        let tried = self.runner.run(strategy, test);
        tried.map_err(|error| {
            format!(
                "JACKIN_SEED={} and the same JACKIN_CASES show it again: {error}",
                self.seed
            )
        })
    }
}
