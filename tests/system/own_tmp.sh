# shellcheck shell=bash
# Sourced after lib.sh by tests of what is named in /tmp/perf-PID.map: the real /tmp belongs to all,
# and another program's map may bear that pid one day. Commands that write maps are run with
# "${in_own_tmp[@]}" before them: in $own_tmp, which is their /tmp. What else lies below /tmp is out of
# their sight, so what they need is put there first.

unshare -m true 2>/dev/null || skip "needs mount namespaces, which are not permitted here"
own_tmp=$TMPDIR/own_tmp
mkdir "$own_tmp"
# shellcheck disable=SC2016 # the inner shell is to expand it
in_own_tmp=(unshare -m sh -c 'mount --bind "$0" /tmp && cd /tmp && exec "$@"' "$own_tmp")

# A program that lies in the real /tmp is there under the same path, which is that of the file for who looks from outside, too.
# show_in_own_tmp PROGRAM
show_in_own_tmp() {
    [[ $1 = /tmp/* ]] || return 0
    mkdir -p "$own_tmp$(dirname "${1#/tmp}")"
    cp --link "$1" "$own_tmp${1#/tmp}" 2>/dev/null || cp "$1" "$own_tmp${1#/tmp}"
}
