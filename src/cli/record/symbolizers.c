#include "cli/record/symbolizers.h"

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
#include "symbolize/debug_broker.h"
#include "symbolize/name_stream.h"
#include "symbolize/symbolizer.h"

#define DEBUG_ROOT   "/usr/lib/debug"
#define MEMORY_BYTES (2ull << 30)
/* No file gets more than this fraction of the remaining time: of CPU time, or of idling. */
#define FILE_SHARE    4
#define MIN_FILE_NS   (100 * NS_PER_MS)
#define MAX_PROCESSES 64
/* Limit of deaths unrelated to a file. */
#define MAX_OTHER_FAULTS 3
#define MAX_REPORTED     4
/* Time for a killed process to end; a file system that hangs may keep it for ever. */
#define REAP_MS 200

/* Written by the process: its current file, and the locations that have been sent. */
struct symbolizing_state {
	_Atomic uint32_t file;   /* FILE_NONE: none */
	_Atomic uint8_t named[]; /* a bit for each location */
};

/* A file's effect on a process. */
struct symbolizing_fault {
	uint32_t file;
	uint8_t caution; /* enum symbolizer_caution, for later reading */
	bool was_late;
	bool is_of_owner; /* all files of its owner have this caution */
	uid_t owner;
	int wait_status; /* if it was not late */
};

/* Observed activity of the current process. */
struct watch {
	uint32_t file;
	uint64_t start_cpu_ns;   /* its CPU time when the file was first seen */
	uint64_t worked_cpu_ns;  /* its CPU time at its last increase */
	uint64_t worked_ns;      /* time of that */
	uint64_t charged_cpu_ns; /* its CPU time that was charged to owners of files */
};

struct symbolizers {
	struct recorder *recorder;
	struct symbolizers_opts opts;
	int stream;
	int questions[2]; /* to the broker, and its end */
	pid_t broker;     /* 0: none */
	pid_t pid;        /* of the current process; 0: none */
	int pid_fd;
	bool was_late;       /* the present one has been killed for it */
	bool is_over_budget; /* and its file's owner is over budget */
	bool is_stopped;     /* by the user */
	bool is_over;        /* the time is */
	bool has_given_up;
	uint64_t end_ns;
	uint64_t file_limit_ns; /* of the current process */
	struct watch watch;
	struct owner_budgets budgets;
	uint32_t num_started;
	uint32_t num_other_faults;
	ARRAY(struct symbolizing_fault) faults;
	uint8_t *cautions; /* of each file */
	uint32_t num_files;
	uint32_t num_locations;
	struct symbolizing_state *state;
	size_t state_bytes;
	struct symbolizers_cost cost;
};

/* ---- in the process ---- */

struct symbolizer_process {
	struct symbolizers *symbolizers;
	struct profile *profile;
	struct name_writer *writer;
	ARRAY(uint32_t) waiting; /* locations with unsent names */
};

static bool is_named(uint32_t location, void *context)
{
	const struct symbolizer_process *process = context;
	const struct symbolizers *symbolizers = process->symbolizers;

	return location < symbolizers->num_locations &&
	       symbolizers->state->named[location / 8] >> (location % 8) & 1;
}

static void start_file(uint32_t file, void *context)
{
	struct symbolizer_process *process = context;

	process->symbolizers->state->file = file;
}

/* Sent names need no other process. A location may be named twice, but never be forgotten. */
static void mark_sent(struct symbolizer_process *process)
{
	if (name_writer_has_unsent(process->writer))
		return;
	array_for_each (&process->waiting, location)
		if (*location < process->symbolizers->num_locations)
			process->symbolizers->state->named[*location / 8] |=
				(uint8_t)(1 << *location % 8);
	process->waiting.length = 0;
}

static int send_names(uint32_t location, void *context)
{
	struct symbolizer_process *process = context;
	int err = name_writer_add_location(process->writer, location);
	uint32_t *added;

	if (err)
		return err;
	added = array_add(&process->waiting);
	if (!added)
		return -ENOMEM;
	*added = location;
	mark_sent(process);
	return 0;
}

/* A failure to send is noticed at the next location. */
static void send_progress(uint32_t num_done, uint32_t num_total, void *context)
{
	struct symbolizer_process *process = context;

	(void)!name_writer_add_progress(process->writer, num_done, num_total);
}

/* Close all but the files of the recording, standard error and the sockets. */
static int keep_files(const struct symbolizers *symbolizers, int first, int second)
{
	const struct file_table *files = recorder_get_code(symbolizers->recorder).files;
	uint32_t num_files = file_table_get_count(files);
	struct fd_list kept = {0};

	fd_list_add(&kept, STDERR_FILENO);
	fd_list_add(&kept, first);
	fd_list_add(&kept, second);
	for (uint32_t i = 0; i < num_files; i++)
		fd_list_add(&kept, file_table_get(files, i)->fd);
	return confinement_close_others(&kept);
}

static int add_kernel_code(const struct symbolizers *symbolizers, struct symbolizer *symbolizer)
{
	struct recorded_code code = recorder_get_code(symbolizers->recorder);

	for (size_t i = 0; i < code.num_kernel; i++) {
		const struct kernel_code *kernel = &code.kernel[i];
		int err = symbolizer_add_kernel_symbol(symbolizer, kernel->start,
						       kernel->size_bytes, kernel->name);

		if (err)
			return err;
	}
	return 0;
}

static int compare_owners(const void *left, const void *right, void *context)
{
	const struct location *a = profile_get_location(context, *(const uint32_t *)left);
	const struct location *b = profile_get_location(context, *(const uint32_t *)right);

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return (a > b) - (a < b);
}

/*
 * The outermost locations of all user stacks by frame pointers, file by file; some more than once.
 * Returns NULL when out of memory; the caller frees it.
 */
static uint32_t *list_outermost(const struct symbolizer_process *process, size_t *ret_count)
{
	size_t num_stacks;
	const struct user_stack_count *stacks =
		recorder_get_user_stacks(process->symbolizers->recorder, &num_stacks);
	uint32_t *locations = calloc(num_stacks + 1, sizeof(*locations));
	size_t count = 0;

	if (!locations)
		return NULL;
	for (size_t i = 0; i < num_stacks; i++)
		if (stacks[i].stack != STACK_EMPTY)
			locations[count++] =
				profile_find_outermost(process->profile, stacks[i].stack);
	qsort_r(locations, count, sizeof(*locations), compare_owners, process->profile);
	*ret_count = count;
	return locations;
}

/* Stacks by frame pointers are complete if the outermost function has no caller. */
static int send_outermost(struct symbolizer_process *process, struct symbolizer *symbolizer)
{
	size_t count;
	_cleanup_free_ uint32_t *locations = list_outermost(process, &count);

	if (!locations)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int err;

		if ((i && locations[i] == locations[i - 1]) ||
		    !symbolizer_is_outermost(symbolizer, process->profile, locations[i]))
			continue;
		err = name_writer_add_outermost(process->writer, locations[i]);
		if (err)
			return err;
	}
	return 0;
}

static int name_all(struct symbolizer_process *process, struct symbolizer *symbolizer)
{
	int err = symbolizer_name_profile(symbolizer, process->profile);

	if (err)
		return err;
	err = send_outermost(process, symbolizer);
	return err ? err : name_writer_add_facts(process->writer, symbolizer);
}

/* The kernel's own files are read before rights are dropped. */
static int run_process(struct symbolizers *symbolizers)
{
	struct confinement confinement = {
		.name = "stackwide-name",
		.user = symbolizers->opts.user,
		.memory_bytes = MEMORY_BYTES,
		.cpu_s = symbolizers->opts.limit_ns / NS_PER_SECOND + 2,
	};
	struct symbolizer_process process = {
		.symbolizers = symbolizers, .profile = recorder_get_profile(symbolizers->recorder)};
	struct recorded_code code = recorder_get_code(symbolizers->recorder);
	struct debug_client client;
	struct symbolizer_opts opts = {
		.no_inlines = symbolizers->opts.no_inlines,
		.debug_root = DEBUG_ROOT,
		.progress = send_progress,
		.duty = {.opener = &client.opener,
			 .cautions = symbolizers->cautions,
			 .num_cautions = symbolizers->num_files,
			 .is_named = is_named,
			 .start = start_file,
			 .named = send_names},
		.context = &process,
	};
	struct symbolizer *symbolizer;
	int err;

	debug_client_init(&client, symbolizers->questions[0]);
	symbolizer = symbolizer_new(code.files, code.processes, &opts);
	process.writer = name_writer_new(symbolizers->stream, process.profile);
	if (!symbolizer || !process.writer)
		return -ENOMEM;
	err = add_kernel_code(symbolizers, symbolizer);
	if (!err)
		err = symbolizer_read_kernel(symbolizer, process.profile);
	if (!err)
		err = keep_files(symbolizers, symbolizers->stream, symbolizers->questions[0]);
	if (err)
		return err;
	if (!(confinement_enter(&confinement) & CONFINED_CAPABILITIES))
		return -EPERM;
	return name_all(&process, symbolizer);
}

/* ---- the broker ---- */

static void run_broker(const struct symbolizers *symbolizers)
{
	struct debug_broker broker = {.debug_root = DEBUG_ROOT,
				      .files = recorder_get_code(symbolizers->recorder).files};

	if (keep_files(symbolizers, symbolizers->questions[1], -1))
		return;
	(void)prctl(PR_SET_NAME, "stackwide-debug", 0, 0, 0);
	debug_broker_serve(&broker, symbolizers->questions[1]);
}

/* ---- in the parent ---- */

static int start_broker(struct symbolizers *symbolizers)
{
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, symbolizers->questions))
		return -errno;
	symbolizers->broker = fork();
	if (symbolizers->broker < 0) {
		symbolizers->broker = 0;
		return -errno;
	}
	if (!symbolizers->broker) {
		confinement_die_with(parent);
		child_messages_redirect();
		run_broker(symbolizers);
		_exit(0);
	}
	close(symbolizers->questions[1]);
	symbolizers->questions[1] = -1;
	return 0;
}

static int start_process(struct symbolizers *symbolizers)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = symbolizers->end_ns > now_ns ? symbolizers->end_ns - now_ns : 0;
	pid_t parent = getpid();

	symbolizers->file_limit_ns =
		left_ns / FILE_SHARE > MIN_FILE_NS ? left_ns / FILE_SHARE : MIN_FILE_NS;
	symbolizers->was_late = symbolizers->is_over_budget = false;
	symbolizers->state->file = FILE_NONE;
	symbolizers->watch = (struct watch){.file = FILE_NONE, .worked_ns = now_ns};
	symbolizers->num_started++;
	symbolizers->pid = fork();
	if (symbolizers->pid < 0) {
		symbolizers->pid = 0;
		return -errno;
	}
	if (!symbolizers->pid) {
		confinement_die_with(parent);
		child_messages_redirect();
		_exit(run_process(symbolizers) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	symbolizers->pid_fd = (int)syscall(SYS_pidfd_open, symbolizers->pid, 0);
	return 0;
}

static int share_state(struct symbolizers *symbolizers)
{
	void *state;

	symbolizers->state_bytes = sizeof(*symbolizers->state) + symbolizers->num_locations / 8 + 1;
	state = mmap(NULL, symbolizers->state_bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		return -ENOMEM;
	symbolizers->state = state;
	return 0;
}

static int start(struct symbolizers *symbolizers)
{
	int err = share_state(symbolizers);

	if (err)
		return err;
	symbolizers->cautions =
		calloc((size_t)symbolizers->num_files + 1, sizeof(*symbolizers->cautions));
	if (!symbolizers->cautions)
		return -ENOMEM;
	err = start_broker(symbolizers);
	return err ? err : start_process(symbolizers);
}

int symbolizers_new(struct recorder *recorder, const struct symbolizers_opts *opts, int stream,
		    struct symbolizers **ret)
{
	struct symbolizers *symbolizers = calloc(1, sizeof(*symbolizers));
	int err;

	if (!symbolizers)
		return -ENOMEM;
	symbolizers->recorder = recorder;
	symbolizers->opts = *opts;
	symbolizers->stream = stream;
	symbolizers->questions[0] = symbolizers->questions[1] = symbolizers->pid_fd = -1;
	symbolizers->end_ns = clock_now_ns() + opts->limit_ns;
	symbolizers->budgets.limit_ns = opts->limit_ns;
	symbolizers->num_files = file_table_get_count(recorder_get_code(recorder).files);
	symbolizers->num_locations = profile_count_locations(recorder_get_profile(recorder));
	err = start(symbolizers);
	if (err) {
		symbolizers_free(symbolizers);
		return err;
	}
	*ret = symbolizers;
	return 0;
}

int symbolizers_get_fd(const struct symbolizers *symbolizers)
{
	return symbolizers->pid_fd;
}

static void add_cost(struct symbolizers *symbolizers, const struct rusage *usage)
{
	uint64_t rss_bytes = (uint64_t)usage->ru_maxrss << 10;

	symbolizers->cost.cpu_ns += child_get_cpu_ns(usage);
	if (rss_bytes > symbolizers->cost.max_rss_bytes)
		symbolizers->cost.max_rss_bytes = rss_bytes;
}

/* Whether the process has ended. */
static bool reap(struct symbolizers *symbolizers, pid_t pid, int *ret_wait_status)
{
	struct rusage usage;
	pid_t ended;

	do {
		ended = wait4(pid, ret_wait_status, WNOHANG, &usage);
	} while (ended < 0 && errno == EINTR);
	if (ended == pid) {
		add_cost(symbolizers, &usage);
		child_messages_print();
	}
	return ended != 0;
}

/* Kill it. A process that cannot even be killed is abandoned. */
static void end(struct symbolizers *symbolizers, pid_t pid)
{
	struct timespec pause = {.tv_nsec = NS_PER_MS};
	int wait_status;

	kill(pid, SIGKILL);
	for (int i = 0; i < REAP_MS; i++) {
		if (reap(symbolizers, pid, &wait_status))
			return;
		nanosleep(&pause, NULL);
	}
	log_debug("process %d does not exit", pid);
}

static void forget_process(struct symbolizers *symbolizers)
{
	symbolizers->pid = 0;
	cleanup_closep(&symbolizers->pid_fd);
	symbolizers->pid_fd = -1;
}

/* Whether the file counts for the budget of its owner. */
static bool find_owner(const struct symbolizers *symbolizers, uint32_t file, uid_t *ret)
{
	if (!symbolizers->opts.has_owner_budgets || file >= symbolizers->num_files)
		return false;
	*ret = file_table_get(recorder_get_code(symbolizers->recorder).files, file)->owner;
	return !file_user_is_ours(*ret);
}

/*
 * Charge the owner of a file. Returns whether less is read of that owner's files, or of all files,
 * from now on.
 */
static bool charge_owner(struct symbolizers *symbolizers, uint32_t file, uint64_t cpu_ns,
			 uint32_t num_faults)
{
	uid_t owner;

	if (!find_owner(symbolizers, file, &owner) ||
	    !owner_budgets_charge(&symbolizers->budgets, owner, cpu_ns, num_faults))
		return false;
	for (uint32_t i = 0; i < symbolizers->num_files; i++) {
		uint8_t caution;

		if (!find_owner(symbolizers, i, &owner))
			continue;
		caution = (uint8_t)owner_budgets_get_caution(&symbolizers->budgets, owner);
		if (symbolizers->cautions[i] < caution)
			symbolizers->cautions[i] = caution;
	}
	return true;
}

/* Blame the file it was reading, if any. Returns whether another process may do better. */
static bool learn(struct symbolizers *symbolizers, int wait_status)
{
	uint32_t file = symbolizers->state->file;
	bool is_of_owner = symbolizers->is_over_budget;
	struct symbolizing_fault *fault;

	if (file >= symbolizers->num_files) {
		symbolizers->num_other_faults++;
		return symbolizers->num_other_faults < MAX_OTHER_FAULTS;
	}
	if (!is_of_owner) {
		if (symbolizers->cautions[file] < READ_NOTHING)
			symbolizers->cautions[file]++;
		if (symbolizers->opts.no_inlines)
			symbolizers->cautions[file] = READ_NOTHING;
		is_of_owner = charge_owner(symbolizers, file, 0, 1);
	}
	fault = array_add(&symbolizers->faults);
	if (fault) {
		*fault = (struct symbolizing_fault){.file = file,
						    .caution = symbolizers->cautions[file],
						    .was_late = symbolizers->was_late,
						    .is_of_owner = is_of_owner,
						    .wait_status = wait_status};
		(void)find_owner(symbolizers, file, &fault->owner);
	}
	return symbolizers->num_started < MAX_PROCESSES;
}

/* Replace a process that has ended, unless it has symbolized all. */
static void replace(struct symbolizers *symbolizers, int wait_status)
{
	forget_process(symbolizers);
	if (!symbolizers->was_late && WIFEXITED(wait_status) && !WEXITSTATUS(wait_status))
		return;
	if (symbolizers->is_over || symbolizers->is_stopped)
		return;
	if (!learn(symbolizers, wait_status) || start_process(symbolizers))
		symbolizers->has_given_up = true;
}

/*
 * Whether the process takes too long on a file. Its CPU time counts, as a busy machine or a low
 * priority is no fault of the file. If a file system hangs, idle time counts.
 */
static bool is_late(struct symbolizers *symbolizers, uint64_t now_ns)
{
	struct watch *watch = &symbolizers->watch;
	uint32_t file = symbolizers->state->file;
	uint64_t cpu_ns = child_read_cpu_ns(symbolizers->pid);
	uint64_t limit_ns = symbolizers->file_limit_ns;
	uint64_t idle_ns;
	uid_t owner;

	if (file != watch->file)
		*watch = (struct watch){file, cpu_ns, cpu_ns, now_ns, watch->charged_cpu_ns};
	if (cpu_ns > watch->worked_cpu_ns) {
		watch->worked_cpu_ns = cpu_ns;
		watch->worked_ns = now_ns;
	}
	if (find_owner(symbolizers, file, &owner)) {
		uint64_t share_ns = owner_budgets_get_limit(&symbolizers->budgets, owner);

		share_ns = share_ns > MIN_FILE_NS ? share_ns : MIN_FILE_NS;
		limit_ns = limit_ns < share_ns ? limit_ns : share_ns;
	}
	idle_ns = now_ns - watch->worked_ns;
	/*
	 * The CPU time since the last check may belong to another file: the owners' shares are
	 * right on average. A file that hangs is charged to its owner by elapsed time.
	 */
	symbolizers->is_over_budget = charge_owner(
		symbolizers, file,
		cpu_ns - watch->charged_cpu_ns + (idle_ns > limit_ns ? idle_ns : 0), 0);
	watch->charged_cpu_ns = cpu_ns;
	return symbolizers->is_over_budget || cpu_ns - watch->start_cpu_ns > limit_ns ||
	       idle_ns > limit_ns;
}

bool symbolizers_tend(struct symbolizers *symbolizers)
{
	uint64_t now_ns = clock_now_ns();
	int wait_status = 0;

	if (!symbolizers->pid)
		return false;
	if (reap(symbolizers, symbolizers->pid, &wait_status)) {
		replace(symbolizers, wait_status);
		return symbolizers->pid != 0;
	}
	child_continue(symbolizers->pid);
	symbolizers->is_over |= now_ns >= symbolizers->end_ns;
	symbolizers->was_late = is_late(symbolizers, now_ns);
	if (symbolizers->is_over || symbolizers->was_late) {
		end(symbolizers, symbolizers->pid);
		replace(symbolizers, wait_status);
	}
	return symbolizers->pid != 0;
}

void symbolizers_stop(struct symbolizers *symbolizers)
{
	symbolizers->is_stopped = symbolizers->pid != 0;
	if (!symbolizers->pid)
		return;
	end(symbolizers, symbolizers->pid);
	forget_process(symbolizers);
}

static void report_fault(const struct symbolizers *symbolizers,
			 const struct symbolizing_fault *fault)
{
	const struct file_table *files = recorder_get_code(symbolizers->recorder).files;
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

void symbolizers_report(const struct symbolizers *symbolizers)
{
	size_t count = symbolizers->faults.length;

	for (size_t i = 0; i < count && i < MAX_REPORTED; i++)
		report_fault(symbolizers, &symbolizers->faults.items[i]);
	if (count > MAX_REPORTED)
		log_warning("the same for %zu more", count - MAX_REPORTED);
	if (symbolizers->is_over)
		log_warning("symbolization stopped after %.6g s (--symbolize-limit); remaining "
			    "frames are shown as file+offset",
			    (double)symbolizers->opts.limit_ns / 1e9);
	else if (symbolizers->is_stopped)
		log_warning("symbolization was interrupted; remaining frames are shown as "
			    "file+offset");
	else if (symbolizers->has_given_up)
		log_warning("symbolization failed; remaining frames are shown as file+offset");
}

struct symbolizers_cost symbolizers_get_cost(const struct symbolizers *symbolizers)
{
	return symbolizers->cost;
}

void symbolizers_free(struct symbolizers *symbolizers)
{
	if (!symbolizers)
		return;
	if (symbolizers->pid)
		end(symbolizers, symbolizers->pid);
	forget_process(symbolizers);
	owner_budgets_release(&symbolizers->budgets);
	cleanup_closep(&symbolizers->questions[0]);
	cleanup_closep(&symbolizers->questions[1]);
	if (symbolizers->broker)
		end(symbolizers, symbolizers->broker);
	if (symbolizers->state)
		munmap(symbolizers->state, symbolizers->state_bytes);
	array_release(&symbolizers->faults);
	free(symbolizers->cautions);
	free(symbolizers);
}
