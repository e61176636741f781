#compdef PROGRAM
# Completions of PROGRAM for zsh. Made by `CALL completions zsh`; asks the program itself.

_PROGRAM() {
    local -a values
    local line add word
    while IFS= read -r line; do
        case $line in
            (:files | :directories | :command) add=$line ;;
            (*)
                word=${line%%$'\t'*}
                if [[ $line == *$'\t'* ]]; then
                    values+=("${word//:/\\:}:${line#*$'\t'}")
                else
                    values+=("${word//:/\\:}")
                fi
                ;;
        esac
    done < <(CALL __complete $((CURRENT - 1)) -- "${(@)words[1,CURRENT]}" 2>/dev/null)
    (( ${#values} )) && _describe -V PROGRAM values
    case $add in
        (:files | :directories)
            # The value of a flag may be glued to it.
            compset -P '--[a-z]*='
            if [[ $add == :files ]]; then _files; else _files -/; fi
            ;;
        (:command)
            local after=${words[(i)--]}
            if (( CURRENT > after )); then
                shift $after words
                (( CURRENT -= after ))
                _normal
            fi
            ;;
    esac
    return 0
}

# Loaded from a directory of functions, or read by a start-up file.
if [[ ${funcstack[1]-} == _PROGRAM ]]; then
    _PROGRAM "$@"
else
    compdef _PROGRAM PROGRAM
fi
