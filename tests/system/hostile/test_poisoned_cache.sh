#!/bin/bash
# A user's program has the build ID of one of root's, and wrong call-frame information: its unwind not
# kept for root's, in whichever order they run. Nor is a folder for tables taken that others may write to.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording
need_command setpriv
need_command objcopy
need_command python3

folder=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
trap 'stop_background; rm -rf "$folder"' EXIT
chmod 755 "$folder"
export CACHE_DIRECTORY=$folder/cache
objcopy --dump-section .eh_frame="$TMPDIR/frames" "$WORKLOADS/nofp_deep" "$TMPDIR/unchanged"
# Each frame is said to be larger than it is (DW_CFA_def_cfa_offset).
python3 - "$TMPDIR/frames" <<'PYTHON'
import re, sys
frames = open(sys.argv[1], "rb").read()
wrong = re.sub(rb"\x0e([\x10-\x70])", lambda found: b"\x0e" + bytes([found[1][0] + 8]), frames)
assert wrong != frames
open(sys.argv[1], "wb").write(wrong)
PYTHON
objcopy --update-section .eh_frame="$TMPDIR/frames" "$WORKLOADS/nofp_deep" "$folder/poison"
build_id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
[[ -n $(build_id "$folder/poison") && $(build_id "$folder/poison") = "$(build_id "$WORKLOADS/nofp_deep")" ]] ||
    skip "objcopy changes the build ID"
chown 65534:65534 "$folder/poison"

# Theirs first, root's first, and both at once, all with the same tables.
mkdir -m 700 "$CACHE_DIRECTORY"
start "${as_attacker[@]}" "$folder/poison" 60
start_attacked
sleep 1
stop_recording
expect_between "share of whole stacks with wrong call-frame information" \
    "$(folded_share "$TMPDIR/x.folded" main poison)" 0 50
start_victim
for _ in first again; do
    start_attacked
    sleep 1
    stop_unharmed
done
[[ -n $(find "$CACHE_DIRECTORY" -name "$(build_id "$WORKLOADS/nofp_deep")*") ]] ||
    fail "root's table is not kept: this test tests nothing"

# Others may write where tables are kept.
chmod 777 "$CACHE_DIRECTORY"
start_attacked -v
sleep 1
stop_unharmed
has_line "no cache of unwind tables" <"$TMPDIR/record.err" || fail "the folder of others is used"
