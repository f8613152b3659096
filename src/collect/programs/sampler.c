#include "collect/programs/sampler.h"

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
#include "base/async_call.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "collect/events/allocator_code.h"
#include "collect/events/probe.h"
#include "collect/events/probe_keeper.h"
#include "collect/kernel/bpf_rings.h"
#include "collect/kernel/file_leases.h"
#include "collect/kernel/permission_probe.h"
#include "collect/programs/counted_program.h"
#include "collect/programs/off_cpu_program.h"
#include "collect/programs/sampling_program.h"

#define DEFAULT_RING_BYTES (8u << 20)
#define DEFAULT_MAX_DEPTH  127 /* of sysctl kernel.perf_event_max_stack */
/* Taking probes away takes some ms; thousands of them some seconds on old kernels. */
#define MS_TO_LET_GO        1000
#define MS_TO_LET_GO_OF_ALL 5000
/* Samples of an event other than a clock, for one of a clock. */
#define COUNTS_PER_TICK 10

struct tick {
	int fd; /* of the perf event, which holds the program */
	int cpu;
	size_t event; /* its number */
};

/* The program of an event: one of the two, or, for the first event, the sampler's own program. */
struct event_program {
	struct sampling_program *ticks;  /* of a clock */
	struct counted_program *counted; /* of an event whose hits a program counts */
	bool has_ticks;                  /* some CPU counts it */
	int error;                /* negative errno of a CPU that does not count it; 0: none */
	struct event_times times; /* of CPUs that went offline */
};

struct sampler {
	struct sampler_opts opts;
	struct sampling_program *program;
	ARRAY(struct event_program) event_programs; /* of the events, in their order */
	struct off_cpu_program *off_cpu;            /* NULL: it is not sampled */
	struct probe_keeper *keeper;                /* NULL: no programs are probed */
	struct file_leases *leases;                 /* likewise */
	struct left_probes left_probes;
	struct bpf_rings rings;
	ARRAY(struct tick) ticks;
	uint64_t due_of_gone_cpus[MAX_EVENTS]; /* ticks, by event */
	bool uses_cycles; /* without events: hardware cycles; else the software event cpu-clock */
};

static int load_off_cpu(struct sampler *sampler, struct error *error)
{
	struct off_cpu_program_opts opts = {
		.period_ns = sampler->opts.off_cpu.period_ns,
		.min_block_ns = sampler->opts.off_cpu.min_block_ns,
		.no_kernel_stacks = sampler->opts.no_kernel_stacks,
		.no_user_stacks = sampler->opts.no_user_stacks,
		.walks_by_table = sampler->opts.walks_by_table,
		.takes_runtime_frames = sampler->opts.takes_runtime_frames,
		.is_filtered = sampler->opts.is_filtered,
		.starts_on_exec = sampler->opts.starts_on_exec,
		.cgroup_fd = sampler->opts.cgroup_fd,
		.scheduler_pc = sampler->opts.off_cpu.scheduler_pc,
		.scheduler_text_start = sampler->opts.off_cpu.scheduler_text_start,
		.scheduler_text_end = sampler->opts.off_cpu.scheduler_text_end,
		.takes_wakers = sampler->opts.off_cpu.takes_wakers,
		.only_futexes = sampler->opts.off_cpu.only_futexes,
	};

	if (!opts.period_ns)
		return 0;
	return off_cpu_program_new(&opts, sampler->program, &sampler->off_cpu, error);
}

static int load_counted(struct sampler *sampler, size_t number, struct counted_program **ret,
			struct error *error)
{
	struct counted_program_opts opts = {
		.event = &sampler->opts.events[number],
		.number = (uint32_t)number,
		.count = sampler->opts.count,
		.frequency_hz = sampler->opts.frequency_hz * COUNTS_PER_TICK,
		.cgroup_fd = sampler->opts.cgroup_fd,
		.leases = sampler->leases,
		.keeper = sampler->keeper,
		.allocator_code = sampler->opts.allocator_code,
	};

	return counted_program_new(&opts, sampler->program, ret, error);
}

/* The first event's ticks run the program that follows forks, too. */
static int load_events(struct sampler *sampler, struct error *error)
{
	for (size_t i = 0; i < sampler->opts.num_events; i++) {
		struct event_program *program = array_add(&sampler->event_programs);
		int err = 0;

		if (!program)
			return -ENOMEM;
		if (!event_is_clock(&sampler->opts.events[i]))
			err = load_counted(sampler, i, &program->counted, error);
		else if (i)
			err = sampling_program_new_beside(sampler->program, (uint32_t)i,
							  &program->ticks, error);
		if (err)
			return err;
	}
	return 0;
}

struct rings_creation {
	struct sampler *sampler;
	int map_fd;
	uint32_t num_cpus;
};

static int create_rings(void *context)
{
	const struct rings_creation *creation = context;
	struct sampler *sampler = creation->sampler;

	if (creation->map_fd < 0)
		return creation->map_fd;
	return bpf_rings_init(&sampler->rings, creation->map_fd, creation->num_cpus,
			      sampler->opts.ring_bytes);
}

/* Load the program that follows forks. Rings are created meanwhile: their kernel calls mostly wait. */
static int load_first(struct sampler *sampler, struct error *error)
{
	struct sampling_program_opts opts = {
		.no_kernel_stacks = sampler->opts.no_kernel_stacks,
		.no_user_stacks = sampler->opts.no_user_stacks,
		.walks_by_table = sampler->opts.walks_by_table,
		.takes_runtime_frames = sampler->opts.takes_runtime_frames,
		.is_filtered = sampler->opts.is_filtered,
		.leaves_children_out = sampler->opts.leaves_children_out,
		.takes_areas = sampler->opts.takes_areas,
		.tracks_running = sampler->opts.tracks_running,
	};
	int num_cpus = libbpf_num_possible_cpus();
	_cleanup_close_ int map_fd = num_cpus < 0 ? -1 : bpf_rings_create_map((uint32_t)num_cpus);
	struct rings_creation creation = {sampler, map_fd, (uint32_t)num_cpus};
	struct async_call call;
	int rings_err;
	int err;

	if (num_cpus < 0)
		return num_cpus;
	opts.rings_fd = map_fd;
	async_call_start(&call, create_rings, &creation);
	err = sampling_program_new(&opts, (uint32_t)num_cpus, &sampler->program, error);
	rings_err = async_call_finish(&call);
	if (err || rings_err == -ENOMEM)
		return err ? err : rings_err;
	if (rings_err)
		return error_set(error, -ENOTSUP, "the kernel refused the rings of the program: %s",
				 strerror(-rings_err));
	return 0;
}

/* Until a probe is away, a call may count twice; later it would be missing. */
static bool let_go(void *context, const struct leased_file *file)
{
	struct sampler *sampler = context;
	struct allocator_code *code = sampler->opts.allocator_code;

	for (size_t i = 0; code && i < sampler->opts.num_events; i++)
		allocator_code_end(code, i, file->device, file->inode, clock_now_ns());
	return probe_keeper_let_go(sampler->keeper, file, MS_TO_LET_GO) != -ETIMEDOUT;
}

static bool probes_programs(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->opts.num_events; i++) {
		const struct probe *probe = sampler->opts.events[i].probe;

		if (probe && probe_is_of_user_mode(probe))
			return true;
	}
	return false;
}

static int prepare_probes(struct sampler *sampler)
{
	int err = probe_keeper_new(&sampler->keeper);

	if (err)
		return err;
	return file_leases_new(&(struct file_leases_user){let_go, sampler}, &sampler->leases);
}

static int load(struct sampler *sampler, struct error *error)
{
	int err = load_first(sampler, error);

	if (err)
		return err;
	if (probes_programs(sampler)) {
		err = prepare_probes(sampler);
		if (err)
			return err;
	}
	err = load_events(sampler, error);
	if (err)
		return err;
	if (sampler->leases)
		file_leases_start(sampler->leases);
	return load_off_cpu(sampler, error);
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
	/* Its thread uses the keeper. */
	file_leases_free(sampler->leases);
	probe_keeper_free(sampler->keeper);
	bpf_rings_release(&sampler->rings);
	array_for_each (&sampler->event_programs, program) {
		sampling_program_free(program->ticks);
		counted_program_free(program->counted);
	}
	array_release(&sampler->event_programs);
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

/* The kernel's errors if it knows an event, but nothing counts it. */
static bool is_not_counted(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENXIO || code == -EINVAL;
}

/*
 * event  NULL: the default event
 */
static int explain_event_failure(const struct sampler *sampler, const struct event *event, int code,
				 struct error *error)
{
	long max_hz = read_sysctl("/proc/sys/kernel/perf_event_max_sample_rate");

	if (code == -ENODEV)
		return code;
	if (code == -EPERM || code == -EACCES)
		return error_set(error, -EPERM, "not permitted to sample: %s",
				 permission_probe_explain_call(SYS_perf_event_open));
	if (code == -EMFILE)
		return error_set(
			error, code,
			"too many open files: each CPU needs a perf event; raise the limit "
			"with 'ulimit -n'");
	if (code == -EINVAL && max_hz > 0 && (long)sampler->opts.frequency_hz > max_hz)
		return error_set(error, -ENOTSUP,
				 "this kernel allows at most %ld samples per second; raise it with "
				 "'sysctl kernel.perf_event_max_sample_rate=%u'",
				 max_hz, sampler->opts.frequency_hz);
	if (event && is_not_counted(code) && event->kind != EVENT_SOFTWARE && !event->precision)
		return error_set(
			error, -ENOTSUP,
			"this machine has no PMU that counts %s (a virtual machine needs one "
			"from its host); use the software event cpu-clock",
			event->name);
	if (event && is_not_counted(code) && event->precision)
		return error_set(error, -ENOTSUP,
				 "nothing counts %s that precisely here; use fewer p", event->name);
	if (event)
		return error_set(error, -ENOTSUP, "the kernel refused the event %s: %s",
				 event->name, strerror(-code));
	return error_set(error, -ENOTSUP, "the kernel refused a perf event: %s", strerror(-code));
}

static struct perf_event_attr describe_clock(const struct sampler *sampler)
{
	return (struct perf_event_attr){
		.type = sampler->uses_cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = sampler->uses_cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = sampler->opts.frequency_hz,
		.freq = 1,
	};
}

static struct perf_event_attr describe_event(const struct sampler *sampler,
					     const struct event *event)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.exclude_user = event->leaves_user_out,
		.exclude_kernel = event->leaves_kernel_out,
		.exclude_hv = event->leaves_hypervisor_out,
		.precise_ip = event->precision & 3,
		/* Without it, a program may not ask for stacks of precise events. */
		.sample_type = event->precision ? PERF_SAMPLE_CALLCHAIN : 0,
	};

	if (!event_is_clock(event)) {
		attr.sample_period = 1; /* its program counts them */
	} else if (sampler->opts.count && !event_is_time(event)) {
		/* The kernel's timer is not as fast as a count of nanoseconds would ask for. */
		attr.sample_period = sampler->opts.count;
	} else {
		attr.freq = 1;
		attr.sample_freq = sampler->opts.frequency_hz;
	}
	return attr;
}

/*
 * event      NULL: the default event
 * cgroup_fd  -1: all threads of the CPU
 */
static int open_event(const struct sampler *sampler, const struct event *event, int cgroup_fd,
		      int cpu)
{
	struct perf_event_attr attr =
		event ? describe_event(sampler, event) : describe_clock(sampler);
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0);
	long fd;

	attr.size = sizeof(attr);
	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = syscall(SYS_perf_event_open, &attr, cgroup_fd, cpu, -1, flags);
	return fd < 0 ? -errno : (int)fd;
}

/* The program of a clock, or of the default ticks (0). */
static const struct sampling_program *get_program(const struct sampler *sampler, size_t event)
{
	return event ? sampler->event_programs.items[event].ticks : sampler->program;
}

/* NULL: no program counts the event's hits. */
static const struct counted_program *get_counted(const struct sampler *sampler, size_t event)
{
	return event < sampler->event_programs.length ? sampler->event_programs.items[event].counted
						      : NULL;
}

/* The program that the ticks of an event run. */
static int get_program_fd(const struct sampler *sampler, size_t event)
{
	const struct counted_program *counted = get_counted(sampler, event);

	return counted ? counted_program_get_fd(counted)
		       : sampling_program_get_fd(get_program(sampler, event));
}

/* CPUs of one machine may count different ones. */
static bool is_of_some_cpus(const struct event *event)
{
	return event->kind == EVENT_RAW || event->kind == EVENT_DEVICE;
}

/*
 * number  of the event, or 0 for the default event
 */
static int add_tick(struct sampler *sampler, size_t number, int cgroup_fd, int cpu,
		    struct error *error)
{
	const struct event *event = sampler->opts.num_events ? &sampler->opts.events[number] : NULL;
	struct tick tick = {.cpu = cpu, .event = number};
	struct tick *added;

	if (event && event_is_trace_event(event))
		return 0; /* attached already, for all CPUs */
	tick.fd = open_event(sampler, event, cgroup_fd, cpu);
	if (tick.fd < 0 && !event && sampler->uses_cycles && !sampler->ticks.length) {
		/* No PMU, as in most virtual machines. */
		sampler->uses_cycles = false;
		tick.fd = open_event(sampler, event, cgroup_fd, cpu);
	}
	if (tick.fd < 0 && event && is_of_some_cpus(event) && is_not_counted(tick.fd)) {
		sampler->event_programs.items[number].error = tick.fd;
		return 0;
	}
	if (tick.fd < 0)
		return explain_event_failure(sampler, event, tick.fd, error);
	if (event)
		sampler->event_programs.items[number].has_ticks = true;
	/* Not a link: those to perf events are younger than Linux 5.10. */
	if (ioctl(tick.fd, PERF_EVENT_IOC_SET_BPF, get_program_fd(sampler, number))) {
		int err = errno;

		close(tick.fd);
		return error_set(error, -ENOTSUP,
				 "the kernel refused to run a BPF program on a perf event: %s",
				 strerror(err));
	}
	added = array_add(&sampler->ticks);
	if (!added) {
		close(tick.fd);
		return -ENOMEM;
	}
	*added = tick;
	return 0;
}

static int add_ticks(struct sampler *sampler, int cgroup_fd, int cpu, struct error *error)
{
	int err = add_tick(sampler, 0, cgroup_fd, cpu, error);

	for (size_t i = 1; !err && i < sampler->opts.num_events; i++)
		err = add_tick(sampler, i, cgroup_fd, cpu, error);
	if (err)
		sampler_remove_cpu(sampler, cpu);
	return err;
}

int sampler_add_cpu(struct sampler *sampler, int cpu, struct error *error)
{
	return add_ticks(sampler, -1, cpu, error);
}

int sampler_check_events(const struct sampler *sampler, struct error *error)
{
	for (size_t i = 0; i < sampler->event_programs.length; i++) {
		const struct event_program *program = &sampler->event_programs.items[i];

		if (program->error && !program->has_ticks)
			return explain_event_failure(sampler, &sampler->opts.events[i],
						     program->error, error);
	}
	return 0;
}

int sampler_add_cgroup(struct sampler *sampler, int cgroup_fd, int cpu, struct error *error)
{
	return add_ticks(sampler, cgroup_fd, cpu, error);
}

/* Result of reading a perf event with such a read_format. */
struct count_with_times {
	uint64_t count;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* All 0 if its CPU has just gone. */
static struct event_times read_times(const struct tick *tick)
{
	struct count_with_times value;

	if (read(tick->fd, &value, sizeof(value)) != sizeof(value))
		return (struct event_times){0};
	return (struct event_times){value.enabled_ns, value.running_ns};
}

static void add_times(const struct tick *tick, struct event_times *sum)
{
	struct event_times times = read_times(tick);

	sum->enabled_ns += times.enabled_ns;
	sum->running_ns += times.running_ns;
}

struct event_times sampler_get_event_times(const struct sampler *sampler, size_t event)
{
	struct event_times times = sampler->event_programs.items[event].times;

	array_for_each (&sampler->ticks, tick)
		if (tick->event == event)
			add_times(tick, &times);
	return times;
}

/* A timer whose ticks all reach the program, whatever mode they interrupt. */
static bool is_timer(const struct sampler *sampler, size_t number)
{
	const struct event *event = &sampler->opts.events[number];

	if (!sampler->opts.num_events)
		return !sampler->uses_cycles;
	return event_is_time(event) && !event->leaves_user_out && !event->leaves_kernel_out;
}

/*
 * The kernel turns the frequency of a timer into a period, in whole ns, once and for all. With more than 100,000 Hz it
 * takes longer periods than it was asked for.
 */
static uint64_t count_due(const struct sampler *sampler, const struct tick *tick)
{
	uint64_t period_ns = NS_PER_SECOND / sampler->opts.frequency_hz;

	return is_timer(sampler, tick->event) ? read_times(tick).running_ns / period_ns : 0;
}

uint64_t sampler_count_due_ticks(const struct sampler *sampler, size_t event)
{
	uint64_t due = sampler->due_of_gone_cpus[event];

	array_for_each (&sampler->ticks, tick)
		if (tick->event == event)
			due += count_due(sampler, tick);
	return due;
}

void sampler_remove_cpu(struct sampler *sampler, int cpu)
{
	for (size_t i = sampler->ticks.length; i-- > 0;) {
		const struct tick *tick = &sampler->ticks.items[i];

		if (tick->cpu != cpu)
			continue;
		sampler->due_of_gone_cpus[tick->event] += count_due(sampler, tick);
		if (sampler->event_programs.length)
			add_times(tick, &sampler->event_programs.items[tick->event].times);
		close(tick->fd);
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
	array_for_each (&sampler->event_programs, program)
		if (program->counted)
			counted_program_start(program->counted);
	if (sampler->off_cpu)
		off_cpu_program_start(sampler->off_cpu);
}

static void take_probes_away(struct sampler *sampler)
{
	struct probe_keeper_state state;
	int err = probe_keeper_let_go(sampler->keeper, NULL, MS_TO_LET_GO_OF_ALL);

	if (!err)
		return;
	state = probe_keeper_get_state(sampler->keeper);
	sampler->left_probes = (struct left_probes){
		.keeper = err == -EPIPE ? 0 : state.pid,
		.silent = state.silent,
		.ended_early = err == -EPIPE,
	};
}

void sampler_end(struct sampler *sampler)
{
	array_for_each (&sampler->ticks, tick)
		(void)ioctl(tick->fd, PERF_EVENT_IOC_DISABLE, 0);
	array_for_each (&sampler->event_programs, program)
		if (program->counted)
			counted_program_end(program->counted);
	if (sampler->off_cpu)
		off_cpu_program_end(sampler->off_cpu);
}

void sampler_disable(struct sampler *sampler)
{
	int ring_fd = sampler->rings.rings.items[0].fd;
	int err = 0;

	array_for_each (&sampler->event_programs, program)
		if (program->counted)
			counted_program_stop(program->counted);
	if (sampler->keeper)
		take_probes_away(sampler);
	array_for_each (&sampler->event_programs, program)
		if (program->counted)
			counted_program_wait(program->counted);
	if (sampler->off_cpu)
		err = off_cpu_program_stop(sampler->off_cpu, ring_fd);
	else if (sampler->event_programs.length)
		err = sampling_program_wait(sampler->program, ring_fd);
	if (err)
		log_debug("programs may still be running");
}

struct broken_leases sampler_get_broken_leases(const struct sampler *sampler)
{
	return file_leases_get_broken(sampler->leases);
}

uint64_t sampler_count_let_go(const struct sampler *sampler, const struct leased_file *file)
{
	return file_leases_count_returned(sampler->leases, file);
}

struct left_probes sampler_get_left_probes(const struct sampler *sampler)
{
	return sampler->left_probes;
}

uint64_t sampler_read_helper_cpu_ns(const struct sampler *sampler)
{
	return probe_keeper_read_cpu_ns(sampler->keeper);
}

int sampler_attach_sites(struct sampler *sampler, size_t event, const struct probe_site *sites,
			 size_t count)
{
	return counted_program_attach_sites(sampler->event_programs.items[event].counted, sites,
					    count);
}

int sampler_get_fd(const struct sampler *sampler)
{
	return sampler->rings.epoll_fd;
}

int sampler_read(struct sampler *sampler)
{
	return bpf_rings_read(&sampler->rings, sampler->opts.on_record, sampler->opts.context);
}

void sampler_close_rings(struct sampler *sampler)
{
	bpf_rings_release(&sampler->rings);
}

int sampler_read_sleepers(struct sampler *sampler, uint64_t until_ns,
			  int (*handle)(const void *record, size_t size, void *context),
			  void *context, uint64_t *ret_num)
{
	*ret_num = 0;
	array_for_each (&sampler->event_programs, program) {
		int err = program->counted ? counted_program_read_calls(program->counted, until_ns,
									handle, context)
					   : 0;

		if (err)
			return err;
	}
	return sampler->off_cpu ? off_cpu_program_read_sleepers(sampler->off_cpu, until_ns, handle,
								context, ret_num)
				: 0;
}

int sampler_read_counters(const struct sampler *sampler, size_t event, struct wire_counters *ret)
{
	const struct counted_program *counted = get_counted(sampler, event);

	if (counted)
		return counted_program_read_counters(counted, ret);
	return bpf_counters_read(sampling_program_get_map(get_program(sampler, event), "counters"),
				 ret, sizeof(*ret));
}

int sampler_read_rest(const struct sampler *sampler, size_t event, uint64_t *ret)
{
	const struct counted_program *counted = get_counted(sampler, event);

	*ret = 0;
	return counted ? counted_program_read_rest(counted, ret) : 0;
}

int sampler_for_each_rest(const struct sampler *sampler, size_t event,
			  int (*handle)(uint32_t cpu, uint64_t weight, void *context),
			  void *context)
{
	const struct counted_program *counted = get_counted(sampler, event);

	return counted ? counted_program_for_each_rest(counted, handle, context) : 0;
}

int sampler_read_preempted(const struct sampler *sampler, size_t event, uint64_t *ret)
{
	const struct counted_program *counted = get_counted(sampler, event);

	*ret = 0;
	return counted ? counted_program_read_preempted(counted, ret) : 0;
}

uint64_t sampler_get_skipped(const struct sampler *sampler, size_t event)
{
	const struct counted_program *counted = get_counted(sampler, event);

	return counted ? counted_program_get_skipped(counted) : 0;
}

int sampler_for_each_block(const struct sampler *sampler, size_t event,
			   int (*handle)(const struct wire_block *block, void *context),
			   void *context)
{
	const struct counted_program *counted = get_counted(sampler, event);

	return counted ? counted_program_for_each_block(counted, handle, context) : 0;
}

int sampler_read_unfollowed(const struct sampler *sampler, uint64_t *ret)
{
	struct wire_counters counters;
	int err = bpf_counters_read(sampling_program_get_map(sampler->program, "counters"),
				    &counters, sizeof(counters));

	*ret = err ? 0 : counters.unfollowed;
	return err;
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
		.layouts_fd = sampling_program_get_map(sampler->program, "runtime_layouts"),
	};
}

const char *sampler_get_event_name(const struct sampler *sampler)
{
	return sampler->uses_cycles ? "cycles" : "cpu-clock";
}

int sampler_read_time(const struct sampler *sampler, struct own_times *times)
{
	int err = sampling_program_read_time(sampler->program, times);

	for (size_t i = 0; !err && i < sampler->event_programs.length; i++) {
		const struct event_program *event = &sampler->event_programs.items[i];

		if (event->ticks)
			err = sampling_program_read_time(event->ticks, times);
		else if (event->counted)
			err = counted_program_read_time(event->counted, times);
	}
	return err || !sampler->off_cpu ? err : off_cpu_program_read_time(sampler->off_cpu, times);
}
