# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_jackin_recovery_global_optspecs
    string join \n q/quiet v/verbose color= h/help V/version
end

function __fish_jackin_recovery_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_jackin_recovery_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_jackin_recovery_using_subcommand
    set -l cmd (__fish_jackin_recovery_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -s V -l version -d 'Print the version'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "explain" -d 'Print what would be captured and restored; change nothing'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "launch" -d 'Run a command as a session that can be undone'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "begin" -d 'Take the baseline for a session that something else starts'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "end" -d 'End a session that `begin` began'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "checkpoint" -d 'Take a named snapshot inside a running session'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "list" -d 'List sessions and their snapshots'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "show" -d 'Show one session in full'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "diff" -d 'Show what changed since a snapshot'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "restore" -d 'Put files back as they were in a snapshot'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "undo" -d 'Take the last restore back'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "verify" -d 'Check that the store is whole'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "log" -d 'Show the receipts of everything that was done'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "rebuild" -d 'Make the catalog anew from the snapshots and the receipts'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "doctor" -d 'Look for what is wrong, and say what to type'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "init" -d 'Turn recovery on for a workspace'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "completions" -d 'Print shell completions'
complete -c jackin-recovery -n "__fish_jackin_recovery_needs_command" -f -a "man" -d 'Print a manual page'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -l snapshot -d 'How much is captured' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -l exclude -d 'Leave out what matches, in gitignore syntax (may be repeated)' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -l path -d 'Cover only this directory below the mounts (may be repeated)' -r -f -a "(__fish_complete_directories)"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -l on-failure -d 'What to do when the baseline cannot be taken' -r -f -a "run\t'Start the command without protection'
block\t'Do not start it'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -l allow-broad -d 'Allow `/`, the home directory, or a mount that holds the store'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand explain" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -l snapshot -d 'How much is captured' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -l exclude -d 'Leave out what matches, in gitignore syntax (may be repeated)' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -l path -d 'Cover only this directory below the mounts (may be repeated)' -r -f -a "(__fish_complete_directories)"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -l on-failure -d 'What to do when the baseline cannot be taken' -r -f -a "run\t'Start the command without protection'
block\t'Do not start it'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -l report -d 'Write a report of the session to FILE, as JSON' -r -F
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -l allow-broad -d 'Allow `/`, the home directory, or a mount that holds the store'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand launch" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l snapshot -d 'How much is captured' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l exclude -d 'Leave out what matches, in gitignore syntax (may be repeated)' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l path -d 'Cover only this directory below the mounts (may be repeated)' -r -f -a "(__fish_complete_directories)"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l on-failure -d 'What to do when the baseline cannot be taken' -r -f -a "run\t'Start the command without protection'
block\t'Do not start it'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l pid -d 'The process whose life is the session\'s' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l allow-broad -d 'Allow `/`, the home directory, or a mount that holds the store'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand begin" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand end" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand end" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand end" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand end" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand end" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand checkpoint" -l name -d 'A name to find it by: letters, digits, `_`, `.` and `-`' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand checkpoint" -l message -d 'What this moment is' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand checkpoint" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand checkpoint" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand checkpoint" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand checkpoint" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand checkpoint" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand list" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand list" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand list" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand list" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand list" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand show" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand show" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand show" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand show" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand show" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l from -d 'The earlier snapshot: a kind, a checkpoint\'s name, or an id or its prefix; without it the baseline' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l to -d 'The later snapshot, or `now`: the files as they are' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l check -d 'How changes are found: `content` reads every file instead of trusting size and times' -r -f -a "content\t'Read every file instead of trusting size and times'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l name-status -d 'One line a path: what happened to it (the default)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l stat -d 'How much changed in each file'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l patch -d 'The changed lines'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l no-renames -d 'Show a renamed file as one deleted and one added'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l exit-code -d 'Exit with 1 when there are differences, as diff(1) does'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -l show-secrets -d 'With --patch, show also the content of files that are likely to hold secrets'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand diff" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l from -d 'The snapshot to go back to: a kind, a checkpoint\'s name, or an id or its prefix; without it the baseline' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l to -d 'Write into this directory instead; it must be absent or empty' -r -f -a "(__fish_complete_directories)"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l mtimes -d 'Times of files whose content is put back: `now`, so that build tools notice, or `exact`, as recorded' -r -f -a "now\t'Now, so that build tools notice'
exact\t'The recorded ones'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l dry-run -d 'Print the plan and stop'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l yes -d 'Do not ask'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l overwrite-later-edits -d 'Replace also what was edited after the session'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l delete-later-files -d 'Delete also what was created after the session'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l require-complete -d 'Refuse a snapshot that lacks anything'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand restore" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -l receipt -d 'Take back the restore with this number in `log`' -r
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -l dry-run -d 'Print the plan and stop'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -l yes -d 'Do not ask'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -l overwrite-later-edits -d 'Replace also what was edited after the restore'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -l delete-later-files -d 'Delete also what was created after the restore'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand undo" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand verify" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand verify" -l read-data -d 'Read and check every stored byte, not only that everything is there'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand verify" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand verify" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand verify" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand verify" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand log" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand log" -l verify -d 'Check that no receipt was changed or removed'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand log" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand log" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand log" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand log" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand rebuild" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand rebuild" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand rebuild" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand rebuild" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand rebuild" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand doctor" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand doctor" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand doctor" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand doctor" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -l snapshot -d 'What is captured: off, metadata or project' -r -f -a "off\t'Nothing at all'
metadata\t'That the session happened, without any file'
project\t'The files'
project-and-state\t'The files and the agent\'s own state'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -l dry-run -d 'Show what would be added and stop'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -l yes -d 'Do not ask'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand init" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand completions" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand completions" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand completions" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand completions" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand completions" -s h -l help -d 'Print help (-h: short, --help: in full)'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand man" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them'
always\t'Always'
never\t'Never'"
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand man" -l json -d 'Print one JSON document'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand man" -s q -l quiet -d 'Say less: only results, warnings and errors'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand man" -s v -l verbose -d 'Say more'
complete -c jackin-recovery -n "__fish_jackin_recovery_using_subcommand man" -s h -l help -d 'Print help (-h: short, --help: in full)'
