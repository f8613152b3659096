#!/bin/bash
# The Dockerfile builds, from what is committed and a Debian 12 that stands for the published one, and its
# image records this machine: with the host's processes, and the privileges that its head asks for.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_recording
need_system
need_command buildah

export BUILDAH_ISOLATION=chroot
storage=(--root "$TMPDIR/images" --runroot "$TMPDIR/running" --storage-driver vfs)
build() { buildah "${storage[@]}" "$@"; }
# Images hold files that look like mounts of their own to rm.
trap 'build rm --all >/dev/null 2>&1; build rmi --all --force >/dev/null 2>&1; stop_background' EXIT

base=$(build from scratch)
build add --quiet "$base" "$PACKAGES/minimal.tar" / >/dev/null
build commit --quiet --rm "$base" debian:12-slim >/dev/null
mkdir "$TMPDIR/source"
git -c safe.directory='*' -C "$REPO" archive HEAD | tar -x -C "$TMPDIR/source"
build bud --pull-never --tag stackwide --file "$TMPDIR/source/packaging/Dockerfile" "$TMPDIR/source" \
    >"$TMPDIR/log" 2>&1 || fail "the image cannot be built: $(tail -n 20 "$TMPDIR/log")"

mkdir "$TMPDIR/shared"
start "$WORKLOADS/inlined" 120
container=$(build from --pull-never stackwide)
options=()
for capability in SYS_ADMIN BPF PERFMON SYS_PTRACE DAC_READ_SEARCH CHECKPOINT_RESTORE SYSLOG; do
    options+=(--cap-add "CAP_$capability")
done
expect_status 0 build run "${options[@]}" --volume "$TMPDIR/shared:/out" "$container" -- \
    /usr/bin/stackwide record -d 2 -F 499 -o /out/a.folded -o /out/a.html
expect_frame "$TMPDIR/shared/a.folded" main 100
grep -q '^inlined;.*main' "$TMPDIR/shared/a.folded" || fail "a program of the host has no names"
grep -q '_\[k\]' "$TMPDIR/shared/a.folded" || fail "no kernel functions"
[[ -s $TMPDIR/shared/a.html ]] || fail "the image has no viewer"
