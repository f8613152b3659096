#include "collect/programs/sampling_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/kernel/bpf_log.h"
#include "collect/kernel/kernel_types.h"
#include "collect/kernel/own_times.h"
#include "collect/kernel/permission_probe.h"
#include "collect/kernel_features.h"
#include "wire/wire.h"
#include <fp_sampler.skel.h>
#include <sampler.skel.h>

#define NUM_HOOKS 4
static const char *const hook_names[NUM_HOOKS] = {"on_fork", "on_exec", "on_exit", "on_free"};

struct sampling_program {
	struct sampling_program_opts opts;
	const struct sampling_program *first; /* whose maps it shares; NULL: it is the first */
	uint32_t num_cpus;
	struct sampler_bpf *typed;      /* one of these two */
	struct fp_sampler_bpf *untyped; /* for kernels without type information */
	struct bpf_object *object;      /* of whichever is loaded */
	struct bpf_program *tick;
	int types_fd;                      /* of the kernel, for loading */
	struct bpf_link *hooks[NUM_HOOKS]; /* NULL: not attached */
};

/* ---- opening ------------------------------------------------------------------------------ */

/*
 * In a container, the BPF program must report pids of our pid namespace, because /proc and perf
 * records do so. 0 for the initial namespace, which has a fixed inode.
 */
static void find_pid_namespace(volatile __u64 *ret_dev, volatile __u64 *ret_inode)
{
	static const ino_t first_namespace = 0xeffffffc; /* PROC_PID_INIT_INO */
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) || status.st_ino == first_namespace)
		return;
	*ret_dev = status.st_dev;
	*ret_inode = status.st_ino;
}

/* Forks, execs and exits are followed once. */
static int leave_hooks_out(const struct sampling_program *program)
{
	for (size_t i = 0; i < NUM_HOOKS; i++)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(program->object, hook_names[i]), false);
	return sampling_program_share_maps(program->first, program->object);
}

/* Types that cannot be copied are read by libbpf, which takes longer. */
static int open_sampler(struct sampling_program *program)
{
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);

	program->types_fd = memfd_create("types", MFD_CLOEXEC);
	if (program->types_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", program->types_fd);
	program->typed = sampler_bpf__open_opts(&opts);
	if (!program->typed)
		return -errno;
	if (kernel_types_write(bpf_object__btf(program->typed->obj), program->types_fd) == 0)
		return 0;
	sampler_bpf__destroy(program->typed);
	program->typed = sampler_bpf__open();
	return program->typed ? 0 : -errno;
}

static int open_typed(struct sampling_program *program)
{
	const struct sampling_program_opts *opts = &program->opts;
	bool takes_areas = opts->takes_areas && kernel_has_find_vma();
	struct sampler_bpf *bpf;
	int err = open_sampler(program);

	if (err)
		return err;
	bpf = program->typed;
	program->object = bpf->obj;
	program->tick = takes_areas ? bpf->progs.on_tick_with_areas : bpf->progs.on_tick;
	bpf_program__set_autoload(takes_areas ? bpf->progs.on_tick : bpf->progs.on_tick_with_areas,
				  false);
	bpf->rodata->take_user_stacks = !opts->no_user_stacks;
	bpf->rodata->take_kernel_stacks = !opts->no_kernel_stacks;
	bpf->rodata->walks_by_table = opts->walks_by_table;
	bpf->rodata->takes_runtime_frames = opts->takes_runtime_frames;
	bpf->rodata->tracks_running = opts->tracks_running;
	bpf->rodata->event_number = opts->event;
	bpf->rodata->is_filtered = opts->is_filtered;
	bpf->rodata->leaves_children_out = opts->leaves_children_out;
	find_pid_namespace(&bpf->rodata->pid_namespace_dev, &bpf->rodata->pid_namespace_inode);
	return program->first ? leave_hooks_out(program) : 0;
}

/*
 * Find the offset of a field in the records of a tracepoint: "field:pid_t child_pid; offset:44;
 * size:4; …" in its format. The offset differs between kernels.
 */
static int find_offset(const char *event, const char *field, uint32_t *ret, struct error *error)
{
	static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	_cleanup_(text_release) struct text format = {0};
	char path[128];
	char pattern[64];
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_LENGTH(mounts) && !format.length; i++) {
		snprintf(path, sizeof(path), "%s/events/sched/%s/format", mounts[i], event);
		if (file_read_at(AT_FDCWD, path, 65536, &format))
			text_truncate(&format, 0);
	}
	if (!format.length)
		return error_set(error, -ENOTSUP,
				 "without type information (BTF) the kernel's tracepoints are "
				 "needed to follow threads; mount them with 'mount -t tracefs "
				 "tracefs /sys/kernel/tracing', or sample all with -a");
	snprintf(pattern, sizeof(pattern), "field:pid_t %s;", field);
	found = strstr(format.data, pattern);
	if (!found || sscanf(found + strlen(pattern), " offset:%u;", ret) != 1)
		return error_set(error, -ENOTSUP, "%s: no %s in it", path, field);
	return 0;
}

static int find_offsets(struct fp_sampler_bpf *bpf, struct error *error)
{
	const struct {
		const char *event;
		const char *field;
		const volatile __u32 *offset;
	} fields[] = {
		{"sched_process_fork", "child_pid", &bpf->rodata->fork_child_pid_offset},
		{"sched_process_exec", "pid", &bpf->rodata->exec_pid_offset},
		{"sched_process_exec", "old_pid", &bpf->rodata->exec_old_pid_offset},
		{"sched_process_free", "pid", &bpf->rodata->free_pid_offset},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
		uint32_t offset = 0;
		int err = find_offset(fields[i].event, fields[i].field, &offset, error);

		if (err)
			return err;
		memcpy((void *)(uintptr_t)fields[i].offset, &offset, sizeof(offset));
	}
	return 0;
}

static int open_untyped(struct sampling_program *program, struct error *error)
{
	const struct sampling_program_opts *opts = &program->opts;
	struct fp_sampler_bpf *bpf;

	if (program->first)
		return error_set(
			error, -ENOTSUP,
			"this kernel has no type information (/sys/kernel/btf/vmlinux): only "
			"one event at a time can be sampled");
	if (opts->walks_by_table)
		return error_set(error, -ENOTSUP,
				 "this kernel has no type information (/sys/kernel/btf/vmlinux), "
				 "which whole user stacks need; use a kernel built with "
				 "CONFIG_DEBUG_INFO_BTF=y, or take what frame pointers show with "
				 "--user-stacks fp");
	bpf = fp_sampler_bpf__open();
	if (!bpf)
		return -errno;
	program->untyped = bpf;
	program->object = bpf->obj;
	program->tick = bpf->progs.on_tick;
	bpf->rodata->take_user_stacks = !opts->no_user_stacks;
	bpf->rodata->take_kernel_stacks = !opts->no_kernel_stacks;
	bpf->rodata->is_filtered = opts->is_filtered;
	bpf->rodata->leaves_children_out = opts->leaves_children_out;
	find_pid_namespace(&bpf->rodata->pid_namespace_dev, &bpf->rodata->pid_namespace_inode);
	return opts->is_filtered ? find_offsets(bpf, error) : 0;
}

/* ---- loading ------------------------------------------------------------------------------ */

static int set_max_entries(struct sampling_program *program, const char *map, uint32_t number)
{
	struct bpf_map *found = bpf_object__find_map_by_name(program->object, map);

	return found ? bpf_map__set_max_entries(found, number) : 0;
}

struct sampling_program_load {
	struct sampling_program *program;
	struct error *error;
};

static int open_object(void *context, struct bpf_object_skeleton **ret)
{
	struct sampling_program_load *load = context;
	struct sampling_program *program = load->program;
	uint32_t num_cpus = program->num_cpus;
	int err = kernel_has_types() ? open_typed(program) : open_untyped(program, load->error);

	if (err)
		return err;
	*ret = program->typed ? program->typed->skeleton : program->untyped->skeleton;
	err = set_max_entries(program, "sent_stacks", num_cpus);
	if (err)
		return err;
	err = set_max_entries(program, "sent_runtime", num_cpus);
	if (err)
		return err;
	err = set_max_entries(program, "raw_samples", num_cpus);
	if (err)
		return err;
	if (program->first)
		return 0;
	if (program->opts.rings_fd >= 0) { /* else loading explains the lack of permission */
		err = bpf_map__reuse_fd(bpf_object__find_map_by_name(program->object, "rings"),
					program->opts.rings_fd);
		if (err)
			return err;
	}
	return program->opts.is_filtered ? set_max_entries(program, "target_tids", WIRE_MAX_TARGETS)
					 : 0;
}

static void close_object(struct sampling_program *program)
{
	sampler_bpf__destroy(program->typed);
	fp_sampler_bpf__destroy(program->untyped);
	program->typed = NULL;
	program->untyped = NULL;
	program->object = NULL;
	cleanup_closep(&program->types_fd);
	program->types_fd = -1;
}

static void close_refused(void *context)
{
	struct sampling_program_load *load = context;

	close_object(load->program);
}

/*
 * Without hooks, published mappings outlive their process for a while, which costs more raw stacks;
 * a filter could not follow forks.
 */
static int attach_hooks(struct sampling_program *program)
{
	for (size_t i = 0; i < NUM_HOOKS; i++) {
		struct bpf_program *hook =
			bpf_object__find_program_by_name(program->object, hook_names[i]);

		if (string_equals(hook_names[i], "on_free") && !program->opts.is_filtered)
			continue;
		program->hooks[i] = bpf_program__attach(hook);
		if (program->hooks[i])
			continue;
		if (program->opts.is_filtered)
			return -errno;
		log_debug("the kernel refuses the hook %s; more raw stacks will be copied",
			  hook_names[i]);
	}
	return 0;
}

static bool is_limited(int resource)
{
	struct rlimit limit;

	return !getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

/* Whether BPF memory counts as locked memory, and RLIMIT_MEMLOCK may be too low for it. */
static bool is_memory_limited(void)
{
	return kernel_counts_bpf_as_locked() && is_limited(RLIMIT_MEMLOCK);
}

static int explain_failure(int code, struct error *error)
{
	if (code == -ENOMEM || (error && error->message[0]))
		return code;
	if (code == -EPERM && is_memory_limited())
		return error_set(
			error, -EPERM,
			"too little locked memory, which BPF counts as on this kernel; raise "
			"the limit with 'ulimit -l unlimited' (LimitMEMLOCK=infinity in a "
			"service), or add CAP_SYS_RESOURCE");
	if (code == -EPERM || code == -EACCES)
		return error_set(error, -EPERM, "not permitted to load BPF programs: %s",
				 permission_probe_explain_call(SYS_bpf));
	if (code == -EMFILE || code == -ENFILE)
		return error_set(error, -EMFILE,
				 "too many open files for the sampling program; raise the limit "
				 "with 'ulimit -n'");
	/* libbpf has other errors for memory that it did not get. */
	if (is_limited(RLIMIT_AS))
		return error_set(error, -ENOTSUP,
				 "the sampling program could not be loaded (%s): the limit of "
				 "memory (ulimit -v) may be too low for it",
				 strerror(-code));
	return error_set(error, -ENOTSUP,
			 "this kernel refused the sampling program (%s); Linux 5.10 and newer are "
			 "known to take it, -v shows the kernel's reason",
			 strerror(-code));
}

/* first  whose maps it shares; NULL: it is the first */
static int new_program(const struct sampling_program_opts *opts, uint32_t num_cpus,
		       const struct sampling_program *first, struct sampling_program **ret,
		       struct error *error)
{
	_cleanup_(sampling_program_freep) struct sampling_program *program =
		calloc(1, sizeof(*program));
	struct sampling_program_load load = {program, error};
	int err;

	if (!program)
		return -ENOMEM;
	program->opts = *opts;
	program->types_fd = -1;
	program->num_cpus = num_cpus;
	program->first = first;
	err = bpf_log_load(open_object, close_refused, &load);
	if (err)
		return explain_failure(err, error);
	if (!first && (opts->walks_by_table || opts->is_filtered)) {
		err = attach_hooks(program);
		if (err)
			return explain_failure(err, error);
	}
	*ret = return_ptr(program);
	return 0;
}

int sampling_program_new(const struct sampling_program_opts *opts, uint32_t num_cpus,
			 struct sampling_program **ret, struct error *error)
{
	bpf_log_start();
	return new_program(opts, num_cpus, NULL, ret, error);
}

int sampling_program_new_beside(const struct sampling_program *first, uint32_t event,
				struct sampling_program **ret, struct error *error)
{
	struct sampling_program_opts opts = first->opts;

	opts.event = event;
	opts.tracks_running = false;
	return new_program(&opts, first->num_cpus, first, ret, error);
}

void sampling_program_free(struct sampling_program *program)
{
	if (!program)
		return;
	for (size_t i = 0; i < NUM_HOOKS; i++)
		bpf_link__destroy(program->hooks[i]);
	close_object(program);
	free(program);
}

/* ---- access to the loaded program --------------------------------------------------------- */

const struct sampling_program_opts *sampling_program_get_opts(
	const struct sampling_program *program)
{
	return &program->opts;
}

int sampling_program_get_fd(const struct sampling_program *program)
{
	return bpf_program__fd(program->tick);
}

int sampling_program_get_map(const struct sampling_program *program, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(program->object, name);

	return map ? bpf_map__fd(map) : -1;
}

int sampling_program_share_maps(const struct sampling_program *program,
				const struct bpf_object *object)
{
	static const char *const names[] = {"target_tids",     "rings",         "unwind_pages",
					    "unwind_mappings", "unwind_shards", "unwind_processes",
					    "runtime_layouts"};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, names[i]);
		int err = map ? bpf_map__reuse_fd(map, sampling_program_get_map(program, names[i]))
			      : -ENOENT;

		if (err)
			return err;
	}
	return 0;
}

/*
 * The kernel waits for programs that are running when an inner map is replaced
 * (maybe_wait_bpf_programs()), even by the same map.
 */
int sampling_program_wait(const struct sampling_program *program, int ring_fd)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(sampling_program_get_map(program, "rings"), &zero, &ring_fd,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

bool sampling_program_is_in_namespace(const struct sampling_program *program)
{
	return program->typed ? program->typed->rodata->pid_namespace_inode
			      : program->untyped->rodata->pid_namespace_inode;
}

void sampling_program_get_namespace(const struct sampling_program *program, volatile __u64 *ret_dev,
				    volatile __u64 *ret_inode)
{
	*ret_dev = program->typed ? program->typed->rodata->pid_namespace_dev
				  : program->untyped->rodata->pid_namespace_dev;
	*ret_inode = program->typed ? program->typed->rodata->pid_namespace_inode
				    : program->untyped->rodata->pid_namespace_inode;
}

int sampling_program_read_time(const struct sampling_program *program, struct own_times *times)
{
	return own_times_add(times, program->object);
}
