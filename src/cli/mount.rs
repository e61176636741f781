//! `mount`: snapshots as a read-only file system, served until a signal comes or it is unmounted.

mod attach;
mod server;

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use fuser::{BackgroundSession, Config, Session, SessionACL};

use self::attach::Attached;
use self::server::Server;
use super::context::Context;
use super::error::{CliError, ErrorKind};
use crate::recovery::{Browser, MountPoint};
use crate::terminal::{sanitize, shell};

/// Interval at which signals, and the end of the mount, are noticed.
const NAP: Duration = Duration::from_millis(50);
/// Threads that answer the kernel: a large manifest that is read keeps one of them busy.
const THREADS: usize = 4;
/// Damaged files that are named.
const NAMED: usize = 100;

/// Unmounts what an earlier `mount` left when it was killed.
pub(in crate::cli) fn remove_left(context: &Context<'_>, point: &MountPoint) -> Result<(), CliError> {
    attach::detach_left(context, &point.path)?;
    let shown = sanitize::path(&point.path);
    context.terminal.note(&format!(
        "removed a mount from {shown} that an earlier `mount` left"
    ));
    Ok(())
}

/// Mounts the snapshots and serves them. Returns when they are not mounted any more.
pub(in crate::cli) fn serve(
    context: &Context<'_>,
    browser: Browser,
    point: &MountPoint,
    for_others: bool,
) -> Result<(), CliError> {
    // A second Ctrl-C must not end this process before it has unmounted.
    let held = context.interrupts.hold_back();
    let _held =
        held.map_err(|error| CliError::new(ErrorKind::Failed, "signals cannot be caught").because(error))?;
    handle_fs::raise_file_limit();
    let mut attached = Attached::new(context, &point.path, for_others)?;
    let (tell, told) = channel();
    let server = Server::new(browser, tell);
    let background = start(server, &mut attached, for_others).map_err(|error| {
        CliError::new(ErrorKind::Failed, "the file system cannot be served").because(error)
    })?;
    let terminal = context.terminal;
    let shown = sanitize::path(&point.path);
    terminal.note(&format!("snapshots are mounted read-only on {shown}"));
    let umount = format!("umount {}", shell::word(point.path.as_os_str()));
    context.propose_of_other("to end, press Ctrl-C, or", &umount);
    wait(context, &background, &told);
    if background.guard.is_finished() {
        // Unmounted by another program, or the connection broke.
        attached.is_over();
        let ended = background.join();
        return ended
            .map_err(|error| CliError::new(ErrorKind::Failed, "the file system failed").because(error));
    }
    if attached.detach(context)? {
        terminal.warn(&format!(
            "{shown} was in use; programs that still use it get errors from now on"
        ));
        // They keep the connection alive: it ends with this process.
        return Ok(());
    }
    let ended = background.join();
    ended.map_err(|error| CliError::new(ErrorKind::Failed, "the file system failed").because(error))
}

fn start(server: Server, attached: &mut Attached, for_others: bool) -> std::io::Result<BackgroundSession> {
    let acl = match for_others {
        true => SessionACL::All,
        false => SessionACL::Owner,
    };
    let mut config = Config::default();
    config.acl = acl;
    config.n_threads = Some(THREADS);
    Session::from_fd(server, attached.take_device()?, acl, config)?.spawn()
}

/// Waits for a signal, or for the end of the mount. Names damaged files meanwhile.
fn wait(context: &Context<'_>, background: &BackgroundSession, told: &Receiver<String>) {
    let noted = context.interrupts.noted();
    let mut named = Vec::new();
    loop {
        let is_over =
            noted.load(Ordering::SeqCst) || context.interrupts.requested() || background.guard.is_finished();
        for text in told.try_iter() {
            if named.len() < NAMED && !named.contains(&text) {
                context.terminal.warn(&text);
                named.push(text);
            }
        }
        if is_over {
            return;
        }
        handle_fs::pause(NAP);
    }
}
