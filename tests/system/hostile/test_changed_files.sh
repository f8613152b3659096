#!/bin/bash
# While they are mapped and recorded, a user's programs are cut to nothing, cut in the middle, overwritten,
# and replaced by a FIFO and by a device's name: nothing dies of it, and nobody waits.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording
need_command setpriv

folder=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
trap 'stop_background; rm -rf "$folder"' EXIT
chmod 777 "$folder"
changes=(empty halved overwritten fifo folder deleted)
cp "$WORKLOADS/hostile/map_files" "$folder/"

# change FOLDER NAME: what becomes of one of them
change() {
    local file=$1/$2
    case $2 in
    empty*) truncate -s 0 "$file" ;;
    halved*) truncate -s $(($(stat -c %s "$file") / 2)) "$file" ;;
    overwritten*) head -c 100000 /dev/urandom | dd of="$file" bs=1000 seek=1 conv=notrunc status=none ;;
    fifo*) rm "$file" && mkfifo "$file" ;;
    folder*) rm "$file" && mkdir "$file" ;;
    deleted*) rm "$file" ;;
    esac
}

# Some before the recording, some while it runs, some mapped when they are changed already.
for name in "${changes[@]}"; do
    for when in early late; do
        cp "$WORKLOADS/cpp" "$folder/$name-$when"
    done
done
chown -R 65534:65534 "$folder"
start "${as_attacker[@]}" "$folder/map_files" 60 "$folder"/*-{early,late} >"$TMPDIR/mapped"
wait_until test -s "$TMPDIR/mapped"
# Run, too: what has become of their pages, they die of themselves. (A program that runs cannot be written.)
for name in fifo folder deleted; do
    start "${as_attacker[@]}" "$folder/$name-late" 60
done
for name in "${changes[@]}"; do change "$folder" "$name-early"; done
start_victim

start_attacked --no-cache
for name in "${changes[@]}"; do change "$folder" "$name-late"; done
start "${as_attacker[@]}" "$folder/map_files" 60 "$folder"/{empty,halved,overwritten}-late >"$TMPDIR/mapped"
sleep 1
stop_unharmed
