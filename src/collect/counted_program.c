#include "collect/counted_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "collect/bpf_log.h"
#include "collect/bpf_rings.h"
#include "collect/kernel_features.h"
#include "collect/permission_probe.h"
#include <counted.skel.h>

/* WINDOW_NS of the program. */
#define WINDOWS_PER_SECOND 100

struct counted_program {
	struct counted_program_opts opts;
	const struct sampling_program *sampling;
	struct counted_bpf *bpf;
	bool is_of_tracepoint;
	int fd;       /* of the perf event that holds it at a tracepoint; else -1 */
	int begin_fd; /* likewise, of the one where it begins what is weighed */
};

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
	if (!program->opts.event->begin_config) {
		err = bpf_map__set_max_entries(bpf->maps.begins, 1);
		if (err)
			return err;
	}
	err = bpf_map__set_max_entries(bpf->maps.sent_stacks, (uint32_t)num_cpus);
	return err ? err : bpf_map__set_max_entries(bpf->maps.raw_samples, (uint32_t)num_cpus);
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
	bpf_program__set_autoload(bpf->progs.on_tracepoint, program->is_of_tracepoint);
	bpf_program__set_autoload(bpf->progs.on_begin, program->opts.event->begin_config);
	bpf_program__set_autoload(bpf->progs.on_software_event, !program->is_of_tracepoint);
	bpf->rodata->event_number = program->opts.number;
	bpf->rodata->fixed_period = program->opts.count;
	bpf->rodata->weight_offset = program->opts.event->field_offset;
	bpf->rodata->weight_bytes = program->opts.event->field_bytes;
	bpf->rodata->is_weight_signed = program->opts.event->is_field_signed;
	bpf->rodata->weighs_time = program->opts.event->begin_config;
	bpf->rodata->has_calls = program->opts.event->kind == EVENT_SYSTEM_CALL;
	if (program->opts.event->hit_weight)
		bpf->rodata->hit_weight = program->opts.event->hit_weight;
	bpf->rodata->wanted_samples = program->opts.wanted_hz > WINDOWS_PER_SECOND
					      ? program->opts.wanted_hz / WINDOWS_PER_SECOND
					      : 1;
	bpf->rodata->is_of_cgroup = program->opts.cgroup_fd >= 0;
	bpf->rodata->is_filtered = sampling->is_filtered;
	bpf->rodata->take_user_stacks = !sampling->no_user_stacks;
	/* All calls end at one place, of which the kernel's part says nothing. */
	bpf->rodata->take_kernel_stacks =
		!sampling->no_kernel_stacks && program->opts.event->kind != EVENT_SYSTEM_CALL;
	bpf->rodata->walks_by_table = sampling->walks_by_table;
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

static int load(struct counted_program *program)
{
	uint32_t zero = 0;
	int err = bpf_log_load(open_object, close_refused, program);

	if (err || program->opts.cgroup_fd < 0)
		return err;
	return bpf_map_update_elem(bpf_map__fd(program->bpf->maps.cgroups), &zero,
				   &program->opts.cgroup_fd, BPF_ANY)
		       ? -errno
		       : 0;
}

/*
 * Have a program run at a tracepoint. One perf event is enough: what is attached to it runs on all CPUs.
 *
 * ret_fd  of the perf event
 */
static int attach(const struct bpf_program *to_run, uint64_t tracepoint, const char *name,
		  int *ret_fd, struct error *error)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = tracepoint,
		.disabled = 1,
	};
	int cpu = 0;
	int err;

	do {
		*ret_fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	} while (*ret_fd < 0 && errno == ENODEV && ++cpu < libbpf_num_possible_cpus());
	err = *ret_fd < 0 ? errno : 0;
	if (err == EACCES || err == EPERM)
		return error_set(error, -EPERM, "not permitted to sample %s: %s", name,
				 permission_probe_explain_call(SYS_perf_event_open));
	if (!err && ioctl(*ret_fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(to_run)))
		err = errno;
	if (err == E2BIG)
		return error_set(error, -ENOTSUP,
				 "%s: the kernel runs no more programs there than others have "
				 "attached already",
				 name);
	return err ? error_set(error, -ENOTSUP, "the kernel refused a program at %s: %s", name,
			       strerror(err))
		   : 0;
}

/* The begin first: of what ends, it is known when it began, then. */
static int attach_all(struct counted_program *program, struct error *error)
{
	const struct event *event = program->opts.event;
	int err;

	if (!program->is_of_tracepoint)
		return 0;
	if (event->begin_config) {
		err = attach(program->bpf->progs.on_begin, event->begin_config, event->name,
			     &program->begin_fd, error);
		if (err)
			return err;
	}
	return attach(program->bpf->progs.on_tracepoint, event->config, event->name, &program->fd,
		      error);
}

int counted_program_new(const struct counted_program_opts *opts,
			const struct sampling_program *sampling, struct counted_program **ret,
			struct error *error)
{
	_cleanup_(counted_program_freep) struct counted_program *program = NULL;
	int err;

	if (!kernel_has_types())
		return error_set(error, -ENOTSUP,
				 "%s: this kernel has no type information "
				 "(/sys/kernel/btf/vmlinux), without which it is not sampled",
				 opts->event->name);
	program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	program->opts = *opts;
	program->sampling = sampling;
	program->is_of_tracepoint = event_is_at_place(opts->event);
	program->fd = -1;
	program->begin_fd = -1;
	err = load(program);
	if (err == -ENOMEM)
		return err;
	if (err)
		return error_set(error, err == -EPERM || err == -EACCES ? -EPERM : -ENOTSUP,
				 "this kernel refused the program of %s (%s); -v shows its reason",
				 opts->event->name, strerror(-err));
	err = attach_all(program, error);
	if (err)
		return err;
	program->opts.event = NULL;
	*ret = return_ptr(program);
	return 0;
}

static void detach(struct counted_program *program)
{
	if (program->fd >= 0)
		close(program->fd);
	if (program->begin_fd >= 0)
		close(program->begin_fd);
	program->fd = -1;
	program->begin_fd = -1;
}

void counted_program_free(struct counted_program *program)
{
	if (!program)
		return;
	detach(program);
	counted_bpf__destroy(program->bpf);
	free(program);
}

int counted_program_get_fd(const struct counted_program *program)
{
	return bpf_program__fd(program->bpf->progs.on_software_event);
}

void counted_program_start(struct counted_program *program)
{
	program->bpf->bss->is_recording = true;
}

void counted_program_stop(struct counted_program *program)
{
	program->bpf->bss->is_recording = false;
	detach(program);
}

int counted_program_read_counters(const struct counted_program *program, struct wire_counters *ret)
{
	return bpf_counters_read(bpf_map__fd(program->bpf->maps.counters), ret, sizeof(*ret));
}

int counted_program_read_rest(const struct counted_program *program, uint64_t *ret)
{
	struct wire_thinning sum;
	int err = bpf_counters_read(bpf_map__fd(program->bpf->maps.thinnings), &sum, sizeof(sum));

	*ret = err ? 0 : sum.weight;
	return err;
}
