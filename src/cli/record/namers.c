#include "cli/record/namers.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "base/child.h"
#include "base/child_messages.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/record/owner_budgets.h"
#include "symbolize/naming.h"
#include "symbolize/symbolizer.h"

#define DEBUG_ROOT   "/usr/lib/debug"
#define MEMORY_BYTES (2ull << 30)
/* No file gets more than this fraction of the remaining time: of CPU time, or of idling. */
#define FILE_SHARE  4
#define MIN_FILE_NS (100 * NS_PER_MS)
#define MAX_NAMERS  64
/* Limit of deaths unrelated to a file. */
#define MAX_OTHER_FAULTS 3
#define MAX_REPORTED     4
/* Time for a killed process to end; a file system that hangs may keep it for ever. */
#define REAP_MS 200

/* Written by the namer: its current file, and the locations that have been sent. */
struct naming_state {
	_Atomic uint32_t file;   /* FILE_NONE: none */
	_Atomic uint8_t named[]; /* a bit for each location */
};

/* A file's effect on a namer. */
struct naming_fault {
	uint32_t file;
	uint8_t caution; /* enum symbolizer_caution, for later reading */
	bool was_late;
	bool is_of_owner; /* all files of its owner have this caution */
	uid_t owner;
	int wait_status; /* if it was not late */
};

/* Observed activity of the current namer. */
struct watch {
	uint32_t file;
	uint64_t start_cpu_ns;   /* its CPU time when the file was first seen */
	uint64_t worked_cpu_ns;  /* its CPU time at its last increase */
	uint64_t worked_ns;      /* time of that */
	uint64_t charged_cpu_ns; /* its CPU time that was charged to owners of files */
};

struct namers {
	struct recorder *recorder;
	struct namers_opts opts;
	int stream;
	int questions[2]; /* to the broker, and its end */
	pid_t broker;     /* 0: none */
	pid_t pid;        /* of the current namer; 0: none =the current namer was killed for it */
	int pid_fd;
	bool was_late;       /* the present one has been killed for it */
	bool is_over_budget; /* and its file's owner is over budget */
	bool is_stopped;     /* by the user */
	bool is_over;        /* the time is */
	bool has_given_up;
	uint64_t end_ns;
	uint64_t file_limit_ns; /* of the current namer */
	struct watch watch;
	struct owner_budgets budgets;
	uint32_t num_started;
	uint32_t num_other_faults;
	ARRAY(struct naming_fault) faults;
	uint8_t *cautions; /* of each file */
	uint32_t num_files;
	uint32_t num_locations;
	struct naming_state *state;
	size_t state_bytes;
	struct namers_cost cost;
};

/* ---- in the namer ---- */

struct namer {
	struct namers *namers;
	struct profile *profile;
	struct name_writer *writer;
	ARRAY(uint32_t) waiting; /* locations with unsent names */
};

static bool is_named(uint32_t location, void *context)
{
	const struct namer *namer = context;
	const struct namers *namers = namer->namers;

	return location < namers->num_locations &&
	       namers->state->named[location / 8] >> (location % 8) & 1;
}

static void start_file(uint32_t file, void *context)
{
	struct namer *namer = context;

	namer->namers->state->file = file;
}

/* Sent names need no other process. A location may be named twice, but never be forgotten. */
static void mark_sent(struct namer *namer)
{
	if (name_writer_has_unsent(namer->writer))
		return;
	array_for_each (&namer->waiting, location)
		if (*location < namer->namers->num_locations)
			namer->namers->state->named[*location / 8] |= (uint8_t)(1 << *location % 8);
	namer->waiting.length = 0;
}

static int send_names(uint32_t location, void *context)
{
	struct namer *namer = context;
	int err = name_writer_add_location(namer->writer, location);
	uint32_t *added;

	if (err)
		return err;
	added = array_add(&namer->waiting);
	if (!added)
		return -ENOMEM;
	*added = location;
	mark_sent(namer);
	return 0;
}

/* A failure to send is noticed at the next location. */
static void send_progress(uint32_t num_done, uint32_t num_total, void *context)
{
	struct namer *namer = context;

	(void)!name_writer_add_progress(namer->writer, num_done, num_total);
}

/* Close all but the files of the recording, standard error and the sockets. */
static int keep_files(const struct namers *namers, int first, int second)
{
	const struct file_table *files = recorder_get_code(namers->recorder).files;
	uint32_t num_files = file_table_get_count(files);
	struct fd_list kept = {0};

	fd_list_add(&kept, STDERR_FILENO);
	fd_list_add(&kept, first);
	fd_list_add(&kept, second);
	for (uint32_t i = 0; i < num_files; i++)
		fd_list_add(&kept, file_table_get(files, i)->fd);
	return confinement_close_others(&kept);
}

static bool has_unnamed_kernel_code(struct namer *namer)
{
	for (uint32_t i = 0; i < profile_count_locations(namer->profile); i++)
		if (profile_get_location(namer->profile, i)->space == LOCATION_KERNEL &&
		    !is_named(i, namer))
			return true;
	return false;
}

static int add_kernel_code(const struct namers *namers, struct symbolizer *symbolizer)
{
	struct recorded_code code = recorder_get_code(namers->recorder);

	for (size_t i = 0; i < code.num_kernel; i++) {
		const struct kernel_code *kernel = &code.kernel[i];
		int err = symbolizer_add_kernel_symbol(symbolizer, kernel->start,
						       kernel->size_bytes, kernel->name);

		if (err)
			return err;
	}
	return 0;
}

/* Stacks by frame pointers are complete if the outermost function has no caller. */
static int send_outermost(struct namer *namer, struct symbolizer *symbolizer)
{
	size_t count;
	const struct user_stack_count *stacks =
		recorder_get_user_stacks(namer->namers->recorder, &count);

	for (size_t i = 0; i < count; i++) {
		uint32_t location;
		int err;

		if (stacks[i].stack == STACK_EMPTY)
			continue;
		location = profile_find_outermost(namer->profile, stacks[i].stack);
		if (!symbolizer_is_outermost(symbolizer, namer->profile, location))
			continue;
		err = name_writer_add_outermost(namer->writer, location);
		if (err)
			return err;
	}
	return 0;
}

static int name_all(struct namer *namer, struct symbolizer *symbolizer)
{
	int err = symbolizer_name_profile(symbolizer, namer->profile);

	if (err)
		return err;
	err = send_outermost(namer, symbolizer);
	return err ? err : name_writer_add_facts(namer->writer, symbolizer);
}

/* The kernel's own files are read before rights are dropped. */
static int run_namer(struct namers *namers)
{
	struct confinement confinement = {
		.name = "stackwide-name",
		.user = namers->opts.user,
		.memory_bytes = MEMORY_BYTES,
		.cpu_s = namers->opts.limit_ns / NS_PER_SECOND + 2,
	};
	struct namer namer = {.namers = namers, .profile = recorder_get_profile(namers->recorder)};
	struct recorded_code code = recorder_get_code(namers->recorder);
	struct debug_client client;
	struct symbolizer_opts opts = {
		.no_inlines = namers->opts.no_inlines,
		.debug_root = DEBUG_ROOT,
		.progress = send_progress,
		.duty = {.opener = &client.opener,
			 .cautions = namers->cautions,
			 .num_cautions = namers->num_files,
			 .is_named = is_named,
			 .start = start_file,
			 .named = send_names},
		.context = &namer,
	};
	struct symbolizer *symbolizer;
	int err;

	debug_client_init(&client, namers->questions[0]);
	symbolizer = symbolizer_new(code.files, code.processes, &opts);
	namer.writer = name_writer_new(namers->stream, namer.profile);
	if (!symbolizer || !namer.writer)
		return -ENOMEM;
	err = add_kernel_code(namers, symbolizer);
	if (!err && has_unnamed_kernel_code(&namer))
		err = symbolizer_read_kernel(symbolizer);
	if (!err)
		err = keep_files(namers, namers->stream, namers->questions[0]);
	if (err)
		return err;
	if (!(confinement_enter(&confinement) & CONFINED_CAPABILITIES))
		return -EPERM;
	return name_all(&namer, symbolizer);
}

/* ---- the broker ---- */

static void run_broker(const struct namers *namers)
{
	struct debug_broker broker = {.debug_root = DEBUG_ROOT,
				      .files = recorder_get_code(namers->recorder).files};

	if (keep_files(namers, namers->questions[1], -1))
		return;
	(void)prctl(PR_SET_NAME, "stackwide-debug", 0, 0, 0);
	debug_broker_serve(&broker, namers->questions[1]);
}

/* ---- in the parent ---- */

static int start_broker(struct namers *namers)
{
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, namers->questions))
		return -errno;
	namers->broker = fork();
	if (namers->broker < 0) {
		namers->broker = 0;
		return -errno;
	}
	if (!namers->broker) {
		confinement_die_with(parent);
		child_messages_redirect();
		run_broker(namers);
		_exit(0);
	}
	close(namers->questions[1]);
	namers->questions[1] = -1;
	return 0;
}

static int start_namer(struct namers *namers)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = namers->end_ns > now_ns ? namers->end_ns - now_ns : 0;
	pid_t parent = getpid();

	namers->file_limit_ns =
		left_ns / FILE_SHARE > MIN_FILE_NS ? left_ns / FILE_SHARE : MIN_FILE_NS;
	namers->was_late = namers->is_over_budget = false;
	namers->state->file = FILE_NONE;
	namers->watch = (struct watch){.file = FILE_NONE, .worked_ns = now_ns};
	namers->num_started++;
	namers->pid = fork();
	if (namers->pid < 0) {
		namers->pid = 0;
		return -errno;
	}
	if (!namers->pid) {
		confinement_die_with(parent);
		child_messages_redirect();
		_exit(run_namer(namers) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	namers->pid_fd = (int)syscall(SYS_pidfd_open, namers->pid, 0);
	return 0;
}

static int share_state(struct namers *namers)
{
	void *state;

	namers->state_bytes = sizeof(*namers->state) + namers->num_locations / 8 + 1;
	state = mmap(NULL, namers->state_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (state == MAP_FAILED)
		return -ENOMEM;
	namers->state = state;
	return 0;
}

static int start(struct namers *namers)
{
	int err = share_state(namers);

	if (err)
		return err;
	namers->cautions = calloc((size_t)namers->num_files + 1, sizeof(*namers->cautions));
	if (!namers->cautions)
		return -ENOMEM;
	err = start_broker(namers);
	return err ? err : start_namer(namers);
}

int namers_new(struct recorder *recorder, const struct namers_opts *opts, int stream,
	       struct namers **ret)
{
	struct namers *namers = calloc(1, sizeof(*namers));
	int err;

	if (!namers)
		return -ENOMEM;
	namers->recorder = recorder;
	namers->opts = *opts;
	namers->stream = stream;
	namers->questions[0] = namers->questions[1] = namers->pid_fd = -1;
	namers->end_ns = clock_now_ns() + opts->limit_ns;
	namers->budgets.limit_ns = opts->limit_ns;
	namers->num_files = file_table_get_count(recorder_get_code(recorder).files);
	namers->num_locations = profile_count_locations(recorder_get_profile(recorder));
	err = start(namers);
	if (err) {
		namers_free(namers);
		return err;
	}
	*ret = namers;
	return 0;
}

int namers_get_fd(const struct namers *namers)
{
	return namers->pid_fd;
}

static void add_cost(struct namers *namers, const struct rusage *usage)
{
	uint64_t rss_bytes = (uint64_t)usage->ru_maxrss << 10;

	namers->cost.cpu_ns += child_get_cpu_ns(usage);
	if (rss_bytes > namers->cost.max_rss_bytes)
		namers->cost.max_rss_bytes = rss_bytes;
}

/* Whether the process has ended. */
static bool reap(struct namers *namers, pid_t pid, int *ret_wait_status)
{
	struct rusage usage;
	pid_t ended;

	do {
		ended = wait4(pid, ret_wait_status, WNOHANG, &usage);
	} while (ended < 0 && errno == EINTR);
	if (ended == pid) {
		add_cost(namers, &usage);
		child_messages_print();
	}
	return ended != 0;
}

/* Kill it. A process that cannot even be killed is abandoned. */
static void end(struct namers *namers, pid_t pid)
{
	struct timespec pause = {.tv_nsec = NS_PER_MS};
	int wait_status;

	kill(pid, SIGKILL);
	for (int i = 0; i < REAP_MS; i++) {
		if (reap(namers, pid, &wait_status))
			return;
		nanosleep(&pause, NULL);
	}
	log_debug("process %d does not exit", pid);
}

static void forget_namer(struct namers *namers)
{
	namers->pid = 0;
	cleanup_closep(&namers->pid_fd);
	namers->pid_fd = -1;
}

/* Whether the file counts for the budget of its owner. */
static bool find_owner(const struct namers *namers, uint32_t file, uid_t *ret)
{
	if (!namers->opts.has_owner_budgets || file >= namers->num_files)
		return false;
	*ret = file_table_get(recorder_get_code(namers->recorder).files, file)->owner;
	return !file_user_is_ours(*ret);
}

/*
 * Charge the owner of a file. Returns whether less is read of that owner's files, or of all files,
 * from now on.
 */
static bool charge_owner(struct namers *namers, uint32_t file, uint64_t cpu_ns, uint32_t num_faults)
{
	uid_t owner;

	if (!find_owner(namers, file, &owner) ||
	    !owner_budgets_charge(&namers->budgets, owner, cpu_ns, num_faults))
		return false;
	for (uint32_t i = 0; i < namers->num_files; i++) {
		uint8_t caution;

		if (!find_owner(namers, i, &owner))
			continue;
		caution = (uint8_t)owner_budgets_get_caution(&namers->budgets, owner);
		if (namers->cautions[i] < caution)
			namers->cautions[i] = caution;
	}
	return true;
}

/* Blame the file it was reading, if any. Returns whether another namer may do better. */
static bool learn(struct namers *namers, int wait_status)
{
	uint32_t file = namers->state->file;
	bool is_of_owner = namers->is_over_budget;
	struct naming_fault *fault;

	if (file >= namers->num_files) {
		namers->num_other_faults++;
		return namers->num_other_faults < MAX_OTHER_FAULTS;
	}
	if (!is_of_owner) {
		if (namers->cautions[file] < READ_NOTHING)
			namers->cautions[file]++;
		if (namers->opts.no_inlines)
			namers->cautions[file] = READ_NOTHING;
		is_of_owner = charge_owner(namers, file, 0, 1);
	}
	fault = array_add(&namers->faults);
	if (fault) {
		*fault = (struct naming_fault){.file = file,
					       .caution = namers->cautions[file],
					       .was_late = namers->was_late,
					       .is_of_owner = is_of_owner,
					       .wait_status = wait_status};
		(void)find_owner(namers, file, &fault->owner);
	}
	return namers->num_started < MAX_NAMERS;
}

/* Replace a namer that has ended, unless it has named all. */
static void replace(struct namers *namers, int wait_status)
{
	forget_namer(namers);
	if (!namers->was_late && WIFEXITED(wait_status) && !WEXITSTATUS(wait_status))
		return;
	if (namers->is_over || namers->is_stopped)
		return;
	if (!learn(namers, wait_status) || start_namer(namers))
		namers->has_given_up = true;
}

/*
 * Whether the namer takes too long on a file. Its CPU time counts, as a busy machine or a low
 * priority is no fault of the file. If a file system hangs, idle time counts.
 */
static bool is_late(struct namers *namers, uint64_t now_ns)
{
	struct watch *watch = &namers->watch;
	uint32_t file = namers->state->file;
	uint64_t cpu_ns = child_read_cpu_ns(namers->pid);
	uint64_t limit_ns = namers->file_limit_ns;
	uint64_t idle_ns;
	uid_t owner;

	if (file != watch->file)
		*watch = (struct watch){file, cpu_ns, cpu_ns, now_ns, watch->charged_cpu_ns};
	if (cpu_ns > watch->worked_cpu_ns) {
		watch->worked_cpu_ns = cpu_ns;
		watch->worked_ns = now_ns;
	}
	if (find_owner(namers, file, &owner)) {
		uint64_t share_ns = owner_budgets_get_limit(&namers->budgets, owner);

		share_ns = share_ns > MIN_FILE_NS ? share_ns : MIN_FILE_NS;
		limit_ns = limit_ns < share_ns ? limit_ns : share_ns;
	}
	idle_ns = now_ns - watch->worked_ns;
	/*
	 * The CPU time since the last check may belong to another file: the owners' shares are
	 * right on average. A file that hangs is charged to its owner by elapsed time.
	 */
	namers->is_over_budget = charge_owner(
		namers, file, cpu_ns - watch->charged_cpu_ns + (idle_ns > limit_ns ? idle_ns : 0),
		0);
	watch->charged_cpu_ns = cpu_ns;
	return namers->is_over_budget || cpu_ns - watch->start_cpu_ns > limit_ns ||
	       idle_ns > limit_ns;
}

bool namers_tend(struct namers *namers)
{
	uint64_t now_ns = clock_now_ns();
	int wait_status = 0;

	if (!namers->pid)
		return false;
	if (reap(namers, namers->pid, &wait_status)) {
		replace(namers, wait_status);
		return namers->pid != 0;
	}
	child_continue(namers->pid);
	namers->is_over |= now_ns >= namers->end_ns;
	namers->was_late = is_late(namers, now_ns);
	if (namers->is_over || namers->was_late) {
		end(namers, namers->pid);
		replace(namers, wait_status);
	}
	return namers->pid != 0;
}

void namers_stop(struct namers *namers)
{
	namers->is_stopped = namers->pid != 0;
	if (!namers->pid)
		return;
	end(namers, namers->pid);
	forget_namer(namers);
}

static void report_fault(const struct namers *namers, const struct naming_fault *fault)
{
	const struct file_table *files = recorder_get_code(namers->recorder).files;
	const char *path = file_table_get(files, fault->file)->path;
	const char *missing = fault->caution == READ_NOTHING ? "symbols" : "debug information";
	char others[64] = "";

	if (fault->is_of_owner && fault->owner == FILE_OWNER_UNKNOWN)
		snprintf(others, sizeof(others), " and other files that several users can write");
	else if (fault->is_of_owner)
		snprintf(others, sizeof(others), " and other files of user %u",
			 (unsigned int)fault->owner);
	if (fault->was_late)
		log_warning("'%s'%s: skipped %s: timed out", path, others, missing);
	else if (WIFSIGNALED(fault->wait_status))
		log_warning("'%s'%s: skipped %s: the symbolizer process died (signal %d)", path,
			    others, missing, WTERMSIG(fault->wait_status));
	else
		log_warning("'%s'%s: skipped %s: it took too much memory", path, others, missing);
}

void namers_report(const struct namers *namers)
{
	size_t count = namers->faults.length;

	for (size_t i = 0; i < count && i < MAX_REPORTED; i++)
		report_fault(namers, &namers->faults.items[i]);
	if (count > MAX_REPORTED)
		log_warning("the same for %zu more", count - MAX_REPORTED);
	if (namers->is_over)
		log_warning("symbolization stopped after %.3g s (--symbolize-limit); remaining "
			    "frames are shown as file+offset",
			    (double)namers->opts.limit_ns / 1e9);
	else if (namers->is_stopped)
		log_warning("symbolization was interrupted; remaining frames are shown as "
			    "file+offset");
	else if (namers->has_given_up)
		log_warning("symbolization failed; remaining frames are shown as file+offset");
}

struct namers_cost namers_get_cost(const struct namers *namers)
{
	return namers->cost;
}

void namers_free(struct namers *namers)
{
	if (!namers)
		return;
	if (namers->pid)
		end(namers, namers->pid);
	forget_namer(namers);
	owner_budgets_release(&namers->budgets);
	cleanup_closep(&namers->questions[0]);
	cleanup_closep(&namers->questions[1]);
	if (namers->broker)
		end(namers, namers->broker);
	if (namers->state)
		munmap(namers->state, namers->state_bytes);
	array_release(&namers->faults);
	free(namers->cautions);
	free(namers);
}
