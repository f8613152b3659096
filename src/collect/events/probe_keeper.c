#include "collect/events/probe_keeper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "collect/events/process_answers.h"
#include "collect/kernel/close_together.h"

/* To take one more probe. */
#define ADD_LIMIT_MS 1000
/* For a process that has taken all its probes away. */
#define REAP_MS 200

/* With the descriptor of a probe: hold it. Else take those of the file away. */
struct keeper_request {
	uint64_t number;
	struct leased_file file; /* all 0: all files */
};

struct keeper_answer {
	uint64_t number; /* of its request */
	int32_t err;
};

struct kept_probe {
	int fd;
	struct leased_file file;
};

struct probe_keeper {
	struct worker worker;
	pid_t pid;            /* as long as there may be such a process */
	_Atomic pid_t *asked; /* shared with it: the process whose answer it waits for */
	pthread_mutex_t lock; /* of the rest, and of the socket */
	uint64_t num_requests;
};

/* ---- in the process ---- */

/* The probes that the process holds. */
struct kept {
	ARRAY(struct kept_probe) probes;
	_Atomic pid_t *asked;
};

static bool is_same(const struct leased_file *a, const struct leased_file *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static bool is_any(const struct leased_file *file)
{
	return !file->device && !file->inode;
}

static int keep(struct kept *kept, int fd, const struct leased_file *file)
{
	struct kept_probe *added = array_add(&kept->probes);

	if (!added)
		return -ENOMEM;
	*added = (struct kept_probe){fd, *file};
	return 0;
}

static int let_go(struct kept *kept, const struct leased_file *file)
{
	_cleanup_free_ int *fds = calloc(kept->probes.length + 1, sizeof(*fds));
	size_t num_fds = 0;
	size_t num_left = 0;

	if (!fds)
		return -ENOMEM;
	array_for_each (&kept->probes, probe) {
		if (is_any(file) || is_same(&probe->file, file))
			fds[num_fds++] = probe->fd;
		else
			kept->probes.items[num_left++] = *probe;
	}
	kept->probes.length = num_left;
	if (!num_fds)
		return 0;
	process_answers_wait(kept->asked);
	close_together(fds, num_fds);
	return 0;
}

static int do_request(struct kept *kept, const struct keeper_request *request, int *fd)
{
	int err;

	if (*fd < 0)
		return let_go(kept, &request->file);
	err = keep(kept, *fd, &request->file);
	if (!err)
		*fd = -1;
	return err;
}

static void serve(int socket, struct kept *kept)
{
	struct keeper_request request;
	int fds[WORKER_MAX_FDS];

	while (worker_receive(socket, &request, sizeof(request), fds) == sizeof(request)) {
		struct keeper_answer answer = {.number = request.number};
		const struct iovec part = {&answer, sizeof(answer)};

		answer.err = do_request(kept, &request, &fds[0]);
		for (size_t i = 0; i < WORKER_MAX_FDS; i++)
			cleanup_closep(&fds[i]);
		/* Without a recorder nobody waits for it. */
		(void)!worker_send(socket, &part, 1, NULL, 0);
	}
}

/* Its parent, a terminal or a service may end. It stays until its probes are away. */
static void run(int socket, void *asked)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
	struct kept kept = {.asked = asked};

	for (size_t i = 0; i < ARRAY_LENGTH(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)setsid();
	(void)!chdir("/");
	(void)prctl(PR_SET_NAME, "stackwide-keep", 0, 0, 0);
	(void)!confinement_keep_sampling_rights(false);
	(void)!confinement_refuse_all_but_sampling();
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	serve(socket, &kept);
	/* Others wait for the end of both. */
	close(STDERR_FILENO);
	close(socket);
	(void)!let_go(&kept, &(struct leased_file){0});
}

/* ---- asking ---- */

int probe_keeper_new(struct probe_keeper **ret)
{
	struct probe_keeper *keeper = calloc(1, sizeof(*keeper));
	int err;

	if (!keeper)
		return -ENOMEM;
	keeper->asked = mmap(NULL, sizeof(*keeper->asked), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (keeper->asked == MAP_FAILED) {
		free(keeper);
		return -ENOMEM;
	}
	keeper->worker = WORKER_NONE;
	err = worker_start(&keeper->worker, run, keeper->asked);
	if (err) {
		munmap(keeper->asked, sizeof(*keeper->asked));
		free(keeper);
		return err;
	}
	keeper->pid = keeper->worker.pid;
	pthread_mutex_init(&keeper->lock, NULL);
	*ret = keeper;
	return 0;
}

void probe_keeper_free(struct probe_keeper *keeper)
{
	int wait_status;

	if (!keeper)
		return;
	close(keeper->worker.fd);
	(void)!child_reap(keeper->pid, REAP_MS, &wait_status);
	pthread_mutex_destroy(&keeper->lock);
	munmap(keeper->asked, sizeof(*keeper->asked));
	free(keeper);
}

/* Skip late answers to requests that timed out. */
static int wait_for_answer(const struct probe_keeper *keeper, uint64_t number,
			   unsigned int limit_ms)
{
	struct pollfd readable = {.fd = keeper->worker.fd, .events = POLLIN};
	uint64_t end_ns = clock_now_ns() + limit_ms * NS_PER_MS;

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		struct keeper_answer answer;
		int fds[WORKER_MAX_FDS];
		int ready;

		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		ready = poll(&readable, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready <= 0)
			continue;
		if (worker_receive(keeper->worker.fd, &answer, sizeof(answer), fds) !=
		    sizeof(answer))
			return -EPIPE;
		if (answer.number == number)
			return answer.err;
	}
}

/* fd  -1: none */
static int ask(struct probe_keeper *keeper, const struct leased_file *file, int fd,
	       unsigned int limit_ms)
{
	struct keeper_request request = {.file = *file};
	const struct iovec part = {&request, sizeof(request)};
	int err;

	pthread_mutex_lock(&keeper->lock);
	request.number = ++keeper->num_requests;
	err = worker_send(keeper->worker.fd, &part, 1, &fd, fd >= 0);
	if (!err)
		err = wait_for_answer(keeper, request.number, limit_ms);
	pthread_mutex_unlock(&keeper->lock);
	return err == -ECONNRESET ? -EPIPE : err;
}

int probe_keeper_add(struct probe_keeper *keeper, int fd, const struct leased_file *file)
{
	return ask(keeper, file, fd, ADD_LIMIT_MS);
}

int probe_keeper_let_go(struct probe_keeper *keeper, const struct leased_file *file,
			unsigned int limit_ms)
{
	return ask(keeper, file ? file : &(struct leased_file){0}, -1, limit_ms);
}

struct probe_keeper_state probe_keeper_get_state(const struct probe_keeper *keeper)
{
	return (struct probe_keeper_state){keeper->pid, *keeper->asked};
}

uint64_t probe_keeper_read_cpu_ns(const struct probe_keeper *keeper)
{
	return keeper ? child_read_cpu_ns(keeper->pid) : 0;
}
