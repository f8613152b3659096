#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "collect/bpf_rings.h"
#include "collect/off_cpu_program.h"
#include "collect/permission_probe.h"
#include "collect/sampling_program.h"

#define DEFAULT_RING_BYTES (8u << 20)
#define DEFAULT_MAX_DEPTH  127 /* of sysctl kernel.perf_event_max_stack */

struct tick {
	int fd; /* of the perf event, which holds the program */
	int cpu;
};

struct sampler {
	struct sampler_opts opts;
	struct sampling_program *program;
	struct off_cpu_program *off_cpu; /* NULL: it is not sampled */
	struct bpf_rings rings;
	ARRAY(struct tick) ticks;
	bool uses_cycles; /* hardware cycles; else the software event cpu-clock */
};

static int load_off_cpu(struct sampler *sampler, struct error *error)
{
	struct off_cpu_program_opts opts = {
		.period_ns = sampler->opts.off_cpu.period_ns,
		.min_block_ns = sampler->opts.off_cpu.min_block_ns,
		.no_kernel_stacks = sampler->opts.no_kernel_stacks,
		.no_user_stacks = sampler->opts.no_user_stacks,
		.walks_by_table = sampler->opts.walks_by_table,
		.is_filtered = sampler->opts.is_filtered,
		.starts_on_exec = sampler->opts.starts_on_exec,
		.cgroup_fd = sampler->opts.off_cpu.cgroup_fd,
		.scheduler_pc = sampler->opts.off_cpu.scheduler_pc,
		.takes_wakers = sampler->opts.off_cpu.takes_wakers,
	};

	if (!opts.period_ns)
		return 0;
	return off_cpu_program_new(&opts, sampler->program, &sampler->off_cpu, error);
}

static int load(struct sampler *sampler, struct error *error)
{
	struct sampling_program_opts opts = {
		.no_kernel_stacks = sampler->opts.no_kernel_stacks,
		.no_user_stacks = sampler->opts.no_user_stacks,
		.walks_by_table = sampler->opts.walks_by_table,
		.is_filtered = sampler->opts.is_filtered,
		.leaves_children_out = sampler->opts.leaves_children_out,
		.takes_areas = sampler->opts.takes_areas,
		.tracks_running = sampler->opts.tracks_running,
	};
	int num_cpus = libbpf_num_possible_cpus();
	int err;

	if (num_cpus < 0)
		return num_cpus;
	err = sampling_program_new(&opts, (uint32_t)num_cpus, &sampler->program, error);
	if (err)
		return err;
	err = bpf_rings_init(&sampler->rings, sampling_program_get_map(sampler->program, "rings"),
			     (uint32_t)num_cpus, sampler->opts.ring_bytes);
	if (err && err != -ENOMEM)
		return error_set(error, -ENOTSUP, "the kernel refused the rings of the program: %s",
				 strerror(-err));
	return err ? err : load_off_cpu(sampler, error);
}

int sampler_new(const struct sampler_opts *opts, struct sampler **ret, struct error *error)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int err;

	if (!sampler)
		return -ENOMEM;
	sampler->opts = *opts;
	sampler->rings.epoll_fd = -1;
	if (!sampler->opts.ring_bytes)
		sampler->opts.ring_bytes = DEFAULT_RING_BYTES;
	sampler->uses_cycles = true; /* until the first event shows that they cannot be had */
	err = load(sampler, error);
	if (err) {
		sampler_free(sampler);
		return err;
	}
	*ret = sampler;
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	array_for_each (&sampler->ticks, tick)
		close(tick->fd);
	array_release(&sampler->ticks);
	off_cpu_program_free(sampler->off_cpu);
	bpf_rings_release(&sampler->rings);
	sampling_program_free(sampler->program);
	free(sampler);
}

static long read_sysctl(const char *path)
{
	_cleanup_(text_release) struct text value = {0};

	if (file_read_at(AT_FDCWD, path, 4096, &value) || !value.length)
		return -1;
	return strtol(value.data, NULL, 10);
}

static int explain_event_failure(const struct sampler *sampler, int code, struct error *error)
{
	long max_hz = read_sysctl("/proc/sys/kernel/perf_event_max_sample_rate");

	if (code == -ENODEV)
		return code;
	if (code == -EPERM || code == -EACCES)
		return error_set(error, -EPERM, "not permitted to sample: %s",
				 permission_probe_explain_call(SYS_perf_event_open));
	if (code == -EMFILE)
		return error_set(error, code,
				 "too many open files: a perf event is needed per CPU; raise the "
				 "limit with 'ulimit -n'");
	if (code == -EINVAL && max_hz > 0 && (long)sampler->opts.frequency_hz > max_hz)
		return error_set(error, -ENOTSUP,
				 "this kernel allows at most %ld samples per second; raise it with "
				 "'sysctl kernel.perf_event_max_sample_rate=%u'",
				 max_hz, sampler->opts.frequency_hz);
	return error_set(error, -ENOTSUP, "the kernel refused a perf event: %s", strerror(-code));
}

/* cgroup_fd  -1: all threads of the CPU */
static int open_event(const struct sampler *sampler, int cgroup_fd, int cpu)
{
	struct perf_event_attr attr = {
		.type = sampler->uses_cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = sampler->uses_cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = sampler->opts.frequency_hz,
		.freq = 1,
		.disabled = 1,
	};
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0);
	long fd = syscall(SYS_perf_event_open, &attr, cgroup_fd, cpu, -1, flags);

	return fd < 0 ? -errno : (int)fd;
}

static int add_tick(struct sampler *sampler, int cgroup_fd, int cpu, struct error *error)
{
	struct tick tick = {.cpu = cpu};
	struct tick *kept;

	tick.fd = open_event(sampler, cgroup_fd, cpu);
	if (tick.fd < 0 && sampler->uses_cycles && !sampler->ticks.length) {
		/* No PMU, as in most virtual machines. */
		sampler->uses_cycles = false;
		tick.fd = open_event(sampler, cgroup_fd, cpu);
	}
	if (tick.fd < 0)
		return explain_event_failure(sampler, tick.fd, error);
	/* Not a link: those to perf events are younger than Linux 5.10. */
	if (ioctl(tick.fd, PERF_EVENT_IOC_SET_BPF, sampling_program_get_fd(sampler->program))) {
		int err = errno;

		close(tick.fd);
		return error_set(error, -ENOTSUP,
				 "the kernel refused to run a BPF program on a perf event: %s",
				 strerror(err));
	}
	kept = array_add(&sampler->ticks);
	if (!kept) {
		close(tick.fd);
		return -ENOMEM;
	}
	*kept = tick;
	return 0;
}

int sampler_add_cpu(struct sampler *sampler, int cpu, struct error *error)
{
	return add_tick(sampler, -1, cpu, error);
}

int sampler_add_cgroup(struct sampler *sampler, int cgroup_fd, int cpu, struct error *error)
{
	return add_tick(sampler, cgroup_fd, cpu, error);
}

void sampler_remove_cpu(struct sampler *sampler, int cpu)
{
	for (size_t i = sampler->ticks.length; i-- > 0;) {
		if (sampler->ticks.items[i].cpu != cpu)
			continue;
		close(sampler->ticks.items[i].fd);
		array_remove(&sampler->ticks, i);
	}
}

int sampler_add_target(struct sampler *sampler, pid_t tid, struct error *error)
{
	bool is_in_namespace = sampling_program_is_in_namespace(sampler->program);
	uint64_t key = (uint32_t)tid | (is_in_namespace ? WIRE_NAMED_IN_NAMESPACE : 0);
	uint32_t target = sampler->opts.starts_on_exec ? WIRE_TARGET_FROM_EXEC : WIRE_TARGET;

	if (!bpf_map_update_elem(sampler_get_targets_fd(sampler), &key, &target, BPF_ANY))
		return 0;
	return error_set(error, -errno, "more than %d threads to sample: sample all with -a",
			 WIRE_MAX_TARGETS);
}

int sampler_get_targets_fd(const struct sampler *sampler)
{
	return sampling_program_get_map(sampler->program, "target_tids");
}

int sampler_get_running_fd(const struct sampler *sampler)
{
	return sampling_program_get_map(sampler->program, "running_threads");
}

void sampler_enable(struct sampler *sampler)
{
	array_for_each (&sampler->ticks, tick)
		(void)ioctl(tick->fd, PERF_EVENT_IOC_ENABLE, 0);
	if (sampler->off_cpu)
		off_cpu_program_start(sampler->off_cpu);
}

void sampler_disable(struct sampler *sampler)
{
	array_for_each (&sampler->ticks, tick)
		(void)ioctl(tick->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (sampler->off_cpu &&
	    off_cpu_program_stop(sampler->off_cpu, sampler->rings.rings.items[0].fd))
		log_debug("the off-CPU program may still be running");
}

int sampler_get_fd(const struct sampler *sampler)
{
	return sampler->rings.epoll_fd;
}

int sampler_read(struct sampler *sampler)
{
	return bpf_rings_read(&sampler->rings, sampler->opts.on_record, sampler->opts.context);
}

int sampler_read_sleepers(struct sampler *sampler, uint64_t until_ns,
			  int (*handle)(const void *record, size_t size, void *context),
			  void *context, uint64_t *ret_num)
{
	*ret_num = 0;
	return sampler->off_cpu ? off_cpu_program_read_sleepers(sampler->off_cpu, until_ns, handle,
								context, ret_num)
				: 0;
}

int sampler_read_counters(const struct sampler *sampler, struct wire_counters *ret)
{
	return bpf_counters_read(sampling_program_get_map(sampler->program, "counters"), ret,
				 sizeof(*ret));
}

int sampler_read_off_cpu_counters(const struct sampler *sampler, struct wire_off_cpu_counters *ret)
{
	*ret = (struct wire_off_cpu_counters){0};
	return sampler->off_cpu ? off_cpu_program_read_counters(sampler->off_cpu, ret) : 0;
}

bool sampler_knows_lives(const struct sampler *sampler)
{
	return sampler->off_cpu && off_cpu_program_knows_lives(sampler->off_cpu);
}

int sampler_read_waker_counters(const struct sampler *sampler, struct wire_waker_counters *ret)
{
	*ret = (struct wire_waker_counters){0};
	return sampler->off_cpu ? off_cpu_program_read_waker_counters(sampler->off_cpu, ret) : 0;
}

uint32_t sampler_read_max_depth(void)
{
	_cleanup_(text_release) struct text value = {0};
	unsigned long depth = DEFAULT_MAX_DEPTH;

	if (!file_read_at(AT_FDCWD, "/proc/sys/kernel/perf_event_max_stack", 64, &value) &&
	    value.length)
		depth = strtoul(value.data, NULL, 10);
	return depth < WIRE_MAX_FRAMES ? (uint32_t)depth : WIRE_MAX_FRAMES;
}

struct unwind_maps sampler_get_unwind_maps(const struct sampler *sampler)
{
	return (struct unwind_maps){
		.pages_fd = sampling_program_get_map(sampler->program, "unwind_pages"),
		.mappings_fd = sampling_program_get_map(sampler->program, "unwind_mappings"),
		.shards_fd = sampling_program_get_map(sampler->program, "unwind_shards"),
		.processes_fd = sampling_program_get_map(sampler->program, "unwind_processes"),
	};
}

const char *sampler_get_event_name(const struct sampler *sampler)
{
	return sampler->uses_cycles ? "cycles" : "cpu-clock";
}
