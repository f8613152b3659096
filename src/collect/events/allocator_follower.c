#include "collect/events/allocator_follower.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/events/allocator_sites.h"
#include "collect/events/owner_shares.h"
#include "collect/events/probe.h"
#include "collect/events/process_answers.h"
#include "process/code_owner.h"
#include "process/slow_opener.h"

/*
 * Limits of files: looked into, followed, and waiting. Each one that waits has a descriptor, and
 * each one that is followed has links for each event; without links, each of its functions does.
 */
#define MAX_LOOKS    16384
#define MAX_FOLLOWED 64
#define MAX_QUEUED   512
/* Part of the limits that is left to root and ourselves. */
#define PART_OF_TRUSTED 4
/* Files between two checks whether all processes answer. */
#define BATCH 16
/* At the end: time for files that wait, and then for the last call of the thread. */
#define LOOK_NS (2 * NS_PER_SECOND)
#define LAST_NS (3 * NS_PER_SECOND)

/* A content of a mapped file. */
struct seen_content {
	uint64_t device;
	uint64_t inode;
	uint64_t num_bytes;
	uint64_t modified_ns; /* may wrap around */
};
INTERN_TABLE(seen_contents, struct seen_content, device, inode, num_bytes, modified_ns);

/* A file to look into. */
struct follower_job {
	char *path; /* for messages */
	int fd;
	uid_t owner;
	uid_t payer; /* the user with the share of the limits that it takes */
	bool is_copy;
	struct file_version version;
	uint64_t mapped_ns;
};

/* An event of allocators. */
struct followed_event {
	size_t number;
	struct allocator_probes probes;
};

struct allocator_follower {
	struct allocator_follower_opts opts;
	ARRAY(struct followed_event) events;
	const struct mapped_files *at_start; /* borrowed: files known then */
	const struct mapped_files *unknown;  /* likewise: programs without a known allocator */
	/* Used by the calling thread: */
	struct seen_contents seen;
	struct owner_shares looks;
	pthread_t thread;
	bool has_thread;
	/* Used by the thread, while it runs: */
	struct site_attacher attacher;
	struct elf_worker *worker;
	struct slow_opener *opener;
	struct owner_shares followed;
	struct owner_shares sites;
	/* Used by both: */
	atomic_bool is_closing;
	pthread_mutex_t lock; /* protects the rest */
	pthread_cond_t changed;
	ARRAY(struct follower_job) jobs; /* waiting */
	struct owner_shares waiting;     /* theirs */
	size_t num_taken;                /* jobs that the thread has */
	uint64_t until_ns;               /* end of looking, once it is closing */
	bool has_ended;
	struct late_allocators result;
	char *first_path; /* the result's */
	char *first_followed_path;
	char *first_unknown_path;
};

static const char recording_ends[] = "the recording ends";

/* ---- results ------------------------------------------------------------------------------ */

static void count_unread(struct allocator_follower *follower, size_t count)
{
	pthread_mutex_lock(&follower->lock);
	follower->result.num_unread += (uint32_t)count;
	pthread_mutex_unlock(&follower->lock);
}

static void count_missed(struct allocator_follower *follower, const struct follower_job *job,
			 const char *reason)
{
	log_debug("allocations of %s are missing: %s", job->path, reason);
	pthread_mutex_lock(&follower->lock);
	if (!follower->result.num_files++)
		follower->first_path = strdup(job->path);
	pthread_mutex_unlock(&follower->lock);
}

/* A program that uses no libraries has no known allocator, or one that is written in Go. */
static void count_unknown(struct allocator_follower *follower, const char *path)
{
	char *masked = strdup(path);

	if (masked)
		text_mask_controls(masked);
	log_debug("no known allocator is in %s", masked ? masked : "a program");
	pthread_mutex_lock(&follower->lock);
	if (!follower->result.num_unknown++)
		follower->first_unknown_path = masked;
	else
		free(masked);
	pthread_mutex_unlock(&follower->lock);
}

static void count_followed(struct allocator_follower *follower, const struct follower_job *job)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t delay_ns = now_ns > job->mapped_ns ? now_ns - job->mapped_ns : 0;
	struct late_allocators *result = &follower->result;

	pthread_mutex_lock(&follower->lock);
	if (!result->num_followed++)
		follower->first_followed_path = strdup(job->path);
	if (delay_ns > result->max_delay_ns)
		result->max_delay_ns = delay_ns;
	pthread_mutex_unlock(&follower->lock);
	log_debug("allocations of %s count from %.1f ms after it was mapped", job->path,
		  (double)delay_ns / 1e6);
}

/* ---- in the thread -------------------------------------------------------------------------- */

static void release_job(struct follower_job *job)
{
	cleanup_closep(&job->fd);
	free(job->path);
}

/* As mapped_file_is_unchanged(). */
static bool is_unchanged(const struct follower_job *job)
{
	struct file_version version;

	return !file_version_read(job->fd, &version) &&
	       file_version_looks_same(&version, &job->version);
}

/* Returns 0 (it has an allocator, which the caller releases), or negative errno. */
static int look_into(struct allocator_follower *follower, const struct follower_job *job,
		     struct allocator *ret)
{
	const struct elf_source_file file = {.fd = job->fd, .owner = job->owner, .path = job->path};
	int err = elf_worker_find_allocator(follower->worker, &file, ret);

	if (err == -ETIMEDOUT || err == -ECANCELED || err == -ENOMEM)
		count_unread(follower, 1);
	if (err == -ENODATA || (!err && ret->has_unknown))
		count_unknown(follower, job->path);
	return err;
}

/* Why an allocator cannot be followed; NULL: it can, and has its share of the limits. */
static const char *find_obstacle(struct allocator_follower *follower,
				 const struct follower_job *job, const struct allocator *allocator)
{
	if (atomic_load(&follower->is_closing))
		return recording_ends;
	if (job->is_copy)
		return "its file system may hang";
	/* Its functions may be elsewhere by now. */
	if (!is_unchanged(job))
		return "it was overwritten";
	if (owner_shares_take(&follower->followed, job->payer, 1) <= 0)
		return "too many files with an allocator came after the start";
	if (owner_shares_take(&follower->sites, job->payer, allocator->functions.length) <= 0)
		return "too many functions of allocators came after the start";
	return NULL;
}

static int attach_for(const struct allocator_follower *follower, const struct followed_event *event,
		      const struct follower_job *job, const struct allocator *allocator)
{
	ARRAY(struct probe_site) sites = {0};
	int err = array_reserve(&sites, allocator->functions.length);

	if (err)
		return err;
	array_for_each (&allocator->functions, function)
		if (allocator_site_is_needed(function, event->probes.is_live))
			sites.items[sites.length++] = allocator_site_describe(
				allocator, function, &event->probes, job->fd);
	err = follower->attacher.attach(follower->attacher.context, event->number, sites.items,
					sites.length);
	array_release(&sites);
	return err;
}

static void attach(struct allocator_follower *follower, const struct follower_job *job,
		   const struct allocator *allocator)
{
	array_for_each (&follower->events, event) {
		int err = attach_for(follower, event, job, allocator);

		if (err) {
			count_missed(follower, job,
				     err == -ESHUTDOWN ? recording_ends : strerror(-err));
			return;
		}
	}
	count_followed(follower, job);
}

/* The whole machine is asked once for all files of a batch. */
static void follow(struct allocator_follower *follower, const struct follower_job *jobs,
		   const struct allocator *found, size_t count)
{
	struct error error = {0};
	int err = count ? process_answers_check(follower->opener, &error) : 0;

	for (size_t i = 0; i < count; i++) {
		if (err)
			count_missed(follower, &jobs[i],
				     error.message[0] ? error.message : strerror(-err));
		else if (atomic_load(&follower->is_closing))
			count_missed(follower, &jobs[i], recording_ends);
		else
			attach(follower, &jobs[i], &found[i]);
	}
}

static void handle(struct allocator_follower *follower, struct follower_job *jobs, size_t count)
{
	struct follower_job with[BATCH];
	struct allocator found[BATCH] = {0};
	size_t num_found = 0;

	for (size_t i = 0; i < count; i++) {
		struct allocator *allocator = &found[num_found];
		const char *obstacle;
		int err = look_into(follower, &jobs[i], allocator);

		if (err == -E2BIG)
			count_missed(follower, &jobs[i], "it has too many functions that allocate");
		if (err)
			continue;
		obstacle = find_obstacle(follower, &jobs[i], allocator);
		if (!obstacle) {
			with[num_found++] = jobs[i];
			continue;
		}
		count_missed(follower, &jobs[i], obstacle);
		allocator_release(allocator);
		*allocator = (struct allocator){0};
	}
	follow(follower, with, found, num_found);
	for (size_t i = 0; i < num_found; i++)
		allocator_release(&found[i]);
	for (size_t i = 0; i < count; i++)
		release_job(&jobs[i]);
}

/* Files of root and ourselves are first. The lock is held. Returns the number of jobs. */
static size_t take_jobs(struct allocator_follower *follower, struct follower_job ret[BATCH])
{
	size_t count = 0;

	for (int is_trusted = 1; is_trusted >= 0; is_trusted--) {
		size_t i = 0;

		while (i < follower->jobs.length && count < BATCH) {
			if (file_owner_is_trusted(follower->jobs.items[i].payer) != is_trusted) {
				i++;
				continue;
			}
			owner_shares_give_back(&follower->waiting, follower->jobs.items[i].payer,
					       1);
			ret[count++] = follower->jobs.items[i];
			array_remove(&follower->jobs, i);
		}
	}
	follower->num_taken = count;
	return count;
}

/* The lock is held. */
static bool is_time_left(const struct allocator_follower *follower)
{
	return !atomic_load(&follower->is_closing) || clock_now_ns() < follower->until_ns;
}

static void *run(void *context)
{
	struct allocator_follower *follower = context;

	/* The thread starts before the recorder has given up its rights. */
	(void)!confinement_keep_sampling_rights(follower->opts.keeps_administrator);
	pthread_mutex_lock(&follower->lock);
	while (is_time_left(follower)) {
		struct follower_job jobs[BATCH];
		size_t count = take_jobs(follower, jobs);

		if (!count && atomic_load(&follower->is_closing))
			break;
		if (!count) {
			pthread_cond_wait(&follower->changed, &follower->lock);
			continue;
		}
		pthread_mutex_unlock(&follower->lock);
		handle(follower, jobs, count);
		pthread_mutex_lock(&follower->lock);
		follower->num_taken = 0;
	}
	follower->has_ended = true;
	pthread_cond_broadcast(&follower->changed);
	pthread_mutex_unlock(&follower->lock);
	return NULL;
}

/* ---- start and files ---------------------------------------------------------------------- */

bool allocator_follower_is_needed(const struct event *events, size_t num_events)
{
	for (size_t i = 0; i < num_events; i++)
		if (event_is_of_allocators(&events[i]))
			return true;
	return false;
}

static struct owner_shares make_shares(const struct allocator_follower_opts *opts, size_t room)
{
	return (struct owner_shares){
		.room = room,
		.room_of_users = room - room / PART_OF_TRUSTED,
		.is_shared = opts->is_shared,
	};
}

/* The thread does not use the events themselves, which may be gone before it. */
static int copy_events(struct allocator_follower *follower)
{
	for (size_t i = 0; i < follower->opts.num_events; i++) {
		const struct event *event = &follower->opts.events[i];
		struct followed_event *added;

		if (!event_is_of_allocators(event))
			continue;
		added = array_add(&follower->events);
		if (!added)
			return -ENOMEM;
		*added = (struct followed_event){i, event->probe->allocators};
		follower->at_start = &event->probe->looked_at;
		follower->unknown = &event->probe->unknown;
	}
	return 0;
}

static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

int allocator_follower_new(const struct allocator_follower_opts *opts,
			   struct allocator_follower **ret)
{
	struct allocator_follower *follower = calloc(1, sizeof(*follower));
	int err;

	if (!follower)
		return -ENOMEM;
	follower->opts = *opts;
	follower->looks = make_shares(opts, MAX_LOOKS);
	follower->followed = make_shares(opts, MAX_FOLLOWED);
	follower->sites = make_shares(opts, PROBE_MAX_LATE_SITES);
	follower->waiting = make_shares(opts, MAX_QUEUED);
	pthread_mutex_init(&follower->lock, NULL);
	init_condition(&follower->changed);
	err = copy_events(follower);
	if (!err)
		err = slow_opener_new(&follower->opener);
	if (!err)
		err = elf_worker_new(opts->worker_user, false, &follower->worker);
	if (err) {
		(void)allocator_follower_free(follower);
		return err;
	}
	*ret = follower;
	return 0;
}

int allocator_follower_start(struct allocator_follower *follower,
			     const struct site_attacher *attacher)
{
	sigset_t all;
	sigset_t before;
	int err;

	follower->attacher = *attacher;
	/* Signals are handled by other threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&follower->thread, NULL, run, follower);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	follower->has_thread = !err;
	return -err;
}

/*
 * A user may map any file, those of root, too. A process that is gone already has an unknown user.
 */
static uid_t find_payer(const struct opened_mapping *mapping)
{
	struct code_owner process;

	if (!file_owner_is_trusted(mapping->owner))
		return mapping->owner;
	if (code_owner_read("/proc", mapping->range->pid, &process))
		return FILE_OWNER_UNKNOWN;
	return file_owner_is_trusted(process.uid) ? process.real_uid : process.uid;
}

static struct mapped_file_id get_id(const struct opened_mapping *mapping)
{
	return (struct mapped_file_id){
		.dev = makedev(mapping->dev_major, mapping->dev_minor),
		.inode = mapping->inode,
		.num_bytes = mapping->version.num_bytes,
		.modified = mapping->version.modified,
	};
}

/* Whether to look into a file. Counts those beyond the limits. */
static bool is_wanted(struct allocator_follower *follower, const struct opened_mapping *mapping,
		      uid_t *ret_payer)
{
	const struct seen_content content = {
		.device = makedev(mapping->dev_major, mapping->dev_minor),
		.inode = mapping->inode,
		.num_bytes = mapping->version.num_bytes,
		.modified_ns = (uint64_t)mapping->version.modified.tv_sec * NS_PER_SECOND +
			       (uint64_t)mapping->version.modified.tv_nsec,
	};
	const struct mapped_file_id id = get_id(mapping);
	uint32_t place;

	if (!mapping->is_elf || mapping->path[0] != '/' ||
	    (!mapping->is_again &&
	     seen_contents_find(&follower->seen, &content) != HASH_INDEX_NONE))
		return false;
	if (!mapping->is_again && mapped_files_have(follower->at_start, &id)) {
		/* It was looked into at the start, and is run now. */
		if (mapped_files_have(follower->unknown, &id) &&
		    !seen_contents_add(&follower->seen, &content, &place))
			count_unknown(follower, mapping->path);
		return false;
	}
	*ret_payer = follower->opts.is_shared ? find_payer(mapping) : mapping->owner;
	if (owner_shares_take(&follower->looks, *ret_payer, 1) > 0 &&
	    !seen_contents_intern(&follower->seen, &content, &place))
		return true;
	count_unread(follower, 1);
	return false;
}

/* Takes the job. Returns whether it waits now. */
static bool queue(struct allocator_follower *follower, const struct follower_job *job)
{
	struct follower_job *added = NULL;

	pthread_mutex_lock(&follower->lock);
	if (job->path && job->fd >= 0 && !atomic_load(&follower->is_closing) &&
	    owner_shares_take(&follower->waiting, job->payer, 1) > 0) {
		added = array_add(&follower->jobs);
		if (added)
			*added = *job;
		else
			owner_shares_give_back(&follower->waiting, job->payer, 1);
	}
	pthread_cond_broadcast(&follower->changed);
	pthread_mutex_unlock(&follower->lock);
	return added;
}

void allocator_follower_add(struct allocator_follower *follower,
			    const struct opened_mapping *mapping)
{
	struct follower_job job = {
		.owner = mapping->owner,
		.is_copy = mapping->is_copy,
		.version = mapping->version,
		.mapped_ns = mapping->range->time_ns,
	};

	if (!is_wanted(follower, mapping, &job.payer))
		return;
	if (!job.mapped_ns)
		job.mapped_ns = clock_now_ns();
	job.path = strdup(mapping->path);
	if (job.path)
		text_mask_controls(job.path);
	job.fd = fcntl(mapping->fd, F_DUPFD_CLOEXEC, 0);
	if (queue(follower, &job))
		return;
	count_unread(follower, 1);
	release_job(&job);
}

/* ---- end ---------------------------------------------------------------------------------- */

void allocator_follower_close(struct allocator_follower *follower)
{
	if (!follower)
		return;
	pthread_mutex_lock(&follower->lock);
	if (!atomic_exchange(&follower->is_closing, true))
		follower->until_ns = clock_now_ns() + LOOK_NS;
	pthread_cond_broadcast(&follower->changed);
	pthread_mutex_unlock(&follower->lock);
}

/* Returns whether the thread has ended. */
static bool await_end(struct allocator_follower *follower, uint64_t limit_ns)
{
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + limit_ns;
	struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_SECOND),
			       .tv_nsec = (long)(end_ns % NS_PER_SECOND)};
	bool has_ended;

	pthread_mutex_lock(&follower->lock);
	while (!follower->has_ended &&
	       !pthread_cond_timedwait(&follower->changed, &follower->lock, &end))
		;
	has_ended = follower->has_ended;
	pthread_mutex_unlock(&follower->lock);
	return has_ended;
}

/* Returns whether the thread has ended, and was joined. */
static bool end_thread(struct allocator_follower *follower)
{
	if (!follower->has_thread)
		return true;
	allocator_follower_close(follower);
	if (!await_end(follower, LOOK_NS)) {
		elf_worker_cancel(follower->worker);
		if (!await_end(follower, LAST_NS))
			return false;
	}
	pthread_join(follower->thread, NULL);
	follower->has_thread = false;
	elf_worker_stop(follower->worker);
	slow_opener_end(follower->opener);
	return true;
}

struct late_allocators allocator_follower_finish(struct allocator_follower *follower)
{
	struct late_allocators result;

	if (!follower)
		return (struct late_allocators){0};
	if (!end_thread(follower))
		log_debug("attaching probes to an allocator has not ended");
	pthread_mutex_lock(&follower->lock);
	result = follower->result;
	result.num_unread += (uint32_t)(follower->jobs.length + follower->num_taken);
	if (result.num_files)
		result.first_path = follower->first_path ? follower->first_path : "?";
	if (result.num_followed)
		result.first_followed_path =
			follower->first_followed_path ? follower->first_followed_path : "?";
	if (result.num_unknown)
		result.first_unknown_path =
			follower->first_unknown_path ? follower->first_unknown_path : "?";
	pthread_mutex_unlock(&follower->lock);
	return result;
}

struct elf_worker_cost allocator_follower_get_cost(const struct allocator_follower *follower)
{
	struct elf_worker_cost cost;

	if (!follower)
		return (struct elf_worker_cost){0};
	cost = elf_worker_get_cost(follower->worker);
	if (!follower->has_thread)
		cost.cpu_ns += slow_opener_read_cpu_ns(follower->opener);
	return cost;
}

bool allocator_follower_free(struct allocator_follower *follower)
{
	if (!follower)
		return true;
	if (!end_thread(follower))
		return false;
	elf_worker_free(follower->worker);
	slow_opener_free(follower->opener);
	array_for_each (&follower->jobs, job)
		release_job(job);
	array_release(&follower->jobs);
	array_release(&follower->events);
	owner_shares_release(&follower->looks);
	owner_shares_release(&follower->followed);
	owner_shares_release(&follower->sites);
	owner_shares_release(&follower->waiting);
	seen_contents_release(&follower->seen);
	pthread_cond_destroy(&follower->changed);
	pthread_mutex_destroy(&follower->lock);
	free(follower->first_path);
	free(follower->first_followed_path);
	free(follower->first_unknown_path);
	free(follower);
	return true;
}
