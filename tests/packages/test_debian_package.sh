#!/bin/bash
# The .deb in a clean Debian 12: lintian finds nothing, it installs, what cron and the unit run makes
# captures, a changed configuration outlives reinstalling and upgrading, purging leaves nothing.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_recording
need_deb
need_system
need_command setpriv
grep -q 'lintian is not installed' "$PACKAGES/deb.log" && skip "needs lintian (package lintian), which is not installed"

copy_system
do_in_root apt-get -y --no-install-recommends install zsh
list_files >"$TMPDIR/before"
do_in_root apt-get -y --no-install-recommends install /tmp/stackwide.deb
list_files >"$TMPDIR/installed"
comm -13 "$TMPDIR/before" "$TMPDIR/installed" >"$TMPDIR/added"
! grep -E '^[^l].{4}w|^[^l].{7}w' "$TMPDIR/added" || fail "others can write these files"
grep -q ' ./usr/bin/stackwide ' "$TMPDIR/added" || fail "no program was installed"

# zsh finds the completions where Debian's looks for them, without being told.
# shellcheck disable=SC2016 # of zsh
completer=$(in_root zsh -f -c 'autoload -Uz compinit && compinit -u -D && echo ${_comps[stackwide]}')
[[ $completer = _stackwide ]] || fail "zsh does not find the completions: '$completer'"

# The line of cron, as cron runs it; it is there behind a #.
shorten_captures
crontab=$ROOT/etc/cron.d/stackwide
read -r _ _ _ _ _ user command < <(sed -n 's/^#\([*]\/5 \)/\1/p' "$crontab")
[[ $user = root && $command = test\ -x\ /usr/bin/stackwide\ \&\&\ timeout\ 20m\ nice\ -n\ -10\ setpriv\ *\ /usr/bin/stackwide\ capture* ]] || fail "odd line of cron: $user $command"
do_in_root env -i "$(grep ^PATH= "$crontab")" SHELL=/bin/sh /bin/sh -c "$command"
[[ $(list_captures | cut -d' ' -f1,2) = "0 640" ]] || fail "no capture of cron: $(list_captures)"
in_root stackwide history --dir /var/lib/stackwide --json >"$TMPDIR/history.json"
expect_between "samples" "$(python3 -c 'import json, sys
print(json.load(sys.stdin)["captures"][0]["samples"])' <"$TMPDIR/history.json")" 1 100000

# What the unit runs, as its user would be, with the capabilities that it names and no others.
unit=$(find "$ROOT/usr/lib/systemd/system" "$ROOT/lib/systemd/system" -name stackwide-capture.service | head -n 1)
set=-all
for capability in $(sed -n 's/^AmbientCapabilities=//p' "$unit"); do
    name=${capability#CAP_}
    set+=,+${name,,}
done
rm -rf "$ROOT/var/lib/stackwide"
mkdir "$ROOT/var/lib/stackwide"
chown 65534:65534 "$ROOT/var/lib/stackwide"
# shellcheck disable=SC2046 # the command's words
do_in_root setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set="$set" \
    --inh-caps="$set" --ambient-caps="$set" $(sed -n 's/^ExecStart=//p' "$unit")
[[ $(list_captures | cut -d' ' -f1,2) = "65534 640" ]] || fail "no capture of the unit"

echo '# mine' >>"$ROOT/etc/stackwide/capture.conf"
do_in_root apt-get -y install --reinstall /tmp/stackwide.deb
dpkg-deb -R "$DEB" "$TMPDIR/next"
sed -i 's/^Version: .*/&+next/' "$TMPDIR/next/DEBIAN/control"
dpkg-deb --root-owner-group -b "$TMPDIR/next" "$ROOT/tmp/next.deb" >/dev/null
do_in_root apt-get -y install /tmp/next.deb
in_root dpkg-query -W -f '${Version}' stackwide | grep -q '+next$' || fail "it was not upgraded"
grep -q '# mine' "$ROOT/etc/stackwide/capture.conf" || fail "a changed configuration is lost"
[[ -n $(list_captures) ]] || fail "captures are lost"

do_in_root apt-get -y remove stackwide
# The line of cron is configuration, and stays; it does nothing then.
[[ -z $(in_root env -i "$(grep ^PATH= "$crontab")" SHELL=/bin/sh /bin/sh -c "$command" 2>&1) ]] ||
    fail "cron says something when the program is gone"
grep -q '# mine' "$ROOT/etc/stackwide/capture.conf" || fail "removing takes the configuration"
do_in_root apt-get -y purge stackwide
do_in_root apt-get -y autoremove --purge
list_files | diff "$TMPDIR/before" - || fail "purging leaves these, or takes them"
[[ -z $(find "$ROOT/var/lib/dpkg/info" -name 'stackwide.*') ]] || fail "dpkg still knows it"
