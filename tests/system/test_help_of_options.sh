#!/bin/bash
# No two options of a command have the same words in its help.
# runs: beside others
source "$(dirname "$0")/lib.sh"

for command in record capture convert report diff; do
    "$STACKWIDE" help "$command" >"$TMPDIR/help"
    python3 - "$TMPDIR/help" <<'PYTHON' || fail "the help of $command says the same of two options"
import re, sys
texts = {}
option = None
for line in open(sys.argv[1]):
    begins = re.match(r"  (?:-|    --)(\S+(?: \S+)*)(?:  +(.*))?$", line.rstrip())
    goes_on = re.match(r" {20,}(\S.*)$", line.rstrip())
    if begins:
        option = begins[1]
        texts[option] = [begins[2] or ""]
    elif goes_on and option:
        texts[option].append(goes_on[1])
    else:
        option = None
seen = {}
for option, words in texts.items():
    text = re.sub(r"[^a-z ]", "", " ".join(words).lower()).strip()
    if text and text in seen:
        sys.exit(f"{seen[text]} and {option}: {text}")
    seen[text] = option
sys.exit(0 if len(texts) >= 3 else f"only {len(texts)} options were found")
PYTHON
done
