#!/bin/bash
# What each process of a recording has open, by what it is: its own socket, standard error, what it was given to read
# or to write, and nothing else. Above all nobody but the recorder has a way to the opener, which has root's rights.
# Those without rights are of a user whom nobody else has; one that was stopped is made to go on.
# Nobody but the recorder writes to the terminal, also before a recording with probes, and in doctor.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_recording
need_command python3

mkdir "$TMPDIR/spools" "$TMPDIR/out"
start "$WORKLOADS/burn" 600
wait_until runs_program "$PID" burn
TMPDIR=$TMPDIR/spools python3 - "$STACKWIDE" "$TMPDIR/out" "$TMPDIR/spools" "$WORKLOADS/burn" "$PID" <<'P' >"$TMPDIR/list" 2>"$TMPDIR/record.err" ||
import os, signal, subprocess, sys, time

program, out, spools, burn, burning = sys.argv[1:]


def kind_of(pid, fd):
    """What a descriptor is, in a word; and a file that is written by its folder."""
    target = os.readlink(f'/proc/{pid}/fd/{fd}')
    if fd == '2':
        return 'messages' if target.startswith('pipe:') else 'terminal'
    if not target.startswith('/'):
        return target.split('[')[0] if target.startswith('socket:') else target.split(':')[-1].strip('[]')
    flags = int([line for line in open(f'/proc/{pid}/fdinfo/{fd}') if line.startswith('flags')][0].split()[1], 8)
    if os.path.dirname(target) == out and flags & 3:
        return 'output'
    if os.path.dirname(target) == spools and flags & 3:
        return 'spool'
    if target.startswith('/memfd:vdso'):
        return 'code'
    if flags & 3:
        return 'written:' + target
    return 'code' if os.path.isfile(f'/proc/{pid}/fd/{fd}') and not target.startswith('/proc/') else target


def list_of(pid):
    kinds = {}
    for fd in os.listdir(f'/proc/{pid}/fd'):
        kind = kind_of(pid, fd)
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def name_of(pid):
    return open(f'/proc/{pid}/comm').read().strip()


def user_of(pid):
    return [line for line in open(f'/proc/{pid}/status') if line.startswith('Uid:')][0].split()[1]


def watch(prefix, *arguments):
    """Run the program, and print the descriptors of each of its processes."""
    # Its standard input and output stay closed to children.
    recorder = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    # Each is stopped as soon as it is what it is to be, so that none is gone before it was looked at.
    seen = {}
    while recorder.poll() is None:
        for child in open(f'/proc/{recorder.pid}/task/{recorder.pid}/children').read().split():
            try:
                name = name_of(child)
                if child in seen or not name.startswith('stackwide-'):
                    continue
                os.kill(int(child), signal.SIGSTOP)
                seen[child] = (name, user_of(child), list_of(child))
                # What the recorder waits for without a limit of time it continues itself.
                if name not in ('stackwide-write', 'stackwide-name'):
                    os.kill(int(child), signal.SIGCONT)
            except (FileNotFoundError, ProcessLookupError):
                pass
        time.sleep(0.0005)
    for name, user, kinds in sorted(seen.values(), key=lambda entry: entry[0]):
        print(prefix + name, user, *(f'{kind}={count}' for kind, count in sorted(kinds.items())))
    if recorder.returncode:
        sys.exit(recorder.returncode)


watch('', 'record', '-a', '-F', '199', '--sched', '-d', '1', '--stats', out + '/s.json', '-o', out + '/a.folded',
      '-o', out + '/b.pftrace')
watch('probe:', 'record', '-q', '-e', f'uprobe:{burn}:burn_60', '-p', burning, '-d', '0.1', '-o', out + '/p.folded')
watch('doctor:', 'doctor')
P
    fail "it cannot be listed"
cat "$TMPDIR/list"

# has NAME USER KINDS…: processes of this name were seen, and each is of this user and has exactly these; code=N: any
# number of them.
has() {
    local name=$1 line
    shift
    grep "^$name " "$TMPDIR/list" | sed 's/code=[0-9]*/code=N/' >"$TMPDIR/named" || fail "no $name was seen"
    while read -r line; do
        [[ $line = "$name $*" ]] || fail "$line (expected $name $*)"
    done <"$TMPDIR/named"
}

user=$(sed -n 's/^stackwide-write \([0-9]*\) .*/\1/p' "$TMPDIR/list" | head -n 1)
if [[ $user != "$(id -u stackwide 2>/dev/null)" ]] && ((user < 61184 || user > 65519)); then
    fail "the writer is of user ${user:-none}"
fi
getent passwd "$user" | grep -v '^stackwide:' && fail "user $user is somebody's"
has stackwide-open 0 messages=1 socket:=1
# One that is at work already has the file that it was asked about, and that of its table.
sed -i '/^stackwide-elf /s/ code=[12] / /' "$TMPDIR/list"
has stackwide-elf "$user" messages=1 socket:=1
has stackwide-name "$user" code=N messages=1 socket:=2
has stackwide-debug 0 code=N messages=1 socket:=1
has stackwide-write "$user" messages=1 output=3 socket:=2 spool=10
grep '^probe:\|^doctor:' "$TMPDIR/list" >"$TMPDIR/named" || fail "nothing was seen of probes and of doctor"
! grep -v ' messages=1 ' "$TMPDIR/named" || fail "processes without rights write to the terminal"
[[ $(grep -v '^probe:\|^doctor:' "$TMPDIR/list" | cut -d' ' -f1 | sort -u | wc -l) = 5 ]] || fail "there are processes of other names"
expect_account_adds_up "$TMPDIR/out/s.json"
! grep '^probe:stackwide-keep ' "$TMPDIR/list" |
    grep -vE '^probe:stackwide-keep 0 (bpf[a-z_-]*=[0-9]+ )?messages=1 (perf_event=[0-9]+ )?socket:=1$' ||
    fail "the process that holds probes has more than these"
[[ -s $TMPDIR/out/a.folded && -s $TMPDIR/out/b.pftrace ]] || fail "files are missing"
