# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_jackin_global_optspecs
    string join \n h/help V/version
end

function __fish_jackin_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_jackin_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_jackin_using_subcommand
    set -l cmd (__fish_jackin_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c jackin -n "__fish_jackin_needs_command" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_needs_command" -s V -l version -d 'Print the version'
complete -c jackin -n "__fish_jackin_needs_command" -f -a "recovery" -d 'Undo what an AI coding agent did to your files'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -s V -l version -d 'Print the version'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "explain" -d 'Print what would be captured and restored; change nothing'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "launch" -d 'Run a command as a session that can be undone'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "begin" -d 'Take the baseline for a session that something else starts'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "end" -d 'End a session that `begin` began'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "checkpoint" -d 'Take a named snapshot inside a running session'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "list" -d 'List sessions and their snapshots'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "show" -d 'Show one session in full'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "diff" -d 'Show what changed since a snapshot'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "restore" -d 'Put files back as they were in a snapshot'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "undo" -d 'Take the last restore back'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "verify" -d 'Check that the store is whole'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "log" -d 'Show the receipts of everything that was done'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "rebuild" -d 'Make the catalog anew from the snapshots and the receipts'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "doctor" -d 'Look for what is wrong, and say what to type'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "init" -d 'Turn recovery on for a workspace'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "completions" -d 'Print shell completions'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and not __fish_seen_subcommand_from explain launch begin end checkpoint list show diff restore undo verify log rebuild doctor init completions man" -f -a "man" -d 'Print a manual page'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -l snapshot -d 'How much is captured' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -l exclude -d 'Leave out what matches, in gitignore syntax (may be repeated)' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -l path -d 'Cover only this directory below the mounts (may be repeated)' -r -f -a "(__fish_complete_directories)"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -l on-failure -d 'What to do when the baseline cannot be taken' -r -f -a "run\t'Start the command without protection'
block\t'Do not start it'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -l allow-broad -d 'Allow `/`, the home directory, or a mount that holds the store'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -l snapshot -d 'How much is captured' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -l exclude -d 'Leave out what matches, in gitignore syntax (may be repeated)' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -l path -d 'Cover only this directory below the mounts (may be repeated)' -r -f -a "(__fish_complete_directories)"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -l on-failure -d 'What to do when the baseline cannot be taken' -r -f -a "run\t'Start the command without protection'
block\t'Do not start it'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -l report -d 'Write a report of the session to FILE, as JSON' -r -F
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -l allow-broad -d 'Allow `/`, the home directory, or a mount that holds the store'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from launch" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l snapshot -d 'How much is captured' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l exclude -d 'Leave out what matches, in gitignore syntax (may be repeated)' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l path -d 'Cover only this directory below the mounts (may be repeated)' -r -f -a "(__fish_complete_directories)"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l on-failure -d 'What to do when the baseline cannot be taken' -r -f -a "run\t'Start the command without protection'
block\t'Do not start it'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l pid -d 'The process whose life is the session\'s' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l allow-broad -d 'Allow `/`, the home directory, or a mount that holds the store'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from begin" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from end" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from end" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from end" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from end" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from end" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from checkpoint" -l name -d 'A name to find it by: letters, digits, `_`, `.` and `-`' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from checkpoint" -l message -d 'What this moment is' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from checkpoint" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from checkpoint" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from checkpoint" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from checkpoint" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from checkpoint" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from show" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l from -d 'The earlier snapshot: a kind, a checkpoint\'s name, or an id or its prefix; without it the baseline' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l to -d 'The later snapshot, or `now`: the files as they are' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l check -d 'How changes are found: `content` reads every file instead of trusting size and times' -r -f -a "content\t'Read every file instead of trusting size and times'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l name-status -d 'One line a path: what happened to it (the default)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l stat -d 'How much changed in each file'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l patch -d 'The changed lines'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l no-renames -d 'Show a renamed file as one deleted and one added'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l exit-code -d 'Exit with 1 when there are differences, as diff(1) does'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -l show-secrets -d 'With --patch, show also the content of files that are likely to hold secrets'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l from -d 'The snapshot to go back to: a kind, a checkpoint\'s name, or an id or its prefix; without it the baseline' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l to -d 'Write into this directory instead; it must be absent or empty' -r -f -a "(__fish_complete_directories)"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l mtimes -d 'Times of files whose content is put back: `now`, so that build tools notice, or `exact`, as recorded' -r -f -a "now\t'Now, so that build tools notice'
exact\t'The recorded ones'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l dry-run -d 'Print the plan and stop'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l yes -d 'Do not ask'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l overwrite-later-edits -d 'Replace also what was edited after the session'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l delete-later-files -d 'Delete also what was created after the session'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l require-complete -d 'Refuse a snapshot that lacks anything'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -l receipt -d 'Take back the restore with this number in `log`' -r
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -l dry-run -d 'Print the plan and stop'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -l yes -d 'Do not ask'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -l overwrite-later-edits -d 'Replace also what was edited after the restore'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -l delete-later-files -d 'Delete also what was created after the restore'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from undo" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from verify" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from verify" -l read-data -d 'Read and check every stored byte, not only that everything is there'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from verify" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from log" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from log" -l verify -d 'Check that no receipt was changed or removed'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from log" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from log" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from log" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from log" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from rebuild" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from rebuild" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from rebuild" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from rebuild" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from rebuild" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from doctor" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from doctor" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from doctor" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from doctor" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from doctor" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -l snapshot -d 'What is captured: off, metadata or project' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -l dry-run -d 'Show what would be added and stop'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -l yes -d 'Do not ask'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from completions" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from completions" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from completions" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from completions" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from man" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from man" -l json -d 'Print one JSON document'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from man" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from man" -s v -l verbose -d 'Say more'
complete -c jackin -n "__fish_jackin_using_subcommand recovery; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help (-h: short, --help: in full)'
