#include "collect/programs/counted_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/events/allocator_code.h"
#include "collect/events/event_filter.h"
#include "collect/events/probe.h"
#include "collect/events/probe_keeper.h"
#include "collect/kernel/bpf_log.h"
#include "collect/kernel/bpf_rings.h"
#include "collect/kernel/close_together.h"
#include "collect/kernel/file_leases.h"
#include "collect/kernel/own_times.h"
#include "collect/kernel/permission_probe.h"
#include "collect/kernel/uprobe_link.h"
#include "collect/kernel_features.h"
#include "collect/programs/calls_program.h"
#include "wire/exponential.h"
#include <counted.skel.h>

/* WINDOW_NS of the program. */
#define WINDOWS_PER_SECOND 100

/* The time that it takes to start the sites of a file, at most, as a rule. */
#define START_NS 2000000

/* For threads that are preempted; each gets its turn within some milliseconds. */
#define MAX_WAIT_MS 500

/* The program is attached as long as it is open, here or in the process that holds probes. */
struct held_fd {
	int fd;
	struct leased_file file; /* that it is attached to; all 0: no file */
};

struct held_fds {
	ARRAY(struct held_fd) fds;
	struct leased_file file; /* of those that are added */
};

/* Properties that all sites of a probe share. */
struct site_kind {
	uint32_t type;      /* as in struct perf_event_attr */
	bool are_of_files;  /* else of the kernel */
	bool are_at_return; /* where the functions return */
	char *function; /* kernel function, borrowed for counted_program_new(); NULL: addresses */
};

struct counted_program {
	struct counted_program_opts opts;
	const struct sampling_program *sampling;
	struct counted_bpf *bpf;
	struct bpf_program *hit; /* the program that runs at every hit */
	enum event_kind kind;
	bool has_exponential_distances;
	bool points_differ; /* for a probe: its argument differs between points */
	/* Runs of `hit` that the kernel had skipped. */
	uint64_t misses_at_start;
	uint64_t misses_at_end;
	bool has_ended;
	bool is_live;
	bool keeps_cpu; /* a probe's program is not preempted */
	bool is_linked; /* to all of a probe's points in a file at once */
	bool has_allocator_probes;
	struct site_kind sites;
	struct calls_program *calls; /* NULL: the event is not their time, or no such programs */
	uint64_t num_open_calls;     /* at the end */
	uint64_t stop_ns;            /* CLOCK_BOOTTIME */
	/*
	 * Perf events that hold it at a tracepoint or a kernel probe's points, and its links to
	 * these. Probes of files are held by another process.
	 */
	struct held_fds held;
	pthread_mutex_t lock; /* protects the rest: another thread may add sites */
	bool is_stopped;
	uint32_t num_sites; /* numbers given to sites */
};

static bool points_differ(const struct probe *probe)
{
	const struct probe_argument *first = &probe->sites.items[0].argument;

	if (probe->kind == PROBE_ALLOCATOR)
		return true;
	array_for_each (&probe->sites, site) {
		const struct probe_argument *argument = &site->argument;

		if (argument->source != first->source || argument->bytes != first->bytes ||
		    argument->is_signed != first->is_signed || argument->base != first->base ||
		    argument->index != first->index || argument->scale != first->scale ||
		    argument->displacement != first->displacement)
			return true;
	}
	return false;
}

/* Entries of the maps that are indexed by the number of a site. */
static uint32_t count_places(const struct counted_program *program)
{
	const struct probe *probe = program->opts.event->probe;

	if (!program->points_differ)
		return 1;
	return (uint32_t)probe->sites.length +
	       (program->has_allocator_probes ? PROBE_MAX_LATE_SITES : 0);
}

static int set_up_maps(struct counted_program *program)
{
	struct counted_bpf *bpf = program->bpf;
	int num_cpus = libbpf_num_possible_cpus();
	int err;

	if (num_cpus < 0)
		return num_cpus;
	err = sampling_program_share_maps(program->sampling, bpf->obj);
	if (err)
		return err;
	err = bpf_map__set_max_entries(bpf->maps.arguments, count_places(program));
	if (err)
		return err;
	err = program->has_allocator_probes
		      ? bpf_map__set_max_entries(bpf->maps.own_code, count_places(program))
		      : bpf_map__set_max_entries(bpf->maps.open_calls, (uint32_t)num_cpus);
	if (err)
		return err;
	if (program->has_allocator_probes) {
		err = bpf_map__set_max_entries(bpf->maps.file_starts, count_places(program));
		if (err)
			return err;
	}
	if (program->is_live) {
		err = bpf_map__set_max_entries(bpf->maps.blocks, WIRE_MAX_BLOCKS);
		if (err)
			return err;
		err = bpf_map__set_max_entries(bpf->maps.free_slots, WIRE_MAX_BLOCKS);
	} else {
		err = bpf_map__set_max_entries(bpf->maps.returning, (uint32_t)num_cpus);
		if (err)
			return err;
		err = bpf_map__set_max_entries(bpf->maps.reallocations, (uint32_t)num_cpus);
	}
	if (err)
		return err;
	if (program->opts.event->filter) {
		uint32_t num_parts;

		(void)event_filter_get_parts(program->opts.event->filter, &num_parts);
		err = bpf_map__set_max_entries(bpf->maps.event_filter, num_parts);
		if (err)
			return err;
	}
	if (!program->opts.event->requests.end) {
		err = bpf_map__set_max_entries(bpf->maps.requests, 1);
		if (err)
			return err;
	}
	if (!program->opts.event->start_config) {
		err = bpf_map__set_max_entries(bpf->maps.calls, 1);
		if (err)
			return err;
	}
	err = bpf_map__set_max_entries(bpf->maps.sent_stacks, (uint32_t)num_cpus);
	if (err)
		return err;
	err = bpf_map__set_max_entries(bpf->maps.sent_runtime, (uint32_t)num_cpus);
	return err ? err : bpf_map__set_max_entries(bpf->maps.raw_samples, (uint32_t)num_cpus);
}

static struct bpf_program *choose_hit_program(const struct counted_program *program)
{
	switch (program->kind) {
	case EVENT_PROBE:
		return program->bpf->progs.on_probe;
	case EVENT_TRACEPOINT:
	case EVENT_SYSTEM_CALL:
		return program->opts.event->filter ? program->bpf->progs.on_filtered_tracepoint
						   : program->bpf->progs.on_tracepoint;
	case EVENT_BLOCK_IO:
		return program->bpf->progs.on_request;
	case EVENT_SOFTWARE:
	case EVENT_HARDWARE:
	case EVENT_CACHE:
	case EVENT_RAW:
	case EVENT_DEVICE:
	case NUM_EVENT_KINDS:
		break;
	}
	return program->bpf->progs.on_software_event;
}

static void choose_programs(struct counted_program *program)
{
	struct bpf_program *other = NULL;

	program->hit = choose_hit_program(program);
	while ((other = bpf_object__next_program(program->bpf->obj, other)))
		bpf_program__set_autoload(other, other == program->hit);
	bpf_program__set_autoload(program->bpf->progs.on_start, program->opts.event->start_config);
	bpf_program__set_autoload(program->bpf->progs.on_request_end,
				  program->opts.event->requests.end);
	bpf_program__set_autoload(program->bpf->progs.on_return, program->is_live);
	if (program->is_linked) {
		bpf_program__set_expected_attach_type(program->hit, UPROBE_LINK_ATTACH_TYPE);
		bpf_program__set_expected_attach_type(program->bpf->progs.on_return,
						      UPROBE_LINK_ATTACH_TYPE);
	}
}

/* The period in units of weight; 0: adaptive. */
static uint64_t get_period(const struct counted_program *program)
{
	uint64_t mean = program->opts.event->mean_distance;

	if (!mean)
		return program->opts.count;
	if (program->opts.count > WIRE_MAX_MEAN_DISTANCE)
		return WIRE_MAX_MEAN_DISTANCE;
	return program->opts.count ? program->opts.count : mean;
}

static void set_requests(const struct counted_program *program)
{
	const struct event_requests *requests = &program->opts.event->requests;
	struct counted_bpf *bpf = program->bpf;

	bpf->rodata->request_kinds = requests->kinds;
	bpf->rodata->start_device_offset = requests->device_offset;
	bpf->rodata->start_sector_offset = requests->sector_offset;
	bpf->rodata->start_letters_offset = requests->letters_offset;
	bpf->rodata->start_bytes_offset = requests->bytes_offset;
	bpf->rodata->start_num_sectors_offset = requests->num_sectors_offset;
}

static int open_object(void *context, struct bpf_object_skeleton **ret)
{
	struct counted_program *program = context;
	const struct sampling_program_opts *sampling = sampling_program_get_opts(program->sampling);
	struct counted_bpf *bpf = counted_bpf__open();

	if (!bpf)
		return -errno;
	program->bpf = bpf;
	*ret = bpf->skeleton;
	choose_programs(program);
	bpf->rodata->is_of_probe = program->kind == EVENT_PROBE;
	bpf->rodata->is_probe_of_user_mode =
		program->kind == EVENT_PROBE && probe_is_of_user_mode(program->opts.event->probe);
	bpf->rodata->points_differ = program->points_differ;
	bpf->rodata->is_of_allocator = program->has_allocator_probes;
	bpf->rodata->own_pid = (uint32_t)getpid();
	bpf->rodata->is_live = program->is_live;
	bpf->rodata->keeps_cpu = program->keeps_cpu;
	bpf->rodata->event_number = program->opts.number;
	bpf->rodata->fixed_period = get_period(program);
	bpf->rodata->weight_offset = program->opts.event->field_offset;
	bpf->rodata->weight_bytes = program->opts.event->field_bytes;
	bpf->rodata->is_weight_signed = program->opts.event->is_field_signed;
	if (program->opts.event->field_scale)
		bpf->rodata->weight_scale = program->opts.event->field_scale;
	bpf->rodata->weighs_time = program->opts.event->start_config;
	set_requests(program);
	bpf->rodata->has_calls = program->kind == EVENT_SYSTEM_CALL;
	if (program->opts.event->hit_weight)
		bpf->rodata->hit_weight = program->opts.event->hit_weight;
	bpf->rodata->samples_per_window = program->opts.frequency_hz > WINDOWS_PER_SECOND
						  ? program->opts.frequency_hz / WINDOWS_PER_SECOND
						  : 1;
	bpf->rodata->is_of_cgroup = program->opts.cgroup_fd >= 0;
	bpf->rodata->is_filtered = sampling->is_filtered;
	bpf->rodata->take_user_stacks = !sampling->no_user_stacks;
	/* All system calls start and end at one point, so its kernel stack has no information. */
	bpf->rodata->take_kernel_stacks =
		!sampling->no_kernel_stacks && program->kind != EVENT_SYSTEM_CALL;
	bpf->rodata->walks_by_table = sampling->walks_by_table;
	bpf->rodata->takes_runtime_frames = sampling->takes_runtime_frames;
	sampling_program_get_namespace(program->sampling, &bpf->rodata->pid_namespace_dev,
				       &bpf->rodata->pid_namespace_inode);
	return set_up_maps(program);
}

static void close_refused(void *context)
{
	struct counted_program *program = context;

	counted_bpf__destroy(program->bpf);
	program->bpf = NULL;
}

static struct wire_argument describe_argument(const struct probe_argument *argument)
{
	static const uint8_t sources[] = {
		[ARGUMENT_NONE] = WIRE_ARGUMENT_NONE,
		[ARGUMENT_CONSTANT] = WIRE_ARGUMENT_CONSTANT,
		[ARGUMENT_REGISTER] = WIRE_ARGUMENT_REGISTER,
		[ARGUMENT_MEMORY] = WIRE_ARGUMENT_MEMORY,
		[ARGUMENT_PRODUCT] = WIRE_ARGUMENT_PRODUCT,
	};

	return (struct wire_argument){
		.source = sources[argument->source],
		.bytes = argument->bytes,
		.is_signed = argument->is_signed,
		.base = argument->base,
		.index = argument->index == ARGUMENT_NO_REGISTER ? WIRE_NO_REGISTER
								 : argument->index,
		.scale = argument->scale,
		.displacement = (uint64_t)argument->displacement,
	};
}

static int set_argument(const struct counted_program *program, const struct probe_site *site,
			uint32_t number)
{
	struct wire_argument argument = describe_argument(&site->argument);

	argument.frees = site->free_register;
	argument.may_jump =
		program->has_allocator_probes &&
		(site->own_code.jump_register != WIRE_NO_REGISTER || site->own_code.jumps_out ||
		 site->own_code.calls_out || site->own_code.hook_offset);
	return bpf_map_update_elem(bpf_map__fd(program->bpf->maps.arguments), &number, &argument,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

static int set_own_code(const struct counted_program *program, const struct probe_site *site,
			uint32_t number, uint32_t file)
{
	struct wire_own_code own = site->own_code;

	own.file = file;
	return bpf_map_update_elem(bpf_map__fd(program->bpf->maps.own_code), &number, &own, BPF_ANY)
		       ? -errno
		       : 0;
}

/*
 * Those of a file follow each other.
 *
 * first  number of the first site
 */
static int describe_sites(const struct counted_program *program, const struct probe_site *sites,
			  size_t count, uint32_t first)
{
	uint32_t file = 0; /* number of its first site, and one */

	for (size_t i = 0; i < count; i++) {
		uint32_t number = first + (uint32_t)i;
		int err = set_argument(program, &sites[i], number);

		if (err)
			return err;
		if (!i || sites[i].fd != sites[i - 1].fd)
			file = number + 1;
		err = program->has_allocator_probes ? set_own_code(program, &sites[i], number, file)
						    : 0;
		if (err)
			return err;
	}
	return 0;
}

/* If all sites have the same argument, there is one place for it. */
static int set_arguments(const struct counted_program *program)
{
	const struct probe *probe = program->opts.event->probe;

	if (program->kind != EVENT_PROBE)
		return 0;
	return describe_sites(program, probe->sites.items,
			      program->points_differ ? probe->sites.length : 1, 0);
}

static int fill_slots(const struct counted_program *program)
{
	for (uint32_t slot = WIRE_MAX_BLOCKS; program->is_live && slot--;)
		if (bpf_map_update_elem(bpf_map__fd(program->bpf->maps.free_slots), NULL, &slot,
					BPF_ANY))
			return -errno;
	return 0;
}

static int load_filter(const struct counted_program *program)
{
	const struct wire_filter_part *parts;
	uint32_t num_parts;

	if (!program->opts.event->filter)
		return 0;
	parts = event_filter_get_parts(program->opts.event->filter, &num_parts);
	for (uint32_t i = 0; i < num_parts; i++)
		if (bpf_map_update_elem(bpf_map__fd(program->bpf->maps.event_filter), &i, &parts[i],
					BPF_ANY))
			return -errno;
	return 0;
}

/*
 * Kernels refuse to keep the CPU for a program of several functions, before they check whether
 * those could sleep.
 */
static int load_programs(struct counted_program *program)
{
	int err;

	program->keeps_cpu = program->kind == EVENT_PROBE;
	err = bpf_log_load(open_object, close_refused, program);
	if (!err || !program->keeps_cpu)
		return err;
	close_refused(program);
	log_debug("on this kernel, a probe's program can lose its CPU");
	program->keeps_cpu = false;
	return bpf_log_load(open_object, close_refused, program);
}

static int load(struct counted_program *program)
{
	uint32_t zero = 0;
	int err = load_programs(program);

	if (err)
		return err;
	err = set_arguments(program);
	if (err)
		return err;
	err = fill_slots(program);
	if (err)
		return err;
	err = load_filter(program);
	if (err || program->opts.cgroup_fd < 0)
		return err;
	return bpf_map_update_elem(bpf_map__fd(program->bpf->maps.cgroups), &zero,
				   &program->opts.cgroup_fd, BPF_ANY)
		       ? -errno
		       : 0;
}

static int hold_fd(struct held_fds *held, int fd)
{
	struct held_fd *added = array_add(&held->fds);

	if (!added) {
		close(fd);
		return -ENOMEM;
	}
	*added = (struct held_fd){fd, held->file};
	return 0;
}

static void close_held(struct held_fds *held)
{
	_cleanup_free_ int *fds = calloc(held->fds.length + 1, sizeof(*fds));

	for (size_t i = 0; fds && i < held->fds.length; i++)
		fds[i] = held->fds.items[i].fd;
	if (fds)
		close_together(fds, held->fds.length);
	else
		array_for_each (&held->fds, held_fd)
			close(held_fd->fd);
	array_release(&held->fds);
}

/*
 * cookie  returned by bpf_get_attach_cookie() in the program at that point; 0: none
 */
static int attach_to(const struct counted_program *program, const struct bpf_program *to_run,
		     int event_fd, uint64_t cookie, struct held_fds *held)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	int link_fd;

	if (!program->points_differ)
		return ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(to_run)) ? -errno
											: 0;
	link_fd = bpf_link_create(bpf_program__fd(to_run), event_fd, BPF_PERF_EVENT, &opts);
	return link_fd < 0 ? link_fd : hold_fd(held, link_fd);
}

/*
 * An event on any available CPU is enough: a program attached to it runs on all CPUs.
 *
 * Returns 0 or negative errno. *ret_was_opened: the event was opened, so the program was rejected.
 */
static int attach(const struct counted_program *program, const struct bpf_program *to_run,
		  struct perf_event_attr *attr, uint64_t cookie, struct held_fds *held,
		  bool *ret_was_opened)
{
	int cpu = 0;
	int err;
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	*ret_was_opened = false;
	do {
		fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	} while (fd < 0 && errno == ENODEV && ++cpu < libbpf_num_possible_cpus());
	if (fd < 0)
		return -errno;
	err = hold_fd(held, fd);
	if (err)
		return err;
	*ret_was_opened = true;
	return attach_to(program, to_run, fd, cookie, held);
}

/* The kernel's error if it does not replace an instruction; user space has no such errno. */
#define KERNEL_ENOTSUPP 524

/* Returns negative errno, or 0 if no message is specific to probes. */
static int explain_probe_failure(const struct counted_program *program, const struct event *event,
				 bool was_opened, int code, struct error *error)
{
	if (code == -EILSEQ)
		return error_set(error, -EINVAL, "%s is in the middle of an instruction",
				 event->name);
	if (code == -KERNEL_ENOTSUPP || code == -ENOEXEC)
		return error_set(
			error, -ENOTSUP,
			"%s: the kernel cannot replace the instruction there; probe a point "
			"before or after it",
			event->name);
	if (code == -EADDRNOTAVAIL)
		return error_set(
			error, -ENOTSUP,
			"%s: the kernel has several functions of this name and hides their "
			"addresses; run 'sysctl kernel.kptr_restrict=0'",
			event->name);
	if (code == -EINVAL && !was_opened && !probe_is_of_user_mode(event->probe))
		return error_set(error, -ENOTSUP,
				 "%s: the kernel allows no probe there: the code is used by probes "
				 "themselves, or is outside the function",
				 event->name);
	if (was_opened && program->points_differ && (code == -EINVAL || code == -EOPNOTSUPP))
		return error_set(
			error, -ENOTSUP,
			program->has_allocator_probes
				? "%s: needs Linux 5.15 to tell its probes apart; "
				  "'uprobe:libc:malloc{arg1:By}' counts one function"
				: "%s: arguments in different locations at different probe points need "
				  "Linux 5.15",
			event->name);
	return 0;
}

static int explain_failure(const struct counted_program *program, const struct event *event,
			   bool was_opened, int code, struct error *error)
{
	int err = event->probe ? explain_probe_failure(program, event, was_opened, code, error) : 0;

	if (err)
		return err;
	if (code == -ENOMEM)
		return code;
	if (code == -EACCES || code == -EPERM)
		return error_set(error, -EPERM, "not permitted to sample %s: %s", event->name,
				 permission_probe_explain_call(SYS_perf_event_open));
	if (code == -E2BIG)
		return error_set(error, -ENOTSUP,
				 "%s: the kernel's limit of programs there is used up by others",
				 event->name);
	if (code == -EMFILE)
		return error_set(
			error, code,
			"too many open files: %s needs one for each probe point; raise the limit "
			"with 'ulimit -n'",
			event->name);
	return error_set(error, -ENOTSUP, "the kernel refused %s at %s: %s",
			 was_opened ? "a program" : "an event", event->name, strerror(-code));
}

static int attach_tracepoint(struct counted_program *program, const struct bpf_program *to_run,
			     uint64_t number, struct error *error)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .config = number};
	bool was_opened;
	int err = attach(program, to_run, &attr, 0, &program->held, &was_opened);

	return err ? explain_failure(program, program->opts.event, was_opened, err, error) : 0;
}

/* A raw tracepoint has no event, only the program's link to it. */
static int attach_raw(struct counted_program *program, const struct bpf_program *to_run,
		      const char *name, struct error *error)
{
	int fd = bpf_raw_tracepoint_open(name, bpf_program__fd(to_run));
	int err = fd < 0 ? fd : hold_fd(&program->held, fd);

	return err ? explain_failure(program, program->opts.event, true, err, error) : 0;
}

/*
 * Check that the kernel would accept the filter, too: an expression that it rejects must not mean
 * something here. The kernel gives no reason.
 */
static int check_filter(const struct counted_program *program, struct error *error)
{
	const struct event *event = program->opts.event;
	const char *text;

	if (!event->filter)
		return 0;
	text = event_filter_get_text(event->filter);
	/* The tracepoint's own one is the last that was opened. */
	if (!ioctl(program->held.fds.items[program->held.fds.length - 1].fd,
		   PERF_EVENT_IOC_SET_FILTER, text))
		return 0;
	return errno == ENOMEM ? -ENOMEM
			       : error_set(error, -ENOTSUP, "%s: this kernel refuses the filter %s",
					   event->name, text);
}

/* Returns 0 or negative errno, with whether it was the program that was refused, and not the event. */
static int attach_site(const struct counted_program *program, const struct probe_site *site,
		       uint32_t number, struct held_fds *held, bool *ret_was_opened)
{
	const struct site_kind *kind = &program->sites;
	char path[64];
	struct perf_event_attr attr = {
		.type = kind->type,
		.config = site->config,
		.config1 = (uintptr_t)(kind->are_of_files ? path : kind->function),
		.config2 = site->offset,
	};
	int err;

	/* The very file that was looked into, whatever is at its path by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", site->fd);
	err = attach(program, program->hit, &attr, number, held, ret_was_opened);
	if (err || !site->return_config)
		return err;
	attr.config = site->return_config;
	return attach(program, program->bpf->progs.on_return, &attr, number, held, ret_was_opened);
}

/*
 * Link sites that are in one file. of_returns: link the returns of those sites that are also probed
 * there. first: number of the first site
 */
static int link_file(const struct counted_program *program, const struct probe_site *sites,
		     size_t count, uint32_t first, bool of_returns, struct held_fds *held)
{
	const struct bpf_program *to_run =
		of_returns ? program->bpf->progs.on_return : program->hit;
	_cleanup_free_ struct uprobe_link_point *points = calloc(count, sizeof(*points));
	struct uprobe_link_opts opts = {
		.program_fd = bpf_program__fd(to_run),
		.file_fd = sites[0].fd,
		.points = points,
		.at_returns = of_returns || program->sites.are_at_return,
	};
	int fd;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (of_returns && !sites[i].return_config)
			continue;
		points[opts.num_points++] = (struct uprobe_link_point){
			.offset = sites[i].offset,
			.semaphore_offset = sites[i].semaphore_offset,
			.cookie = first + i,
		};
	}
	if (!opts.num_points)
		return 0;
	fd = uprobe_link_open(&opts);
	return fd < 0 ? fd : hold_fd(held, fd);
}

/* Sites of one file, or of the kernel. */
static int attach_one_by_one(const struct counted_program *program, const struct probe_site *sites,
			     size_t count, uint32_t first, struct held_fds *held,
			     bool *ret_was_opened)
{
	for (size_t i = 0; i < count; i++) {
		int err =
			attach_site(program, &sites[i], first + (uint32_t)i, held, ret_was_opened);

		if (err)
			return err;
	}
	return 0;
}

static int attach_file(const struct counted_program *program, const struct probe_site *sites,
		       size_t count, uint32_t first, struct held_fds *held, bool *ret_was_opened)
{
	int err;

	if (!program->is_linked)
		return attach_one_by_one(program, sites, count, first, held, ret_was_opened);
	err = link_file(program, sites, count, first, false, held);
	return err ? err : link_file(program, sites, count, first, true, held);
}

/* A file that is there at the start is probed without a lease, too. */
static int attach_leased(const struct counted_program *program, const struct probe_site *sites,
			 size_t count, uint32_t first, struct held_fds *held, bool *ret_was_opened)
{
	struct file_leases *leases = program->sites.are_of_files ? program->opts.leases : NULL;
	int err;

	held->file = (struct leased_file){0};
	if (!leases)
		return attach_file(program, sites, count, first, held, ret_was_opened);
	err = file_leases_begin(leases, sites[0].fd, &held->file);
	if (err)
		log_debug("a probed file has no lease (%s): programs that run it may crash if it "
			  "is overwritten in place",
			  strerror(-err));
	err = attach_file(program, sites, count, first, held, ret_was_opened);
	file_leases_end(leases);
	return err;
}

/* From now on calls out of the file's allocator are parts of calls that count. */
static int note_allocator(const struct counted_program *program, const struct probe_site *sites,
			  size_t count, uint64_t since_ns)
{
	if (!program->has_allocator_probes || !program->opts.allocator_code)
		return 0;
	return allocator_code_add(program->opts.allocator_code, program->opts.number, sites, count,
				  since_ns);
}

/*
 * Attach the program to sites. Those of a file follow each other.
 *
 * Returns 0 or negative errno, with whether it was the program that was refused, and not the event.
 */
static int attach_sites(struct counted_program *program, const struct probe_site *sites,
			size_t count, bool *ret_was_opened)
{
	size_t end;

	*ret_was_opened = false;
	for (size_t start = 0; start < count; start = end) {
		int err;

		for (end = start + 1; end < count && sites[end].fd == sites[start].fd;)
			end++;
		err = attach_leased(program, &sites[start], end - start, (uint32_t)start,
				    &program->held, ret_was_opened);
		if (!err)
			err = note_allocator(program, &sites[start], end - start, 0);
		if (err)
			return err;
	}
	return 0;
}

/* Leave probes to the process that can wait for them. */
static int pass_on(struct probe_keeper *keeper, const struct held_fds *held)
{
	array_for_each (&held->fds, item) {
		int err = probe_keeper_add(keeper, item->fd, &item->file);

		if (err)
			return err;
	}
	return 0;
}

static int attach_probe(struct counted_program *program, struct error *error)
{
	const struct event *event = program->opts.event;
	const struct probe *probe = event->probe;
	bool was_opened;
	int err;

	program->num_sites = (uint32_t)probe->sites.length;
	err = attach_sites(program, probe->sites.items, probe->sites.length, &was_opened);
	if (err)
		return explain_failure(program, event, was_opened, err, error);
	if (!program->sites.are_of_files)
		return 0;
	err = pass_on(program->opts.keeper, &program->held);
	if (err)
		return error_set(error, err, "the process that holds probes failed: %s",
				 strerror(-err));
	close_held(&program->held);
	return 0;
}

/*
 * Attach everything except the events that the sampler opens on every CPU. The start is attached
 * first, so that the start is known for each end.
 */
static int attach_all(struct counted_program *program, struct error *error)
{
	const struct event *event = program->opts.event;
	int err;

	if (!event_is_trace_event(event))
		return 0;
	if (event->probe)
		return attach_probe(program, error);
	if (event->start_config) {
		err = attach_tracepoint(program, program->bpf->progs.on_start, event->start_config,
					error);
		if (err)
			return err;
	}
	if (event->requests.end) {
		err = attach_raw(program, program->bpf->progs.on_request_end, event->requests.end,
				 error);
		if (err)
			return err;
	}
	for (size_t i = 0; i < event->num_more_configs; i++) {
		err = attach_tracepoint(program, program->hit, event->more_configs[i], error);
		if (err)
			return err;
	}
	err = attach_tracepoint(program, program->hit, event->config, error);
	return err ? err : check_filter(program, error);
}

static void describe_probe(struct counted_program *program, const struct event *event)
{
	const struct probe *probe = event->probe;

	program->points_differ = points_differ(probe);
	program->has_allocator_probes = probe->kind == PROBE_ALLOCATOR;
	program->sites = (struct site_kind){
		.type = event->type,
		.are_of_files = probe_is_of_user_mode(probe),
		.are_at_return = probe->kind == PROBE_URETPROBE,
		.function = probe->are_addresses ? NULL : probe->name,
	};
	program->is_linked = program->sites.are_of_files && kernel_has_uprobe_links();
}

int counted_program_new(const struct counted_program_opts *opts,
			const struct sampling_program *sampling, struct counted_program **ret,
			struct error *error)
{
	_cleanup_(counted_program_freep) struct counted_program *program = NULL;
	int err;

	if (!kernel_has_types())
		return error_set(error, -ENOTSUP,
				 "%s: needs type information (/sys/kernel/btf/vmlinux), which this "
				 "kernel lacks",
				 opts->event->name);
	program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	program->opts = *opts;
	program->sampling = sampling;
	program->kind = opts->event->kind;
	program->has_exponential_distances = opts->event->mean_distance;
	program->is_live = opts->event->is_live;
	pthread_mutex_init(&program->lock, NULL);
	if (opts->event->probe)
		describe_probe(program, opts->event);
	err = load(program);
	if (err == -ENOMEM)
		return err;
	if (err)
		return error_set(
			error, err == -EPERM || err == -EACCES ? -EPERM : -ENOTSUP,
			"this kernel refused the program of %s (%s); -v shows the kernel's reason",
			opts->event->name, strerror(-err));
	err = attach_all(program, error);
	if (err)
		return err;
	if (opts->event->start_config) {
		const struct calls_opts calls = {
			.sampling = sampling,
			.event = opts->number,
			.cgroup_fd = opts->cgroup_fd,
			.calls_fd = bpf_map__fd(program->bpf->maps.calls),
		};

		err = calls_program_new(&calls, &program->calls);
		if (err)
			return err;
	}
	program->opts.event = NULL;
	program->sites.function = NULL;
	*ret = return_ptr(program);
	return 0;
}

/* Numbers for sites. Returns 0, -ESHUTDOWN or -ENOSPC. */
static int number_sites(struct counted_program *program, size_t count, uint32_t *ret_first)
{
	uint32_t num_places = bpf_map__max_entries(program->bpf->maps.arguments);
	int err = 0;

	pthread_mutex_lock(&program->lock);
	if (program->is_stopped)
		err = -ESHUTDOWN;
	else if (count > num_places - program->num_sites)
		err = -ENOSPC;
	*ret_first = program->num_sites;
	program->num_sites += err ? 0 : (uint32_t)count;
	pthread_mutex_unlock(&program->lock);
	return err;
}

/* Hold the sites until the stop. Returns 0, -ESHUTDOWN or an error of probe_keeper_add(). */
static int keep_sites(struct counted_program *program, const struct held_fds *held)
{
	int err;

	pthread_mutex_lock(&program->lock);
	err = program->is_stopped ? -ESHUTDOWN : pass_on(program->opts.keeper, held);
	pthread_mutex_unlock(&program->lock);
	return err;
}

/* Hits of a file count from this time on; first: number of its first site. */
static int set_start(const struct counted_program *program, uint32_t first, uint64_t time_ns)
{
	return bpf_map_update_elem(bpf_map__fd(program->bpf->maps.file_starts), &first, &time_ns,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

/*
 * Start all sites of a file at one moment, a little later than now, and wait for it. From then on,
 * calls out of them are parts of calls that count. If we are too slow, some calls are missing, but
 * none counts twice.
 */
static int start_file(const struct counted_program *program, const struct probe_site *sites,
		      size_t count, uint32_t first)
{
	uint64_t start_ns = clock_now_ns() + START_NS;
	uint64_t now_ns;
	int err = set_start(program, first, start_ns);

	if (err)
		return err;
	now_ns = clock_now_ns();
	err = note_allocator(program, sites, count, now_ns > start_ns ? now_ns : start_ns);
	if (err)
		(void)set_start(program, first, UINT64_MAX); /* is there, so it cannot fail */
	else
		nanosleep(&(struct timespec){.tv_nsec = START_NS}, NULL);
	return err;
}

/*
 * Nothing is counted at these sites until the program is at all of them: a block whose free is not
 * seen would stay live, and a call through two of them would count twice.
 */
static int add_sites(struct counted_program *program, const struct probe_site *sites, size_t count,
		     const struct leased_file *file)
{
	struct held_fds held = {.file = *file};
	bool was_opened;
	uint32_t first;
	int err = number_sites(program, count, &first);

	if (err)
		return err;
	err = describe_sites(program, sites, count, first);
	if (!err)
		err = set_start(program, first, UINT64_MAX);
	if (!err)
		err = attach_file(program, sites, count, first, &held, &was_opened);
	if (!err)
		err = keep_sites(program, &held);
	if (!err)
		err = start_file(program, sites, count, first);
	close_held(&held);
	return err;
}

/* The lease is not given back before the sites are held: it would miss them. */
int counted_program_attach_sites(struct counted_program *program, const struct probe_site *sites,
				 size_t count)
{
	struct leased_file file = {0};
	int err = 0;

	if (!count)
		return 0;
	if (program->opts.leases)
		err = file_leases_begin(program->opts.leases, sites[0].fd, &file);
	if (!err)
		err = add_sites(program, sites, count, &file);
	if (program->opts.leases)
		file_leases_end(program->opts.leases);
	return err;
}

void counted_program_free(struct counted_program *program)
{
	if (!program)
		return;
	close_held(&program->held);
	calls_program_free(program->calls);
	pthread_mutex_destroy(&program->lock);
	counted_bpf__destroy(program->bpf);
	free(program);
}

int counted_program_get_fd(const struct counted_program *program)
{
	return bpf_program__fd(program->bpf->progs.on_software_event);
}

/* 0 if unknown: that does not change during a recording. */
static uint64_t read_misses(const struct counted_program *program)
{
	uint64_t misses;

	return bpf_program_read_misses(bpf_program__fd(program->hit), &misses) ? 0 : misses;
}

void counted_program_start(struct counted_program *program)
{
	/* It is attached already. */
	program->misses_at_start = read_misses(program);
	program->bpf->bss->is_recording = true;
	if (program->calls)
		calls_program_note(program->calls);
}

/*
 * Wait for preempted threads that are still in a probe's program, which counts its unfinished runs.
 * Returns whether none is left.
 */
static bool wait_for_runs(const struct counted_program *program)
{
	const struct timespec wait = {.tv_nsec = 1000000};

	for (int i = 0; i < MAX_WAIT_MS; i++) {
		struct wire_running sum;

		if (bpf_counters_read(bpf_map__fd(program->bpf->maps.running), &sum, sizeof(sum)))
			return false;
		if (!sum.num_running)
			return true;
		nanosleep(&wait, NULL);
	}
	return false;
}

void counted_program_end(struct counted_program *program)
{
	program->bpf->bss->is_recording = false;
	program->stop_ns = clock_now_ns();
	program->misses_at_end = read_misses(program);
	program->has_ended = true;
}

void counted_program_stop(struct counted_program *program)
{
	pthread_mutex_lock(&program->lock);
	program->is_stopped = true;
	pthread_mutex_unlock(&program->lock);
	close_held(&program->held);
}

void counted_program_wait(const struct counted_program *program)
{
	if (program->kind == EVENT_PROBE && !wait_for_runs(program))
		log_debug("a probe's program may still be running");
}

/* Requests that are on their way still. */
static uint64_t count_requests(const struct counted_program *program)
{
	int map_fd = bpf_map__fd(program->bpf->maps.requests);
	struct wire_request_key keys[2];
	uint64_t count = 0;

	while (program->kind == EVENT_BLOCK_IO &&
	       !bpf_map_get_next_key(map_fd, count ? &keys[count % 2] : NULL,
				     &keys[(count + 1) % 2]))
		count++;
	return count;
}

int counted_program_for_each_block(const struct counted_program *program,
				   int (*handle)(const struct wire_block *block, void *context),
				   void *context)
{
	int map_fd = bpf_map__fd(program->bpf->maps.blocks);
	struct wire_block_key keys[2];
	struct wire_block_key *last = NULL;

	for (size_t i = 0; program->is_live && !bpf_map_get_next_key(map_fd, last, &keys[i]);
	     i = 1 - i) {
		struct wire_block block;
		int err;

		last = &keys[i];
		/* It cannot be gone: nothing is probed any more. */
		if (bpf_map_lookup_elem(map_fd, last, &block))
			continue;
		err = handle(&block, context);
		if (err)
			return err;
	}
	return 0;
}

int counted_program_read_calls(struct counted_program *program, uint64_t until_ns,
			       int (*handle)(const void *record, size_t size, void *context),
			       void *context)
{
	if (!program->calls)
		return 0;
	return calls_program_read(program->calls,
				  until_ns < program->stop_ns ? until_ns : program->stop_ns, handle,
				  context, &program->num_open_calls);
}

int counted_program_read_counters(const struct counted_program *program, struct wire_counters *ret)
{
	struct wire_counters ends;
	int err = bpf_counters_read(bpf_map__fd(program->bpf->maps.counters), ret, sizeof(*ret));

	if (err)
		return err;
	err = bpf_counters_read(bpf_map__fd(program->bpf->maps.end_counters), &ends, sizeof(ends));
	if (err)
		return err;
	wire_sends_add(&ret->sends, &ends.sends);
	ret->unfinished += count_requests(program);
	ret->fired += program->num_open_calls;
	return 0;
}

int counted_program_read_preempted(const struct counted_program *program, uint64_t *ret)
{
	struct wire_running sum;
	int err = bpf_counters_read(bpf_map__fd(program->bpf->maps.running), &sum, sizeof(sum));

	*ret = err ? 0 : sum.lost;
	return err;
}

uint64_t counted_program_get_skipped(const struct counted_program *program)
{
	uint64_t misses = program->has_ended ? program->misses_at_end : read_misses(program);

	return misses - program->misses_at_start;
}

/*
 * The sum of requests is their number, not their time, which nobody has measured. The points of a
 * Poisson process represent everything between them.
 */
static bool has_rest(const struct counted_program *program)
{
	return program->kind != EVENT_BLOCK_IO && !program->has_exponential_distances;
}

int counted_program_read_rest(const struct counted_program *program, uint64_t *ret)
{
	struct wire_period_state sum;
	int err =
		bpf_counters_read(bpf_map__fd(program->bpf->maps.period_states), &sum, sizeof(sum));

	*ret = err || !has_rest(program) ? 0 : sum.weight;
	return err;
}

int counted_program_for_each_rest(const struct counted_program *program,
				  int (*handle)(uint32_t cpu, uint64_t weight, void *context),
				  void *context)
{
	_cleanup_free_ void *values = NULL;
	const struct wire_period_state *states;
	size_t num_cpus;
	int err;

	if (!has_rest(program))
		return 0;
	err = bpf_counters_read_each(bpf_map__fd(program->bpf->maps.period_states), sizeof(*states),
				     &values, &num_cpus);
	if (err)
		return err;
	states = values;
	for (size_t cpu = 0; cpu < num_cpus; cpu++) {
		err = states[cpu].weight ? handle((uint32_t)cpu, states[cpu].weight, context) : 0;
		if (err)
			return err;
	}
	return 0;
}

int counted_program_read_time(const struct counted_program *program, struct own_times *times)
{
	return own_times_add(times, program->bpf->obj);
}
