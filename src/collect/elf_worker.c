#include "collect/elf_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "unwind/table_cache.h"
#include "unwind/table_key.h"

#define MEMORY_BYTES (1ull << 30)
/* Those of the largest programs that there are take 50 MB. */
#define TABLE_MAX_BYTES (128ull << 20)
/* A table takes a fifth of a second of the largest programs that there are; all else microseconds. */
#define BUILD_LIMIT_NS  (20 * NS_PER_SECOND)
#define LIMIT_NS        (2 * NS_PER_SECOND)
#define POLL_MS         100
#define STATM_MAX_BYTES 4096
/* Files of a user that have ended a process, or taken too long: after these no more are read. */
#define MAX_FAILURES 3
/* Those that a process keeps open. */
#define MAX_OPEN_FILES 16

/* Two descriptors come along with the request of a table. */
enum { FILE_FD, TABLE_FD };

/* Of files that are trusted, and of all others. */
enum { TRUSTED, OTHERS, NUM_PROCESSES };

struct process {
	struct worker worker;
	uint64_t forked_rss_bytes; /* ours, when it was forked */
};

struct failures {
	uid_t owner;
	unsigned int count;
};

struct elf_worker {
	uid_t user;
	struct process processes[NUM_PROCESSES];
	ARRAY(struct failures) failures; /* by owner */
	atomic_bool is_cancelled;
	_Atomic uint64_t ended_cpu_ns; /* of processes that have ended */
	_Atomic uint64_t max_rss_bytes;
};

/* ---- in the process ---- */

struct open_file {
	uint32_t number;
	struct objfile *objfile;
};

struct server {
	struct open_file files[MAX_OPEN_FILES]; /* the one used last first */
	size_t num_files;
};

static void close_fds(const int *fds)
{
	for (size_t i = 0; i < WORKER_MAX_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int identify(int fd, struct elf_identity *ret)
{
	_cleanup_(objfile_unrefp) struct objfile *objfile = NULL;
	int err = objfile_open(fd, "", NULL, &objfile, NULL);
	const uint8_t *build_id;
	uint8_t build_id_size;

	if (err)
		return err;
	build_id = objfile_get_build_id(objfile, &build_id_size);
	memcpy(ret->build_id, build_id, build_id_size);
	ret->build_id_size = build_id_size;
	array_for_each (&objfile_get_layout(objfile)->segments, segment) {
		if (ret->num_segments == ELF_MAX_SEGMENTS)
			break;
		ret->segments[ret->num_segments].file_offset = segment->file_offset;
		ret->segments[ret->num_segments].file_size = segment->file_size;
		ret->segments[ret->num_segments].elf_address = segment->elf_address;
		ret->segments[ret->num_segments].memory_size = segment->memory_size;
		ret->segments[ret->num_segments].is_executable = segment->is_executable;
		ret->num_segments++;
	}
	return 0;
}

/* Move the file with this number to the front, opening it if need be. */
static int open_numbered(struct server *server, uint32_t number, int fd)
{
	struct open_file found = {.number = number};
	size_t place = 0;

	while (place < server->num_files && server->files[place].number != number)
		place++;
	if (place < server->num_files) {
		found = server->files[place];
	} else {
		int err = objfile_open(fd, "", NULL, &found.objfile, NULL);

		if (err)
			return err;
		if (server->num_files < MAX_OPEN_FILES)
			server->num_files++;
		else
			objfile_unref(server->files[MAX_OPEN_FILES - 1].objfile);
		place = server->num_files - 1;
	}
	memmove(server->files + 1, server->files, place * sizeof(*server->files));
	server->files[0] = found;
	return 0;
}

static int prove(struct server *server, const struct elf_request *request, int fd, uint32_t *ret)
{
	enum call_proof proof;
	int err = open_numbered(server, request->file, fd);

	if (err)
		return err;
	err = objfile_prove_call(server->files[0].objfile, request->return_address, request->callee,
				 &proof);
	*ret = proof;
	return err;
}

static int hash(int fd, uint64_t *ret)
{
	_cleanup_(objfile_unrefp) struct objfile *objfile = NULL;
	int err = objfile_open(fd, "", NULL, &objfile, NULL);

	return err ? err : table_key_hash(objfile, ret);
}

static int build(const struct elf_request *request, const int *fds, struct error *error)
{
	_cleanup_(objfile_unrefp) struct objfile *objfile = NULL;
	_cleanup_(unwind_table_freep) struct unwind_table *table = NULL;
	int err = objfile_open(fds[FILE_FD], request->path, NULL, &objfile, error);

	if (err)
		return err;
	err = unwind_table_new(objfile, &table, error);
	return err ? err : table_image_write(fds[TABLE_FD], table);
}

static void answer(struct server *server, const struct elf_request *request, const int *fds,
		   struct elf_answer *ret)
{
	struct error error = {0};

	memset(ret, 0, sizeof(*ret));
	ret->kind = request->kind;
	if (request->kind == ELF_IDENTIFY)
		ret->err = identify(fds[FILE_FD], &ret->identity);
	else if (request->kind == ELF_PROVE_CALL)
		ret->err = prove(server, request, fds[FILE_FD], &ret->proof);
	else if (request->kind == ELF_HASH_TABLE)
		ret->err = hash(fds[FILE_FD], &ret->table_hash);
	else
		ret->err = build(request, fds, &error);
	if (ret->err)
		memcpy(ret->message, error.message, sizeof(ret->message));
}

static void serve(int socket)
{
	struct server server = {0};
	struct elf_request request = {0};
	struct elf_answer reply;
	int fds[WORKER_MAX_FDS];
	ssize_t got;

	while ((got = worker_receive(socket, &request, sizeof(request) - 1, fds)) >=
	       (ssize_t)ELF_REQUEST_HEAD_BYTES) {
		struct iovec part = {&reply, 0};

		((char *)&request)[got] = '\0';
		answer(&server, &request, fds, &reply);
		close_fds(fds);
		part.iov_len = elf_answer_get_size(&reply);
		if (worker_send(socket, &part, 1, NULL, 0))
			return;
	}
}

static void run(int socket, void *context)
{
	const struct elf_worker *worker = context;
	struct confinement confinement = {.name = "stackwide-elf",
					  .user = worker->user,
					  .memory_bytes = MEMORY_BYTES,
					  .file_bytes = TABLE_MAX_BYTES};

	if (confinement_enter(&confinement) & CONFINED_CAPABILITIES)
		serve(socket);
}

/* They may make it work for as long as they like. */
static void run_for_others(int socket, void *context)
{
	confinement_lower_priority();
	run(socket, context);
}

/* ---- its life ---- */

/* Resident memory of this process in bytes; 0: unknown. */
static uint64_t read_rss_bytes(void)
{
	_cleanup_(text_release) struct text text = {0};
	unsigned long pages = 0;

	if (file_read_at(AT_FDCWD, "/proc/self/statm", STATM_MAX_BYTES, &text) ||
	    sscanf(text.data, "%*u %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int start(struct elf_worker *worker, struct process *process)
{
	process->forked_rss_bytes = read_rss_bytes();
	return worker_start(&process->worker,
			    process == &worker->processes[TRUSTED] ? run : run_for_others, worker);
}

static uint64_t get_time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_SECOND + (uint64_t)time->tv_usec * 1000;
}

static void note_end(struct elf_worker *worker, const struct process *process,
		     const struct rusage *usage)
{
	uint64_t rss_bytes = (uint64_t)usage->ru_maxrss << 10;
	uint64_t own_bytes =
		rss_bytes > process->forked_rss_bytes ? rss_bytes - process->forked_rss_bytes : 0;

	atomic_fetch_add(&worker->ended_cpu_ns,
			 get_time_ns(&usage->ru_utime) + get_time_ns(&usage->ru_stime));
	if (own_bytes > atomic_load(&worker->max_rss_bytes))
		atomic_store(&worker->max_rss_bytes, own_bytes);
}

static void stop(struct elf_worker *worker, struct process *process)
{
	struct rusage usage;

	if (worker_stop(&process->worker, &usage))
		note_end(worker, process, &usage);
}

void elf_worker_stop(struct elf_worker *worker)
{
	for (size_t i = 0; i < NUM_PROCESSES; i++)
		stop(worker, &worker->processes[i]);
}

int elf_worker_new(uid_t user, struct elf_worker **ret)
{
	struct elf_worker *worker = calloc(1, sizeof(*worker));
	int err = 0;

	if (!worker)
		return -ENOMEM;
	worker->user = user;
	for (size_t i = 0; i < NUM_PROCESSES; i++)
		worker->processes[i].worker = WORKER_NONE;
	for (size_t i = 0; i < NUM_PROCESSES && !err; i++)
		err = start(worker, &worker->processes[i]);
	if (err) {
		elf_worker_free(worker);
		return err;
	}
	*ret = worker;
	return 0;
}

void elf_worker_free(struct elf_worker *worker)
{
	if (!worker)
		return;
	elf_worker_stop(worker);
	array_release(&worker->failures);
	free(worker);
}

void elf_worker_cancel(struct elf_worker *worker)
{
	atomic_store(&worker->is_cancelled, true);
}

struct elf_worker_cost elf_worker_get_cost(const struct elf_worker *worker)
{
	struct elf_worker_cost cost = {.cpu_ns = atomic_load(&worker->ended_cpu_ns),
				       .max_rss_bytes = atomic_load(&worker->max_rss_bytes)};

	for (size_t i = 0; i < NUM_PROCESSES; i++) {
		pid_t pid = atomic_load(&worker->processes[i].worker.pid);
		struct timespec cpu;
		clockid_t clock;

		if (pid && !clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &cpu))
			cost.cpu_ns += (uint64_t)cpu.tv_sec * NS_PER_SECOND + (uint64_t)cpu.tv_nsec;
	}
	return cost;
}

/* ---- asking ---- */

static struct failures *find_failures(const struct elf_worker *worker, uid_t owner)
{
	array_for_each (&worker->failures, failures)
		if (failures->owner == owner)
			return failures;
	return NULL;
}

static void count_failure(struct elf_worker *worker, uid_t owner)
{
	struct failures *failures = find_failures(worker, owner);

	if (!failures) {
		failures = array_add(&worker->failures);
		if (!failures)
			return;
		failures->owner = owner;
	}
	failures->count++;
}

/* table_fd   -1: no table is asked for */
static int send_request(const struct process *process, const struct elf_request *head,
			const struct elf_source_file *file, int table_fd)
{
	const int fds[] = {[FILE_FD] = file->fd, [TABLE_FD] = table_fd};
	size_t length = table_fd < 0 ? 0 : strlen(file->path);
	struct iovec parts[] = {
		{(void *)(uintptr_t)head, ELF_REQUEST_HEAD_BYTES},
		{(void *)(uintptr_t)file->path, length < PATH_MAX ? length : PATH_MAX - 1},
	};
	int err = worker_send(process->worker.fd, parts, ARRAY_LENGTH(parts), fds,
			      table_fd < 0 ? 1 : 2);

	return err ? -ECHILD : 0;
}

static int await_answer(const struct elf_worker *worker, const struct process *process,
			enum elf_request_kind kind, struct elf_answer *ret)
{
	bool is_of_table = kind == ELF_BUILD_TABLE || kind == ELF_HASH_TABLE;
	uint64_t end_ns = clock_now_ns() + (is_of_table ? BUILD_LIMIT_NS : LIMIT_NS);

	do {
		struct pollfd readable = {.fd = process->worker.fd, .events = POLLIN};
		ssize_t got;

		if (poll(&readable, 1, POLL_MS) <= 0)
			continue;
		got = recv(process->worker.fd, ret, sizeof(*ret), 0);
		if (got <= 0)
			return -ECHILD;
		return elf_answer_is_valid(ret, (size_t)got, kind) ? 0 : -EBADMSG;
	} while (clock_now_ns() < end_ns && !atomic_load(&worker->is_cancelled));
	return atomic_load(&worker->is_cancelled) ? -ECANCELED : -ETIMEDOUT;
}

static const char *explain(int err)
{
	return err == -ETIMEDOUT ? "takes too long to read"
				 : "has ended the process that was reading it";
}

/* table_fd   -1: no table is asked for */
static int ask(struct elf_worker *worker, const struct elf_request *head,
	       const struct elf_source_file *file, int table_fd, struct elf_answer *ret,
	       struct error *error)
{
	struct process *process =
		&worker->processes[file_owner_is_trusted(file->owner) ? TRUSTED : OTHERS];
	const struct failures *failures = find_failures(worker, file->owner);
	int err;

	if (atomic_load(&worker->is_cancelled))
		return -ECANCELED;
	if (failures && failures->count >= MAX_FAILURES)
		return error_set(error, -ETIMEDOUT, "%s: files of its owner take too long to read",
				 file->path);
	err = process->worker.fd < 0 ? start(worker, process) : 0;
	if (err)
		return error_set(error, err, "%s: %s", file->path, strerror(-err));
	err = send_request(process, head, file, table_fd);
	if (!err)
		err = await_answer(worker, process, head->kind, ret);
	if (!err)
		return ret->err ? error_set(error, ret->err, "%s", ret->message) : 0;
	stop(worker, process);
	if (err == -ECANCELED)
		return err;
	if (process == &worker->processes[OTHERS])
		count_failure(worker, file->owner);
	log_debug("%s %s", file->path, explain(err));
	return error_set(error, err, "%s: it %s", file->path, explain(err));
}

int elf_worker_identify(struct elf_worker *worker, const struct elf_source_file *file,
			struct elf_identity *ret)
{
	struct elf_request head = {.kind = ELF_IDENTIFY};
	struct elf_answer answer;
	int err = ask(worker, &head, file, -1, &answer, NULL);

	if (!err)
		*ret = answer.identity;
	return err;
}

int elf_worker_prove_call(struct elf_worker *worker, const struct elf_source_file *file,
			  uint64_t return_address, uint64_t callee, enum call_proof *ret)
{
	struct elf_request head = {.kind = ELF_PROVE_CALL,
				   .file = file->number,
				   .return_address = return_address,
				   .callee = callee};
	struct elf_answer answer;
	int err = ask(worker, &head, file, -1, &answer, NULL);

	if (!err)
		*ret = (enum call_proof)answer.proof;
	return err;
}

int elf_worker_hash_table(struct elf_worker *worker, const struct elf_source_file *file,
			  uint64_t *ret)
{
	struct elf_request head = {.kind = ELF_HASH_TABLE, .file = file->number};
	struct elf_answer answer;
	int err = ask(worker, &head, file, -1, &answer, NULL);

	if (!err)
		*ret = answer.table_hash;
	return err;
}

static int read_table(int fd, const char *path, struct unwind_table **ret, struct error *error)
{
	struct stat status;
	int err;

	if (fstat(fd, &status) || (uint64_t)status.st_size > TABLE_MAX_BYTES)
		return error_set(error, -EBADMSG, "%s: an unwind table of %jd bytes", path,
				 (intmax_t)status.st_size);
	err = table_image_read(fd, ret);
	if (!err || err == -ENOMEM)
		return err;
	return error_set(error, -EBADMSG, "%s: no whole unwind table", path);
}

int elf_worker_build_table(struct elf_worker *worker, const struct elf_source_file *file,
			   struct unwind_table **ret, struct error *error)
{
	struct elf_request head = {.kind = ELF_BUILD_TABLE, .file = file->number};
	_cleanup_close_ int table_fd = memfd_create("unwind table", MFD_CLOEXEC);
	struct elf_answer answer;
	int err;

	if (table_fd < 0)
		return error_set(error, -errno, "%s: %s", file->path, strerror(errno));
	err = ask(worker, &head, file, table_fd, &answer, error);
	return err ? err : read_table(table_fd, file->path, ret, error);
}
