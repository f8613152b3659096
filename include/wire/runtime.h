/*
 * The recognized runtimes, and the frames of interpreters (runtime/): the sampling program collects
 * them beside the native stack, and user space splices them.
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_RUNTIME_H
#define WIRE_RUNTIME_H

#include "wire/types.h"

/* Frames of a stack that are kept; of deeper ones the outer ones are left out. A power of two. */
#define WIRE_MAX_RUNTIME_FRAMES 512

/*
 * Every runtime, one row each. A process that has several counts as the first one whose build is known. In each row:
 *
 *	tag           WIRE_RUNTIME_tag
 *	name          for users
 *	account name  in the account of a run: the name that OpenTelemetry has for it, if any
 *	language      of its frames, for users; of named runtimes NULL
 *	is a library  programs that load it mostly do other things: a sample counts for it if a frame is in its file
 *	advice        the option that makes a named runtime write a perf-map; NULL: there is no option, or it compiles nothing
 *
 * INTERPRETERS() are those whose frames are put into stacks. FIRST replaces ROW for the first row, for
 * lists with commas between their entries. NAMED_RUNTIMES() are known by name alone: their stacks are native ones. LuaJIT
 * defines Lua's symbols, too, and precedes it.
 *
 * To add an interpreter:
 *
 *	1  include/wire/NAME.h                 its layout (offsets that differ between builds) and the record of a function
 *	2  include/wire/runtime_layout.h       its member of the union
 *	3  here                                its row
 *	4  include/runtime/NAME_walk.h         the walk through memory, the same in BPF and in tests
 *	5  src/runtime/NAME/find.c, find.c     its symbols, and struct runtime_build from them (finder.h)
 *	6  bpf/NAME_stack.h, interpreters.h    the walk in BPF, and its case of the dispatch
 *	7  src/collect/runtimes/NAME_stacks.c  its struct runtime_ops, and its row in runtime_ops.c
 *	8  include/profile/frame_kind.h        the kind of its frames
 *	9  src/base/script_name.c              its program by its command line (--root script)
 *	10 tests/unit/{runtime,bpf,collect}, tests/fuzz, tests/system, tests/bench/runtimes; README.md,
 *	   packaging/docs/languages.md, the manual
 *
 * An interpreter that is a named runtime now moves from one list to the other, and its row in src/runtime/find.c gets a
 * finder of its own.
 */
#define INTERPRETERS_AFTER(FIRST, ROW)                             \
	FIRST(PYTHON, "Python", "cpython", "Python", 0, (void *)0) \
	ROW(V8, "V8", "v8js", "JavaScript", 0, (void *)0)          \
	ROW(HOTSPOT, "Java", "jvm", "Java", 0, (void *)0)          \
	ROW(PHP, "PHP", "php", "PHP", 0, (void *)0)                \
	ROW(RUBY, "Ruby", "ruby", "Ruby", 0, (void *)0)            \
	ROW(PERL, "Perl", "perl", "Perl", 0, (void *)0)
#define INTERPRETERS(ROW) INTERPRETERS_AFTER(ROW, ROW)

#define NAMED_RUNTIMES(ROW) NAMED_RUNTIMES_AFTER(ROW, ROW)
#define NAMED_RUNTIMES_AFTER(FIRST, ROW)                                              \
	FIRST(DOTNET, ".NET", "dotnet", (void *)0, 0,                                 \
	      "DOTNET_PerfMapEnabled=1 in its environment")                           \
	ROW(BEAM, "BEAM", "beam", (void *)0, 0, "+JPperf true (erl), from OTP 24 on") \
	ROW(LUAJIT, "LuaJIT", "luajit", (void *)0, 0,                                 \
	    "XCFLAGS=-DLUAJIT_USE_PERFTOOLS when it is built")                        \
	ROW(LUA, "Lua", "lua", (void *)0, 1, (void *)0)                               \
	ROW(PYPY, "PyPy", "pypy", (void *)0, 0, (void *)0)                            \
	ROW(MONO, "Mono", "mono", (void *)0, 0, "--jitmap (mono)")                    \
	ROW(R, "R", "r", (void *)0, 1, (void *)0)                                     \
	ROW(GUILE, "Guile", "guile", (void *)0, 1, (void *)0)                         \
	ROW(TCL, "Tcl", "tcl", (void *)0, 1, (void *)0)                               \
	ROW(JAVASCRIPTCORE, "JavaScriptCore", "jsc", (void *)0, 1, (void *)0)         \
	ROW(SPIDERMONKEY, "SpiderMonkey", "spidermonkey", (void *)0, 1, (void *)0)

#define RUNTIMES(ROW)     \
	INTERPRETERS(ROW) \
	NAMED_RUNTIMES(ROW)

#define WIRE_RUNTIME_TAG(tag, name, account_name, language, is_library, advice) WIRE_RUNTIME_##tag,
enum wire_runtime {
	INTERPRETERS(WIRE_RUNTIME_TAG) NUM_WIRE_INTERPRETERS,
	WIRE_RUNTIME_BEFORE_NAMED = NUM_WIRE_INTERPRETERS - 1,
	NAMED_RUNTIMES(WIRE_RUNTIME_TAG) NUM_WIRE_RUNTIMES,
};
#undef WIRE_RUNTIME_TAG

struct wire_runtime_frame {
	wire_u64
		code; /* address of the object that describes the function: a code object, or the like */
	/* Fingerprint of that object, as its address may be reused later; 0: it could not be read. */
	wire_u32 fingerprint;
	/* CPython: the instruction, and flags (wire/python.h). V8: the frame of the native stack, from 0 for the innermost.
	   HotSpot: that, and the bytecode that runs (wire/hotspot.h). PHP, Ruby, Perl: the line (wire/script.h). */
	wire_u32 position;
};

/*
 * Flag in a position of CPython, PHP, Ruby and Perl: the frame is the outermost one of a call of
 * the evaluating C function.
 */
#define WIRE_RUNTIME_ENTRY_FRAME (1u << 31)

/*
 * The function of a frame. Each interpreter's own record (wire/python.h and others) starts with
 * these fields. It is sent before the first stack that refers to it.
 */
struct wire_runtime_code {
	wire_u32 type; /* WIRE_RUNTIME_CODE */
	wire_u32 pid;
	wire_u64 generation;
	wire_u64 code; /* as in the frame */
	wire_u32 fingerprint;
	wire_u8 runtime; /* enum wire_runtime */
	wire_u8 padding[3];
};

#define WIRE_RUNTIME_CODE_ASSERT(record)                                                     \
	_Static_assert(                                                                      \
		__builtin_offsetof(struct record, fingerprint) ==                            \
				__builtin_offsetof(struct wire_runtime_code, fingerprint) && \
			__builtin_offsetof(struct record, runtime) ==                        \
				__builtin_offsetof(struct wire_runtime_code, runtime),       \
		"it starts as struct wire_runtime_code");                                    \
	_Static_assert(__builtin_offsetof(struct record, name_text) % 8 == 0 &&              \
			       __builtin_offsetof(struct record, file_text) % 8 == 0,        \
		       "texts are aligned")

/* Why there are no more frames. */
enum wire_runtime_end {
	WIRE_RUNTIME_COMPLETE,
	/*
	 * No state was found: it does not exist, is not initialized, or there are too many threads.
	 */
	WIRE_RUNTIME_NO_THREAD,
	WIRE_RUNTIME_DEEP,    /* more frames than are kept */
	WIRE_RUNTIME_PARTIAL, /* V8: did not reach the outer levels of the native stack */
	WIRE_RUNTIME_UNREADABLE,
	/*
	 * V8: complete. Each level that the walk has left by its frame pointer has a frame of V8,
	 * as V8's own stack walk needs it.
	 */
	WIRE_RUNTIME_PROVEN,
	NUM_WIRE_RUNTIME_ENDS,
};

/* Frames, innermost first, sent before the first sample that refers to them. */
struct wire_runtime_stack {
	wire_u32 type; /* WIRE_RUNTIME_STACK */
	wire_u16 num_frames;
	wire_u8 end;                                               /* enum wire_runtime_end */
	wire_u8 runtime;                                           /* enum wire_runtime */
	wire_u64 hash;                                             /* of all the rest; never 0 */
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES]; /* only num_frames are sent */
};

#endif
