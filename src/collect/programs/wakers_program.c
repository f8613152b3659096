#include "collect/programs/wakers_program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "collect/kernel/bpf_log.h"
#include "collect/kernel/bpf_rings.h"
#include "collect/kernel/own_times.h"
#include <wakers.skel.h>

struct wakers_program {
	struct wakers_program_opts opts;
	const struct sampling_program *sampling;
	struct wakers_bpf *bpf;
	struct bpf_link *link; /* NULL: not attached */
};

/* Share the off-CPU program's singleton maps. Notes are in one of two. */
static int share_notes(struct wakers_program *program)
{
	const char *notes =
		program->opts.notes_in_tasks ? "departures_of_tasks" : "departures_by_tid";
	const char *others =
		program->opts.notes_in_tasks ? "departures_by_tid" : "departures_of_tasks";
	const char *const names[] = {notes, "cgroups"};
	const struct bpf_object *object = program->bpf->obj;

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		const struct bpf_map *source =
			bpf_object__find_map_by_name(program->opts.off_cpu, names[i]);
		struct bpf_map *map = bpf_object__find_map_by_name(object, names[i]);
		int err = source && map ? bpf_map__reuse_fd(map, bpf_map__fd(source)) : -ENOENT;

		if (err)
			return err;
	}
	return bpf_map__set_autocreate(bpf_object__find_map_by_name(object, others), false);
}

static int set_up_maps(struct wakers_program *program)
{
	int num_cpus = libbpf_num_possible_cpus();
	int err;

	if (num_cpus < 0)
		return num_cpus;
	err = sampling_program_share_maps(program->sampling, program->bpf->obj);
	if (err)
		return err;
	err = share_notes(program);
	if (err)
		return err;
	err = bpf_map__set_max_entries(program->bpf->maps.raw_samples, (uint32_t)num_cpus);
	return err ? err
		   : bpf_map__set_max_entries(program->bpf->maps.sent_stacks, (uint32_t)num_cpus);
}

static int open_program(void *context, struct bpf_object_skeleton **ret)
{
	struct wakers_program *program = context;
	const struct off_cpu_program_opts *waits = &program->opts.waits;
	struct wakers_bpf *bpf = wakers_bpf__open();

	if (!bpf)
		return -errno;
	program->bpf = bpf;
	*ret = bpf->skeleton;
	bpf->rodata->period_ns = waits->period_ns;
	bpf->rodata->notes_in_tasks = program->opts.notes_in_tasks;
	bpf->rodata->is_of_cgroup = waits->cgroup_fd >= 0;
	bpf->rodata->is_filtered = waits->is_filtered;
	bpf->rodata->take_user_stacks = !waits->no_user_stacks;
	bpf->rodata->walks_by_table = waits->walks_by_table;
	sampling_program_get_namespace(program->sampling, &bpf->rodata->pid_namespace_dev,
				       &bpf->rodata->pid_namespace_inode);
	return set_up_maps(program);
}

static void close_program(void *context)
{
	struct wakers_program *program = context;

	wakers_bpf__destroy(program->bpf);
	program->bpf = NULL;
}

int wakers_program_new(const struct wakers_program_opts *opts,
		       const struct sampling_program *sampling, struct wakers_program **ret)
{
	struct wakers_program *program = calloc(1, sizeof(*program));
	int err;

	if (!program)
		return -ENOMEM;
	program->opts = *opts;
	program->sampling = sampling;
	err = bpf_log_load(open_program, close_program, program);
	if (!err) {
		program->link = bpf_program__attach(program->bpf->progs.on_woken_by);
		err = program->link ? 0 : -errno;
	}
	if (err) {
		wakers_program_free(program);
		return err;
	}
	*ret = program;
	return 0;
}

void wakers_program_free(struct wakers_program *program)
{
	if (!program)
		return;
	bpf_link__destroy(program->link);
	close_program(program);
	free(program);
}

void wakers_program_start(struct wakers_program *program)
{
	program->bpf->bss->is_recording = true;
}

void wakers_program_stop(struct wakers_program *program)
{
	program->bpf->bss->is_recording = false;
	bpf_link__destroy(program->link);
	program->link = NULL;
}

int wakers_program_read_counters(const struct wakers_program *program,
				 struct wire_waker_counters *ret)
{
	return bpf_counters_read(bpf_map__fd(program->bpf->maps.waker_counters), ret, sizeof(*ret));
}

int wakers_program_read_time(const struct wakers_program *program, struct own_times *times)
{
	return own_times_add(times, program->bpf->obj);
}
