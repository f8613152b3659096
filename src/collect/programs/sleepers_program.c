#include "collect/programs/sleepers_program.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/kernel/bpf_log.h"
#include "collect/programs/thread_iterator.h"
#include <sleepers.skel.h>

struct sleepers_program {
	struct sleepers_bpf *bpf;
	int note_fd; /* -1: it was read, as the next ones */
	int count_fd;
	int send_fd;
};

/* ---- loading ------------------------------------------------------------------------------ */

static void set_constants(struct sleepers_bpf *bpf, const struct sleepers_opts *opts)
{
	const struct off_cpu_program_opts *off_cpu = opts->off_cpu;

	bpf->rodata->period_ns = off_cpu->period_ns;
	bpf->rodata->min_block_ns = off_cpu->min_block_ns;
	bpf->rodata->only_futexes = off_cpu->only_futexes;
	bpf->rodata->notes_in_tasks = opts->notes_in_tasks;
	bpf->rodata->has_queue_times = opts->has_queue_times;
	bpf->rodata->is_filtered = off_cpu->is_filtered;
	bpf->rodata->cgroup_id = thread_iterator_get_cgroup_id(off_cpu->cgroup_fd);
	bpf->rodata->scheduler_pc = off_cpu->scheduler_pc;
	bpf->rodata->scheduler_text_start = off_cpu->scheduler_text_start;
	bpf->rodata->scheduler_text_end = off_cpu->scheduler_text_end;
	bpf->rodata->take_user_stacks = !off_cpu->no_user_stacks;
	bpf->rodata->take_kernel_stacks = !off_cpu->no_kernel_stacks;
	bpf->rodata->walks_by_table = off_cpu->walks_by_table;
	sampling_program_get_namespace(opts->sampling, &bpf->rodata->pid_namespace_dev,
				       &bpf->rodata->pid_namespace_inode);
}

/* Use the maps of the others; maps that only they need are not created. */
static int share_maps(struct sleepers_bpf *bpf, const struct sleepers_opts *opts)
{
	struct bpf_map *const unneeded[] = {
		opts->notes_in_tasks ? bpf->maps.departures_by_tid : bpf->maps.departures_of_tasks,
		bpf->maps.rings,
		bpf->maps.sent_stacks,
		bpf->maps.counters,
	};
	struct bpf_map *departures =
		opts->notes_in_tasks ? bpf->maps.departures_of_tasks : bpf->maps.departures_by_tid;
	int err;

	for (size_t i = 0; i < ARRAY_LENGTH(unneeded); i++) {
		err = bpf_map__set_autocreate(unneeded[i], false);
		if (err)
			return err;
	}
	err = bpf_map__reuse_fd(departures, opts->departures_fd);
	if (err)
		return err;
	err = bpf_map__reuse_fd(bpf->maps.states, opts->states_fd);
	if (err)
		return err;
	return bpf_map__reuse_fd(bpf->maps.target_tids,
				 sampling_program_get_map(opts->sampling, "target_tids"));
}

struct sleepers_load {
	struct sleepers_program *program;
	const struct sleepers_opts *opts;
	bool copies_stacks;
};

static int open_program(void *context, struct bpf_object_skeleton **ret)
{
	struct sleepers_load *load = context;
	struct sleepers_bpf *bpf = sleepers_bpf__open();

	if (!bpf)
		return -errno;
	load->program->bpf = bpf;
	*ret = bpf->skeleton;
	bpf_program__set_autoload(load->copies_stacks ? bpf->progs.send_sleeper
						      : bpf->progs.send_sleeper_with_stack,
				  false);
	set_constants(bpf, load->opts);
	return share_maps(bpf, load->opts);
}

static void unload(struct sleepers_program *program)
{
	if (program->note_fd >= 0)
		close(program->note_fd);
	if (program->count_fd >= 0)
		close(program->count_fd);
	if (program->send_fd >= 0)
		close(program->send_fd);
	program->note_fd = program->count_fd = program->send_fd = -1;
	sleepers_bpf__destroy(program->bpf);
	program->bpf = NULL;
}

static void close_refused(void *context)
{
	struct sleepers_load *load = context;

	unload(load->program);
}

static int load(struct sleepers_program *program, const struct sleepers_opts *opts,
		bool copies_stacks)
{
	struct sleepers_load load = {program, opts, copies_stacks};
	int err = bpf_log_load(open_program, close_refused, &load);
	const struct sleepers_bpf *bpf = program->bpf;

	if (err)
		return err;
	program->note_fd = thread_iterator_open(bpf->progs.note_sleeper);
	if (program->note_fd < 0)
		return program->note_fd;
	program->count_fd = thread_iterator_open(bpf->progs.count_thread);
	if (program->count_fd < 0)
		return program->count_fd;
	program->send_fd = thread_iterator_open(copies_stacks ? bpf->progs.send_sleeper_with_stack
							      : bpf->progs.send_sleeper);
	return program->send_fd < 0 ? program->send_fd : 0;
}

int sleepers_program_new(const struct sleepers_opts *opts, struct sleepers_program **ret)
{
	bool copies_stacks = opts->off_cpu->walks_by_table && !opts->off_cpu->no_user_stacks;
	struct sleepers_program *program = calloc(1, sizeof(*program));
	int err;

	*ret = NULL;
	if (!program)
		return -ENOMEM;
	program->note_fd = program->count_fd = program->send_fd = -1;
	err = load(program, opts, copies_stacks);
	if (err && copies_stacks) {
		log_debug("no user stacks of threads that sleep at the end: %s", strerror(-err));
		unload(program);
		err = load(program, opts, false);
	}
	if (err) {
		log_debug("cannot see threads that sleep at the end: %s", strerror(-err));
		sleepers_program_free(program);
		return 0;
	}
	*ret = program;
	return 0;
}

void sleepers_program_free(struct sleepers_program *program)
{
	if (!program)
		return;
	unload(program);
	free(program);
}

/* ---- running ------------------------------------------------------------------------------ */

void sleepers_program_note(struct sleepers_program *program, uint64_t start_ns)
{
	int err;

	program->bpf->bss->start_ns = start_ns;
	err = thread_iterator_run(&program->note_fd);
	if (err)
		log_debug("cannot record threads that already sleep: %s", strerror(-err));
}

static void set_end(struct sleepers_program *program, uint64_t end_ns)
{
	program->bpf->bss->end_boot_ns = end_ns;
	program->bpf->bss->end_ns = end_ns - clock_get_offset_ns(CLOCK_MONOTONIC);
}

int sleepers_program_count(struct sleepers_program *program, uint64_t start_ns, uint64_t end_ns)
{
	int err;

	program->bpf->bss->start_ns = start_ns;
	set_end(program, end_ns);
	err = thread_iterator_run(&program->count_fd);
	if (err)
		log_debug("lifetimes of threads are unknown: %s", strerror(-err));
	return err;
}

int sleepers_program_read(struct sleepers_program *program, uint64_t end_ns,
			  int (*handle)(const void *record, size_t size, void *context),
			  void *context, uint64_t *ret_num)
{
	set_end(program, end_ns);
	return thread_iterator_read(&program->send_fd, handle, context, ret_num);
}
