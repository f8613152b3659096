#include "collect/tables/table_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

/*
 * Time for all files of one user. An untrusted file is given up after the first of these limits. It
 * is tried again when nothing else waits, by one thread at a time. Among files that others own, the
 * user who has used the least time is first, in steps.
 */
#define FIRST_LIMIT_NS (2 * NS_PER_SECOND)
#define SHARE_STEP_NS  NS_PER_SECOND
/* Steps after which the end of a recording does not wait for a user's files. */
#define MAX_WAITED_SHARE 2

struct job {
	uint32_t file;
	uint32_t num_requests;
	bool is_slow;              /* it was given up once */
	struct mapped_file mapped; /* a copy, with a path of its own; the descriptor is borrowed */
};

/* A table's name in the cache: its file's build ID, or a made key. */
struct cache_key {
	uint8_t bytes[FILE_BUILD_ID_MAX_BYTES];
	uint8_t size; /* 0: it is not kept */
};

/* Files that are not trusted. */
struct table_owner {
	uid_t uid;
	uint64_t spent_ns; /* on their files */
};

struct result {
	uint32_t file;
	struct unwind_table *table;
};

struct table_builder;

struct builder_thread {
	struct table_builder *builder;
	struct elf_worker *worker;
	pthread_t id;
};

struct table_builder {
	struct table_builder_opts opts;
	pthread_mutex_t lock;
	pthread_cond_t has_job;
	pthread_cond_t has_result;
	ARRAY(struct job) jobs; /* waiting */
	ARRAY(struct result) results;
	ARRAY(struct table_owner) owners;
	unsigned int
		num_running_prompt; /* jobs that were prompt when they were taken: is_prompt() */
	bool is_slow_running;       /* one that was given up once */
	uint64_t wall_ns;           /* from when jobs were taken until they were done, summed */
	bool is_closing;
	int event_fd;
	struct builder_thread *threads;
	unsigned int num_threads;
	struct elf_worker_cost ended; /* after table_builder_finish() */
};

static void release_job(struct job *job)
{
	free(job->mapped.path);
}

static struct elf_source_file describe_file(const struct job *job)
{
	return (struct elf_source_file){.fd = job->mapped.fd,
					.owner = job->mapped.owner,
					.number = job->file,
					.path = job->mapped.path};
}

/* is_late  it is to be tried again */
static struct unwind_table *build_table(const struct builder_thread *thread, const struct job *job,
					bool *ret_is_late)
{
	struct unwind_table *table;
	struct error error = {0};
	const struct elf_source_file file = describe_file(job);
	bool is_first = !job->is_slow && !file_owner_is_trusted(job->mapped.owner);
	int err = elf_worker_build_table(thread->worker, &file, is_first ? FIRST_LIMIT_NS : 0,
					 &table, &error);

	if (!err)
		return table;
	*ret_is_late = is_first && err == -ETIMEDOUT;
	log_debug("%s has no unwind table: %s", job->mapped.path,
		  error.message[0] ? error.message : strerror(-err));
	return NULL;
}

/* Longer than an MD5 sum, shorter than a SHA-1: no linker makes build IDs of this length. */
#define MADE_KEY_BYTES 17
_Static_assert(MADE_KEY_BYTES <= FILE_BUILD_ID_MAX_BYTES, "it fits");

/* Replaces a missing build ID: a hash of the table's source, and the file's size and time. */
static void make_key(const struct builder_thread *thread, const struct job *job,
		     struct cache_key *ret)
{
	const struct elf_source_file file = describe_file(job);
	struct stat status;
	uint64_t hashes[2];

	if (fstat(job->mapped.fd, &status) ||
	    elf_worker_hash_table(thread->worker, &file, &hashes[0]))
		return;
	hashes[1] = hash_mix(0, (uint64_t)status.st_size);
	hashes[1] = hash_mix(hashes[1], (uint64_t)status.st_mtim.tv_sec);
	hashes[1] = hash_mix(hashes[1], (uint64_t)status.st_mtim.tv_nsec);
	memcpy(ret->bytes, hashes, sizeof(hashes)); /* and a byte of zeros */
	ret->size = MADE_KEY_BYTES;
}

/*
 * The cache is shared by key: a user could write a file with the build ID of libc and a wrong
 * table, and everybody's libc would get it.
 */
static void find_key(const struct builder_thread *thread, const struct job *job,
		     struct cache_key *ret)
{
	*ret = (struct cache_key){0};
	if (!thread->builder->opts.cache || job->mapped.owner != 0)
		return;
	if (!job->mapped.build_id_size) {
		make_key(thread, job, ret);
		return;
	}
	memcpy(ret->bytes, job->mapped.build_id, job->mapped.build_id_size);
	ret->size = job->mapped.build_id_size;
}

/*
 * The table of the content that is mapped. If the file was overwritten meanwhile, only a table that
 * the cache has under its build ID is certain.
 */
static struct unwind_table *get_table(const struct builder_thread *thread, const struct job *job,
				      bool *ret_is_late)
{
	struct table_cache *cache = thread->builder->opts.cache;
	struct unwind_table *table;
	struct cache_key key;
	struct error error = {0};

	find_key(thread, job, &key);
	if (key.size && !table_cache_load(cache, key.bytes, key.size, &table, &error)) {
		if (key.size != MADE_KEY_BYTES || mapped_file_is_unchanged(&job->mapped))
			return table;
		unwind_table_free(table);
		return NULL;
	}
	table = build_table(thread, job, ret_is_late);
	if (table && !mapped_file_is_unchanged(&job->mapped)) {
		log_debug("%s has no unwind table: it was overwritten", job->mapped.path);
		unwind_table_free(table);
		return NULL;
	}
	if (table && key.size && table_cache_store(cache, key.bytes, key.size, table, &error))
		log_debug("%s: its unwind table is not cached: %s", job->mapped.path,
			  error.message);
	return table;
}

static uint64_t get_share(const struct table_builder *builder, uid_t uid)
{
	if (file_owner_is_trusted(uid))
		return 0;
	array_for_each (&builder->owners, owner)
		if (owner->uid == uid)
			return owner->spent_ns / SHARE_STEP_NS;
	return 0;
}

static void add_spent(struct table_builder *builder, uid_t uid, uint64_t spent_ns)
{
	struct table_owner *added;

	if (file_owner_is_trusted(uid))
		return;
	array_for_each (&builder->owners, owner)
		if (owner->uid == uid) {
			owner->spent_ns += spent_ns;
			return;
		}
	added = array_add(&builder->owners);
	if (added)
		*added = (struct table_owner){uid, spent_ns};
}

/* Whether the end of a recording waits for it. */
static bool is_prompt(const struct table_builder *builder, const struct job *job)
{
	return !job->is_slow && get_share(builder, job->mapped.owner) < MAX_WAITED_SHARE;
}

/* other  was added before job */
static bool is_before(const struct table_builder *builder, const struct job *job,
		      const struct job *other)
{
	uint64_t share = get_share(builder, job->mapped.owner);
	uint64_t other_share = get_share(builder, other->mapped.owner);

	if (job->is_slow != other->is_slow)
		return !job->is_slow;
	if (share != other_share)
		return share < other_share;
	return job->num_requests >=
	       other->num_requests; /* a program that starts needs it at once */
}

/* Take the first job, if there is one that may run now. The lock is held. */
static bool take_job(struct table_builder *builder, struct job *ret)
{
	size_t best = 0;

	if (!builder->jobs.length)
		return false;
	for (size_t i = 1; i < builder->jobs.length; i++)
		if (is_before(builder, &builder->jobs.items[i], &builder->jobs.items[best]))
			best = i;
	*ret = builder->jobs.items[best];
	if (ret->is_slow && builder->is_slow_running)
		return false;
	builder->is_slow_running |= ret->is_slow;
	array_remove(&builder->jobs, best);
	return true;
}

/* Takes the job. Returns whether it waits again. */
static bool put_back(struct table_builder *builder, struct job *job)
{
	struct job *added = array_add(&builder->jobs);

	if (!added)
		return false;
	*added = *job;
	added->is_slow = true;
	return true;
}

static void add_result(struct table_builder *builder, uint32_t file, struct unwind_table *table)
{
	struct result *result = array_add(&builder->results);

	if (result)
		*result = (struct result){.file = file, .table = table};
	else
		unwind_table_free(
			table); /* the file stays without table: its stacks are truncated */
	(void)!eventfd_write(builder->event_fd, 1); /* full means readable, too */
	pthread_cond_signal(&builder->has_result);
}

static void *run_thread(void *context)
{
	struct builder_thread *thread = context;
	struct table_builder *builder = thread->builder;

	/* The thread starts before the recorder has given up its rights. */
	(void)!confinement_keep_sampling_rights(false);
	pthread_mutex_lock(&builder->lock);
	while (!builder->is_closing) {
		struct unwind_table *table;
		bool is_late = false;
		uint64_t spent_ns;
		uint64_t start_ns;
		bool was_prompt;
		struct job job;

		if (!take_job(builder, &job)) {
			pthread_cond_wait(&builder->has_job, &builder->lock);
			continue;
		}
		was_prompt = is_prompt(builder, &job);
		builder->num_running_prompt += was_prompt;
		pthread_mutex_unlock(&builder->lock);
		start_ns = clock_now_ns();
		table = get_table(thread, &job, &is_late);
		if (table && builder->opts.on_table)
			builder->opts.on_table(table, builder->opts.context);
		spent_ns = clock_now_ns() - start_ns;
		pthread_mutex_lock(&builder->lock);
		builder->num_running_prompt -= was_prompt;
		builder->wall_ns += spent_ns;
		add_spent(builder, job.mapped.owner, spent_ns);
		if (job.is_slow)
			builder->is_slow_running = false;
		/* Another thread may wait for this one's end, or for the job. */
		pthread_cond_broadcast(&builder->has_job);
		if (is_late && put_back(builder, &job)) {
			pthread_cond_signal(
				&builder->has_result); /* nobody waits for it any more */
			continue;
		}
		release_job(&job);
		add_result(builder, job.file, table);
	}
	pthread_mutex_unlock(&builder->lock);
	return NULL;
}

/* Start all processes before all threads: a fork keeps the locks of other threads. */
static int start_workers(struct table_builder *builder)
{
	for (unsigned int i = 0; i < builder->opts.num_threads; i++) {
		int err = elf_worker_new(builder->opts.user, false, &builder->threads[i].worker);

		if (err)
			return err;
	}
	return 0;
}

static int start_threads(struct table_builder *builder)
{
	for (; builder->num_threads < builder->opts.num_threads; builder->num_threads++) {
		struct builder_thread *thread = &builder->threads[builder->num_threads];
		int err;

		thread->builder = builder;
		err = pthread_create(&thread->id, NULL, run_thread, thread);
		if (err)
			return -err;
	}
	return 0;
}

int table_builder_new(const struct table_builder_opts *opts, struct table_builder **ret)
{
	struct table_builder *builder = calloc(1, sizeof(*builder));
	int err;

	if (!builder)
		return -ENOMEM;
	builder->opts = *opts;
	pthread_mutex_init(&builder->lock, NULL);
	pthread_cond_init(&builder->has_job, NULL);
	pthread_cond_init(&builder->has_result, NULL);
	builder->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	builder->threads = calloc(opts->num_threads, sizeof(*builder->threads));
	if (builder->event_fd < 0 || !builder->threads) {
		table_builder_free(builder);
		return -ENOMEM;
	}
	err = start_workers(builder);
	if (!err)
		err = start_threads(builder);
	if (err) {
		table_builder_free(builder);
		return err;
	}
	*ret = builder;
	return 0;
}

void table_builder_finish(struct table_builder *builder)
{
	pthread_mutex_lock(&builder->lock);
	builder->is_closing = true;
	pthread_cond_broadcast(&builder->has_job);
	pthread_mutex_unlock(&builder->lock);
	for (unsigned int i = 0; i < builder->num_threads; i++)
		elf_worker_cancel(builder->threads[i].worker);
	for (unsigned int i = 0; i < builder->num_threads; i++)
		pthread_join(builder->threads[i].id, NULL);
	builder->num_threads = 0;
	for (unsigned int i = 0; builder->threads && i < builder->opts.num_threads; i++) {
		struct elf_worker **worker = &builder->threads[i].worker;
		struct elf_worker_cost cost;

		if (!*worker)
			continue;
		elf_worker_stop(*worker);
		cost = elf_worker_get_cost(*worker);
		builder->ended.cpu_ns += cost.cpu_ns;
		builder->ended.max_rss_bytes += cost.max_rss_bytes;
		elf_worker_free(*worker);
		*worker = NULL;
	}
}

void table_builder_free(struct table_builder *builder)
{
	if (!builder)
		return;
	table_builder_finish(builder);
	array_for_each (&builder->jobs, job)
		release_job(job);
	array_for_each (&builder->results, result)
		unwind_table_free(result->table);
	array_release(&builder->jobs);
	array_release(&builder->results);
	array_release(&builder->owners);
	if (builder->event_fd >= 0)
		close(builder->event_fd);
	pthread_cond_destroy(&builder->has_result);
	pthread_cond_destroy(&builder->has_job);
	pthread_mutex_destroy(&builder->lock);
	free(builder->threads);
	free(builder);
}

int table_builder_add(struct table_builder *builder, uint32_t file,
		      const struct mapped_file *mapped)
{
	struct job job = {.file = file, .num_requests = 1, .mapped = *mapped};
	struct job *added;

	if (mapped->fd < 0)
		return -EBADF;
	job.mapped.path = strdup(mapped->path);
	pthread_mutex_lock(&builder->lock);
	added = job.mapped.path ? array_add(&builder->jobs) : NULL;
	if (added) {
		*added = job;
		pthread_cond_signal(&builder->has_job);
	}
	pthread_mutex_unlock(&builder->lock);
	if (!added) {
		release_job(&job);
		return -ENOMEM;
	}
	return 0;
}

void table_builder_request(struct table_builder *builder, uint32_t file)
{
	pthread_mutex_lock(&builder->lock);
	array_for_each (&builder->jobs, job)
		if (job->file == file)
			job->num_requests++;
	pthread_mutex_unlock(&builder->lock);
}

bool table_builder_take(struct table_builder *builder, uint32_t *ret_file,
			struct unwind_table **ret_table)
{
	bool has_result;
	eventfd_t count;

	pthread_mutex_lock(&builder->lock);
	has_result = builder->results.length > 0;
	if (has_result) {
		*ret_file = builder->results.items[0].file;
		*ret_table = builder->results.items[0].table;
		array_remove(&builder->results, 0);
	} else {
		(void)!eventfd_read(builder->event_fd, &count); /* empty is fine */
	}
	pthread_mutex_unlock(&builder->lock);
	return has_result;
}

int table_builder_get_fd(const struct table_builder *builder)
{
	return builder->event_fd;
}

/* The lock is held. */
static bool has_prompt_jobs(const struct table_builder *builder)
{
	if (builder->num_running_prompt)
		return true;
	array_for_each (&builder->jobs, job)
		if (is_prompt(builder, job))
			return true;
	return false;
}

bool table_builder_wait(struct table_builder *builder, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SECOND),
				       .tv_nsec = (long)(until_ns % NS_PER_SECOND)};
	bool has_result;
	int err = 0;

	pthread_mutex_lock(&builder->lock);
	while (!builder->results.length && has_prompt_jobs(builder) && !err)
		err = pthread_cond_clockwait(&builder->has_result, &builder->lock, CLOCK_MONOTONIC,
					     &until);
	has_result = builder->results.length > 0;
	pthread_mutex_unlock(&builder->lock);
	return has_result;
}

uint64_t table_builder_get_wall_ns(struct table_builder *builder)
{
	uint64_t wall_ns;

	pthread_mutex_lock(&builder->lock);
	wall_ns = builder->wall_ns;
	pthread_mutex_unlock(&builder->lock);
	return wall_ns;
}

struct elf_worker_cost table_builder_get_cost(const struct table_builder *builder)
{
	struct elf_worker_cost sum = builder->ended;

	for (unsigned int i = 0; i < builder->num_threads; i++) {
		struct elf_worker_cost cost = elf_worker_get_cost(builder->threads[i].worker);

		sum.cpu_ns += cost.cpu_ns;
		sum.max_rss_bytes += cost.max_rss_bytes;
	}
	return sum;
}
