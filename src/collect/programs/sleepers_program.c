/*
 * The programs emit records through a file: reading it runs them, thread by thread, in the reader.
 * Copying the stack of another process waits for its memory, which may be for ever on a file system
 * that hangs. So another process reads, and after a while we stop waiting for it.
 */
#include "collect/programs/sleepers_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/kernel/bpf_log.h"
#include "collect/kernel/raw_stack.h"
#include <sleepers.skel.h>

/* For all threads of a machine together. */
#define LIMIT_NS (5 * NS_PER_SECOND)
/* Maximum that the kernel returns at once: at least all records of one thread. */
#define CHUNK_BYTES (32u << 10)
/* Threads that the kernel visits before it checks whether to continue. */
#define MAX_READS 64

struct sleepers_program {
	struct sleepers_bpf *bpf;
	int note_fd; /* -1: it was read, as the next ones */
	int count_fd;
	int send_fd;
};

/* ---- loading ------------------------------------------------------------------------------ */

uint64_t sleepers_get_cgroup_id(int cgroup_fd)
{
	struct stat status;

	return cgroup_fd < 0 || fstat(cgroup_fd, &status) ? 0 : status.st_ino;
}

static void set_constants(struct sleepers_bpf *bpf, const struct sleepers_opts *opts)
{
	const struct off_cpu_program_opts *off_cpu = opts->off_cpu;

	bpf->rodata->period_ns = off_cpu->period_ns;
	bpf->rodata->min_block_ns = off_cpu->min_block_ns;
	bpf->rodata->only_futexes = off_cpu->only_futexes;
	bpf->rodata->notes_in_tasks = opts->notes_in_tasks;
	bpf->rodata->has_queue_times = opts->has_queue_times;
	bpf->rodata->is_filtered = off_cpu->is_filtered;
	bpf->rodata->cgroup_id = sleepers_get_cgroup_id(off_cpu->cgroup_fd);
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

int sleepers_open_file(const struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link); /* the file has it */
	return fd < 0 ? -errno : fd;
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
	program->note_fd = sleepers_open_file(bpf->progs.note_sleeper);
	if (program->note_fd < 0)
		return program->note_fd;
	program->count_fd = sleepers_open_file(bpf->progs.count_thread);
	if (program->count_fd < 0)
		return program->count_fd;
	program->send_fd = sleepers_open_file(copies_stacks ? bpf->progs.send_sleeper_with_stack
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

int sleepers_run_file(int *file)
{
	char nothing[64];
	int num_reads = 0;
	int err = 0;
	ssize_t got;

	if (*file < 0)
		return -EALREADY;
	do {
		got = read(*file, nothing, sizeof(nothing));
	} while (got < 0 && (errno == EINTR || errno == EAGAIN) && ++num_reads < MAX_READS);
	if (got < 0)
		err = -errno;
	close(*file);
	*file = -1;
	return err;
}

void sleepers_program_note(struct sleepers_program *program, uint64_t start_ns)
{
	int err;

	program->bpf->bss->start_ns = start_ns;
	err = sleepers_run_file(&program->note_fd);
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
	err = sleepers_run_file(&program->count_fd);
	if (err)
		log_debug("lifetimes of threads are unknown: %s", strerror(-err));
	return err;
}

size_t sleepers_measure_record(const void *data, size_t size)
{
	wire_u32 type;
	size_t needed = 0;

	if (size < sizeof(type))
		return 0;
	memcpy(&type, data, sizeof(type));
	if (type == WIRE_STACK && size >= offsetof(struct wire_stack, pcs)) {
		struct wire_stack stack;

		memcpy(&stack, data, offsetof(struct wire_stack, pcs));
		if (stack.num_frames <= WIRE_MAX_FRAMES)
			needed = offsetof(struct wire_stack, pcs) +
				 stack.num_frames * sizeof(stack.pcs[0]);
	} else if (type == WIRE_SAMPLE) {
		needed = sizeof(struct wire_sample);
	} else if (type == WIRE_RAW_SAMPLE && size >= offsetof(struct wire_raw_sample, bytes)) {
		const size_t at = offsetof(struct wire_raw_sample, num_bytes);
		wire_u32 num_bytes[2]; /* of both parts of the stack */

		memcpy(num_bytes, (const char *)data + at, sizeof(num_bytes));
		if ((uint64_t)num_bytes[0] + num_bytes[1] <= WIRE_RAW_STACK_BYTES)
			needed = offsetof(struct wire_raw_sample, bytes) + num_bytes[0] +
				 num_bytes[1];
	}
	return needed <= size ? needed : 0;
}

/*
 * Runs in the other process: receives the file, and sends back the records that it reads, until the
 * end.
 */
static void pass_records(int socket, void *context _unused_)
{
	char chunk[CHUNK_BYTES];
	int fds[WORKER_MAX_FDS];
	char request = 0;

	if (worker_receive(socket, &request, sizeof(request), fds) <= 0)
		return;
	for (;;) {
		ssize_t got = read(fds[0], chunk, sizeof(chunk));
		struct iovec part = {chunk, got > 0 ? (size_t)got : 0};

		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0 || worker_send(socket, &part, 1, NULL, 0))
			return;
	}
}

struct sleeper_reader {
	struct worker worker;
	struct text pending;            /* incomplete record */
	struct wire_raw_sample *record; /* for any record, aligned (pieces that arrive are not) */
	int (*handle)(const void *record, size_t size, void *context);
	void *context;
	uint64_t num_samples;
};

static int take_records(struct sleeper_reader *reader)
{
	struct text *pending = &reader->pending;
	size_t done = 0;
	size_t size;

	while ((size = sleepers_measure_record(pending->data + done, pending->length - done))) {
		int err;

		memcpy(reader->record, pending->data + done, size);
		err = reader->handle(reader->record, size, reader->context);
		if (err)
			return err;
		reader->num_samples += reader->record->sample.type != WIRE_STACK;
		done += size;
	}
	if (!done)
		return 0;
	memmove(pending->data, pending->data + done, pending->length - done);
	text_truncate(pending, pending->length - done);
	return 0;
}

/* Whether there is something to receive, or the end, before until_ns. */
static bool await(int fd, uint64_t until_ns)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	uint64_t now_ns;

	while ((now_ns = clock_now_ns()) < until_ns) {
		int got = poll(&poll_fd, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);

		if (got > 0)
			return true;
		if (got < 0 && errno != EINTR)
			return false;
	}
	return false;
}

static int read_records(struct sleeper_reader *reader, int file)
{
	uint64_t until_ns = clock_now_ns() + LIMIT_NS;
	char request = 0;
	struct iovec part = {&request, sizeof(request)};
	char chunk[CHUNK_BYTES];
	int err = worker_send(reader->worker.fd, &part, 1, &file, 1);

	/* Longer than any record: invalid. */
	while (!err && reader->pending.length < sizeof(*reader->record) &&
	       await(reader->worker.fd, until_ns)) {
		int fds[WORKER_MAX_FDS];
		ssize_t got = worker_receive(reader->worker.fd, chunk, sizeof(chunk), fds);

		if (got == 0)
			return 0;
		if (got < 0)
			break;
		text_append(&reader->pending, chunk, (size_t)got);
		if (reader->pending.failed)
			return -ENOMEM;
		err = take_records(reader);
		if (err)
			return err;
	}
	log_warning("some threads that slept at the end could not be read");
	return 0;
}

int sleepers_read_file(int *file, int (*handle)(const void *record, size_t size, void *context),
		       void *context, uint64_t *ret_num)
{
	struct sleeper_reader reader = {
		.worker = WORKER_NONE, .handle = handle, .context = context};
	struct rusage usage;
	int err;

	*ret_num = 0;
	if (*file < 0)
		return 0;
	reader.record = malloc(sizeof(*reader.record));
	if (!reader.record)
		return -ENOMEM;
	err = worker_start(&reader.worker, pass_records, NULL);
	if (err) {
		log_warning("threads that slept at the end are dropped: %s", strerror(-err));
		err = 0;
	} else {
		err = read_records(&reader, *file);
		(void)worker_stop(&reader.worker, &usage);
	}
	close(*file);
	*file = -1;
	*ret_num = reader.num_samples;
	text_release(&reader.pending);
	free(reader.record);
	return err;
}

int sleepers_program_read(struct sleepers_program *program, uint64_t end_ns,
			  int (*handle)(const void *record, size_t size, void *context),
			  void *context, uint64_t *ret_num)
{
	set_end(program, end_ns);
	return sleepers_read_file(&program->send_fd, handle, context, ret_num);
}
