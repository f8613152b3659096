#include "collect/kernel/file_leases.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"

/* It is SIGIO instead if too many of the other are pending. */
#define BREAK_SIGNAL SIGRTMIN

/* For a user that could not let go. */
#define RETRY_S 1

struct lease {
	struct leased_file file;
	int fd;
	bool is_broken;
};

/* A file whose lease was given back. */
struct returned_lease {
	struct leased_file file;
	uint64_t count; /* how often */
};

struct file_leases {
	struct file_leases_user user;
	pthread_t thread;
	sem_t has_started;
	pid_t tid;
	pthread_mutex_t lock; /* of the rest */
	ARRAY(struct lease) leases;
	bool has_user; /* it is ready */
	bool is_ending;
	size_t num_broken;
	char *first_path;
	/* The other lock may be held for seconds, while the user lets go. */
	pthread_mutex_t returned_lock; /* of the next one */
	ARRAY(struct returned_lease) returned;
};

static void note_broken(struct file_leases *leases, struct lease *lease)
{
	char path[PATH_MAX];

	if (lease->is_broken)
		return;
	lease->is_broken = true;
	if (leases->num_broken++ || file_read_path(lease->fd, path, sizeof(path)))
		return;
	text_mask_controls(path);
	leases->first_path = strdup(path);
}

static bool is_same_file(const struct leased_file *a, const struct leased_file *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* The lock of returned leases is held. NULL: its lease was never given back. */
static struct returned_lease *find_returned(const struct file_leases *leases,
					    const struct leased_file *file)
{
	array_for_each (&leases->returned, returned)
		if (is_same_file(&returned->file, file))
			return returned;
	return NULL;
}

static void count_returned(struct file_leases *leases, const struct leased_file *file)
{
	struct returned_lease *found;

	pthread_mutex_lock(&leases->returned_lock);
	found = find_returned(leases, file);
	if (!found) {
		found = array_add(&leases->returned);
		if (found)
			*found = (struct returned_lease){.file = *file};
	}
	if (found)
		found->count++;
	pthread_mutex_unlock(&leases->returned_lock);
}

/*
 * The kernel waits for that for 45 s (/proc/sys/fs/lease-break-time). The descriptor is the only
 * one of the lease, which ends with it.
 *
 * Returns whether all were given back. The lock is held.
 */
static bool give_back_broken(struct file_leases *leases)
{
	size_t i = 0;
	bool is_done = true;

	while (leases->has_user && i < leases->leases.length) {
		struct lease *lease = &leases->leases.items[i];

		if (fcntl(lease->fd, F_GETLEASE) == F_RDLCK) {
			i++;
			continue;
		}
		note_broken(leases, lease);
		if (!leases->user.let_go(leases->user.context, &lease->file)) {
			is_done = false;
			i++;
			continue;
		}
		count_returned(leases, &lease->file);
		close(lease->fd);
		array_remove(&leases->leases, i);
	}
	return is_done;
}

static void wait_for_break(const sigset_t *signals, bool has_broken)
{
	const struct timespec retry = {.tv_sec = RETRY_S};

	(void)sigtimedwait(signals, NULL, has_broken ? &retry : NULL);
}

static void *run(void *context)
{
	struct file_leases *leases = context;
	sigset_t signals;
	bool is_done = true;

	sigemptyset(&signals);
	sigaddset(&signals, BREAK_SIGNAL);
	sigaddset(&signals, SIGIO);
	/* The thread starts before the recorder has given up its rights. */
	(void)!confinement_keep_sampling_rights(false);
	leases->tid = gettid();
	sem_post(&leases->has_started);
	pthread_mutex_lock(&leases->lock);
	while (!leases->is_ending) {
		pthread_mutex_unlock(&leases->lock);
		wait_for_break(&signals, !is_done);
		pthread_mutex_lock(&leases->lock);
		is_done = give_back_broken(leases);
	}
	pthread_mutex_unlock(&leases->lock);
	return NULL;
}

int file_leases_new(const struct file_leases_user *user, struct file_leases **ret)
{
	struct file_leases *leases = calloc(1, sizeof(*leases));
	sigset_t all;
	sigset_t before;
	int err;

	if (!leases)
		return -ENOMEM;
	leases->user = *user;
	pthread_mutex_init(&leases->lock, NULL);
	pthread_mutex_init(&leases->returned_lock, NULL);
	sem_init(&leases->has_started, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&leases->thread, NULL, run, leases);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		sem_destroy(&leases->has_started);
		pthread_mutex_destroy(&leases->lock);
		pthread_mutex_destroy(&leases->returned_lock);
		free(leases);
		return -err;
	}
	while (sem_wait(&leases->has_started) && errno == EINTR)
		;
	*ret = leases;
	return 0;
}

/* Have the thread look. */
static void wake(struct file_leases *leases, bool is_ending)
{
	pthread_mutex_lock(&leases->lock);
	leases->has_user = !is_ending;
	leases->is_ending = is_ending;
	pthread_mutex_unlock(&leases->lock);
	pthread_kill(leases->thread, BREAK_SIGNAL);
}

void file_leases_start(struct file_leases *leases)
{
	wake(leases, false);
}

void file_leases_free(struct file_leases *leases)
{
	if (!leases)
		return;
	wake(leases, true);
	pthread_join(leases->thread, NULL);
	array_for_each (&leases->leases, lease)
		close(lease->fd);
	array_release(&leases->leases);
	array_release(&leases->returned);
	sem_destroy(&leases->has_started);
	pthread_mutex_destroy(&leases->lock);
	pthread_mutex_destroy(&leases->returned_lock);
	free(leases->first_path);
	free(leases);
}

/* NULL: no lease */
static const struct lease *find_lease(const struct file_leases *leases,
				      const struct leased_file *file)
{
	array_for_each (&leases->leases, lease)
		if (is_same_file(&lease->file, file))
			return lease;
	return NULL;
}

static int take_as(int fd, uid_t user)
{
	int before = setfsuid(user);
	int err = fcntl(fd, F_SETLEASE, F_RDLCK) ? -errno : 0;

	(void)setfsuid((uid_t)before);
	return err;
}

/*
 * The owner of signals comes first: taking the lease would make the whole process that. A file's
 * owner may take leases without a capability.
 */
static int take_lease(const struct file_leases *leases, int fd, uid_t file_owner)
{
	const struct f_owner_ex thread = {.type = F_OWNER_TID, .pid = leases->tid};

	if (fcntl(fd, F_SETOWN_EX, &thread) || fcntl(fd, F_SETSIG, BREAK_SIGNAL))
		return -errno;
	if (!fcntl(fd, F_SETLEASE, F_RDLCK))
		return 0;
	return errno == EACCES ? take_as(fd, file_owner) : -errno;
}

/* With a description of the open file of its own, which has the lease. The lock is held. */
static int add_lease(struct file_leases *leases, int fd, const struct stat *status,
		     const struct leased_file *file)
{
	_cleanup_close_ int own_fd = file_open_found(fd);
	struct lease *added;
	int err = own_fd < 0 ? own_fd : take_lease(leases, own_fd, status->st_uid);

	if (err)
		return err;
	added = array_add(&leases->leases);
	if (!added)
		return -ENOMEM;
	*added = (struct lease){.file = *file, .fd = own_fd};
	own_fd = -1;
	return 0;
}

int file_leases_begin(struct file_leases *leases, int fd, struct leased_file *ret)
{
	const struct lease *lease;
	struct stat status;

	*ret = (struct leased_file){0};
	pthread_mutex_lock(&leases->lock);
	if (fstat(fd, &status))
		return -errno;
	*ret = (struct leased_file){status.st_dev, status.st_ino};
	lease = find_lease(leases, ret);
	if (!lease)
		return add_lease(leases, fd, &status, ret);
	return lease->is_broken ? -EAGAIN : 0;
}

void file_leases_end(struct file_leases *leases)
{
	pthread_mutex_unlock(&leases->lock);
}

struct broken_leases file_leases_get_broken(struct file_leases *leases)
{
	struct broken_leases broken;

	if (!leases)
		return (struct broken_leases){0};
	pthread_mutex_lock(&leases->lock);
	broken = (struct broken_leases){leases->num_broken, leases->first_path};
	pthread_mutex_unlock(&leases->lock);
	return broken;
}

uint64_t file_leases_count_returned(struct file_leases *leases, const struct leased_file *file)
{
	const struct returned_lease *found;
	uint64_t count;

	if (!leases)
		return 0;
	pthread_mutex_lock(&leases->returned_lock);
	found = find_returned(leases, file);
	count = found ? found->count : 0;
	pthread_mutex_unlock(&leases->returned_lock);
	return count;
}
