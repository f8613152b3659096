/* How user stacks are walked, and which frames of interpreters they have. */
#ifndef COLLECT_USER_STACKS_H
#define COLLECT_USER_STACKS_H

#include <stdbool.h>
#include <sys/types.h>

enum user_stacks { USER_STACKS_NONE, USER_STACKS_FP, USER_STACKS_TABLE };

/* What is shown of the stacks of interpreters. */
enum runtime_frames {
	RUNTIME_FRAMES_MANAGED, /* the frames of their programs, and what these have called */
	RUNTIME_FRAMES_ALL,     /* the interpreter's own functions between them, too */
	RUNTIME_FRAMES_NATIVE,  /* these alone */
};

/* How user stacks are walked by table. */
struct unwind_table_opts {
	bool no_fp_steps; /* no frame pointers even in code that has no call-frame information */
	bool no_cache;    /* do not use the cache of tables on disk */
	enum runtime_frames runtime_frames;
	const char *cache_folder; /* NULL: /var/cache/stackwide. Copied */
	uid_t worker_user; /* whom processes become that read foreign files, if we are root */
};

#endif
