#!/bin/bash
# No files of src/ need each other in a circle; and scripts/find-circles finds one where there is.
# runs: beside others
source "$(dirname "$0")/lib.sh"

need_command cc
need_command nm
build=$(dirname "$STACKWIDE")
[[ -d $build/src ]] || skip "there are no objects in $build"

# put FILE CODE: a source and its object.
put() {
    mkdir -p "$TMPDIR/tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$TMPDIR/tree/$1"
    cc -c -o "$TMPDIR/tree/${1%.c}.o" "$TMPDIR/tree/$1"
}

# Only what is defined elsewhere counts: names that two files keep to themselves are two things.
put src/room/a.c 'void b(void); static void help(void) {} void a(void) { help(); b(); }'
put src/room/b.c 'extern int number; static void help(void) {} void b(void) { help(); number++; }'
put src/room/c.c 'int number; void c(void) {}'
expect_status 0 "$REPO/scripts/find-circles" "$TMPDIR/tree" "$TMPDIR/tree"
[[ ! -s $TMPDIR/out ]] || fail "found none, but said: $(cat "$TMPDIR/out")"

put src/room/c.c 'void a(void); int number; void c(void) { a(); }'
put src/room/d.c 'void c(void); void d(void) { c(); }'
expect_status 1 "$REPO/scripts/find-circles" "$TMPDIR/tree" "$TMPDIR/tree"
[[ $(head -n 1 "$TMPDIR/out") == "circle: src/room/a.c src/room/b.c src/room/c.c" ]] ||
    fail "expected a circle of a, b and c, got: $(cat "$TMPDIR/out")"
grep -q 'src/room/c.c uses a of src/room/a.c' "$TMPDIR/out" ||
    fail "does not say what c uses of a: $(cat "$TMPDIR/out")"

# Of several circles each is told.
put src/room/d.c 'void e(void); void d(void) { e(); }'
put src/room/e.c 'void d(void); void e(void) { d(); }'
expect_status 1 "$REPO/scripts/find-circles" "$TMPDIR/tree" "$TMPDIR/tree"
[[ $(grep -c '^circle:' "$TMPDIR/out") = 2 ]] ||
    fail "expected two circles, got: $(cat "$TMPDIR/out")"

rm "$TMPDIR/tree/src/room/e.o"
expect_status 2 "$REPO/scripts/find-circles" "$TMPDIR/tree" "$TMPDIR/tree"

# Our own tree.
expect_status 0 "$REPO/scripts/find-circles" "$build" "$REPO"
