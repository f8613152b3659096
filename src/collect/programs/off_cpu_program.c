#include "collect/programs/off_cpu_program.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/kernel/bpf_log.h"
#include "collect/kernel/bpf_rings.h"
#include "collect/kernel/own_times.h"
#include "collect/kernel/permission_probe.h"
#include "collect/kernel_features.h"
#include "collect/programs/schedule_tap.h"
#include "collect/programs/sleepers_program.h"
#include "collect/programs/wakers_program.h"
#include <off_cpu.skel.h>

enum link {
	LINK_WOKEN,
	LINK_RESUME,
	LINK_STARTED,
	LINK_COMMAND,
	LINK_EXIT,
	LINK_DEPART,
	NUM_LINKS,
};

/* Features of this kernel. */
struct features {
	enum switch_arguments switch_arguments;
	struct switch_in_hook switch_in;
	bool may_note_in_tasks;
	bool has_queue_times;
};

struct off_cpu_program {
	struct off_cpu_program_opts opts;
	const struct sampling_program *sampling;
	struct features features;
	struct off_cpu_bpf *bpf;
	struct bpf_program *depart; /* the variants that fit this kernel */
	struct bpf_program *resume;
	struct bpf_link *links[NUM_LINKS]; /* NULL: not attached */
	struct sleepers_program *sleepers; /* NULL: the kernel has none */
	bool has_started;
	bool has_counted_threads;      /* threads alive at the stop */
	uint64_t stop_ns;              /* CLOCK_BOOTTIME */
	struct wakers_program *wakers; /* NULL: they are not taken */
};

/* ---- features of this kernel -------------------------------------------------------------- */

/*
 * Whether a task's storage is allocated without the page allocator, which may wake a thread and
 * must not be used inside the scheduler. Since Linux 6.4 from a cache of the map's own; later
 * without that cache.
 */
static bool has_safe_task_storage(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "bpf_local_storage_map", BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (uint32_t i = 0; type && i < btf_vlen(type); i++) {
		const char *member = btf__name_by_offset(btf, btf_members(type)[i].name_off);

		if (string_equals(member, "selem_ma") ||
		    string_equals(member, "use_kmalloc_nolock"))
			return true;
	}
	return false;
}

/* Whether the program can read the time of threads in run queues. */
static bool has_queue_times(const struct btf *btf)
{
	static const char *const names[] = {"run_delay", "last_arrival", "last_queued"};
	int id = btf__find_by_name_kind(btf, "sched_info", BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	size_t num_found = 0;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++)
		for (size_t name = 0; name < ARRAY_LENGTH(names); name++)
			num_found += string_equals(
				btf__name_by_offset(btf, btf_members(type)[i].name_off),
				names[name]);
	return num_found == ARRAY_LENGTH(names) && kernel_keeps_queue_times();
}

static int find_features(struct features *ret, struct error *error)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return error_set(
			error, -ENOTSUP,
			"cannot read the kernel's type information (/sys/kernel/btf/vmlinux), "
			"which --off-cpu needs");
	ret->switch_arguments = schedule_tap_probe_switch(btf);
	ret->may_note_in_tasks = has_safe_task_storage(btf);
	ret->has_queue_times = has_queue_times(btf);
	btf__free(btf);
	if (ret->switch_arguments == SWITCH_UNKNOWN)
		return error_set(error, -ENOTSUP,
				 "this kernel has an unknown form of the tracepoint sched_switch; "
				 "record without --off-cpu");
	ret->switch_in = kernel_find_switch_in_hook();
	if (ret->switch_in.kind == SWITCH_IN_NONE)
		return error_set(
			error, -ENOTSUP,
			"this kernel has no hook for switches: no sched_exit_tp (Linux 6.16), "
			"and fentry and kprobe of finish_task_switch are refused; boot another "
			"one, or record without --off-cpu");
	return 0;
}

/* ---- loading ------------------------------------------------------------------------------ */

/* Instead of having a program note each wakeup, unless its waker is sampled. */
static bool reads_queue_times(const struct off_cpu_program *program)
{
	return program->features.has_queue_times;
}

static void choose_programs(struct off_cpu_program *program)
{
	const struct off_cpu_bpf *bpf = program->bpf;
	struct bpf_program *const departs[] = {
		[SWITCH_PREVIOUS_NEXT] = bpf->progs.on_depart,
		[SWITCH_STATE_PREVIOUS_NEXT] = bpf->progs.on_depart_state_second,
		[SWITCH_PREVIOUS_NEXT_STATE] = bpf->progs.on_depart_state_last,
	};
	struct bpf_program *const resumes[] = {
		[SWITCH_IN_TRACEPOINT] = bpf->progs.on_resume,
		[SWITCH_IN_ENTRY] = bpf->progs.on_resume_entry,
		[SWITCH_IN_PROBE] = bpf->progs.on_resume_probe,
	};

	program->depart = departs[program->features.switch_arguments];
	program->resume = resumes[program->features.switch_in.kind];
	for (size_t i = 0; i < ARRAY_LENGTH(departs); i++)
		bpf_program__set_autoload(departs[i], departs[i] == program->depart);
	for (size_t i = SWITCH_IN_TRACEPOINT; i < ARRAY_LENGTH(resumes); i++)
		bpf_program__set_autoload(resumes[i], resumes[i] == program->resume);
	/* The wakers' program notes wakeups, too. */
	bpf_program__set_autoload(bpf->progs.on_woken,
				  !program->opts.takes_wakers && !reads_queue_times(program));
	bpf_program__set_autoload(bpf->progs.on_command, program->opts.starts_on_exec);
}

static int size_maps(struct off_cpu_program *program)
{
	int num_cpus = libbpf_num_possible_cpus();
	int err;

	if (num_cpus < 0)
		return num_cpus;
	err = bpf_map__set_max_entries(program->bpf->maps.sent_stacks, (uint32_t)num_cpus);
	if (err)
		return err;
	err = bpf_map__set_max_entries(program->bpf->maps.sent_runtime, (uint32_t)num_cpus);
	if (err)
		return err;
	err = bpf_map__set_max_entries(program->bpf->maps.raw_samples, (uint32_t)num_cpus);
	if (err)
		return err;
	return program->features.may_note_in_tasks
		       ? bpf_map__set_autocreate(program->bpf->maps.departures_by_tid, false)
		       : bpf_map__set_autocreate(program->bpf->maps.departures_of_tasks, false);
}

static int open_program(void *context, struct bpf_object_skeleton **ret)
{
	struct off_cpu_program *program = context;
	const struct off_cpu_program_opts *opts = &program->opts;
	struct off_cpu_bpf *bpf = off_cpu_bpf__open();
	int err;

	if (!bpf)
		return -errno;
	program->bpf = bpf;
	*ret = bpf->skeleton;
	bpf->rodata->period_ns = opts->period_ns;
	bpf->rodata->min_block_ns = opts->min_block_ns;
	bpf->rodata->only_futexes = opts->only_futexes;
	bpf->rodata->notes_in_tasks = program->features.may_note_in_tasks;
	bpf->rodata->has_queue_times = reads_queue_times(program);
	bpf->rodata->is_of_cgroup = opts->cgroup_fd >= 0;
	bpf->rodata->is_filtered = opts->is_filtered;
	bpf->rodata->take_user_stacks = !opts->no_user_stacks;
	bpf->rodata->take_kernel_stacks = !opts->no_kernel_stacks;
	bpf->rodata->walks_by_table = opts->walks_by_table;
	bpf->rodata->takes_runtime_frames = opts->takes_runtime_frames;
	sampling_program_get_namespace(program->sampling, &bpf->rodata->pid_namespace_dev,
				       &bpf->rodata->pid_namespace_inode);
	choose_programs(program);
	err = sampling_program_share_maps(program->sampling, bpf->obj);
	if (err)
		return err;
	return size_maps(program);
}

static void close_program(void *context)
{
	struct off_cpu_program *program = context;

	off_cpu_bpf__destroy(program->bpf);
	program->bpf = NULL;
}

static int attach_to_wakeups(struct off_cpu_program *program)
{
	struct wakers_program_opts opts = {
		.waits = program->opts,
		.notes_in_tasks = program->features.may_note_in_tasks,
		.off_cpu = program->bpf->obj,
	};

	if (program->opts.takes_wakers)
		return wakers_program_new(&opts, program->sampling, &program->wakers);
	if (reads_queue_times(program))
		return 0;
	program->links[LINK_WOKEN] = bpf_program__attach(program->bpf->progs.on_woken);
	return program->links[LINK_WOKEN] ? 0 : -errno;
}

/* Those that are attached in one way on every kernel. */
static int attach_to_threads(struct off_cpu_program *program)
{
	const struct {
		enum link link;
		const struct bpf_program *program;
	} hooks[] = {
		{LINK_STARTED, program->bpf->progs.on_started},
		{LINK_COMMAND, program->bpf->progs.on_command},
		{LINK_EXIT, program->bpf->progs.on_exit},
		{LINK_DEPART, program->depart},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(hooks); i++) {
		struct bpf_link **link = &program->links[hooks[i].link];

		if (hooks[i].link == LINK_COMMAND && !program->opts.starts_on_exec)
			continue;
		*link = bpf_program__attach(hooks[i].program);
		if (!*link)
			return -errno;
	}
	return 0;
}

static int attach(struct off_cpu_program *program)
{
	const struct switch_in_hook *hook = &program->features.switch_in;
	uint32_t zero = 0;
	int err;

	if (program->opts.cgroup_fd >= 0 &&
	    bpf_map_update_elem(bpf_map__fd(program->bpf->maps.cgroups), &zero,
				&program->opts.cgroup_fd, BPF_ANY))
		return -errno;
	err = attach_to_wakeups(program);
	if (err)
		return err;
	program->links[LINK_RESUME] =
		hook->kind == SWITCH_IN_PROBE
			? bpf_program__attach_kprobe(program->resume, false, hook->function)
			: bpf_program__attach(program->resume);
	return program->links[LINK_RESUME] ? attach_to_threads(program) : -errno;
}

static int explain(int code, struct error *error)
{
	if (code == -ENOMEM || (error && error->message[0]))
		return code;
	if (code == -EPERM || code == -EACCES)
		return error_set(error, -EPERM, "not permitted to record off-CPU time: %s",
				 permission_probe_explain_call(SYS_bpf));
	return error_set(error, -ENOTSUP,
			 "this kernel refused the off-CPU program (%s); record without --off-cpu, "
			 "-v shows the kernel's reason",
			 strerror(-code));
}

static int load_sleepers(struct off_cpu_program *program)
{
	const struct sleepers_opts opts = {
		.off_cpu = &program->opts,
		.sampling = program->sampling,
		.notes_in_tasks = program->features.may_note_in_tasks,
		.has_queue_times = reads_queue_times(program),
		.departures_fd = bpf_map__fd(program->features.may_note_in_tasks
						     ? program->bpf->maps.departures_of_tasks
						     : program->bpf->maps.departures_by_tid),
		.states_fd = bpf_map__fd(program->bpf->maps.states),
	};

	return sleepers_program_new(&opts, &program->sleepers);
}

static int set_up(struct off_cpu_program *program, struct error *error)
{
	int err = find_features(&program->features, error);

	if (err)
		return err;
	err = bpf_log_load(open_program, close_program, program);
	if (err)
		return err;
	err = load_sleepers(program);
	if (err)
		return err;
	return attach(program);
}

int off_cpu_program_new(const struct off_cpu_program_opts *opts,
			const struct sampling_program *sampling, struct off_cpu_program **ret,
			struct error *error)
{
	struct off_cpu_program *program;
	int err;

	if (opts->only_futexes && !WIRE_KNOWS_FUTEXES)
		return error_set(
			error, -ENOTSUP,
			"waits for futexes are not known on this architecture; record --off-cpu "
			"--wakers without --locks");
	if (!kernel_has_types())
		return error_set(error, -ENOTSUP,
				 "this kernel has no type information (/sys/kernel/btf/vmlinux), "
				 "which --off-cpu needs; use a kernel built with "
				 "CONFIG_DEBUG_INFO_BTF=y, or record without --off-cpu");
	program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	program->opts = *opts;
	program->sampling = sampling;
	err = set_up(program, error);
	if (err) {
		off_cpu_program_free(program);
		return explain(err, error);
	}
	log_debug("off-CPU time is sampled by %s, noted %s, wakeups are %s",
		  program->features.switch_in.function,
		  program->features.may_note_in_tasks ? "in tasks" : "by tid",
		  reads_queue_times(program) ? "found by times in run queues" : "noted");
	*ret = program;
	return 0;
}

static void detach(struct off_cpu_program *program)
{
	for (size_t i = 0; i < NUM_LINKS; i++) {
		bpf_link__destroy(program->links[i]);
		program->links[i] = NULL;
	}
}

void off_cpu_program_free(struct off_cpu_program *program)
{
	if (!program)
		return;
	detach(program);
	sleepers_program_free(program->sleepers);
	wakers_program_free(program->wakers);
	close_program(program);
	free(program);
}

/* ---- running ------------------------------------------------------------------------------ */

/* Called again when CPUs come online. */
void off_cpu_program_start(struct off_cpu_program *program)
{
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);

	if (program->has_started)
		return;
	program->has_started = true;
	if (program->wakers)
		wakers_program_start(program->wakers);
	program->bpf->bss->start_ns = start_ns;
	/* Set this first, so that threads that leave a CPU meanwhile are noted. */
	program->bpf->bss->is_recording = true;
	if (program->sleepers)
		sleepers_program_note(program->sleepers, start_ns);
}

void off_cpu_program_end(struct off_cpu_program *program)
{
	program->bpf->bss->is_recording = false;
	program->stop_ns = clock_now_ns();
	/* At once, before any of them ends. */
	if (program->sleepers)
		program->has_counted_threads = !sleepers_program_count(
			program->sleepers, program->bpf->bss->start_ns, program->stop_ns);
}

int off_cpu_program_stop(struct off_cpu_program *program, int ring_fd)
{
	if (program->wakers)
		wakers_program_stop(program->wakers);
	detach(program);
	return sampling_program_wait(program->sampling, ring_fd);
}

int off_cpu_program_read_sleepers(struct off_cpu_program *program, uint64_t until_ns,
				  int (*handle)(const void *record, size_t size, void *context),
				  void *context, uint64_t *ret_num)
{
	*ret_num = 0;
	if (!program->sleepers)
		return 0;
	return sleepers_program_read(program->sleepers,
				     until_ns < program->stop_ns ? until_ns : program->stop_ns,
				     handle, context, ret_num);
}

int off_cpu_program_read_counters(const struct off_cpu_program *program,
				  struct wire_off_cpu_counters *ret)
{
	struct wire_off_cpu_state state;
	int err = bpf_counters_read(bpf_map__fd(program->bpf->maps.states), &state, sizeof(state));

	if (err)
		return err;
	*ret = state.counters;
	return 0;
}

bool off_cpu_program_knows_lives(const struct off_cpu_program *program)
{
	return program->has_counted_threads && program->opts.cgroup_fd < 0 &&
	       !sampling_program_is_in_namespace(program->sampling);
}

int off_cpu_program_read_waker_counters(const struct off_cpu_program *program,
					struct wire_waker_counters *ret)
{
	*ret = (struct wire_waker_counters){0};
	return program->wakers ? wakers_program_read_counters(program->wakers, ret) : 0;
}

int off_cpu_program_read_time(const struct off_cpu_program *program, struct own_times *times)
{
	int err = own_times_add(times, program->bpf->obj);

	return err || !program->wakers ? err : wakers_program_read_time(program->wakers, times);
}
