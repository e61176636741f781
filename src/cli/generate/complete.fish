# Completions of PROGRAM for fish. Made by `CALL completions fish`; asks the program itself.

function __FUNCTION
    command --query PROGRAM; or return
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l index (count $words)
    set -a words (commandline --current-token --cut-at-cursor)
    for line in (CALL __complete $index -- $words 2>/dev/null)
        switch $line
            case ':files' ':directories'
                # The value of a flag may be glued to it.
                set -l glued (string match --regex -- '^--[a-z-]+=' $words[-1])
                set -q glued[1]; or set glued ''
                set -l begun (string replace --regex -- '^--[a-z-]+=' '' $words[-1])
                if test $line = ':files'
                    printf '%s\n' $glued(__fish_complete_path $begun)
                else
                    printf '%s\n' $glued(__fish_complete_directories $begun)
                end
            case ':command'
                set -l after (contains --index -- -- $words); or continue
                # What is completed is read as a command line: words are escaped, so that nothing in them is run.
                set -l rest (string escape -- $words[(math $after + 1)..-1])
                # The word at the cursor stands as it was typed, unless it holds a command.
                string match --quiet -- '*(*' $words[-1]; or set rest[-1] $words[-1]
                complete --do-complete "$rest"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete --command PROGRAM --no-files --keep-order --arguments '(__FUNCTION)'
