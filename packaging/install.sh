#!/bin/sh
# Installs jackin recovery from a release: verifies the checksum, then copies files below a prefix. It asks for no rights and
# changes no start-up file.
set -eu

usage() {
    cat <<'TEXT'
Install jackin recovery from a release.

usage: install.sh [--prefix DIR] [--version VERSION]

  --prefix DIR       Install below DIR [default: ~/.local]
  --version VERSION  Install this release [default: the latest]

JACKIN_RECOVERY_RELEASES names another address of releases, for a mirror.
TEXT
}

fail() {
    echo "error: $1" >&2
    shift
    for hint; do echo "hint: $hint" >&2; done
    exit 1
}

# Fails if a directory is in the place of a file. A link to one is replaced like any other link.
check_place() { # TARGET
    for there in "$1" "$1.new"; do
        if [ -d "$there" ] && [ ! -L "$there" ]; then
            fail "$there is a directory; nothing was installed" "move it away"
        fi
    done
    above=${1%/*}
    while [ -n "$above" ] && [ ! -d "$above" ]; do
        if [ -e "$above" ] || [ -L "$above" ]; then
            fail "$above is not a directory; nothing was installed" "move it away, or name another directory: --prefix DIR"
        fi
        above=${above%/*}
    done
}

# Replaces TARGET in one step; running programs keep the old file. A link is replaced, not the file that it leads to.
place() { # FILE TARGET MODE
    rm -f "$2.new"
    cp "$1" "$2.new"
    chmod "$3" "$2.new"
    # mv would move the file into the directory that a link leads to.
    if [ -L "$2" ] && [ -d "$2" ]; then rm -f "$2"; fi
    mv -f "$2.new" "$2"
}

# Succeeds if nothing is at PATH, or completions that jackin made: `completions --install` looks for the same words.
may_complete() { # PATH
    if [ ! -e "$1" ] && [ ! -L "$1" ]; then return 0; fi
    head -n 5 "$1" 2>/dev/null | grep -q 'asks the program itself'
}

# In a function, so that half a script does nothing.
main() {
    releases=${JACKIN_RECOVERY_RELEASES:-https://github.com/jackin-project/jackin-recovery/releases}
    prefix=
    version=
    while [ $# -gt 0 ]; do
        case $1 in
            --prefix) [ -n "${2-}" ] || fail "--prefix needs a directory"; prefix=$2; shift 2 ;;
            --version) [ -n "${2-}" ] || fail "--version needs a version"; version=${2#v}; shift 2 ;;
            -h | --help) usage; exit 0 ;;
            *) fail "unknown argument: $1" "install.sh --help lists the arguments" ;;
        esac
    done
    if [ -z "$prefix" ]; then
        [ -n "${HOME:-}" ] || fail "HOME is not set" "name the directory: --prefix DIR"
        prefix=$HOME/.local
    fi
    case $prefix in /*) ;; *) fail "--prefix is not an absolute path: $prefix" ;; esac
    # As PATH names it.
    while [ "${prefix%/}" != "$prefix" ]; do prefix=${prefix%/}; done

    case $(uname -sm) in
        'Linux x86_64' | 'Linux amd64') target=x86_64-unknown-linux-musl ;;
        'Linux aarch64' | 'Linux arm64') target=aarch64-unknown-linux-musl ;;
        'Darwin arm64' | 'Darwin x86_64') target=universal-apple-darwin ;;
        *) fail "no release for $(uname -sm)" "build it from source: cargo install --locked --git https://github.com/jackin-project/jackin-recovery jackin-recovery" ;;
    esac

    if command -v curl >/dev/null 2>&1; then
        fetch() { curl -fsSL --retry 3 -o "$2" "$1"; }
    elif command -v wget >/dev/null 2>&1; then
        fetch() { wget -q -O "$2" "$1"; }
    else
        fail "neither curl nor wget is installed"
    fi
    if command -v sha256sum >/dev/null 2>&1; then
        digest() { sha256sum <"$1" | cut -d' ' -f1; }
    elif command -v shasum >/dev/null 2>&1; then
        digest() { shasum -a 256 <"$1" | cut -d' ' -f1; }
    else
        fail "sha256sum is not installed, so nothing can be verified"
    fi

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM

    if [ -n "$version" ]; then at=$releases/download/v$version; else at=$releases/latest/download; fi
    fetch "$at/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot fetch $at/SHA256SUMS"
    line=$(grep " jackin-recovery-[^ ]*-$target\.tar\.gz\$" "$work/SHA256SUMS") || fail "the release has no program for $target"
    archive=${line##* }
    name=${archive%.tar.gz}
    fetch "$at/$archive" "$work/$archive" || fail "cannot fetch $at/$archive"
    [ "$(digest "$work/$archive")" = "${line%% *}" ] ||
        fail "the checksum of $archive is wrong; nothing was installed" "try again; if it stays so, report it"
    tar -C "$work" -xzf "$work/$archive"
    tree=$work/$name
    "$tree/bin/jackin" --version >/dev/null ||
        fail "the program does not run in ${work%/*}; nothing was installed" "set TMPDIR to a directory in which programs may run"

    # Another `jackin` is never replaced, nor completions that are not from jackin.
    call="jackin recovery"
    is_ours=
    if [ "$(readlink "$prefix/bin/jackin" 2>/dev/null)" = jackin-recovery ]; then
        is_ours=1
    elif [ -e "$prefix/bin/jackin" ] || [ -L "$prefix/bin/jackin" ] || command -v jackin >/dev/null 2>&1; then
        call="jackin-recovery"
    fi
    for name in jackin jackin-recovery; do
        for completion in "bash-completion/completions/$name" "zsh/site-functions/_$name" "fish/vendor_completions.d/$name.fish"; do
            if { [ "$name" = jackin ] && [ "$call" = jackin-recovery ]; } || ! may_complete "$prefix/share/$completion"; then
                rm -f "$tree/share/$completion"
            fi
        done
    done
    (cd "$tree" && find lib share -type f) >"$work/files"
    while IFS= read -r file; do check_place "$prefix/$file"; done <"$work/files"
    check_place "$prefix/bin/jackin-recovery"

    # jackin does not run a program that others may write.
    umask 022
    mkdir -p "$prefix/bin" "$prefix/lib/jackin-recovery"
    chmod go-w "$prefix/lib/jackin-recovery"
    while IFS= read -r file; do
        mkdir -p "$prefix/${file%/*}"
        case $file in lib/*) mode=755 ;; *) mode=644 ;; esac
        place "$tree/$file" "$prefix/$file" "$mode"
    done <"$work/files"
    # Install the program last, after its files, and its second name after it.
    program=$prefix/bin/jackin-recovery
    place "$tree/bin/jackin" "$program" 755
    if [ "$call" = "jackin recovery" ] && [ -z "$is_ours" ]; then
        ln -s jackin-recovery "$prefix/bin/jackin"
    fi

    installed=$("$program" --version) || fail "$program does not run"
    echo "installed $installed in $prefix"
    case :${PATH:-}: in
        *":$prefix/bin:"*) ;;
        *) echo "hint: $prefix/bin is not in PATH; add it in your shell's start-up file" ;;
    esac
    # A `jackin` that comes first in PATH is another program.
    first=$(command -v jackin 2>/dev/null) || first=$prefix/bin/jackin
    if [ "$first" != "$prefix/bin/jackin" ]; then call=jackin-recovery; fi
    echo "see also: $call --help"
}

main "$@"
