#!/bin/bash
# scripts/check-rooms refuses every way around the architecture, and nothing else.
# runs: beside others
source "$(dirname "$0")/lib.sh"

tree=$TMPDIR/tree

# A small tree that keeps the rules.
make_tree() {
    rm -rf "$tree"
    mkdir -p "$tree"/scripts "$tree"/bpf "$tree"/{src,include}/{base,wire,profile,collect,cli}
    cat >"$tree/scripts/rooms.txt" <<'ROOMS'
# comment
wire
base
profile     base
collect     base wire profile     # why
cli         *
ROOMS
    put src/profile/profile.c '#include <stdio.h>' '#include "base/array.h"' '#include "profile/profile.h"'
    put include/profile/profile.h '#include "base/attributes.h"' '#include "profile/shown.h"'
    put include/profile/shown.h 'int shown;'
    put src/profile/table.h '#include "profile/other.h"'
    put src/profile/table.c '#include "profile/table.h"'
    put src/collect/collect.c '#include <sampler.skel.h>' '#include "wire/sample.h"'
    put src/cli/main.c '  #  include "collect/collector.h"' '#include "wire/sample.h"' '#include "profile/profile.h"'
    put bpf/sampler.bpf.c '#include "kernel.h"' '#include <bpf/bpf_helpers.h>' '#include "wire/sample.h"'
    put src/README.md 'no code'
}

# put FILE LINE…
put() {
    local file=$tree/$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$@" >"$file"
}

accepts() {
    expect_status 0 "$REPO/scripts/check-rooms" "$tree"
    [[ ! -s $TMPDIR/out ]] || fail "accepted, but said: $(cat "$TMPDIR/out")"
}

# refuses PLACE REASON: exactly one line, which begins with PLACE and holds REASON; then the tree
# is made anew.
refuses() {
    expect_status 1 "$REPO/scripts/check-rooms" "$tree"
    [[ $(cat "$TMPDIR/out") == "$1: "*"$2"* && $(wc -l <"$TMPDIR/out") = 1 ]] ||
        fail "expected '$1: …$2…', got: $(cat "$TMPDIR/out")"
    make_tree
}

make_tree
accepts

# Headers for other programs: no room, nothing of ours in them, nothing of theirs in ours.
put include/stackwide/zones.h '#include <stdint.h>' '#include <stackwide/other.h>'
accepts
put include/stackwide/zones.h '#include <stdint.h>' '#include "base/array.h"'
refuses include/stackwide/zones.h:2 'headers for other programs'
put src/profile/a.c '#include <stackwide/zones.h>'
refuses src/profile/a.c:1 'for other programs'
put src/profile/a.c '#include "stackwide/zones.h"'
refuses src/profile/a.c:1 'room stackwide is not listed'

put src/profile/a.c '' '#include "wire/sample.h"'
refuses src/profile/a.c:2 'room profile may not use room wire'
put include/wire/sample.h '#include "base/array.h"'
refuses include/wire/sample.h:1 'room wire may not use room base'
put src/profile/import/a.c '#include "cli/main.h"'
refuses src/profile/import/a.c:1 'room profile may not use room cli'
put src/collect/a.c '#include "../base/array.h"'
refuses src/collect/a.c:1 '".."'
put src/collect/a.c '#include "base/../cli/main.h"'
refuses src/collect/a.c:1 '".."'
put src/collect/a.c '#include "collector.h"'
refuses src/collect/a.c:1 'room/header.h'
put src/collect/a.c '#include "elsewhere/a.h"'
refuses src/collect/a.c:1 'room elsewhere is not listed'
put src/profile/a.c '#include <collect/collector.h>'
refuses src/profile/a.c:1 'own headers are included as "collect/collector.h"'
put src/collect/a.c '#include HEADER'
refuses src/collect/a.c:1 'not a macro'
put bpf/a.bpf.c '#include "base/array.h"'
refuses bpf/a.bpf.c:1 'wire and its own headers only'
put bpf/a.h '#include <linux/bpf.h>'
refuses bpf/a.h:1 'only from libbpf'
put src/extra/a.c 'int a;'
refuses src/extra:1 'room extra is not listed'
put include/extra/a.h ''
refuses include/extra:1 'room extra is not listed'
put src/a.c 'int a;'
refuses src/a.c:1 'code belongs in a room'
sed -i 's/^profile .*/profile base collect/' "$tree/scripts/rooms.txt"
refuses scripts/rooms.txt:4 'room profile uses collect, which is not listed above it'


# Floors: folders of a room that the list has below it.
put_floors() {
    printf '%s\n' '  collect/low' '  collect/high low' >>"$tree/scripts/rooms.txt"
    put include/collect/collector.h 'int collector;'
    put src/collect/collector.c '#include "collect/collector.h"' '#include "collect/high/b.h"'
    put src/collect/low/a.h 'int a;'
    put src/collect/high/b.h '#include "collect/low/a.h"'
}
put_floors
accepts
put_floors
put src/collect/low/a.h '#include "collect/high/b.h"'
refuses src/collect/low/a.h:1 'floor collect/low may not use floor collect/high'
put_floors
put src/collect/low/a.h '#include "collect/collector.h"'
refuses src/collect/low/a.h:1 'may not use collect/collector.h, which uses floors'
put_floors
put src/collect/middle/a.c '#include <stdio.h>' '#include "base/array.h"'
refuses src/collect/middle/a.c:2 'floor collect/middle is not listed'
printf '  collect/low high\n' >>"$tree/scripts/rooms.txt"
refuses scripts/rooms.txt:7 'floor collect/low uses collect/high, which is not listed above it'

# Doors: what other rooms include is in include/, whatever else is beside its .c.
put src/collect/a.c '' '#include "profile/table.h"'
refuses src/collect/a.c:2 'profile/table.h is private to room profile'
put include/profile/profile.h '#include "profile/table.h"'
rm "$tree/include/profile/shown.h"
refuses include/profile/profile.h:1 'shows no private header: profile/table.h'
put include/profile/unused.h 'int unused;'
put src/profile/a.c '#include "profile/unused.h"'
refuses include/profile/unused.h:1 'no other room includes it'

# Documents: the files that they name in backquotes exist.
put src/README.md 'See `src/profile/profile.c`, `profile/table.h` (`<profile/shown.h>`), `bpf/`, `table.h`,' \
    '`sudo src/cli/main.c -x`, `src/ROOM/NAME.c`, `/proc/self`, `~/.debug`, `build/program`, `a;b/c`, `.c`.' \
    '    a block of code: `not/there.c`' '' 'src/not/quoted.c'
accepts
put src/README.md '' 'See `src/profile/gone.c`.'
refuses src/README.md:2 'there is no src/profile/gone.c'
put src/README.md 'See `profile/table.h` and `profile/gone.h`.'
refuses src/README.md:1 'there is no profile/gone.h'
put src/README.md 'See `gone.h`.'
refuses src/README.md:1 'there is no gone.h'
put .github/CONTRIBUTING.md 'To add one: `src/ROOM/import/NAME.c`, `src/ROOM/NAME.c`.'
refuses .github/CONTRIBUTING.md:1 'there is no src/ROOM/import/NAME.c'
put README.md 'As `scripts/gone --option` does.'
refuses README.md:1 'there is no scripts/gone'
put README.md 'A span `that goes on'
refuses README.md:1 'a span in backquotes ends on its line'

# Two types of one name; a program of the kernel may have its own.
put src/profile/columns.c '#include "profile/profile.h"' 'struct columns {' '};'
put bpf/columns.h 'struct columns {' '};'
accepts
put src/collect/columns.c '#include "wire/sample.h"' 'enum columns { A };'
refuses src/profile/columns.c:2 'struct columns is defined at src/collect/columns.c:2 already'

# Stages of a reader.
printf 'formats base profile\n' >>"$tree/scripts/rooms.txt"
put src/formats/perfetto/read/zones.c '#include "formats/perfetto/read/events.h"'
put src/formats/perfetto/read/events.h '#include "base/array.h"'
accepts
put src/formats/perfetto/read/events.h '#include "formats/perfetto/read/zones.h"'
refuses src/formats/perfetto/read/events.h:1 'stage events may not know stage zones'

# Files of other processes that reading may wait for.
put src/profile/a.c 'snprintf(path, sizeof(path), "/proc/%d/status", pid);' 'proc_file_read(root, pid, "stat", 1, &text);' \
    'open("/proc/self/maps", 0);'
accepts
for name in maps map_files/1-2 cmdline environ exe root mem cwd fd/3; do
    put src/profile/a.c '' "snprintf(path, sizeof(path), \"/proc/%d/$name\", pid);"
    refuses src/profile/a.c:2 'only process/slow_opener.h'
done
put src/profile/a.c 'text_printf(&path, "%s/%u/maps", root, pid);'
refuses src/profile/a.c:1 'only process/slow_opener.h'
put src/profile/a.c 'err = proc_file_read(root, pid, "cmdline", 1, &text);'
refuses src/profile/a.c:1 'only proc_file_read_slow()'
put src/profile/a.c 'err = slow_opener_follow(NULL, pid, path);'
refuses src/profile/a.c:1 'without an opener it is waited for'
put src/profile/a.c 'err = proc_maps_read(NULL, "/proc", pid, visit, NULL);'
refuses src/profile/a.c:1 'without an opener it is waited for'
put src/collect/events/probes.c '' 'snprintf(root, sizeof(root), "/proc/%d/root", pid);' 'fd = open(root, O_PATH);'
refuses src/collect/events/probes.c:3 'by process/slow_opener.h alone'

need_command git
put Makefile ''
put notes.txt ''
git -C "$tree" init -q
accepts
find "$tree/src" "$tree/include" -name '*.[ch]' -exec sed -i '1i /* Why it exists. */' {} +
git -C "$tree" add -A
refuses notes.txt:1 'the top level holds'

# Why a file exists stands at its head, or at that of its own header.
git -C "$tree" init -q
find "$tree/src" "$tree/include" -name '*.[ch]' -exec sed -i '1i /* Why it exists. */' {} +
put src/profile/profile.c '#include "profile/profile.h"'
git -C "$tree" add -A
accepts
put src/profile/profile.c '#include <stdio.h>' '#include "profile/profile.h"'
refuses src/profile/profile.c:1 'begins with why it exists'

# Our own tree.
expect_status 0 "$REPO/scripts/check-rooms"
