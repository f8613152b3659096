/*
 * Names for the locations of a recorded profile: functions, calls inlined into them, source lines.
 *
 * Works on file descriptors that the file table already holds open and needs no privilege of its
 * own. Each location is looked up once; files with equal build IDs share their symbols and debug
 * information. Not thread-safe.
 */
#ifndef SYMBOLIZE_SYMBOLIZER_H
#define SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/debug_file.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "profile/profile.h"

struct symbolizer;

/* How much of a file is read, in ascending order of caution. */
enum symbolizer_caution {
	READ_ALL,
	READ_SYMBOLS, /* no debug information */
	READ_NOTHING, /* its locations get no frames */
};

/*
 * Settings of a process that symbolizes for another one, and may be stopped at any time. All may be
 * zero.
 */
struct symbolizer_duty {
	const struct debug_opener *opener; /* of debug files, if we may not open them; borrowed */
	const uint8_t *cautions; /* of each file: enum symbolizer_caution; borrowed. NULL: all 0 */
	uint32_t num_cautions;
	/* Whether another process has symbolized a location before. */
	bool (*is_named)(uint32_t location, void *context);
	/* About to read a file, or (FILE_NONE) no file. */
	void (*start)(uint32_t file, void *context);
	/* A location has its frames. Returns 0 or negative errno, which ends symbolization. */
	int (*named)(uint32_t location, void *context);
};

struct symbolizer_opts {
	bool no_inlines;        /* neither inlined calls nor lines: no debug information is read */
	const char *proc_root;  /* contains kallsyms and modules; NULL: /proc */
	const char *debug_root; /* separate debug files; several with : between; NULL:
				   /usr/lib/debug */
	bool allows_downloads;  /* of debug files, from servers that DEBUGINFOD_URLS names */
	/* Called now and then during symbolization; NULL is fine. */
	void (*progress)(uint32_t num_done, uint32_t num_total, void *context);
	struct symbolizer_duty duty;
	void *context; /* of the functions above */
};

/*
 * files and processes are borrowed and must outlive the symbolizer. In the profile, a module's id
 * is its number in files, and a process's id is its number in processes. opts may be NULL. Returns
 * NULL when out of memory.
 */
struct symbolizer *symbolizer_new(const struct file_table *files,
				  const struct process_table *processes,
				  const struct symbolizer_opts *opts);
void symbolizer_free(struct symbolizer *symbolizer);
static inline void symbolizer_freep(struct symbolizer **symbolizer)
{
	symbolizer_free(*symbolizer);
}

/*
 * Kernel code that was loaded or unloaded during the recording (a BPF program,
 * PERF_RECORD_KSYMBOL), so that kallsyms may lack it. name is copied. Returns 0 or -ENOMEM.
 */
_must_check_ int symbolizer_add_kernel_symbol(struct symbolizer *symbolizer, uint64_t start,
					      uint64_t size_bytes, const char *name);

/*
 * Read the kernel's symbols for the profile now: for a process that may not open files later. Only
 * if there is kernel code without frames. Returns 0 or -ENOMEM.
 */
_must_check_ int symbolizer_read_kernel(struct symbolizer *symbolizer,
					const struct profile *profile);

/*
 * Give frames to every location that has none yet. A frame never gets its neighbour's name. Frames
 * without a name are shown, in this order of preference, as
 *
 *	objfile+0x1a40        offset: ELF address of the function's start, from .eh_frame
 *	[objfile]             UNNAMED_NO_SYMBOL, UNNAMED_NO_FILE or UNNAMED_BUILD_ID_DIFFERS
 *	[anon]                code in memory without a file, and without a name from its process:
 *	                      UNNAMED_NO_SYMBOL. In a file that is no ELF it is [file]
 *	[unknown]             UNNAMED_NO_MAPPING
 *	module+0x10, [kernel] kernel addresses that kallsyms has no name for (these are named, and
 *	                      UNNAMED_NO_SYMBOL, in this order)
 *
 * Returns 0 or -ENOMEM. Broken files are no failure: their locations stay unnamed.
 */
_must_check_ int symbolizer_name_profile(struct symbolizer *symbolizer, struct profile *profile);

/*
 * Whether a location is in a function that is the outermost of its thread. Either its call-frame
 * information marks the return address as undefined (_start, clone, clone3). Or the address is in
 * the first 64 bytes at the ELF entry point and has no call-frame information at all (ld.so's
 * _start).
 */
bool symbolizer_is_outermost(struct symbolizer *symbolizer, const struct profile *profile,
			     uint32_t location);

/* kallsyms showed no addresses (kptr_restrict without CAP_SYSLOG); known after symbolization. */
bool symbolizer_is_kernel_restricted(const struct symbolizer *symbolizer);

/* Incomplete debug information, so that inlined calls are missing. */
struct unread_debug_info {
	const char *path; /* the first such program, borrowed; NULL: none */
	bool is_split;    /* the rest is in .dwo or .dwp files (-gsplit-dwarf), else in a dwz
			     file */
};

/* Known after symbolization; the path is borrowed until symbolizer_free(). */
struct unread_debug_info symbolizer_get_unread_debug_info(const struct symbolizer *symbolizer);

#endif
