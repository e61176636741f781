# Completions of PROGRAM for bash. Made by `CALL completions bash`; asks the program itself.

_FUNCTION() {
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
            :*) add=$line ;;
            *)
                value=${line%%$'\t'*}
                COMPREPLY+=("${value#"$before"}")
                ;;
        esac
    done < <(CALL __complete "$last" -- "${words[@]}" 2>/dev/null)
    case ${add-} in
        :files | :command)
            [[ $add == :command && $2 != */* && ${words[last - 1]} == -- ]] && while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <(compgen -c -- "$2")
            compopt -o default 2>/dev/null || while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <(compgen -f -- "$2")
            ;;
        :directories)
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <(compgen -d -- "$2")
            ;;
    esac
    return 0
}
complete -F _FUNCTION PROGRAM
