//! Switch of Claude Code that turns off all hooks: `disableAllHooks` in its settings.

use std::path::PathBuf;

use crate::agents::settings::{flag_of, place};
use crate::agents::{Agent, Scope};
use crate::config::settle;
use crate::environment::Environment;

/// Maximum size of Claude Code's settings, in bytes.
const LARGEST: u64 = 4 << 20;

/// Files with the switch, that with the last word first.
const FILES: [Scope; 3] = [Scope::Local, Scope::Project, Scope::User];

/// Name of the switch.
pub(super) const SWITCH: &str = "disableAllHooks";

/// Returns the file that turns off all hooks in the current directory; `None` if no file does.
pub(super) fn disabled_in(environment: &Environment) -> Option<PathBuf> {
    let switch = |scope| {
        let file = place(Agent::Claude, scope, environment).ok()?.path();
        let bytes = handle_fs::read_small_file(&settle(&file), LARGEST).ok()??;
        let is_off = flag_of(&String::from_utf8(bytes).ok()?, SWITCH)?;
        Some((file, is_off))
    };
    let (file, is_off) = FILES.into_iter().find_map(switch)?;
    is_off.then_some(file)
}
