/*
 * The sampling program: choosing and loading the one that this kernel supports, and attaching its
 * hooks to fork, exec and exit.
 *
 * There are two. The usual one needs the kernel's type information (BTF). The other one does not,
 * and walks user stacks by frame pointers only.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROGRAMS_SAMPLING_PROGRAM_H
#define COLLECT_PROGRAMS_SAMPLING_PROGRAM_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct bpf_object;
struct own_times;
struct sampling_program;

struct sampling_program_opts {
	bool no_kernel_stacks;
	bool no_user_stacks;
	bool walks_by_table;       /* user stacks; else the kernel follows frame pointers */
	bool takes_runtime_frames; /* with it, those of interpreters, too */
	bool is_filtered;          /* only threads of the map target_tids, and their descendants */
	bool leaves_children_out;  /* of the descendants, only threads */
	bool takes_areas;    /* also the VMAs of user stacks, if the kernel has bpf_find_vma() */
	bool tracks_running; /* every tick records the running thread in the map running_threads */
	uint32_t event;      /* number of the event of its ticks, also in their samples */
	int rings_fd;        /* of bpf_rings_create_map(), borrowed; -1: none was permitted */
};

/*
 * Load and attach everything but the ticks.
 *
 * Returns 0, -EPERM or -ENOTSUP (error has the missing capability or kernel feature, and the
 * remedy), or -ENOMEM.
 */
_must_check_ int sampling_program_new(const struct sampling_program_opts *opts, uint32_t num_cpus,
				      struct sampling_program **ret, struct error *error);
void sampling_program_free(struct sampling_program *program);
static inline void sampling_program_freep(struct sampling_program **program)
{
	sampling_program_free(*program);
}

/*
 * Load another program for the ticks of another event. It shares the singletons of the first one,
 * which must outlive it, and has its own counters.
 *
 * Returns as sampling_program_new().
 */
_must_check_ int sampling_program_new_beside(const struct sampling_program *first, uint32_t event,
					     struct sampling_program **ret, struct error *error);

/* Borrowed. */
const struct sampling_program_opts *sampling_program_get_opts(
	const struct sampling_program *program);
/* The program for a perf event to run at every tick; borrowed. */
int sampling_program_get_fd(const struct sampling_program *program);
/* A map of the program by its name in bpf/; borrowed. -1 if this program has none. */
int sampling_program_get_map(const struct sampling_program *program, const char *name);
/*
 * Share the singleton maps with another object that is not loaded yet: the filter, the rings and
 * the unwind tables. Returns 0 or negative errno.
 */
_must_check_ int sampling_program_share_maps(const struct sampling_program *program,
					     const struct bpf_object *object);
/*
 * Wait until programs that share its maps and were just detached do not run any more.
 *
 * ring_fd  of the first ring; its position does not change
 *
 * Returns 0 or negative errno.
 */
_must_check_ int sampling_program_wait(const struct sampling_program *program, int ring_fd);
/* Whether the program reports pids of our own pid namespace, not of the initial one. */
bool sampling_program_is_in_namespace(const struct sampling_program *program);
/* Get that namespace, for other programs; inode 0: the initial one. */
void sampling_program_get_namespace(const struct sampling_program *program, volatile __u64 *ret_dev,
				    volatile __u64 *ret_inode);

/* Add the CPU time of its programs. Returns 0 or -ENOMEM. */
_must_check_ int sampling_program_read_time(const struct sampling_program *program,
					    struct own_times *times);

#endif
