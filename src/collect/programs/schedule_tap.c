#include "collect/programs/schedule_tap.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/kernel/bpf_log.h"
#include "collect/kernel/bpf_rings.h"
#include "collect/kernel/own_times.h"
#include "collect/kernel_features.h"
#include <schedule.skel.h>

#define DEFAULT_RING_BYTES (4u << 20)

enum hook {
	HOOK_SWITCH,
	HOOK_WAKEUP,
	HOOK_IRQ,
	HOOK_IRQ_END,
	HOOK_SOFTIRQ,
	HOOK_SOFTIRQ_END,
	HOOK_WORK,
	HOOK_WORK_END,
	NUM_HOOKS,
};

struct schedule_tap {
	struct schedule_tap_opts opts;
	struct schedule_bpf *bpf;
	bool has_count; /* the kernel exports the symbol that one variant needs */
	uint32_t num_rings;
	struct bpf_program *switch_program; /* the variants that fit this kernel */
	struct bpf_program *wakeup_program;
	struct bpf_link *links[NUM_HOOKS]; /* NULL: not attached */
	struct bpf_rings rings;
	uint64_t nested_misses;            /* misses counted by the kernel itself */
	struct wire_kwork_counters kworks; /* once it has stopped */
};

/* ---- features of this kernel -------------------------------------------------------------- */

static bool is_task_pointer(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	if (!type || !btf_is_ptr(type))
		return false;
	type = btf__type_by_id(btf, type->type);
	return type && btf_is_struct(type) &&
	       string_equals(btf__name_by_offset(btf, type->name_off), "task_struct");
}

enum switch_arguments schedule_tap_probe_switch(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	const struct btf_param *parameters;
	uint32_t count;

	if (type)
		type = btf__type_by_id(btf, type->type);
	if (type && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	if (!type || !btf_is_func_proto(type))
		return SWITCH_UNKNOWN;
	/* Parameter 0 is the tracepoint's context, 1 is `preempt`. */
	parameters = btf_params(type);
	count = btf_vlen(type);
	if (count >= 4 && is_task_pointer(btf, parameters[2].type) &&
	    is_task_pointer(btf, parameters[3].type))
		return count >= 5 ? SWITCH_PREVIOUS_NEXT_STATE : SWITCH_PREVIOUS_NEXT;
	if (count >= 5 && is_task_pointer(btf, parameters[3].type) &&
	    is_task_pointer(btf, parameters[4].type))
		return SWITCH_STATE_PREVIOUS_NEXT;
	return SWITCH_UNKNOWN;
}

static struct bpf_program *choose_switch_program(const struct schedule_bpf *bpf)
{
	struct btf *btf = btf__load_vmlinux_btf();
	enum switch_arguments arguments = btf ? schedule_tap_probe_switch(btf) : SWITCH_UNKNOWN;

	btf__free(btf);
	switch (arguments) {
	case SWITCH_PREVIOUS_NEXT:
		return bpf->progs.on_switch;
	case SWITCH_STATE_PREVIOUS_NEXT:
		return bpf->progs.on_switch_state_second;
	case SWITCH_PREVIOUS_NEXT_STATE:
		return bpf->progs.on_switch_state_last;
	case SWITCH_UNKNOWN:
		break;
	}
	return NULL;
}

static bool has_tracepoint(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) >= 0;
}

/*
 * Choose a program for the start and one for the end of an activity that is recorded only for the
 * whole machine.
 */
static void choose_pair(const struct schedule_tap *tap, const struct btf *btf,
			const char *start_name, struct bpf_program *start, const char *end_name,
			struct bpf_program *end)
{
	bool is_there = btf && tap->opts.targets_fd < 0 && has_tracepoint(btf, start_name) &&
			has_tracepoint(btf, end_name);

	bpf_program__set_autoload(start, is_there);
	bpf_program__set_autoload(end, is_there);
}

static void choose_kwork_programs(const struct schedule_tap *tap)
{
	const struct schedule_bpf *bpf = tap->bpf;
	struct btf *btf = btf__load_vmlinux_btf();

	choose_pair(tap, btf, "btf_trace_irq_handler_entry", bpf->progs.on_irq,
		    "btf_trace_irq_handler_exit", bpf->progs.on_irq_end);
	choose_pair(tap, btf, "btf_trace_softirq_entry", bpf->progs.on_softirq,
		    "btf_trace_softirq_exit", bpf->progs.on_softirq_end);
	choose_pair(tap, btf, "btf_trace_workqueue_execute_start", bpf->progs.on_work,
		    "btf_trace_workqueue_execute_end", bpf->progs.on_work_end);
	btf__free(btf);
}

/* The program reports tids of the initial pid namespace, which mean nothing in a container. */
static bool is_in_pid_namespace(void)
{
	static const ino_t first_namespace = 0xeffffffc; /* PROC_PID_INIT_INO */
	struct stat status;

	return !stat("/proc/self/ns/pid", &status) && status.st_ino != first_namespace;
}

/* ---- loading ------------------------------------------------------------------------------ */

static int attach(struct schedule_tap *tap, enum hook hook, struct bpf_program *program)
{
	tap->links[hook] = bpf_program__attach(program);
	return tap->links[hook] ? 0 : -errno;
}

/* Open the programs, and choose those that fit. */
static int open_programs(void *context, struct bpf_object_skeleton **ret)
{
	struct schedule_tap *tap = context;
	bool has_count = tap->has_count;
	struct bpf_program *unfit;
	int err;

	tap->bpf = schedule_bpf__open();
	if (!tap->bpf)
		return -errno;
	*ret = tap->bpf->skeleton;
	tap->switch_program = choose_switch_program(tap->bpf);
	if (!tap->switch_program)
		return -ENOENT;
	bpf_program__set_autoload(tap->bpf->progs.on_switch, false);
	bpf_program__set_autoload(tap->bpf->progs.on_switch_state_last, false);
	bpf_program__set_autoload(tap->bpf->progs.on_switch_state_second, false);
	bpf_program__set_autoload(tap->switch_program, true);
	tap->wakeup_program =
		has_count ? tap->bpf->progs.on_wakeup : tap->bpf->progs.on_wakeup_without_count;
	unfit = has_count ? tap->bpf->progs.on_wakeup_without_count : tap->bpf->progs.on_wakeup;
	bpf_program__set_autoload(unfit, false);
	choose_kwork_programs(tap);
	tap->bpf->rodata->is_filtered = tap->opts.targets_fd >= 0;
	err = bpf_map__set_max_entries(tap->bpf->maps.rings, tap->num_rings);
	if (err)
		return err;
	err = bpf_map__reuse_fd(tap->bpf->maps.running_threads, tap->opts.running_fd);
	if (err || tap->opts.targets_fd < 0)
		return err;
	return bpf_map__reuse_fd(tap->bpf->maps.target_tids, tap->opts.targets_fd);
}

static void close_programs(void *context)
{
	struct schedule_tap *tap = context;

	schedule_bpf__destroy(tap->bpf);
	tap->bpf = NULL;
}

static int load(struct schedule_tap *tap)
{
	int num_cpus = libbpf_num_possible_cpus();
	int err;

	if (num_cpus < 0)
		return num_cpus;
	tap->num_rings = bpf_rings_get_count((uint32_t)num_cpus);
	tap->has_count = true;
	err = bpf_log_load(open_programs, close_programs, tap);
	if (err == -ENOENT) {
		/* This kernel does not export a symbol that the program needs: do without. */
		close_programs(tap);
		tap->has_count = false;
		err = bpf_log_load(open_programs, close_programs, tap);
	}
	return err ? err
		   : bpf_rings_init(&tap->rings, bpf_map__fd(tap->bpf->maps.rings),
				    (uint32_t)num_cpus, tap->opts.ring_bytes);
}

static int explain(int code, struct error *error)
{
	if (code == -ENOMEM)
		return code;
	if (code == -EPERM || code == -EACCES)
		return error_set(
			error, -EPERM,
			"not permitted to record scheduling; run with sudo, or with CAP_BPF "
			"and CAP_PERFMON");
	return error_set(error, -ENOTSUP,
			 "this kernel does not allow recording its scheduling (%s); record without "
			 "--sched, -v shows the kernel's reason",
			 strerror(-code));
}

int schedule_tap_new(const struct schedule_tap_opts *opts, struct schedule_tap **ret,
		     struct error *error)
{
	struct schedule_tap *tap;
	int err;

	if (is_in_pid_namespace())
		return error_set(error, -ENOTSUP,
				 "--sched does not work in a container's pid namespace; run it on "
				 "the host, or share the host's pids (docker run --pid=host)");
	if (!kernel_has_types())
		return error_set(error, -ENOTSUP,
				 "this kernel has no type information (/sys/kernel/btf/vmlinux), "
				 "which --sched needs; use a kernel built with "
				 "CONFIG_DEBUG_INFO_BTF=y, or record without --sched");
	tap = calloc(1, sizeof(*tap));
	if (!tap)
		return -ENOMEM;
	tap->opts = *opts;
	tap->rings.epoll_fd = -1;
	if (!tap->opts.ring_bytes)
		tap->opts.ring_bytes = DEFAULT_RING_BYTES;
	err = load(tap);
	if (err) {
		schedule_tap_free(tap);
		return explain(err, error);
	}
	*ret = tap;
	return 0;
}

void schedule_tap_free(struct schedule_tap *tap)
{
	if (!tap)
		return;
	for (size_t i = 0; i < NUM_HOOKS; i++)
		bpf_link__destroy(tap->links[i]);
	bpf_rings_release(&tap->rings);
	schedule_bpf__destroy(tap->bpf);
	free(tap);
}

/* ---- running ------------------------------------------------------------------------------ */

/* Those that were loaded. */
static int attach_kworks(struct schedule_tap *tap)
{
	struct bpf_program *const programs[NUM_HOOKS] = {
		[HOOK_IRQ] = tap->bpf->progs.on_irq,
		[HOOK_IRQ_END] = tap->bpf->progs.on_irq_end,
		[HOOK_SOFTIRQ] = tap->bpf->progs.on_softirq,
		[HOOK_SOFTIRQ_END] = tap->bpf->progs.on_softirq_end,
		[HOOK_WORK] = tap->bpf->progs.on_work,
		[HOOK_WORK_END] = tap->bpf->progs.on_work_end,
	};

	for (enum hook hook = HOOK_IRQ; hook < NUM_HOOKS; hook++) {
		int err = bpf_program__autoload(programs[hook]) ? attach(tap, hook, programs[hook])
								: 0;

		if (err)
			return err;
	}
	return 0;
}

int schedule_tap_start(struct schedule_tap *tap, struct error *error)
{
	int err = attach(tap, HOOK_WAKEUP, tap->wakeup_program);

	if (err)
		return explain(err, error);
	err = attach(tap, HOOK_SWITCH, tap->switch_program);
	if (err)
		return explain(err, error);
	err = attach_kworks(tap);
	return err ? explain(err, error) : 0;
}

static uint64_t read_misses(const struct bpf_program *program)
{
	uint64_t misses;

	return bpf_program_read_misses(bpf_program__fd(program), &misses) ? 0 : misses;
}

/* The kernel's own work is emitted when it ends. */
static uint64_t read_kwork_misses(const struct schedule_tap *tap)
{
	const struct bpf_program *const programs[] = {
		tap->bpf->progs.on_irq_end,
		tap->bpf->progs.on_softirq_end,
		tap->bpf->progs.on_work_end,
	};
	uint64_t misses = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(programs); i++)
		misses += bpf_program__autoload(programs[i]) ? read_misses(programs[i]) : 0;
	return misses;
}

/*
 * Wait until no CPU is inside a program any more. The kernel does that when an inner map is
 * replaced (maybe_wait_bpf_programs()), even by the same map.
 */
static int wait_for_programs(const struct schedule_tap *tap)
{
	uint32_t zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(tap->bpf->maps.rings), &zero,
				&tap->rings.rings.items[0].fd, BPF_ANY))
		return -errno;
	return 0;
}

/*
 * Read each CPU's value of one item of a map.
 *
 * ret  values of all possible CPUs; the caller frees
 *
 * Returns their number or negative errno.
 */
static int read_cpus(const struct bpf_map *map, uint32_t item, size_t item_bytes, void **ret)
{
	int num_cpus = libbpf_num_possible_cpus();

	if (num_cpus < 0)
		return num_cpus;
	*ret = calloc((size_t)num_cpus, item_bytes);
	if (!*ret)
		return -ENOMEM;
	return bpf_map_lookup_elem(bpf_map__fd(map), &item, *ret) ? -errno : num_cpus;
}

/* Pass on the batches that CPUs have started and not sent yet. */
static int read_started_batches(const struct schedule_tap *tap)
{
	_cleanup_free_ void *all = NULL;
	int num_cpus = read_cpus(tap->bpf->maps.cpus, 0, sizeof(struct wire_schedule_cpu), &all);
	const struct wire_schedule_cpu *cpus = all;

	if (num_cpus < 0)
		return num_cpus;
	for (int cpu = 0; cpu < num_cpus; cpu++) {
		int err;

		if (!cpus[cpu].batch.num_slots)
			continue;
		err = tap->opts.on_record(&cpus[cpu].batch, sizeof(cpus[cpu].batch),
					  tap->opts.context);
		if (err)
			return err;
	}
	return 0;
}

/* The same for one kind of the kernel's own work, with the counters of all of it. */
static int read_started_kworks(struct schedule_tap *tap, uint32_t kind)
{
	_cleanup_free_ void *all = NULL;
	int num_cpus = read_cpus(tap->bpf->maps.kworks, kind, sizeof(struct wire_kwork_cpu), &all);
	const struct wire_kwork_cpu *cpus = all;

	if (num_cpus < 0)
		return num_cpus;
	for (int cpu = 0; cpu < num_cpus; cpu++) {
		int err;

		tap->kworks.taken += cpus[cpu].counters.taken;
		tap->kworks.lost_nested += cpus[cpu].counters.lost_nested;
		tap->kworks.unseen_begin += cpus[cpu].counters.unseen_begin;
		tap->kworks.lost_ring += cpus[cpu].counters.lost_ring;
		if (!cpus[cpu].batch.num_slots)
			continue;
		err = tap->opts.on_record(&cpus[cpu].batch, sizeof(cpus[cpu].batch),
					  tap->opts.context);
		if (err)
			return err;
	}
	return 0;
}

int schedule_tap_stop(struct schedule_tap *tap)
{
	int err;

	tap->nested_misses = read_misses(tap->wakeup_program);
	tap->kworks.lost_nested = read_kwork_misses(tap);
	for (size_t i = 0; i < NUM_HOOKS; i++) {
		bpf_link__destroy(tap->links[i]);
		tap->links[i] = NULL;
	}
	err = wait_for_programs(tap);
	if (err)
		return err;
	err = schedule_tap_read(tap);
	if (err)
		return err;
	for (uint32_t kind = 0; kind < NUM_WIRE_KWORK_KINDS; kind++) {
		err = read_started_kworks(tap, kind);
		if (err)
			return err;
	}
	err = read_started_batches(tap);
	if (err)
		return err;
	bpf_rings_release(&tap->rings);
	return 0;
}

int schedule_tap_get_fd(const struct schedule_tap *tap)
{
	return tap->rings.epoll_fd;
}

int schedule_tap_read(struct schedule_tap *tap)
{
	return bpf_rings_read(&tap->rings, tap->opts.on_record, tap->opts.context);
}

int schedule_tap_read_counters(const struct schedule_tap *tap, struct wire_schedule_counters *ret)
{
	struct wire_schedule_counters sum;
	int err = bpf_counters_read(bpf_map__fd(tap->bpf->maps.counters), &sum, sizeof(sum));

	if (err)
		return err;
	sum.wakeups += tap->nested_misses;
	sum.lost_nested += tap->nested_misses;
	*ret = sum;
	return 0;
}

struct wire_kwork_counters schedule_tap_get_kwork_counters(const struct schedule_tap *tap)
{
	return tap->kworks;
}

int schedule_tap_read_time(const struct schedule_tap *tap, struct own_times *times)
{
	return own_times_add(times, tap->bpf->obj);
}
