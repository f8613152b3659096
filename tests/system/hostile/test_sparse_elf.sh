#!/bin/bash
# Programs of another user's whose ELF headers promise gigabytes that are holes of a sparse file, run
# and mapped: the recorder stays small, others' stacks stay whole, and the recording ends at once.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording
need_command setpriv
need_command python3

# In a folder that the user can pass, and that has holes.
folder=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
trap 'stop_background; rm -rf "$folder"' EXIT
chmod 755 "$folder"
python3 "$(dirname "$0")/sparse_elf.py" "$WORKLOADS/burn" "$folder" >"$TMPDIR/names"
cp "$WORKLOADS/hostile/map_files" "$folder/"
(($(du -k "$folder" | cut -f1) < 4096)) || skip "files have no holes in /var/tmp"

# All are mapped; those that the kernel runs are run, with what the others leave of the machine.
mapfile -t names <"$TMPDIR/names"
start "${as_attacker[@]}" "$folder/map_files" 60 "${names[@]/#/$folder/}" >"$TMPDIR/mapped"
wait_until test -s "$TMPDIR/mapped"
for name in "${names[@]}"; do
    [[ $name = section* || $name = num_sections ]] || continue
    start "${as_attacker[@]}" nice -n 19 "$folder/$name" 60
done
start_victim

start_attacked --no-cache
sleep 4
stop_unharmed
