//! A claim, through a pod of our own that has its volume.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::claim_pod::{Neighbor, helper, neighbor};
use super::volume_snapshot::{is_refusal, show};
use super::{ASKED, FOR_CLAIM, Kubectl, Silence, exec, place, text};
use crate::cleanup::Lifeline;
use crate::reach::{HELPER, Reach, chosen, words};
use crate::settings::{Settings, Waiting};
use crate::token::unguessable;
use handle_fs::Entropy;
use handle_fs::remote::{Backing, Helper, VOLUME_PLACE};

/// Time limit for a helper to run: its image may have to be fetched.
const START: Duration = Duration::from_secs(180);
/// Time limit for a helper to get a node.
const PLACE: Duration = Duration::from_secs(30);
/// Time without a node after which the claim is looked at.
const SOON: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(3);
/// Time after which it is shown what is waited for.
const SHOWN_AFTER: Duration = Duration::from_secs(3);
/// Time limit for a volume that is made from a snapshot: some services copy all of it, and its pod has no node until then.
const SHOWN: Duration = Duration::from_secs(20 * 60);
/// Reasons of a waiting container that do not pass with time.
const HOPELESS: [&str; 6] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
];

/// Reaches a claim through a helper pod that is removed when this program is done, or gone.
///
/// # Errors
/// Why there can be none.
pub(crate) fn claim(
    kubectl: &Kubectl<'_>,
    settings: &Settings<'_>,
    entropy: &dyn Entropy,
    stop: &Arc<AtomicBool>,
) -> io::Result<Reach> {
    let spot = kubectl.spot;
    let product = kubectl.product;
    let snapshot = spot.snapshot();
    let (beside, is_made, id) = match snapshot {
        None => neighbor_of(kubectl)?,
        Some(_) => (Neighbor::default(), false, None),
    };
    let volume = id.map(|id| Backing {
        at: PathBuf::from(VOLUME_PLACE),
        id,
        is_volume: true,
    });
    // Root in a pod that cannot be removed again would stay for hours.
    if matches!(kubectl.may("delete", "pods"), Ok(false)) {
        return Err(io::Error::other(format!(
            "you may not delete pods in namespace {}, so the helper pod that reads the claim could not be removed afterwards: have that \
            allowed, or use the address of a pod that has the claim",
            spot.namespace
        )));
    }
    let image = chosen(settings.image).unwrap_or_else(|| HELPER.to_owned());
    let letters: String = unguessable(entropy).chars().take(12).collect();
    let name = format!("{}-{letters}", product.package);
    // A claim of our own shows what a snapshot has, and is called like the pod.
    let shown = snapshot.map_or(&spot.name, |_| &name);
    let is_shown = snapshot.is_some();
    let pod = |user| {
        helper(
            product.package,
            spot,
            &name,
            (shown, is_shown),
            &image,
            &beside,
            user,
        )
        .to_string()
    };
    // Each is there before what it removes: whatever comes, that goes. One for each, for each must be seen to have gone.
    let lifeline = |kind: &str| {
        let mut then = vec![kubectl.program.as_os_str().to_owned()];
        then.extend(place(spot).into_iter().map(OsString::from));
        then.extend(words([
            "delete",
            kind,
            &name,
            "--ignore-not-found",
            "--wait=false",
        ]));
        Lifeline::new(product, then, kubectl.path)
    };
    // Dropped last, so that the pod goes first.
    let mut after = match snapshot {
        Some(_) => Some(lifeline("persistentvolumeclaim")?),
        None => None,
    };
    if let (Some(snapshot), Some(after)) = (snapshot, &mut after) {
        show(kubectl, snapshot, &name).inspect_err(|error| {
            if is_refusal(&error.to_string()) {
                after.nothing();
            }
        })?;
    }
    let mut lifeline = lifeline("pod")?;
    let create = |pod: String| kubectl.ask(&["create", "-f", "-"], Some(pod.into_bytes()));
    let mut user = None;
    let mut created = create(pod(None));
    if created.as_ref().is_err_and(|why| is_restricted(why)) && beside.user.is_some() {
        user = beside.user.as_ref();
        created = create(pod(user));
    }
    if let Err(why) = created {
        if is_refusal(&why) {
            lifeline.nothing();
        }
        let way = match &beside.files {
            Some(files) if is_restricted(&why) => format!(
                "; the pod that has the claim reaches its files: {}",
                files.to_string_lossy()
            ),
            None if is_restricted(&why) => "; a pod that has the claim could reach its files".to_owned(),
            _ => String::new(),
        };
        return Err(io::Error::other(format!(
            "cannot create a helper pod: {why}{way}"
        )));
    }
    let patience = match is_made {
        false => Patience {
            place: SHOWN,
            start: SHOWN,
        },
        true => Patience {
            place: PLACE,
            start: START,
        },
    };
    started(
        kubectl,
        [&name, shown],
        &image,
        patience,
        [stop, settings.given_up],
        settings.waiting,
    )?;
    Ok(Reach {
        only: vec![PathBuf::from(VOLUME_PLACE)],
        backings: volume.into_iter().collect(),
        helper: Some(Helper {
            user: user.map(|user| user.id),
            image,
            node: beside.node,
            permissions: FOR_CLAIM
                .iter()
                .map(|(verb, what)| format!("{verb} {what}"))
                .collect(),
        }),
        lifeline: Some(lifeline),
        after,
        ..Reach::of(exec(spot, &name, Some(product.package)))
    })
}

/// Returns true if a pod was refused because the namespace allows no root, or less than that.
fn is_restricted(why: &str) -> bool {
    why.contains("violates PodSecurity")
}

/// Time limits for a pod.
#[derive(Clone, Copy)]
struct Patience {
    /// Time until a node takes it.
    place: Duration,
    /// Time until it runs.
    start: Duration,
}

/// Returns the facts of the pod that uses a claim, if there is one and only one node can have it; whether its volume is made already; and
/// the id of the claim.
///
/// # Errors
/// Why the claim cannot be reached.
fn neighbor_of(kubectl: &Kubectl<'_>) -> io::Result<(Neighbor, bool, Option<String>)> {
    let claim = &kubectl.spot.name;
    let found = kubectl.object(&["get", "persistentvolumeclaim", claim])?;
    if text(&found, "/spec/volumeMode") == Some("Block") {
        return Err(io::Error::other(format!(
            "{claim} is a block volume, which has no files"
        )));
    }
    if text(&found, "/status/phase") == Some("Lost") {
        return Err(io::Error::other(format!("the volume of {claim} is lost")));
    }
    let modes: Vec<&str> = found
        .pointer("/spec/accessModes")
        .and_then(Value::as_array)
        .map(|modes| modes.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    if modes == ["ReadOnlyMany"] {
        return Err(io::Error::other(format!(
            "{claim} can only be read, so no agent changes it"
        )));
    }
    let is_made = text(&found, "/status/phase") != Some("Pending");
    let id = text(&found, "/metadata/uid").map(str::to_owned);
    let pods = kubectl.object(&["get", "pods"])?;
    let pods = pods.pointer("/items").and_then(Value::as_array);
    let user = pods.into_iter().flatten().find(|pod| {
        let is_over = matches!(text(pod, "/status/phase"), Some("Succeeded" | "Failed"));
        let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
        let mut volumes = volumes.into_iter().flatten();
        !is_over && volumes.any(|volume| text(volume, "/persistentVolumeClaim/claimName") == Some(claim))
    });
    let Some(user) = user else {
        return Ok((Neighbor::default(), is_made, id));
    };
    let name = text(user, "/metadata/name").unwrap_or_default();
    if modes == ["ReadWriteOncePod"] {
        return Err(io::Error::other(format!(
            "{claim} can be used by one pod only (ReadWriteOncePod), which is {name}: use the address of that pod, \
            or stop it"
        )));
    }
    let node = text(user, "/spec/nodeName").filter(|_| !modes.contains(&"ReadWriteMany"));
    let beside = Neighbor {
        node: node.map(str::to_owned),
        ..neighbor(user, kubectl.spot)
    };
    Ok((beside, is_made, id))
}

/// Waits until a helper runs; `claim` is the one that it has.
fn started(
    kubectl: &Kubectl<'_>,
    [name, claim]: [&str; 2],
    image: &str,
    patience: Patience,
    stops: [&AtomicBool; 2],
    waiting: Waiting<'_>,
) -> io::Result<()> {
    let failed = |why: String| {
        Err(io::Error::other(format!(
            "the helper pod {name} is not running: {why}"
        )))
    };
    let with_warning = |why: String| match kubectl.warning(&[("Pod", name), ("PersistentVolumeClaim", claim)])
    {
        Some(warning) => format!("{why}: {warning}"),
        None => why,
    };
    let (mut waited, mut unplaced, mut nap) = (Duration::ZERO, Duration::ZERO, NAP);
    let mut silent = Silence::default();
    let (mut is_asked, mut is_shown) = (false, false);
    loop {
        let pod = silent
            .hear(nap, kubectl.object(&["get", "pod", name]))?
            .unwrap_or_default();
        // The cluster may have added containers of its own.
        let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
        let own = statuses
            .into_iter()
            .flatten()
            .find(|one| text(one, "/name") == Some(kubectl.product.package));
        let why = |at: &str| {
            own.and_then(|own| text(own, &format!("/state/waiting/{at}")))
                .unwrap_or_default()
                .to_owned()
        };
        match text(&pod, "/status/phase") {
            Some("Running") => return Ok(()),
            Some("Failed" | "Succeeded") => {
                return failed(text(&pod, "/status/message").unwrap_or("it has ended").to_owned());
            }
            _ if HOPELESS.contains(&why("reason").as_str()) => {
                return failed(format!(
                    "{} ({}); its image is {image}, and {} names another one",
                    why("message"),
                    why("reason"),
                    kubectl.product.image_variable
                ));
            }
            _ => {}
        }
        let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
        let no_place = conditions
            .into_iter()
            .flatten()
            .find(|one| text(one, "/reason") == Some("Unschedulable"));
        if let Some(no_place) = no_place {
            unplaced += nap + ASKED;
            // Without a StorageClass the volume is never made, however long it is waited for.
            if unplaced > SOON && !std::mem::replace(&mut is_asked, true) {
                let hopeless = kubectl.warning(&[("PersistentVolumeClaim", claim)]);
                if let Some(why) = hopeless.filter(|why| why.ends_with("(FailedBinding)")) {
                    return failed(why);
                }
            }
            if unplaced > patience.place {
                let why = text(no_place, "/message").unwrap_or("no node accepts it");
                return failed(with_warning(why.to_owned()));
            }
        }
        if waited > SHOWN_AFTER && !std::mem::replace(&mut is_shown, true) {
            let why = match (why("reason"), no_place.and_then(|one| text(one, "/message"))) {
                (_, Some(why)) => why.to_owned(),
                (reason, None) if reason.is_empty() => "it has not started yet".to_owned(),
                (reason, None) => reason,
            };
            (waiting.0)(&format!(
                "waiting for the helper pod {name}: {}",
                with_warning(why)
            ));
        }
        if stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
            return failed("it timed out".to_owned());
        }
        if waited > patience.start {
            return failed(with_warning(format!(
                "it takes longer than {} s",
                patience.start.as_secs()
            )));
        }
        thread::sleep(nap);
        // With what was asked meanwhile.
        waited += nap + ASKED;
        if waited > START {
            nap = LONGEST;
        }
    }
}
