#!/bin/bash
# -- COMMAND: Ctrl-C for both ends both, and the profile is written; -d ends the recording, and
# the command with it or without it, but not later than it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command python3

# A terminal sends Ctrl-C to the whole foreground process group.
python3 - "$STACKWIDE" "$TMPDIR/out.folded" "$WORKLOADS/burn" <<'PYTHON' || fail "status or time is wrong"
import os, signal, subprocess, sys, time
stackwide, output, burn = sys.argv[1:]

def cpu_seconds_of_command(pid):
    """Of the one child of ours: 0 before there is one."""
    try:
        command = open(f"/proc/{pid}/task/{pid}/children").read().split()[0]
        fields = open(f"/proc/{command}/stat").read().rpartition(") ")[2].split()
    except (IndexError, FileNotFoundError):
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

child = subprocess.Popen([stackwide, "record", "-F", "499", "-o", output, "--", burn, "60"],
                         start_new_session=True)
while child.poll() is None and cpu_seconds_of_command(child.pid) < 0.5:
    time.sleep(0.05)
os.killpg(child.pid, signal.SIGINT)
status = child.wait(timeout=60)
print("status", status)
sys.exit(status != 130)
PYTHON
expect_frame "$TMPDIR/out.folded" burn_60 50
