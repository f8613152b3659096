#include "collect/programs/thread_iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/wire.h"

/* For all threads of a machine together. */
#define LIMIT_NS (5 * NS_PER_SECOND)
/* Maximum that the kernel returns at once: at least all records of one thread. */
#define CHUNK_BYTES (32u << 10)
/* Threads that the kernel visits before it checks whether to continue. */
#define MAX_READS 64

uint64_t thread_iterator_get_cgroup_id(int cgroup_fd)
{
	struct stat status;

	return cgroup_fd < 0 || fstat(cgroup_fd, &status) ? 0 : status.st_ino;
}

int thread_iterator_open(const struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link); /* the file has it */
	return fd < 0 ? -errno : fd;
}

int thread_iterator_run(int *file)
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

size_t thread_iterator_measure_record(const void *data, size_t size)
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

struct record_reader {
	struct worker worker;
	struct text pending;            /* incomplete record */
	struct wire_raw_sample *record; /* for any record, aligned (pieces that arrive are not) */
	int (*handle)(const void *record, size_t size, void *context);
	void *context;
	uint64_t num_samples;
};

static int take_records(struct record_reader *reader)
{
	struct text *pending = &reader->pending;
	size_t done = 0;
	size_t size;

	while ((size = thread_iterator_measure_record(pending->data + done,
						      pending->length - done))) {
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

static int read_records(struct record_reader *reader, int file)
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
	log_warning("some threads could not be read at the end: waits and system calls under way "
		    "may be missing");
	return 0;
}

int thread_iterator_read(int *file, int (*handle)(const void *record, size_t size, void *context),
			 void *context, uint64_t *ret_num)
{
	struct record_reader reader = {.worker = WORKER_NONE, .handle = handle, .context = context};
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
		log_warning("no thread is read at the end, so waits and system calls under way are "
			    "missing: %s",
			    strerror(-err));
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
