#include "collect/elf/elf_worker.h"

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
#include "base/child.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/elf/ld_cache.h"
#include "objfile/architecture.h"
#include "objfile/function_search.h"
#include "unwind/table_cache.h"

#define MEMORY_BYTES (1ull << 30)
/* Those of the largest programs that there are take 50 MB. */
#define TABLE_MAX_BYTES (128ull << 20)
/*
 * The table of the largest known programs takes a fifth of a second; other requests take
 * microseconds.
 */
#define BUILD_LIMIT_NS  (20 * NS_PER_SECOND)
#define LIMIT_NS        (2 * NS_PER_SECOND)
#define POLL_MS         100
#define STATM_MAX_BYTES 4096
/* Files of a user that have ended a process, or taken too long: after these no more are read. */
#define MAX_FAILURES 3
/* Time that the recorder waits for all files of a user. */
#define SHORT_BUDGET_NS (10 * NS_PER_SECOND)
/* Those that took long without using a CPU, which may be another's fault: a busy machine. */
#define MAX_SLACK 12
/* Those that a process keeps open. */
#define MAX_OPEN_FILES 16

/* Requests for a table or a probe have a second descriptor. */
enum { FILE_FD, TABLE_FD, DEBUG_FD = TABLE_FD };

/* Trusted files and all others are read by different processes. */
enum { TRUSTED, OTHERS, NUM_PROCESSES };

struct worker_process {
	struct worker worker;
	uint64_t forked_rss_bytes; /* ours, when it was forked */
};

/* Failures with an owner's files. */
struct failures {
	uid_t owner;
	unsigned int count;
	unsigned int num_slack;
	uint64_t short_ns; /* spent on requests that are not to take long */
};

struct elf_worker {
	uid_t user;
	bool is_awaited;
	struct worker_process processes[NUM_PROCESSES];
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
	ret->has_runtime = !runtime_find(objfile, &ret->runtime);
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

/* The only debug file that there is; whether it is the right one is seen by its build ID. */
static int open_debug_file(void *context, const char *path _unused_)
{
	const int *fd = context;
	int copy = *fd < 0 ? -1 : fcntl(*fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -ENOENT : copy;
}

/* Explain in a line why a statically defined probe cannot be used. */
static int explain_usdt(const struct elf_probe_query *query, int code,
			const struct near_names *near, struct error *error)
{
	char names[NEAR_NAMES_TEXT_BYTES];

	near_names_format(near, names);
	if (code == -ENOENT)
		return error_set(error, code, "%s has no probe '%s:%s'%s", query->path,
				 query->provider, query->name, names);
	if (code == -EDOM)
		return error_set(error, code, "%s: '%s:%s' has no argument %u", query->path,
				 query->provider, query->name, query->argument);
	if (code == -ENOTSUP)
		return error_set(
			error, -EDOM,
			"%s: argument %u of '%s:%s' is not an integer, or cannot be read where "
			"it is",
			query->path, query->argument, query->provider, query->name);
	if (code == -E2BIG)
		return error_set(error, code, "%s has more than %d probes '%s:%s'", query->path,
				 PROBE_MAX_POINTS, query->provider, query->name);
	return error_set(error, code, "%s: cannot read its probes (.note.stapsdt)", query->path);
}

static int find_usdt(struct objfile *objfile, const struct elf_probe_query *query,
		     struct probe_point_list *ret, struct error *error)
{
	char word[sizeof(query->provider) + sizeof(query->name) + 1];
	struct near_names near = {.word = word};
	int err;

	snprintf(word, sizeof(word), "%s:%s", query->provider, query->name);
	err = usdt_find(objfile, query->provider, query->name,
			query->is_weighted ? query->argument : 0, ret, &near);
	return err && err != -ENOMEM ? explain_usdt(query, err, &near, error) : err;
}

static int find_functions(struct objfile *objfile, const struct elf_probe_query *query,
			  uint16_t machine, struct probe_point_list *ret, struct error *error)
{
	struct function_query function = {.name = query->name, .offset = query->offset};
	struct probe_argument argument = {0};
	int err = function_search(objfile, &function, ret, error);

	if (err || !query->is_weighted)
		return err;
	err = function_argument_get(query->argument, machine, &argument);
	if (err)
		return error_set(
			error, -EDOM,
			"argument %u of '%s' is passed in memory: only arguments in registers "
			"can be read",
			query->argument, query->name);
	array_for_each (&ret->points, point)
		point->argument = argument;
	return 0;
}

/* A breakpoint is an instruction of this machine. */
static bool is_of_this_machine(struct objfile *objfile)
{
	GElf_Ehdr header;

	return gelf_getehdr(objfile_get_elf(objfile), &header) &&
	       header.e_machine == architecture_here()->machine &&
	       header.e_ident[EI_CLASS] == ELFCLASS64;
}

static int find_probe(const struct elf_probe_query *query, const int *fds,
		      struct probe_point_list *ret, struct error *error)
{
	struct debug_opener opener = {.open = open_debug_file,
				      .context = (void *)(uintptr_t)&fds[DEBUG_FD]};
	_cleanup_(objfile_unrefp) struct objfile *objfile = NULL;
	int err = objfile_open(fds[FILE_FD], query->path, "/usr/lib/debug", &objfile, error);

	if (err == -ENOEXEC)
		return error_set(error, err, "%s is not an ELF file: it has no code to probe",
				 query->path);
	if (err)
		return err;
	if (!is_of_this_machine(objfile))
		return error_set(error, -ENOEXEC,
				 "%s is not a 64-bit program or library for this machine",
				 query->path);
	objfile_set_opener(objfile, &opener);
	return query->provider[0]
		       ? find_usdt(objfile, query, ret, error)
		       : find_functions(objfile, query, architecture_here()->machine, ret, error);
}

static int find_allocator(int fd, struct elf_allocator_functions *ret)
{
	_cleanup_(objfile_unrefp) struct objfile *objfile = NULL;
	struct allocator found = {0};
	int err = objfile_open(fd, "", NULL, &objfile, NULL);

	if (err == -ENOEXEC || (!err && !is_of_this_machine(objfile)))
		return -ENOENT;
	if (err)
		return err;
	err = allocator_find(objfile, architecture_here()->machine, &found);
	if (err)
		return err;
	ret->num_functions = (uint32_t)found.functions.length;
	ret->has_unknown = found.has_unknown;
	for (size_t i = 0; i < found.functions.length; i++)
		ret->functions[i] = found.functions.items[i];
	allocator_release(&found);
	return 0;
}

static int answer_probe(struct elf_request *request, const int *fds, struct elf_probe_points *ret,
			struct error *error)
{
	struct elf_probe_query *query = &request->probe;
	_cleanup_(probe_point_list_release) struct probe_point_list found = {0};
	int err;

	query->path[sizeof(query->path) - 1] = '\0';
	query->provider[sizeof(query->provider) - 1] = '\0';
	query->name[sizeof(query->name) - 1] = '\0';
	err = find_probe(query, fds, &found, error);
	if (err)
		return err;
	ret->num_points = (uint32_t)found.points.length;
	for (size_t i = 0; i < found.points.length; i++)
		ret->points[i] = found.points.items[i];
	return 0;
}

static int find_library(int fd, const char *name, char ret[PATH_MAX])
{
	_cleanup_free_ void *cache = NULL;
	struct stat status;
	const char *path;
	int err;

	if (fstat(fd, &status))
		return -errno;
	if (status.st_size <= 0 || status.st_size > LD_CACHE_MAX_BYTES)
		return -EINVAL;
	cache = malloc((size_t)status.st_size);
	if (!cache)
		return -ENOMEM;
	if (pread(fd, cache, (size_t)status.st_size, 0) != status.st_size)
		return -EINVAL;
	err = ld_cache_find(cache, (size_t)status.st_size, name, &path);
	if (err)
		return err;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(ret, path, strlen(path) + 1);
	return 0;
}

static void answer(struct server *server, struct elf_request *request, const int *fds,
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
	else if (request->kind == ELF_FIND_PROBE)
		ret->err = answer_probe(request, fds, &ret->probe, &error);
	else if (request->kind == ELF_FIND_ALLOCATOR)
		ret->err = find_allocator(fds[FILE_FD], &ret->allocator);
	else if (request->kind == ELF_FIND_LIBRARY)
		ret->err = find_library(fds[FILE_FD], request->path, ret->library);
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

/* They may make it work for as long as they like, but where their time has a limit. */
static void run_for_others(int socket, void *context)
{
	const struct elf_worker *worker = context;

	if (!worker->is_awaited)
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

static int start(struct elf_worker *worker, struct worker_process *process)
{
	process->forked_rss_bytes = read_rss_bytes();
	return worker_start(&process->worker,
			    process == &worker->processes[TRUSTED] ? run : run_for_others, worker);
}

static void note_end(struct elf_worker *worker, const struct worker_process *process,
		     const struct rusage *usage)
{
	uint64_t rss_bytes = (uint64_t)usage->ru_maxrss << 10;
	uint64_t own_bytes =
		rss_bytes > process->forked_rss_bytes ? rss_bytes - process->forked_rss_bytes : 0;

	atomic_fetch_add(&worker->ended_cpu_ns, child_get_cpu_ns(usage));
	if (own_bytes > atomic_load(&worker->max_rss_bytes))
		atomic_store(&worker->max_rss_bytes, own_bytes);
}

static void stop(struct elf_worker *worker, struct worker_process *process)
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

int elf_worker_new(uid_t user, bool is_awaited, struct elf_worker **ret)
{
	struct elf_worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	worker->user = user;
	worker->is_awaited = is_awaited;
	for (size_t i = 0; i < NUM_PROCESSES; i++)
		worker->processes[i].worker = WORKER_NONE;
	for (size_t i = 0; i < NUM_PROCESSES; i++) {
		int err = start(worker, &worker->processes[i]);

		if (err) {
			elf_worker_free(worker);
			return err;
		}
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

		cost.cpu_ns += pid ? child_read_cpu_ns(pid) : 0;
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

/* NULL when out of memory. */
static struct failures *use_failures(struct elf_worker *worker, uid_t owner)
{
	struct failures *failures = find_failures(worker, owner);

	if (failures)
		return failures;
	failures = array_add(&worker->failures);
	if (failures)
		failures->owner = owner;
	return failures;
}

/* Requests of less than 0.1 s are not counted. */
static void count_short_time(struct elf_worker *worker, uid_t owner, uint64_t spent_ns)
{
	struct failures *failures =
		spent_ns > NS_PER_SECOND / 10 ? use_failures(worker, owner) : NULL;

	if (failures)
		failures->short_ns += spent_ns;
}

/* is_slack  the process has hardly run */
static void count_failure(struct elf_worker *worker, uid_t owner, bool is_slack)
{
	struct failures *failures = use_failures(worker, owner);

	if (!failures)
		return;
	if (is_slack)
		failures->num_slack++;
	else
		failures->count++;
}

static bool are_given_up(const struct elf_worker *worker, uid_t owner)
{
	const struct failures *failures = find_failures(worker, owner);

	return failures && (failures->count >= MAX_FAILURES || failures->num_slack >= MAX_SLACK ||
			    failures->short_ns >= SHORT_BUDGET_NS);
}

/* The part of a request behind its head. */
static struct iovec get_rest(const struct elf_request *head, const struct elf_source_file *file)
{
	const char *text = head->kind == ELF_BUILD_TABLE ? file->path : head->path;

	if (head->kind == ELF_FIND_PROBE)
		return (struct iovec){(void *)(uintptr_t)&head->probe, sizeof(head->probe)};
	if (head->kind != ELF_BUILD_TABLE && head->kind != ELF_FIND_LIBRARY)
		return (struct iovec){0};
	return (struct iovec){(void *)(uintptr_t)text, strnlen(text, PATH_MAX - 1)};
}

/* second_fd   -1: only the file itself goes along */
static int send_request(const struct worker_process *process, const struct elf_request *head,
			const struct elf_source_file *file, int second_fd)
{
	const int fds[] = {file->fd, second_fd};
	struct iovec parts[] = {
		{(void *)(uintptr_t)head, ELF_REQUEST_HEAD_BYTES},
		get_rest(head, file),
	};
	int err = worker_send(process->worker.fd, parts, ARRAY_LENGTH(parts), fds,
			      second_fd < 0 ? 1 : 2);

	return err ? -ECHILD : 0;
}

static uint64_t get_limit_ns(enum elf_request_kind kind)
{
	bool takes_long =
		kind == ELF_BUILD_TABLE || kind == ELF_HASH_TABLE || kind == ELF_FIND_PROBE;

	return takes_long ? BUILD_LIMIT_NS : LIMIT_NS;
}

static int await_answer(const struct elf_worker *worker, const struct worker_process *process,
			enum elf_request_kind kind, uint64_t limit_ns, struct elf_answer *ret)
{
	uint64_t end_ns = clock_now_ns() + limit_ns;

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

static int exchange(const struct elf_worker *worker, const struct worker_process *process,
		    const struct elf_request *head, const struct elf_source_file *file,
		    int second_fd, uint64_t limit_ns, struct elf_answer *ret)
{
	int err = send_request(process, head, file, second_fd);

	return err ? err : await_answer(worker, process, head->kind, limit_ns, ret);
}

static const char *explain(int err)
{
	return err == -ETIMEDOUT ? "it was not read in time"
	       : err == -EBADMSG ? "the answer of its reader was invalid"
				 : "its reader ended";
}

/*
 * second_fd   -1: only the file itself goes along
 * limit_ns    0: that of the request's kind. A shorter one is a first try: its timeout does not count
 *             against the file
 */
static int ask_within(struct elf_worker *worker, const struct elf_request *head,
		      const struct elf_source_file *file, int second_fd, uint64_t limit_ns,
		      struct elf_answer *ret, struct error *error)
{
	uint64_t full_limit_ns = get_limit_ns(head->kind);
	uint64_t start_cpu_ns;
	uint64_t start_ns;
	uint64_t used_cpu_ns;
	struct worker_process *process =
		&worker->processes[file_owner_is_trusted(file->owner) ? TRUSTED : OTHERS];
	int err;

	if (!limit_ns)
		limit_ns = full_limit_ns;
	if (atomic_load(&worker->is_cancelled))
		return -ECANCELED;
	if (are_given_up(worker, file->owner))
		return error_set(error, -ETIMEDOUT,
				 "%s: no more files of its owner are read, as reading some failed",
				 file->path);
	err = process->worker.fd < 0 ? start(worker, process) : 0;
	if (err)
		return error_set(error, err, "%s: %s", file->path, strerror(-err));
	start_cpu_ns = child_read_cpu_ns(process->worker.pid);
	start_ns = clock_now_ns();
	err = exchange(worker, process, head, file, second_fd, limit_ns, ret);
	if (process == &worker->processes[OTHERS] && full_limit_ns == LIMIT_NS)
		count_short_time(worker, file->owner, clock_now_ns() - start_ns);
	if (!err)
		return ret->err ? error_set(error, ret->err, "%s", ret->message) : 0;
	used_cpu_ns = child_read_cpu_ns(process->worker.pid) - start_cpu_ns;
	stop(worker, process);
	if (err == -ECANCELED || (err == -ETIMEDOUT && limit_ns < full_limit_ns))
		return err;
	if (process == &worker->processes[OTHERS])
		count_failure(worker, file->owner, err == -ETIMEDOUT && used_cpu_ns < limit_ns / 2);
	log_debug("%s: %s", file->path, explain(err));
	return error_set(error, err, "%s: %s", file->path, explain(err));
}

static int ask(struct elf_worker *worker, const struct elf_request *head,
	       const struct elf_source_file *file, int second_fd, struct elf_answer *ret,
	       struct error *error)
{
	return ask_within(worker, head, file, second_fd, 0, ret, error);
}

int elf_worker_identify(struct elf_worker *worker, const struct elf_source_file *file,
			struct elf_identity *ret)
{
	struct elf_request head = {.kind = ELF_IDENTIFY};
	struct elf_answer answer;
	int err = ask(worker, &head, file, -1, &answer, NULL);

	if (err)
		return err;
	*ret = answer.identity;
	return 0;
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

	if (err)
		return err;
	*ret = (enum call_proof)answer.proof;
	return 0;
}

int elf_worker_hash_table(struct elf_worker *worker, const struct elf_source_file *file,
			  uint64_t *ret)
{
	struct elf_request head = {.kind = ELF_HASH_TABLE, .file = file->number};
	struct elf_answer answer;
	int err = ask(worker, &head, file, -1, &answer, NULL);

	if (err)
		return err;
	*ret = answer.table_hash;
	return 0;
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
	return error_set(error, -EBADMSG, "%s: incomplete unwind table", path);
}

int elf_worker_build_table(struct elf_worker *worker, const struct elf_source_file *file,
			   uint64_t limit_ns, struct unwind_table **ret, struct error *error)
{
	struct elf_request head = {.kind = ELF_BUILD_TABLE, .file = file->number};
	_cleanup_close_ int table_fd = memfd_create("unwind table", MFD_CLOEXEC);
	struct elf_answer answer;
	int err;

	if (table_fd < 0)
		return error_set(error, -errno, "%s: %s", file->path, strerror(errno));
	err = ask_within(worker, &head, file, table_fd, limit_ns, &answer, error);
	return err ? err : read_table(table_fd, file->path, ret, error);
}

int elf_worker_find_probe(struct elf_worker *worker, const struct elf_source_file *file,
			  int debug_fd, const struct elf_probe_query *query,
			  struct probe_point_list *ret, struct error *error)
{
	struct elf_request request = {.kind = ELF_FIND_PROBE, .probe = *query};
	struct elf_answer answer;
	int err = ask(worker, &request, file, debug_fd, &answer, error);

	if (err)
		return err;
	for (uint32_t i = 0; i < answer.probe.num_points; i++) {
		err = probe_point_list_add(ret, &answer.probe.points[i]);
		if (err)
			return err;
	}
	return 0;
}

int elf_worker_find_allocator(struct elf_worker *worker, const struct elf_source_file *file,
			      struct allocator *ret)
{
	struct elf_request request = {.kind = ELF_FIND_ALLOCATOR};
	struct elf_answer answer;
	struct allocator found = {0};
	int err = ask(worker, &request, file, -1, &answer, NULL);

	if (err)
		return err;
	for (uint32_t i = 0; i < answer.allocator.num_functions; i++) {
		struct allocator_function *added = array_add(&found.functions);

		if (!added) {
			allocator_release(&found);
			return -ENOMEM;
		}
		*added = answer.allocator.functions[i];
	}
	found.has_unknown = answer.allocator.has_unknown;
	*ret = found;
	return 0;
}

int elf_worker_find_library(struct elf_worker *worker, const struct elf_source_file *cache,
			    const char *name, char ret[PATH_MAX])
{
	struct elf_request request = {.kind = ELF_FIND_LIBRARY};
	struct elf_answer answer;
	int err;

	if (strlen(name) >= sizeof(request.path))
		return -ENOENT;
	memcpy(request.path, name, strlen(name) + 1);
	err = ask(worker, &request, cache, -1, &answer, NULL);
	if (err)
		return err;
	memcpy(ret, answer.library, sizeof(answer.library));
	return 0;
}
