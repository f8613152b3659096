#!/bin/bash
# No program's calls need more than the 512 bytes of stack that Linux 5.10 to 6.1 let them have together; the kernel here may
# forgive more.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_command python3

mapfile -t objects < <(find "$(dirname "$STACKWIDE")/bpf" -name '*.bpf.o' 2>/dev/null)
((${#objects[@]})) || skip "the programs' object files are not beside the program"
python3 -S "$(dirname "$0")/bpf_stack.py" "${objects[@]}" >"$TMPDIR/stacks" || fail "they cannot be read"
sort -rn "$TMPDIR/stacks" | head -n 5
(($(wc -l <"$TMPDIR/stacks") >= 30)) || fail "only $(wc -l <"$TMPDIR/stacks") programs were looked at"
awk '$1 > 512' "$TMPDIR/stacks" >"$TMPDIR/deep"
[[ ! -s $TMPDIR/deep ]] || fail "more than 512 bytes: $(cat "$TMPDIR/deep")"
