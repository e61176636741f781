//! Events of agents that need no snapshot.

use crate::agents::Agent;

/// Returns the further events of an agent (lower case, only letters) that need no snapshot.
///
/// No tool runs, and no turn begins or ends, with any of them.
pub(super) fn ignored(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &[
            "precompact",
            "postcompact",
            "permissionrequest",
            "permissiondenied",
            "subagentstart",
            "stopfailure",
            "setup",
            "configchange",
            "cwdchanged",
            "filechanged",
            "instructionsloaded",
            "taskcreated",
            "taskcompleted",
            "teammateidle",
            "worktreeremove",
            "elicitation",
            "elicitationresult",
        ],
        Agent::Codex => &["permissionrequest", "precompact", "postcompact", "subagentstart"],
        Agent::Gemini => &["beforemodel", "aftermodel", "beforetoolselection", "precompress"],
        Agent::Opencode => &[],
        Agent::Cursor => &[
            "beforereadfile",
            "precompact",
            "subagentstart",
            "afteragentresponse",
            "afteragentthought",
            "beforetabfileread",
            "aftertabfileedit",
        ],
        Agent::Copilot => &[
            "erroroccurred",
            "subagentstart",
            "precompact",
            "permissionrequest",
        ],
    }
}
