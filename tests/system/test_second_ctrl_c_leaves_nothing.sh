#!/bin/bash
# A second Ctrl-C ends the writing: no new file, no half file, and an old one as it was.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command python3

mkdir "$TMPDIR/results"
echo "main 1" >"$TMPDIR/results/old.folded"
# So many stacks that no pipe holds them.
start "$WORKLOADS/stacks" 600

# One output goes to a pipe that nobody reads, so that writing cannot end.
cd "$TMPDIR/results"
python3 - "$STACKWIDE" "$PID" <<'PYTHON' || fail "did not end as it should"
import fcntl, os, signal, subprocess, sys, time
F_SETPIPE_SZ = 1031
reader, writer = os.pipe()
fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
child = subprocess.Popen(
    [sys.argv[1], "record", "-F", "4999", "-o", "new.folded", "-o", "old.folded",
     "-o", "-", "--to", "folded"], stdout=writer)
os.close(writer)

def is_sampling():
    folder = f"/proc/{child.pid}/fd"
    try:
        return any("perf_event" in os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder))
    except FileNotFoundError:  # closed meanwhile
        return False

while not is_sampling():
    time.sleep(0.05)

def cpu_seconds():
    fields = open(f"/proc/{sys.argv[2]}/stat").read().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

end = cpu_seconds() + 0.5
while cpu_seconds() < end:
    time.sleep(0.05)
child.send_signal(signal.SIGINT)
try:
    child.wait(timeout=2)
    sys.exit("the first Ctrl-C ended it although its output cannot be written")
except subprocess.TimeoutExpired:
    pass
child.send_signal(signal.SIGINT)
status = child.wait(timeout=60)
print("status", status)
sys.exit(status not in (-signal.SIGINT, 128 + signal.SIGINT))
PYTHON
[[ $(ls -A) = old.folded ]] || fail "left behind: $(ls -A)"
[[ $(cat old.folded) = "main 1" ]] || fail "the old file was damaged"
