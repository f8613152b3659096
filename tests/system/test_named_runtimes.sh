#!/bin/bash
# Runtimes whose frames nothing reads are known by the symbols of their files: the account counts their samples as of an
# unknown build, the summary says what makes them name their code, the doctor names the processes. Programs stand for them.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command gcc
cd "$TMPDIR"

# Runs code that has no name, in memory that is mapped twice where it is asked for, until it has used CPU time, or until
# there is a file.
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void touch_library(void);

int main(int argc, char **argv)
{
	/* mov edi, ecx; dec ecx; jnz -4; ret */
	static const unsigned char code[] = {0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	int fd = atoi(argv[1]) ? memfd_create("vmem", 0) : -1;
	void *memory;

	touch_library();
	if (fd >= 0 && ftruncate(fd, 4096))
		return 1;
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		      fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	if (argc > 2) {
		fclose(fopen(argv[2], "w"));
		for (;;)
			pause();
	}
	while (clock() < CLOCKS_PER_SEC / 2)
		((void (*)(int))memory)(1000000);
	return 0;
}
C

# make_runtime NAME SYMBOL…: a program of that name, with a library that exports these.
make_runtime() {
    local name=$1 symbol
    shift
    {
        for symbol in "$@"; do echo "int $symbol = 1;"; done
        echo "void touch_library(void); void touch_library(void) { }"
    } >"lib$name.c"
    gcc -shared -fPIC -o "lib$name.so" "lib$name.c"
    gcc -O1 -D_GNU_SOURCE -o "$name" program.c "./lib$name.so"
}

make_runtime dotnet g_dacTable MetaDataGetDispenser
make_runtime beam erl_start enif_make_atom
make_runtime luajit luaJIT_setmode lua_newstate
make_runtime lua lua_newstate lua_rawgeti
declare -A names=([dotnet]=.NET [beam]=BEAM [luajit]=LuaJIT)
declare -A advice=([dotnet]=DOTNET_PerfMapEnabled=1 [beam]='+JPperf true' [luajit]=-DLUAJIT_USE_PERFTOOLS)

for name in dotnet beam luajit; do
    for is_memfd in 0 1; do
        record -F 499 -o x.folded --stats x.json -- "./$name" "$is_memfd"
        expect_account_adds_up x.json
        python3 -S - "$name" <<'PYTHON' || fail "$(cat x.json)"
import json, sys
stats = json.load(open("x.json"))
runtime, = stats["runtimes"]
print(runtime)
assert runtime["name"] == sys.argv[1] and runtime["processes"] == 1
assert runtime["samples"] == runtime["unknown_build"] > 0
PYTHON
        grep -q "^  ${names[$name]} .* shown as native code: frames of ${names[$name]} are not supported" record.err || fail "no ${names[$name]}"
        grep -qF -- "${names[$name]} names its code with" record.err || fail "no advice"
        grep -qF -- "${advice[$name]}" record.err || fail "no ${advice[$name]}"
    done
    start "./$name" 0 "$TMPDIR/runs.$name"
    wait_until test -e "$TMPDIR/runs.$name"
done

# Nor is anything known of a version of Python that has no _PyRuntime yet.
make_runtime python2 PyCode_Type
printf '%s\n' 'int PyCode_Type = 1; void PyEval_EvalFrameEx(void) { } void PyString_FromString(void) { } void PyCapsule_New(void) { }' \
    'void touch_library(void); void touch_library(void) { }' >libpython2.c
gcc -shared -fPIC -o libpython2.so libpython2.c
record -F 499 -o x.folded --stats x.json -- ./python2 0
expect_account_adds_up x.json
python3 -S - <<'PYTHON' || fail "$(cat x.json)"
import json
runtime, = json.load(open("x.json"))["runtimes"]
print(runtime)
assert (runtime["name"], runtime["version"]) == ("cpython", "2.7")
assert runtime["samples"] == runtime["unknown_build"] > 0
PYTHON
grep -A1 '^  Python ' record.err | grep -q 'frames of Python 2.7' || fail "no Python 2.7: $(cat record.err)"
grep -q 'shown as native code: unsupported version or build' record.err || fail "$(cat record.err)"

# Programs that do other things load Lua: only what has one of its frames is of it, and it is not compiled while it runs.
record -F 499 -o x.folded --stats x.json -- ./lua 0
grep -q '"runtimes": \[\]' x.json || fail "Lua, which is loaded, runs: $(cat x.json)"
printf '%s\n' '#include <time.h>' 'int lua_newstate = 1, lua_rawgeti = 1;' \
    'void touch_library(void);' 'void touch_library(void) { while (clock() < CLOCKS_PER_SEC / 4) ; }' >liblua.c
gcc -shared -fPIC -o liblua.so liblua.c
record -F 499 -o x.folded --stats x.json -- ./lua 0
expect_account_adds_up x.json
python3 -S - <<'PYTHON' || fail "$(cat x.json)"
import json
stats = json.load(open("x.json"))
runtime, = stats["runtimes"]
print(runtime, stats["samples"])
assert runtime["name"] == "lua" and runtime["processes"] == 1
assert stats["samples"] / 4 < runtime["samples"] == runtime["unknown_build"] < stats["samples"] * 3 / 4
PYTHON
grep -q '^  Lua .* shown as native code: frames of Lua are not supported' record.err || fail "no Lua: $(cat record.err)"
! grep -F 'names its code' record.err || fail "advice for lua"

"$STACKWIDE" doctor >doctor || true
for name in dotnet beam luajit; do
    grep -F "${names[$name]} in " doctor | grep -E "^missing +interpreters .*[0-9] $name.*; its frames are not supported; " |
        grep -qF -- "${advice[$name]}" || fail "the doctor does not see $name: $(grep interpreters doctor)"
done
