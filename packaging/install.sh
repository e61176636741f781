#!/bin/sh
# Installs jackin recovery from a release: verifies the checksum, then copies files below a prefix. It asks for no rights and
# changes no start-up file.
#
# usage: install.sh [--prefix DIR] [--version VERSION]
#   --prefix DIR       where to install [default: ~/.local]
#   --version VERSION  which release [default: the latest]
#
# JACKIN_RECOVERY_RELEASES names another address of releases, for a mirror.
set -eu

releases=${JACKIN_RECOVERY_RELEASES:-https://github.com/jackin-project/jackin-recovery/releases}
prefix=${HOME:-}/.local
version=

fail() {
    echo "error: $1" >&2
    shift
    for hint; do echo "hint: $hint" >&2; done
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -gt 1 ] || fail "--prefix needs a directory"; prefix=$2; shift 2 ;;
        --version) [ $# -gt 1 ] || fail "--version needs a version"; version=${2#v}; shift 2 ;;
        -h | --help) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
        *) fail "unknown argument: $1" "install.sh --help lists the arguments" ;;
    esac
done
case $prefix in /*) ;; *) fail "--prefix is not an absolute path: $prefix" ;; esac

case $(uname -sm) in
    'Linux x86_64' | 'Linux amd64') target=x86_64-unknown-linux-musl ;;
    'Linux aarch64' | 'Linux arm64') target=aarch64-unknown-linux-musl ;;
    *) fail "no release for $(uname -sm)" "build it from source: cargo install --locked --git https://github.com/jackin-project/jackin-recovery" ;;
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
[ "$(digest "$work/$archive")" = "${line%% *}" ] || fail "the checksum of $archive is wrong; nothing was installed" "try again; if it stays so, report it"
tar -C "$work" -xzf "$work/$archive"
tree=$work/$name
"$tree/bin/jackin" --version >/dev/null || fail "the program does not run on this machine; nothing was installed"

mkdir -p "$prefix/bin" "$prefix/lib/jackin-recovery" "$prefix/share"
# The new file replaces the old one in one step: a running session keeps its own.
cp "$tree/bin/jackin" "$prefix/bin/.jackin-recovery.new"
chmod 755 "$prefix/bin/.jackin-recovery.new"
mv -f "$prefix/bin/.jackin-recovery.new" "$prefix/bin/jackin-recovery"
cp -R "$tree/lib/." "$prefix/lib/"
cp -R "$tree/share/." "$prefix/share/"
# jackin itself has the same name; it is never replaced.
call="jackin-recovery"
if [ ! -e "$prefix/bin/jackin" ] && [ ! -L "$prefix/bin/jackin" ] && ! command -v jackin >/dev/null 2>&1; then
    ln -s jackin-recovery "$prefix/bin/jackin"
fi
[ "$(readlink "$prefix/bin/jackin" 2>/dev/null)" = jackin-recovery ] && call="jackin recovery"

echo "installed $("$prefix/bin/jackin-recovery" --version) in $prefix"
case :${PATH:-}: in
    *":$prefix/bin:"*) ;;
    *) echo "hint: $prefix/bin is not in PATH; add it in your shell's start-up file" ;;
esac
echo "see also: $call --help"
