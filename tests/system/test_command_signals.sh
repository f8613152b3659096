#!/bin/bash
# -- COMMAND: Ctrl-C for both ends both, and the profile is written; -d ends the recording, and
# the command with it or without it, but not later than it.
source "$(dirname "$0")/lib.sh"
need_recording
need_command python3

# A terminal sends Ctrl-C to the whole foreground process group.
python3 - "$STACKWIDE" "$TMPDIR/out.folded" "$WORKLOADS/burn" <<'PYTHON' || fail "status or time is wrong"
import os, signal, subprocess, sys, time
stackwide, output, burn = sys.argv[1:]
child = subprocess.Popen([stackwide, "record", "-F", "499", "-o", output, "--", burn, "60"],
                         start_new_session=True)
time.sleep(2)
os.killpg(child.pid, signal.SIGINT)
status = child.wait(timeout=10)
print("status", status)
sys.exit(status != 130)
PYTHON
expect_frame "$TMPDIR/out.folded" burn_60 50
