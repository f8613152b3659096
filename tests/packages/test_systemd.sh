#!/bin/bash
# A real systemd, in a container of its own: the units are as it wants them, the timer fires, the
# hardened service makes a capture with kernel functions in it, cron makes one too, and purging ends
# the timer.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_recording
need_deb
need_system
need_command systemd-nspawn
need_command nsenter

copy_system
do_in_root apt-get -y --no-install-recommends install /tmp/stackwide.deb
shorten_captures

# Its processes end with its first one, and that does not end with systemd-nspawn.
LEADER=
trap '[[ -z $LEADER ]] || kill -KILL "$LEADER" 2>/dev/null; stop_background' EXIT

# It wants a /run in memory, and no bus of this machine.
boot_system() {
    # shellcheck disable=SC2016 # of the inner shell
    start unshare --mount --propagation private sh -c 'mount -t tmpfs tmpfs /run && exec "$@"' - \
        systemd-nspawn --quiet --directory="$ROOT" --register=no --keep-unit --private-network --boot \
        --capability=all --system-call-filter='bpf perf_event_open' --console=pipe \
        >"$TMPDIR/boot.log" 2>&1
    for ((tries = 0; tries < 300; tries++)); do
        LEADER=$(pgrep -P "$PID" | head -n 1) || true
        [[ -z $LEADER ]] || ! is_booted || return 0
        kill -0 "$PID" 2>/dev/null || break
        sleep 0.2
    done
    skip "no systemd boots here: $(tail -n 1 "$TMPDIR/boot.log")"
}
inside() { nsenter --target "$LEADER" --all --wdns=/ "$@"; }
is_booted() { inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; }

boot_system
units=(stackwide-capture.service stackwide-capture.timer)
inside systemd-analyze verify --man=no "${units[@]}" >"$TMPDIR/out" 2>&1 || true
[[ ! -s $TMPDIR/out ]] || fail "systemd-analyze verify: $(cat "$TMPDIR/out")"
inside systemd-analyze security --no-pager --threshold=15 "${units[0]}" >"$TMPDIR/out" ||
    fail "the service is less hardened than it was: $(tail -n 1 "$TMPDIR/out")"
! inside systemctl is-enabled --quiet "${units[1]}" || fail "the timer runs without being asked to"

# has_capture OWNERS: of the dynamic user, or of root
has_capture() { list_captures | grep -qE "^$1 640 "; }
inside systemd-run --quiet --unit=busy sh -c 'while :; do cat /proc/self/maps; done >/dev/null'
mkdir -p "$ROOT/etc/systemd/system/stackwide-capture.timer.d"
printf '[Timer]\nOnCalendar=*:*:0/3\n' >"$ROOT/etc/systemd/system/stackwide-capture.timer.d/often.conf"
inside systemctl daemon-reload
inside systemctl enable --quiet --now "${units[1]}"
for ((tries = 0; tries < 60; tries++)); do
    ! has_capture '6[0-9]{4}' || break
    sleep 0.5
done
inside journalctl --no-pager -q -u "${units[0]}" >"$TMPDIR/journal" || true
has_capture '6[0-9]{4}' || fail "the timer made no capture: $(cat "$TMPDIR/journal")"
inside systemctl stop "${units[@]}"
! inside systemctl is-failed --quiet "${units[0]}" || fail "the service failed: $(cat "$TMPDIR/journal")"
inside stackwide convert --dir /var/lib/stackwide -o /root/all.folded
expect_frame "$ROOT/root/all.folded" cat
grep -q '_\[k\]' "$ROOT/root/all.folded" || fail "no kernel functions were captured"
! grep -qF ';[kernel]_[k]' "$ROOT/root/all.folded" || fail "kernel functions have no names"

# Cron looks at its files once a minute, at the minute. Its folder is root's, as the file says.
inside chown -R root /var/lib/stackwide/
sed -i 's,^#[*]/5,*,' "$ROOT/etc/cron.d/stackwide"
inside touch /etc/cron.d
for ((tries = 0; tries < 140; tries++)); do
    ! has_capture 0 || break
    sleep 1
done
has_capture 0 || fail "cron made no capture: $(inside journalctl --no-pager -q -u cron)"
sed -i 's,^[*] ,#*/5 ,' "$ROOT/etc/cron.d/stackwide"

inside systemctl start "${units[1]}"
rm -r "$ROOT/etc/systemd/system/stackwide-capture.timer.d"
inside env DEBIAN_FRONTEND=noninteractive apt-get -y purge stackwide >"$TMPDIR/out" 2>&1 ||
    fail "purging: $(cat "$TMPDIR/out")"
units=$(inside systemctl list-units --all --plain --no-legend 'stackwide*')
[[ -z $units ]] || fail "a unit outlives the package: $units"
left=$(find "$ROOT" -xdev -name '*stackwide*' ! -path "$ROOT/tmp/*")
[[ -z $left ]] || fail "purging leaves $left"
