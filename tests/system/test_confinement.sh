#!/bin/bash
# The process that samples keeps the rights that sampling needs and no others; the command that it
# runs keeps all that it would have had, but none that was given to stackwide alone.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording
need_command setpriv

# status PID NAME
status() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }

start_recording -a -o "$TMPDIR/x.folded"
kept=$(status "$RECORDER" CapEff)
[[ $kept = "$(status "$RECORDER" CapPrm)" ]] || fail "permitted and effective differ"
# CAP_DAC_OVERRIDE to CAP_SETUID without CHOWN, SYS_PTRACE, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE
((0x$kept & ~0x1c4000800ee)) && fail "it keeps the capabilities $kept"
for task in /proc/"$RECORDER"/task/*; do
    grep -q '^NoNewPrivs:[[:space:]]*1' "$task/status" || fail "a thread can gain rights by exec"
    [[ $(sed -n 's/^CapEff:[[:space:]]*//p' "$task/status") = "$kept" ]] ||
        fail "a thread has other capabilities"
done
if [[ -n $(status $$ Seccomp_filters) ]]; then
    (($(status "$RECORDER" Seccomp_filters) == $(status $$ Seccomp_filters) + 1)) ||
        fail "system calls are not refused"
fi
stop_recording

# The command has what we have.
# shellcheck disable=SC2016 # the inner shell is to expand it
record -o "$TMPDIR/y.folded" -- sh -c 'grep -E "^(Cap|NoNewPrivs|Seccomp)" /proc/self/status >"$0"' \
    "$TMPDIR/command"
grep -E "^(Cap|NoNewPrivs|Seccomp)" /proc/self/status | diff - "$TMPDIR/command" ||
    fail "the command has other rights than this shell"

# Given to stackwide alone, as to a service.
exec 9<"$STACKWIDE"
given=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps "-all,$given" --ambient-caps "-all,$given" \
    /proc/self/fd/9 record -q -o /dev/null --to folded -- sh -c 'cat /proc/self/status; cat /etc/shadow' \
    >"$TMPDIR/given" 2>"$TMPDIR/given.err" && fail "the command could read /etc/shadow"
grep -q '^CapEff:[[:space:]]*0*$' "$TMPDIR/given" || fail "the command has our capabilities"
has_line denied <"$TMPDIR/given.err" || { cat "$TMPDIR/given.err" && fail "no refusal"; }

# As the one who has called sudo.
SUDO_USER=nobody record --user -o "$TMPDIR/z.folded" -- sh -c 'id -u; echo "$USER"' >"$TMPDIR/user"
printf '%s\n' "$(id -u nobody)" nobody | diff - "$TMPDIR/user" || fail "--user ran it as another"
unset SUDO_USER
expect_status 1 "$STACKWIDE" record --user -o "$TMPDIR/z.folded" -- true
has_line SUDO_USER <"$TMPDIR/err" || fail "it does not say what is missing"
expect_status 2 "$STACKWIDE" record --user -d 1 -o "$TMPDIR/z.folded"
