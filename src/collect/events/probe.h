/* A probe for the kernel: the parsed text, and the points that it resolved to. */
#ifndef COLLECT_EVENTS_PROBE_H
#define COLLECT_EVENTS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "collect/events.h"
#include "collect/events/mapped_files.h"
#include "objfile/allocator.h"
#include "objfile/usdt.h"
#include "wire/wire.h"

enum probe_kind {
	PROBE_UPROBE,
	PROBE_URETPROBE,
	PROBE_USDT,
	PROBE_KPROBE,
	PROBE_KRETPROBE,
	PROBE_ALLOCATOR, /* all functions of all allocators that are found: points in several files */
};

/* Sites of allocators that are found while recording: so many have room in the program's maps. */
#define PROBE_MAX_LATE_SITES 1280

struct probe_site {
	/* As in struct perf_event_attr. */
	uint64_t config;
	uint64_t offset; /* in the file; of the kernel, from the function on, or an address */
	uint64_t semaphore_offset; /* in the file, which config has as well; 0: none */
	struct probe_argument argument;
	int fd; /* of the file, borrowed from the probe; -1: the kernel */
	/* For an allocator: */
	uint64_t function_bytes;       /* size of the function; 0: unknown */
	struct wire_own_code own_code; /* location of its code, relative to the point */
	/* As in struct allocator_function: */
	struct allocator_code_range helpers[ALLOCATOR_MAX_HELPERS];
	bool has_other_helpers;
	/* For allocations that may stay live: */
	uint64_t return_config; /* as config, for the function's return; 0: not probed */
	uint8_t free_register;  /* with the address that it frees; WIRE_NO_REGISTER: none */
};

/* How the functions of allocators are probed. */
struct allocator_probes {
	uint64_t config;    /* as in struct perf_event_attr */
	bool lacks_callers; /* stacks do, or are not taken */
	/* For live memory: frees are probed, too, and returns of allocations with this. */
	bool is_live;
	uint64_t return_config;
};

struct probe {
	enum probe_kind kind;
	char *file;     /* a path or a library's name; NULL: the kernel */
	char *provider; /* NULL: it is a function */
	char *name;     /* of the function, or of the provider's probe */
	uint64_t offset;
	bool is_weighted;      /* by an argument */
	unsigned int argument; /* from 1 on; 0: the return value */
	/* Its type, if given: size in bytes; 0: all of it. */
	uint8_t argument_bytes;
	bool is_argument_signed;
	/* Results of probes_locate(). */
	ARRAY(int) fds;     /* descriptors of the files; none for the kernel */
	bool are_addresses; /* the offsets, as the kernel has several functions of the name */
	ARRAY(struct probe_site) sites;
	/* For allocators: */
	struct allocator_probes allocators;
	struct mapped_files looked_at; /* files with and without one */
	/* The programs of these that have an unknown one (struct late_allocators); sorted. */
	struct mapped_files unknown;
};

void probe_free(struct probe *probe); /* NULL is fine */

/* Whether it is a probe's name: "uprobe:…". */
bool probe_is_one(const char *word);

/* Whether it is of programs; else of the kernel. */
bool probe_is_of_user_mode(const struct probe *probe);

/*
 * The length of a probe at the start of a comma-separated list. Commas within parentheses, angle
 * brackets and braces are part of a name: "uprobe:x:ns::f(int, char const*),cs".
 */
size_t probe_get_length(const char *list);

/*
 * Take "uprobe:/usr/bin/x:function+0x10{arg1:u32:By}" apart, and add the event.
 *
 * Returns 0, -EINVAL with error filled, or -ENOMEM.
 */
_must_check_ int probe_parse(const char *word, struct event_list *ret, struct error *error);

/*
 * Add the event of allocations, or of allocations still live at the end; the word is its name.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int probe_add_allocations(const char *word, bool is_live, struct event_list *ret);

/* The kinds and their purposes, by number; NULL after the last. */
const char *probe_kind_describe(size_t number, const char **ret_purpose);

#endif
