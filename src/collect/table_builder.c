#include "collect/table_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "objfile/objfile.h"

struct job {
	uint32_t file;
	uint32_t num_wanted;
	int fd;
	char *path;
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* 0: not to be looked for in the cache, nor kept there */
};

struct result {
	uint32_t file;
	struct unwind_table *table;
};

struct table_builder {
	struct table_builder_opts opts;
	pthread_mutex_t lock;
	pthread_cond_t has_job;
	pthread_cond_t has_result;
	ARRAY(struct job) jobs; /* waiting */
	ARRAY(struct result) results;
	unsigned int num_running;
	uint64_t wall_ns; /* from when jobs were taken until they were done, summed */
	bool is_closing;
	int event_fd;
	pthread_t *threads;
	unsigned int num_threads;
};

static void release_job(struct job *job)
{
	close(job->fd);
	free(job->path);
}

static struct unwind_table *build_table(const struct job *job)
{
	struct unwind_table *table = NULL;
	struct objfile *objfile = NULL;
	struct error error = {0};
	int err = objfile_open(job->fd, job->path, NULL, &objfile, &error);

	if (!err)
		err = unwind_table_new(objfile, &table, &error);
	objfile_unref(objfile);
	if (err)
		log_debug("%s has no unwind table: %s", job->path,
			  error.message[0] ? error.message : strerror(-err));
	return err ? NULL : table;
}

static struct unwind_table *get_table(struct table_builder *builder, const struct job *job)
{
	struct unwind_table *table;
	struct error error = {0};

	if (!builder->opts.cache || !job->build_id_size)
		return build_table(job);
	if (!table_cache_load(builder->opts.cache, job->build_id, job->build_id_size, &table,
			      &error))
		return table;
	table = build_table(job);
	if (table && table_cache_store(builder->opts.cache, job->build_id, job->build_id_size,
				       table, &error))
		log_debug("%s: its unwind table is not kept: %s", job->path, error.message);
	return table;
}

/* The job that is wanted most. The lock is held. */
static struct job take_job(struct table_builder *builder)
{
	size_t best = 0;
	struct job job;

	for (size_t i = 1; i < builder->jobs.length; i++)
		if (builder->jobs.items[i].num_wanted > builder->jobs.items[best].num_wanted)
			best = i;
	job = builder->jobs.items[best];
	array_remove(&builder->jobs, best);
	return job;
}

static void add_result(struct table_builder *builder, uint32_t file, struct unwind_table *table)
{
	struct result *result = array_add(&builder->results);

	if (result)
		*result = (struct result){.file = file, .table = table};
	else
		unwind_table_free(table); /* the file stays without table: its stacks are cut */
	(void)!eventfd_write(builder->event_fd, 1); /* full means readable, too */
	pthread_cond_signal(&builder->has_result);
}

static void *run_worker(void *context)
{
	struct table_builder *builder = context;

	pthread_mutex_lock(&builder->lock);
	while (!builder->is_closing) {
		struct unwind_table *table;
		uint64_t start_ns;
		struct job job;

		if (!builder->jobs.length) {
			pthread_cond_wait(&builder->has_job, &builder->lock);
			continue;
		}
		job = take_job(builder);
		builder->num_running++;
		pthread_mutex_unlock(&builder->lock);
		start_ns = clock_now_ns();
		table = get_table(builder, &job);
		if (table && builder->opts.on_table)
			builder->opts.on_table(table, builder->opts.context);
		release_job(&job);
		pthread_mutex_lock(&builder->lock);
		builder->num_running--;
		builder->wall_ns += clock_now_ns() - start_ns;
		add_result(builder, job.file, table);
	}
	pthread_mutex_unlock(&builder->lock);
	return NULL;
}

int table_builder_new(const struct table_builder_opts *opts, struct table_builder **ret)
{
	struct table_builder *builder = calloc(1, sizeof(*builder));

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
	for (; builder->num_threads < opts->num_threads; builder->num_threads++) {
		int err = pthread_create(&builder->threads[builder->num_threads], NULL, run_worker,
					 builder);

		if (err) {
			table_builder_free(builder);
			return -err;
		}
	}
	*ret = builder;
	return 0;
}

void table_builder_free(struct table_builder *builder)
{
	if (!builder)
		return;
	pthread_mutex_lock(&builder->lock);
	builder->is_closing = true;
	pthread_cond_broadcast(&builder->has_job);
	pthread_mutex_unlock(&builder->lock);
	for (unsigned int i = 0; i < builder->num_threads; i++)
		pthread_join(builder->threads[i], NULL);
	array_for_each (&builder->jobs, job)
		release_job(job);
	array_for_each (&builder->results, result)
		unwind_table_free(result->table);
	array_release(&builder->jobs);
	array_release(&builder->results);
	if (builder->event_fd >= 0)
		close(builder->event_fd);
	pthread_cond_destroy(&builder->has_result);
	pthread_cond_destroy(&builder->has_job);
	pthread_mutex_destroy(&builder->lock);
	free(builder->threads);
	free(builder);
}

/*
 * Whether no ordinary user can have chosen what the file says, its build ID included: else he could
 * give his table to everybody who maps the file that he names.
 */
static bool is_trusted(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_uid == 0 && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

int table_builder_add(struct table_builder *builder, uint32_t file,
		      const struct mapped_file *mapped)
{
	struct job job = {.file = file, .num_wanted = 1};
	struct job *added;

	job.fd = fcntl(mapped->fd, F_DUPFD_CLOEXEC, 3);
	if (job.fd < 0)
		return -errno;
	if (is_trusted(job.fd)) {
		memcpy(job.build_id, mapped->build_id, mapped->build_id_size);
		job.build_id_size = mapped->build_id_size;
	}
	job.path = strdup(mapped->path);
	pthread_mutex_lock(&builder->lock);
	added = job.path ? array_add(&builder->jobs) : NULL;
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

void table_builder_want(struct table_builder *builder, uint32_t file)
{
	pthread_mutex_lock(&builder->lock);
	array_for_each (&builder->jobs, job)
		if (job->file == file)
			job->num_wanted++;
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

bool table_builder_wait(struct table_builder *builder)
{
	bool has_result;

	pthread_mutex_lock(&builder->lock);
	while (!builder->results.length && (builder->jobs.length || builder->num_running))
		pthread_cond_wait(&builder->has_result, &builder->lock);
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
