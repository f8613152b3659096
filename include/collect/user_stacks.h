/* Method of walking user stacks, and the interpreter frames to show. */
#ifndef COLLECT_USER_STACKS_H
#define COLLECT_USER_STACKS_H

#include <stdbool.h>
#include <sys/types.h>

enum user_stacks { USER_STACKS_NONE, USER_STACKS_FP, USER_STACKS_TABLE };

/* Frames to show in stacks of interpreters. */
enum runtime_frames {
	/* Frames of the interpreted program, and the native code that they call. */
	RUNTIME_FRAMES_MANAGED,
	RUNTIME_FRAMES_ALL,    /* also the interpreter's own functions between them */
	RUNTIME_FRAMES_NATIVE, /* only native frames */
};

/* Options for walking user stacks by table. */
struct unwind_table_opts {
	bool no_fp_steps; /* no frame pointers even in code without call-frame information */
	bool no_cache;    /* do not use the cache of tables on disk */
	enum runtime_frames runtime_frames;
	const char *cache_folder; /* NULL: /var/cache/stackwide. Copied */
	uid_t worker_user; /* user of the processes that read foreign files, if we are root */
};

#endif
