# Completions of jackin-recovery for bash. Made by `jackin-recovery completions bash`; asks the program itself.

_jackin_recovery_paths() {
    local line
    if compopt -o filenames -o "$2" 2>/dev/null; then
        return
    fi
    while IFS= read -r line; do
        printf -v line %q "$line"
        COMPREPLY+=("$line")
    done < <(compgen "$1" -- "$3")
}

_jackin_recovery() {
    # Bash splits words at = : and @ too; what stood together on the line is put together again.
    local rest=${COMP_LINE:0:COMP_POINT} word blank last=-1
    local -a words=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        blank=${rest%%[![:space:]]*}
        rest=${rest#"$blank"}
        # The last one ends at the cursor.
        word=${rest:0:${#word}}
        if [[ $last -lt 0 || -n $blank ]]; then
            last=$((last + 1))
            words[last]=$word
        else
            words[last]+=$word
        fi
        rest=${rest:${#word}}
    done
    # Bash replaces only what stands behind the last place where it split.
    local before=${words[last]%"$2"} line value add
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files | :directories | :command) add=$line ;;
            *)
                value=${line%%$'\t'*}
                COMPREPLY+=("${value#"$before"}")
                ;;
        esac
    done < <(jackin-recovery __complete "$last" -- "${words[@]}" 2>/dev/null)
    # What the shell itself finds is quoted, by readline where it can be asked to, else here: a name may be anything.
    case ${add-} in
        :command)
            if [[ $2 != */* && ${words[last - 1]} == -- ]]; then
                while IFS= read -r line; do
                    printf -v line %q "$line"
                    COMPREPLY+=("$line")
                done < <(compgen -c -- "$2")
            fi
            [[ ${#COMPREPLY[@]} -gt 0 ]] || _jackin_recovery_paths -f default "$2"
            ;;
        :files) _jackin_recovery_paths -f default "$2" ;;
        :directories) _jackin_recovery_paths -d plusdirs "$2" ;;
    esac
    return 0
}
complete -F _jackin_recovery jackin-recovery
