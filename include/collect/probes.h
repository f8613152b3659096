/*
 * Probes among events: places in programs, libraries and the kernel that somebody names, at which the kernel then
 * runs a program of ours.
 *
 *	uprobe:/usr/bin/x:function+0x10   a function, or a place in it; of a file, or of a library as ldconfig knows it
 *	uprobe:/usr/bin/x:ns::f(int)      the same of C++ and Rust, by its mangled or its demangled name
 *	uretprobe:libc:malloc{retval:By}  where it returns; what it returns is a weight
 *	uretprobe:libc:poll{retval:s32}   the same, of a type; with a unit {retval:s32:By}
 *	usdt:/usr/bin/x:provider:name     where its author has left a note
 *	kprobe:vfs_read{arg3}             a function of the kernel; an argument is a weight
 *	kretprobe:vfs_read
 *	alloc                             the functions of all allocators that the target has mapped, or will as far as ldconfig
 *	                                  knows them; the size that is asked for is a weight
 *
 * The kernel replaces the instruction in every process that maps the file, and puts it back when the recording ends,
 * however that does: a probe lives as long as its perf event, which is a file descriptor.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROBES_H
#define COLLECT_PROBES_H

#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/events.h"
#include "collect/target.h"

struct probe_search {
	pid_t target; /* files are those that it sees; 0: those that we see */
	/* Whose allocators are looked for, as far as they run already; NULL: nobody's. Borrowed */
	const struct target *allocating;
	char *const *
		command; /* and whose that is started later, as an argument vector; NULL: nobody's. Borrowed */
	uid_t worker_user;    /* whom the processes become that read the files, if we are root */
	const char *kallsyms; /* where the kernel's functions are listed; NULL: /proc/kallsyms */
};

/*
 * Find out where the probes among the events lie, before any recording begins.
 *
 * Returns 0; -EINVAL (there is no such file, function or argument), -ENOTSUP (this kernel has no such probes),
 * -EACCES (the file may not be read), with error filled; or another negative errno.
 */
_must_check_ int probes_locate(const struct event_places *places, const struct probe_search *search,
			       struct event_list *events, struct error *error);

#endif
