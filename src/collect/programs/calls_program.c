#include "collect/programs/calls_program.h"

#include <bpf/bpf.h>
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
#include <calls.skel.h>

struct calls_program {
	struct calls_bpf *bpf;
	int note_fd; /* -1: it was read, as the next one */
	int send_fd;
};

struct calls_load {
	struct calls_program *program;
	const struct calls_opts *opts;
	bool copies_stacks;
};

/* Use the maps of the others; maps that only they need are not created. */
static int share_maps(struct calls_bpf *bpf, const struct calls_opts *opts)
{
	struct bpf_map *const unneeded[] = {bpf->maps.rings, bpf->maps.sent_stacks};
	int err;

	for (size_t i = 0; i < ARRAY_LENGTH(unneeded); i++) {
		err = bpf_map__set_autocreate(unneeded[i], false);
		if (err)
			return err;
	}
	err = bpf_map__reuse_fd(bpf->maps.calls, opts->calls_fd);
	if (err)
		return err;
	return bpf_map__reuse_fd(bpf->maps.target_tids,
				 sampling_program_get_map(opts->sampling, "target_tids"));
}

static int open_program(void *context, struct bpf_object_skeleton **ret)
{
	struct calls_load *load = context;
	const struct calls_opts *opts = load->opts;
	const struct sampling_program_opts *sampling = sampling_program_get_opts(opts->sampling);
	struct calls_bpf *bpf = calls_bpf__open();

	if (!bpf)
		return -errno;
	load->program->bpf = bpf;
	*ret = bpf->skeleton;
	bpf_program__set_autoload(load->copies_stacks ? bpf->progs.send_call
						      : bpf->progs.send_call_with_stack,
				  false);
	bpf->rodata->event_number = opts->event;
	bpf->rodata->is_filtered = sampling->is_filtered;
	bpf->rodata->cgroup_id = thread_iterator_get_cgroup_id(opts->cgroup_fd);
	bpf->rodata->take_user_stacks = !sampling->no_user_stacks;
	bpf->rodata->walks_by_table = sampling->walks_by_table;
	sampling_program_get_namespace(opts->sampling, &bpf->rodata->pid_namespace_dev,
				       &bpf->rodata->pid_namespace_inode);
	return share_maps(bpf, opts);
}

static void unload(struct calls_program *program)
{
	if (program->note_fd >= 0)
		close(program->note_fd);
	if (program->send_fd >= 0)
		close(program->send_fd);
	program->note_fd = program->send_fd = -1;
	calls_bpf__destroy(program->bpf);
	program->bpf = NULL;
}

static void close_refused(void *context)
{
	struct calls_load *load = context;

	unload(load->program);
}

static int load(struct calls_program *program, const struct calls_opts *opts, bool copies_stacks)
{
	struct calls_load load = {program, opts, copies_stacks};
	int err = bpf_log_load(open_program, close_refused, &load);
	const struct calls_bpf *bpf = program->bpf;

	if (err)
		return err;
	program->note_fd = thread_iterator_open(bpf->progs.note_call);
	if (program->note_fd < 0)
		return program->note_fd;
	program->send_fd = thread_iterator_open(copies_stacks ? bpf->progs.send_call_with_stack
							      : bpf->progs.send_call);
	return program->send_fd < 0 ? program->send_fd : 0;
}

int calls_program_new(const struct calls_opts *opts, struct calls_program **ret)
{
	const struct sampling_program_opts *sampling = sampling_program_get_opts(opts->sampling);
	bool copies_stacks = sampling->walks_by_table && !sampling->no_user_stacks;
	struct calls_program *program = calloc(1, sizeof(*program));
	int err;

	*ret = NULL;
	if (!program)
		return -ENOMEM;
	program->note_fd = program->send_fd = -1;
	err = load(program, opts, copies_stacks);
	if (err && copies_stacks) {
		log_debug("no user stacks of system calls under way at the end: %s",
			  strerror(-err));
		unload(program);
		err = load(program, opts, false);
	}
	if (err) {
		log_debug("cannot see system calls under way: %s", strerror(-err));
		calls_program_free(program);
		return 0;
	}
	*ret = program;
	return 0;
}

void calls_program_free(struct calls_program *program)
{
	if (!program)
		return;
	unload(program);
	free(program);
}

void calls_program_note(struct calls_program *program)
{
	int err;

	if (program->note_fd < 0)
		return;
	program->bpf->bss->start_ns = clock_read_ns(CLOCK_MONOTONIC);
	err = thread_iterator_run(&program->note_fd);
	if (err)
		log_debug("cannot record system calls under way: %s", strerror(-err));
}

int calls_program_read(struct calls_program *program, uint64_t end_ns,
		       int (*handle)(const void *record, size_t size, void *context), void *context,
		       uint64_t *ret_num)
{
	program->bpf->bss->end_boot_ns = end_ns;
	program->bpf->bss->end_ns = end_ns - clock_get_offset_ns(CLOCK_MONOTONIC);
	return thread_iterator_read(&program->send_fd, handle, context, ret_num);
}
