#!/bin/bash
# What another user puts where root is about to write is not written through: a link is replaced, a
# file and a pipe of theirs are refused before the recording begins, and the mode is ours.
# runs: beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cpu_time.sh"
need_recording
need_command setpriv

cd "$TMPDIR"
chmod 711 .
mkdir shared
chmod 1777 shared
cd shared
as_attacker() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# expect_mode FILE MODE
expect_mode() {
    [[ $(stat -c '%u %a' "$1") = "0 $2" ]] || fail "$1 is $(stat -c 'of %u, mode %a' "$1")"
}

# refuse FILE MESSAGE
refuse() {
    expect_status 1 timeout 20 "$STACKWIDE" record -o "$1" -- touch was_run
    has_line "cannot write '$1': $2" "$TMPDIR/err" || fail "said: $(cat "$TMPDIR/err")"
    [[ ! -e was_run ]] || fail "the command ran, though $1 cannot be written"
}

# Links to a file of root's, to a device, to nothing.
umask 022
echo precious >../precious
as_attacker ln -s ../precious link.folded
as_attacker ln -s /dev/full device.folded
as_attacker ln -s ../none dangling.folded
for name in link device dangling; do
    record -F 99 -o $name.folded -- "$WORKLOADS/burn" 0.3
    [[ -f $name.folded && ! -L $name.folded ]] || fail "$name.folded is still what was planted"
    expect_mode $name.folded 644
    expect_frame $name.folded main
done
[[ $(cat ../precious) = precious ]] || fail "root's file was overwritten through a link"
[[ ! -e ../none ]] || fail "a file was made through a link"
[[ -c /dev/full ]] || fail "a device was replaced"

# A file and a pipe of another user's.
as_attacker sh -c 'echo theirs >file.folded && chmod 6777 file.folded && mkfifo pipe.folded'
refuse file.folded "the existing file belongs to another user (uid 65534)"
refuse pipe.folded "the existing file belongs to another user (uid 65534)"
[[ $(cat file.folded) = theirs ]] || fail "another user's file was overwritten"

# A link in the folder part of the path; root's own link leads where it says.
mkdir ../rootdir ../linked
echo precious >../rootdir/x.folded
as_attacker mkdir home
as_attacker ln -s ../../rootdir home/lnk
refuse home/lnk/x.folded "a link in its path belongs to another user"
[[ $(cat ../rootdir/x.folded) = precious ]] || fail "root's file was replaced through a link in the folder's path"
ln -s linked ../own_link
record -F 99 -o ../own_link/x.folded -- "$WORKLOADS/burn" 0.1
[[ -s ../linked/x.folded ]] || fail "root's own link is not followed"

# A limit of files' sizes is said, and is not the end of a process without a word.
status=$( (ulimit -f 0 && "$STACKWIDE" record -F 99 -o limited.folded -- "$WORKLOADS/burn" 0.1) 2>&1 | cat >"$TMPDIR/err"
    echo "${PIPESTATUS[0]}")
((status == 1)) || fail "status $status with a limit of files' sizes"
has_line "File too large" "$TMPDIR/err" || fail "said: $(cat "$TMPDIR/err")"

# The mode of one's own file does not outlive it; what tells of all users is for root alone.
touch own.folded whole.folded
chmod 6777 own.folded whole.folded
record -F 99 -o own.folded --stats stats.json -- "$WORKLOADS/burn" 0.3
expect_mode own.folded 644
record -F 99 -a -o whole.folded --stats whole.json -- "$WORKLOADS/burn" 0.3
expect_mode whole.folded 600
expect_mode whole.json 600

# Nor is a folder followed that is exchanged while we record.
mkdir mine
start "$WORKLOADS/burn" 60
burn=$PID
start_recording -F 99 -o mine/x.folded -a
as_attacker mkdir theirs
mv mine moved
ln -s theirs mine
wait_for_cpu_time 200 "$burn"
stop_recording
[[ ! -e theirs/x.folded ]] || fail "written to another folder than was opened"
expect_frame moved/x.folded burn_60
