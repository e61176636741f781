//! Makes the contract out of configuration, host and earlier baselines. It only looks: links are resolved, roots are
//! listed, nothing is written.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::integration::TrackedByGit;
use super::model::{
    Contract, MountState, MountTerms, NotCovered, ReplicaTerms, RestoreTerms, RetentionTerms, ShellReason,
    SnapshotTerms, StateTerms, Unavailable,
};
use super::mount_probe::{Kind, Seen, look, not_covered, uncaptured, why_not};
use super::sensitive_paths::{Places, below};
use super::{ContractError, Verdict, agent_state, coverage, native, overlap};
use crate::config::{Isolation, Mode, MountConfig, Native, Resolved, Sensitive, isolated as isolated_mounts};
use crate::environment::Environment;
use crate::model::{ByteString, Coverage, RelPath, WithheldPath, WithheldReason};
use crate::process::asks_for_shell;
use crate::product::FILE_SYSTEM;

/// Options of the command line that go beyond the configuration, and the query to git.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// `--allow-broad`
    pub allow_broad: bool,
    /// Query for the paths that git tracks, which are not excluded automatically.
    pub in_git: Option<TrackedByGit>,
    /// `--checkpoint-every`, in seconds.
    pub checkpoint_every: Option<u64>,
}

/// Makes the contract.
///
/// # Errors
/// When a mount is not there or cannot be read, must not be captured (see [`ContractError`]), or nothing can be.
pub fn resolve(
    environment: &Environment,
    resolved: &Resolved,
    options: Options,
) -> Result<Contract, ContractError> {
    let mode = resolved.mode.value;
    let captures = mode.captures();
    let places = Places::of(environment);
    let mut seen = Vec::new();
    let shared = |mount: &MountConfig| mount.isolation == Isolation::Shared;
    let workspace = resolved.subject.workspace();
    let workspace = workspace.filter(|_| !resolved.mounts.iter().all(shared));
    let isolated = environment.jackin_home().zip(workspace);
    let isolated = isolated.map(|(home, workspace)| {
        let container = resolved
            .jackin
            .as_ref()
            .and_then(|jackin| jackin.container.as_deref());
        isolated_mounts(&home, workspace, container)
    });
    let isolated = isolated.unwrap_or_default();
    for mount in &resolved.mounts {
        seen.push(look(environment, mount, &resolved.subject, captures, &isolated)?);
    }
    if mode != Mode::Off && places.store().is_none() {
        return Err(ContractError::NoStore);
    }
    let mut labels = Vec::new();
    let mut mounts = if captures {
        if !places.knows_home() {
            return Err(ContractError::NoHome);
        }
        for mount in seen.iter().filter(|mount| mount.is_capturable()) {
            refuse(mount, resolved, &places, options)?;
        }
        captured(&seen, resolved, &places, options, &mut labels)?
    } else {
        seen.iter()
            .map(|mount| terms(mount, uncaptured(mount).unwrap_or(not_covered(NotCovered::Mode))))
            .collect()
    };
    let watched = if mode == Mode::Metadata {
        watched(&seen, resolved, &places, options)?
    } else {
        Vec::new()
    };
    let reason = match mode {
        Mode::Off => Some(Unavailable::Off),
        Mode::Metadata => Some(Unavailable::Metadata),
        Mode::Project | Mode::ProjectAndState => None,
    };
    let mut state = (mode == Mode::ProjectAndState).then(|| {
        // The name of a home says nothing of what is taken from it.
        let label = |_: &Path| coverage::label(Path::new("/state"), &mut labels);
        let mut terms = agent_state::terms(environment, resolved, &places, label);
        let covered = mounts.iter().filter_map(|mount| mount.coverage.as_ref());
        terms.leave_out(covered.map(|coverage| coverage.root.to_path()));
        terms
    });
    freeze(&mut mounts, state.as_mut(), resolved, &places)?;
    let of_state = state.iter().filter_map(|state| state.coverage.as_ref());
    let overwrites = mounts
        .iter()
        .filter_map(|mount| mount.coverage.as_ref())
        .chain(of_state)
        .flat_map(overwritten)
        .collect();
    let replica = resolved.replication.as_ref().map(|replication| ReplicaTerms {
        place: replication.place.value.to_string(),
        source: replication.place.source.clone(),
        recipients: replication.recipients.clone(),
        prune: replication.prune,
    });
    Ok(Contract {
        subject: resolved.subject.clone(),
        label: resolved.subject.label(),
        snapshot: SnapshotTerms {
            created: captures,
            mode,
            source: resolved.mode.source.clone(),
        },
        mounts,
        watched,
        cleanup_policy: resolved.cleanup_policy.clone(),
        jackin: resolved.jackin.clone(),
        state,
        store: places.store().filter(|_| mode != Mode::Off).map(ByteString::from),
        retention: captures.then(|| RetentionTerms {
            kept: resolved.retention.clone(),
            room: resolved.room,
        }),
        checkpoint_every: options.checkpoint_every.filter(|_| captures),
        restore: RestoreTerms {
            available: captures,
            reason,
            overwrites,
        },
        limits: resolved.limits.clone(),
        sensitive: resolved.sensitive.clone(),
        on_failure: resolved.on_failure.clone(),
        integrations: resolved.integrations.clone(),
        watch: resolved.watch.clone(),
        command: resolved.command.clone(),
        prompts: resolved.prompts.clone(),
        agent_restore: resolved.agent_restore.clone(),
        agent_on_failure: resolved.agent_on_failure.clone(),
        replica: replica.filter(|_| mode != Mode::Off),
    })
}

/// Marks the automatic excludes that the last baselines did not have. The baselines are known only once the contract has its
/// roots. Making the contract again for them would read git's index twice.
pub fn mark_new(contract: &mut Contract, previous: &[Coverage]) {
    for mount in &mut contract.mounts {
        if let Some(coverage) = &mount.coverage {
            (mount.new_excludes, mount.has_baseline) = coverage::compare(coverage, previous);
        }
    }
}

/// Refuses a mount that must not be captured, or only if the operator allows it.
fn refuse(
    mount: &Seen<'_>,
    resolved: &Resolved,
    places: &Places,
    options: Options,
) -> Result<(), ContractError> {
    let root = mount.root.clone();
    if let Some(store) = places.store_around(&root) {
        return Err(ContractError::InStore {
            root,
            store: store.to_path_buf(),
        });
    }
    if handle_fs::kind_mounted_around(&root) == Some(format!("fuse.{FILE_SYSTEM}")) {
        return Err(ContractError::Mounted { root });
    }
    if resolved.sensitive.value == Sensitive::Withhold
        && let Some(place) = places.secret_around(&root)
    {
        return Err(ContractError::Sensitive { root, place });
    }
    if let Some(place) = places.credential_around(&root) {
        return Err(ContractError::Credential { root, place });
    }
    let reasons = places.broad(&root);
    if !reasons.is_empty() && !options.allow_broad {
        return Err(ContractError::Broad { root, reasons });
    }
    Ok(())
}

/// Returns the mounts whose git repositories are recorded in a mode that captures no file. They are the mounts that would be
/// captured, except the broad ones, which are too large to search.
fn watched(
    seen: &[Seen<'_>],
    resolved: &Resolved,
    places: &Places,
    options: Options,
) -> Result<Vec<Coverage>, ContractError> {
    let is_watched = |mount: &Seen<'_>| mount.is_capturable() && places.broad(&mount.root).is_empty();
    let by_root: Vec<_> = seen
        .iter()
        .map(|mount| (mount.ground.as_path(), is_watched(mount)))
        .collect();
    let mut labels = Vec::new();
    let mut found = Vec::new();
    for (index, (mount, holder)) in seen.iter().zip(overlap::holders(&by_root)).enumerate() {
        if holder == Some(index) && places.knows_home() {
            let label = coverage::label(&mount.root, &mut labels);
            let root = (mount.root.as_path(), &[][..]);
            found.push(coverage::build(root, label, resolved, places, options.in_git)?.coverage);
        }
    }
    Ok(found)
}

/// Returns the terms of all mounts in a mode that captures files.
fn captured(
    seen: &[Seen<'_>],
    resolved: &Resolved,
    places: &Places,
    options: Options,
    labels: &mut Vec<String>,
) -> Result<Vec<MountTerms>, ContractError> {
    let by_root: Vec<_> = seen
        .iter()
        .map(|mount| (mount.ground.as_path(), mount.is_capturable()))
        .collect();
    let holders = overlap::holders(&by_root);
    let mut built = Vec::new();
    for (index, (mount, holder)) in seen.iter().zip(&holders).enumerate() {
        built.push(if *holder == Some(index) {
            let label = coverage::label(&mount.root, labels);
            let inner = seen.iter().zip(&holders).enumerate();
            let inner = inner.filter(|(at, (_, holder))| **holder == Some(index) && *at != index);
            let within = inner.filter_map(|(_, (inner, _))| covered_place(inner, mount));
            let within: Vec<RelPath> = within.collect();
            Some(coverage::build(
                (&mount.root, &within),
                label,
                resolved,
                places,
                options.in_git,
            )?)
        } else {
            None
        });
    }
    for (index, (mount, holder)) in seen.iter().zip(&holders).enumerate() {
        let outer = holder.filter(|holder| *holder != index);
        if let Some((at, path)) = outer.and_then(|at| Some((at, shielded(mount, seen.get(at)?)?)))
            && let Some(Some(outer)) = built.get_mut(at)
        {
            let reason = WithheldReason::Readonly;
            outer.coverage.withheld.push(WithheldPath { path, reason });
        }
    }
    let mut mounts = Vec::new();
    for (index, (mount, holder)) in seen.iter().zip(&holders).enumerate() {
        let outer = holder
            .and_then(|holder| built.get(holder))
            .and_then(Option::as_ref);
        mounts.push(match outer {
            Some(own) if *holder == Some(index) => MountTerms {
                coverage: Some(own.coverage.clone()),
                absent_paths: own.absent.clone(),
                kept_excludes: own.kept.clone(),
                stack_warnings: own.warnings.clone(),
                broad: places.broad(&mount.root),
                ..terms(mount, MountState::Captured)
            },
            Some(_) if holder.and_then(|at| shielded(mount, seen.get(at)?)).is_some() => {
                terms(mount, MountState::Readonly)
            }
            Some(outer) if mount.isolated.is_none() => terms(mount, within(mount, outer)),
            _ => terms(mount, uncaptured(mount).unwrap_or(not_covered(NotCovered::Mode))),
        });
    }
    if mounts.iter().all(|mount| mount.coverage.is_none()) {
        return Err(ContractError::NothingToCapture {
            reasons: seen.iter().map(why_not).collect(),
        });
    }
    Ok(mounts)
}

/// Decides which coverages are frozen by snapshots of their file systems.
fn freeze(
    mounts: &mut [MountTerms],
    state: Option<&mut StateTerms>,
    resolved: &Resolved,
    places: &Places,
) -> Result<(), ContractError> {
    let wish = &resolved.native;
    if wish.value == Native::Off {
        return Ok(());
    }
    let roots: Vec<PathBuf> = mounts.iter().map(|mount| mount.root.to_path()).collect();
    let required = wish.value == Native::Require;
    let replicated = resolved.replication.as_ref();
    if let Some(replicated) = replicated
        .map(|replication| replication.place.source.clone())
        .filter(|_| required && !mounts.is_empty())
    {
        return Err(ContractError::KeptAndReplicated {
            required: wish.source.clone(),
            replicated,
        });
    }
    for mount in mounts {
        let Some(coverage) = &mut mount.coverage else {
            continue;
        };
        let frozen = native::agree(coverage, required, places, &roots);
        mount.native = frozen.map_err(|why| ContractError::NotFrozen {
            root: coverage.root.to_path(),
            required: wish.source.clone(),
            why,
        })?;
    }
    if let Some(state) = state
        && let Some(coverage) = &mut state.coverage
    {
        // A long-lived snapshot must not contain files that the operator did not ask to keep.
        if !required {
            state.native = native::agree(coverage, false, places, &roots).unwrap_or_default();
        }
    }
    Ok(())
}

/// Returns the path of a read-only mount in a writable one, if it lies at the same place inside the container. There it covers
/// the outer mount, so the agent cannot write it through that one either.
fn shielded(inner: &Seen<'_>, outer: &Seen<'_>) -> Option<RelPath> {
    let below = inner.ground.strip_prefix(&outer.ground).ok()?;
    let (inside, outside) = (inner.config.dst.as_ref()?, outer.config.dst.as_ref()?);
    let same_place = Path::new(outside).join(below) == Path::new(inside);
    let path = RelPath::new(below.as_os_str().as_bytes())
        .ok()
        .filter(|path| !path.is_root());
    path.filter(|_| inner.config.readonly && !outer.config.readonly && same_place)
}

/// Returns the place in `outer` of a directory that is mounted as well, and covered there.
fn covered_place(inner: &Seen<'_>, outer: &Seen<'_>) -> Option<RelPath> {
    let is_covered = inner.kind == Kind::Directory && inner.isolated.is_none();
    let place = below(&outer.ground, &inner.ground).filter(|_| is_covered)?;
    shielded(inner, outer).is_none().then_some(place)
}

/// Returns the state of a mount that lies within a captured one.
fn within(mount: &Seen<'_>, outer: &coverage::Built) -> MountState {
    let label = outer.coverage.label.clone();
    let covered = MountState::CoveredBy {
        label: label.clone(),
        outer: outer.coverage.root.clone(),
    };
    let Some(path) = below(&outer.coverage.ground(), &mount.ground) else {
        return covered;
    };
    match outer
        .matcher
        .verdict_with_parents(&path, mount.kind == Kind::Directory)
    {
        Verdict::Covered => covered,
        // Part of it is tracked, so part of it is covered.
        Verdict::OutsideTracked if outer.matcher.is_on_the_way(&path) => covered,
        Verdict::Excluded(rule) => not_covered(NotCovered::LeftOut {
            label,
            pattern: Some(rule.pattern.clone()),
        }),
        Verdict::Withheld(_) | Verdict::OutsideTracked => {
            not_covered(NotCovered::LeftOut { label, pattern: None })
        }
    }
}

fn terms(mount: &Seen<'_>, state: MountState) -> MountTerms {
    let transports = &mount.environment.transports;
    let lacks = transports.lacks_near(&mount.root);
    let shell = (!lacks.is_empty()).then(|| match asks_for_shell(mount.environment) {
        true => ShellReason::Asked,
        false => ShellReason::NotInstalled,
    });
    MountTerms {
        source: ByteString::from(mount.config.src.as_path()),
        root: ByteString::from(mount.root.as_path()),
        dst: mount.config.dst.clone(),
        readonly: mount.config.readonly,
        isolation: mount.config.isolation,
        container: mount.container.clone(),
        configured: mount.config.source.clone(),
        state,
        coverage: None,
        new_excludes: Vec::new(),
        has_baseline: false,
        absent_paths: Vec::new(),
        kept_excludes: Vec::new(),
        stack_warnings: Vec::new(),
        broad: Vec::new(),
        foreign: None,
        lacks,
        shell,
        helper: transports.helper_near(&mount.root),
        copied_bytes: transports.copied_near(&mount.root),
        native: None,
        git: None,
    }
}

/// Returns the host paths at and below which a restore of this coverage may write.
fn overwritten(coverage: &Coverage) -> Vec<ByteString> {
    let root: &Path = &coverage.root.to_path();
    if coverage.tracked.is_empty() {
        return vec![coverage.root.clone()];
    }
    let is_whole = |path: &&RelPath| coverage.withheld.iter().any(|place| path.is_within(&place.path));
    coverage
        .tracked
        .iter()
        .filter(|path| !is_whole(path))
        .map(|path| ByteString::from(path.on_host(root).as_path()))
        .collect()
}
