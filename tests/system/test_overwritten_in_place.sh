#!/bin/bash
# A file that is overwritten in place keeps its inode, but is another file: no sample has names or unwind
# rules of a content that its process did not map. With build IDs and without them.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command cc

cat >"$TMPDIR/program.c" <<'C'
#include "spin.h"
static __attribute__((noinline)) void BURN(void)
{
	volatile char frame[FRAME];

	frame[0] = 0;
	spin_cpu_ns(400 * NS_PER_MS);
	frame[FRAME - 1] = 0;
}
__attribute__((noinline)) int enter(void)
{
	BURN();
	return 0;
}
#ifndef IS_LIBRARY
int main(void)
{
	volatile int result = enter();

	return result;
}
#endif
C
cat >"$TMPDIR/host.c" <<'C'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[argc - 1], RTLD_NOW);
	int (*enter)(void);

	if (!library)
		return 1;
	*(void **)&enter = dlsym(library, "enter");
	return enter() + dlclose(library);
}
C

# compile FILE NAME FRAME FLAG…: a program or library that runs in NAME_burn
compile() {
    cc -O2 -fomit-frame-pointer -I"$REPO/tests/workloads" -D_GNU_SOURCE -DBURN="$2_burn" -DFRAME="$3" "${@:4}" \
        -o "$1" "$TMPDIR/program.c"
}

# record_script NAME SCRIPT: the script runs in the folder of the files; results are NAME.folded, NAME.json
record_script() {
    record -F 997 -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- sh -e -c "cd $TMPDIR; $2"
    grep -E '^(p|host);' "$TMPDIR/$1.folded" >"$TMPDIR/$1.own" || fail "$1: no samples of the program"
}

# expect_gone NAME: frames have no names as the content is gone, and that is told.
expect_gone() {
    local count
    count=$(stats_get "$TMPDIR/$1.json" frames.unnamed.build_id_differs)
    ((count >= 100)) || fail "$1: only $count frames have that reason"
    grep -q 'in files that were replaced or overwritten' "$TMPDIR/record.err" || fail "$1: the summary is silent"
    [[ $(folded_count "$TMPDIR/$1.own" "[truncated]") = 0 ]] || fail "$1: stacks are truncated"
}

cc -O2 -o "$TMPDIR/host" "$TMPDIR/host.c" -ldl
for id in sha1 none; do
    rm -f "$TMPDIR/p" "$TMPDIR/p.so"
    compile "$TMPDIR/old" old 64 -Wl,--build-id=$id
    compile "$TMPDIR/new" new 3000 -Wl,--build-id=$id
    compile "$TMPDIR/old.so" old 64 -Wl,--build-id=$id -DIS_LIBRARY -shared -fPIC
    compile "$TMPDIR/new.so" new 3000 -Wl,--build-id=$id -DIS_LIBRARY -shared -fPIC

    # The content that ran is gone at the end.
    record_script "once-$id" 'cp old p; ./p; cp new p'
    expect_no_frame "$TMPDIR/once-$id.own" new_burn
    expect_gone "once-$id"

    record_script "both-$id" 'cp old p; ./p; cp new p; ./p'
    expect_no_frame "$TMPDIR/both-$id.own" old_burn
    expect_share "$TMPDIR/both-$id.own" "main;enter;new_burn" p 50 800
    expect_gone "both-$id"

    record_script "library-$id" 'cat old.so >p.so; ./host ./p.so; cat new.so >p.so; ./host ./p.so'
    expect_no_frame "$TMPDIR/library-$id.own" old_burn
    expect_share "$TMPDIR/library-$id.own" "main;enter;new_burn" host 50 800
    expect_share "$TMPDIR/library-$id.own" "main" host 100 800
    expect_gone "library-$id"
done

# The build ID shows that the first content is back.
compile "$TMPDIR/old.so" old 64 -Wl,--build-id=sha1 -DIS_LIBRARY -shared -fPIC
compile "$TMPDIR/new.so" new 3000 -Wl,--build-id=sha1 -DIS_LIBRARY -shared -fPIC
record_script back 'for file in old new old; do cat $file.so >p.so; ./host ./p.so; done'
expect_no_frame "$TMPDIR/back.own" new_burn
expect_share "$TMPDIR/back.own" "main;enter;old_burn" host 66.7 1200
expect_gone back

# Other changes leave the content as it is.
record_script links 'cp old p; ./p; ln p other; chmod 700 p; mv p moved; rm other'
expect_share "$TMPDIR/links.own" "main;enter;old_burn" p 100 400
