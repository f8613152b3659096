/*
 * A sample names its stacks by hash; the stacks themselves come now and then, from each CPU that
 * has not sent them lately. What costs, and is therefore done once, is to turn their pcs into
 * locations: a pc means something only under the mappings that its process had at that moment. So
 * there are two tables. Raw stacks are kept by hash as they came. What was made of one is kept by
 * hash, process and version of the mappings, which change when libraries are loaded and hardly ever
 * else, and most samples find theirs there.
 *
 * The profile's stacks are a tree from the outermost frame inwards: first the user stack, then on
 * top of it the kernel stack that it called into.
 *
 * The order of time does the rest: the recorder hands in samples and process events by their time
 * stamps, so that the process table holds the mappings of a sample's own moment, and nobody has to
 * remember those of others. What it cannot know is which memory a sample inside exec saw. The
 * kernel's count of execs, which every sample carries, tells such a sample apart; its user stack is
 * left out unless the walk proves that the old memory was still there.
 *
 * Nothing is named here: a location is a file and an offset, or an address, and symbols are read
 * when the recording is over. Every sample that is handed in ends in the profile or is counted as
 * lost for its unknown stack.
 *
 * Limits: both tables grow with the number of different stacks, and nothing is forgotten before the
 * end. Two stacks with the same hash of 64 bits would become one.
 */
#include "collect/intake.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

/* A stack as it came, by hash. */
struct raw_stack {
	uint64_t hash;
	size_t first_pc; /* in intake.pcs, innermost first */
	uint32_t num_pcs;
};

/*
 * What was made of a raw stack: of a user stack under the mappings of one process, or of a
 * kernel stack called from a user stack.
 */
struct placed_stack {
	uint64_t hash;
	uint32_t owner;   /* user: process id; kernel: stack it is called from */
	uint32_t version; /* user: of the mappings; kernel: KERNEL_STACK */
	uint32_t stack;   /* in the profile */
};
#define KERNEL_STACK UINT32_MAX

INTERN_TABLE(raw_stack_table, struct raw_stack, hash);
INTERN_TABLE(placed_stack_table, struct placed_stack, hash, owner, version);
INTERN_TABLE(user_stack_table, struct user_stack_count, stack);

struct intake {
	struct profile *profile;
	struct file_table *files;
	struct process_table *processes;
	uint32_t max_depth;
	enum user_stacks user_stacks_kind;
	struct call_check *call_check; /* NULL: no check */
	struct trace_log *trace_log;   /* NULL: no times are kept */
	uint32_t metric;
	struct intake_counts counts;
	ARRAY(uint64_t) pcs;
	struct raw_stack_table raw_stacks;
	struct placed_stack_table placed_stacks;
	struct user_stack_table user_stacks;
};

struct intake *intake_new(struct profile *profile, struct file_table *files,
			  struct process_table *processes, uint32_t max_depth,
			  enum user_stacks user_stacks)
{
	struct intake *intake = calloc(1, sizeof(*intake));

	if (!intake)
		return NULL;
	if (profile_add_metric(profile, "samples", "count", &intake->metric)) {
		free(intake);
		return NULL;
	}
	intake->profile = profile;
	intake->files = files;
	intake->processes = processes;
	intake->max_depth = max_depth;
	intake->user_stacks_kind = user_stacks;
	return intake;
}

void intake_set_call_check(struct intake *intake, struct call_check *check)
{
	intake->call_check = check;
}

void intake_set_trace_log(struct intake *intake, struct trace_log *log)
{
	intake->trace_log = log;
}

void intake_free(struct intake *intake)
{
	if (!intake)
		return;
	array_release(&intake->pcs);
	raw_stack_table_release(&intake->raw_stacks);
	placed_stack_table_release(&intake->placed_stacks);
	user_stack_table_release(&intake->user_stacks);
	free(intake);
}

static const struct raw_stack *find_raw(const struct intake *intake, uint64_t hash)
{
	uint32_t item =
		raw_stack_table_find(&intake->raw_stacks, &(struct raw_stack){.hash = hash});

	return item == HASH_INDEX_NONE ? NULL : &intake->raw_stacks.items[item];
}

int intake_add_stack(struct intake *intake, const struct wire_stack *record, size_t size)
{
	size_t header = offsetof(struct wire_stack, pcs);
	size_t first = intake->pcs.length;
	struct raw_stack raw = {.hash = record->hash, .first_pc = first};
	uint32_t number;

	if (size < header || record->num_frames > WIRE_MAX_FRAMES ||
	    record->num_frames > (size - header) / sizeof(record->pcs[0]))
		return 0;
	if (find_raw(intake, record->hash))
		return 0;
	if (array_reserve(&intake->pcs, first + record->num_frames))
		return -ENOMEM;
	memcpy(intake->pcs.items + first, record->pcs, record->num_frames * sizeof(uint64_t));
	intake->pcs.length += record->num_frames;
	raw.num_pcs = record->num_frames;
	return raw_stack_table_add(&intake->raw_stacks, &raw, &number);
}

/* A module of the profile for every file of the table, with the same number. */
static int sync_modules(struct intake *intake)
{
	while (profile_count_modules(intake->profile) < file_table_get_count(intake->files)) {
		const struct mapped_file *file =
			file_table_get(intake->files, profile_count_modules(intake->profile));
		struct module module = {.build_id_size = file->build_id_size};
		uint32_t id;
		int err = profile_add_string(intake->profile, file->path, &module.path);

		if (err)
			return err;
		memcpy(module.build_id, file->build_id, file->build_id_size);
		err = profile_add_module(intake->profile, &module, &id);
		if (err)
			return err;
	}
	return 0;
}

static int sync_processes(struct intake *intake)
{
	while (profile_count_processes(intake->profile) <
	       process_table_get_count(intake->processes)) {
		uint32_t id = profile_count_processes(intake->profile);
		int err = profile_add_process(intake->profile,
					      process_table_get(intake->processes, id)->pid,
					      STRING_EMPTY, &id);

		if (err)
			return err;
	}
	return 0;
}

int intake_finish(struct intake *intake)
{
	int err = sync_modules(intake);

	if (err)
		return err;
	err = sync_processes(intake);
	if (err)
		return err;
	for (uint32_t id = 0; id < profile_count_processes(intake->profile); id++) {
		uint32_t comm;

		err = profile_add_string(intake->profile,
					 process_table_get(intake->processes, id)->comm, &comm);
		if (err)
			return err;
		profile_set_process_comm(intake->profile, id, comm);
	}
	return 0;
}

/*
 * Check one level of a user stack. What a signal interrupted follows no call, and neither does the
 * trampoline that the handler returns to, which is the level before it.
 */
static int check_call(struct intake *intake, const struct raw_stack *raw,
		      const struct process *process, uint32_t level)
{
	const uint64_t *pcs = intake->pcs.items + raw->first_pc;
	const struct mapping *mapping;

	if (level == 0 || (pcs[level] & WIRE_PC_EXACT) ||
	    (level + 1 < raw->num_pcs && (pcs[level + 1] & WIRE_PC_EXACT)))
		return 0;
	mapping = process_find_mapping(process, pcs[level] - 1);
	if (!mapping || mapping->file == FILE_NONE)
		return 0;
	return call_check_add(intake->call_check, mapping->file,
			      pcs[level] - mapping->start + mapping->file_offset);
}

/* The location of a user pc, as the process's mappings are now. */
static int locate(struct intake *intake, const struct process *process, uint64_t time_ns,
		  uint64_t pc, uint32_t *ret)
{
	const struct mapping *mapping = process_find_mapping(process, pc);

	if (mapping && mapping->file != FILE_NONE)
		return profile_add_location(intake->profile, LOCATION_FILE, mapping->file,
					    pc - mapping->start + mapping->file_offset, ret);
	process_table_open_perf_map(intake->processes, time_ns, process->id);
	return profile_add_location(intake->profile, LOCATION_PROCESS, process->id, pc, ret);
}

/*
 * Add the levels of a raw stack, outermost first, on top of `stack`. process is NULL for
 * kernel stacks. A pc that is a return address lies, minus 1, in the call.
 */
static int place(struct intake *intake, const struct raw_stack *raw, const struct process *process,
		 uint64_t time_ns, uint32_t *stack)
{
	for (uint32_t i = raw->num_pcs; i-- > 0;) {
		uint64_t pc = intake->pcs.items[raw->first_pc + i];
		bool is_exact = i == 0 || (process && (pc & WIRE_PC_EXACT));
		uint32_t location;
		int err;

		if (process)
			pc &= ~WIRE_PC_EXACT;
		pc -= !is_exact;
		if (process)
			err = locate(intake, process, time_ns, pc, &location);
		else
			err = profile_add_location(intake->profile, LOCATION_KERNEL, 0, pc,
						   &location);
		if (err)
			return err;
		if (process && intake->call_check) {
			err = check_call(intake, raw, process, i);
			if (err)
				return err;
		}
		err = profile_add_stack(intake->profile, *stack, location, stack);
		if (err)
			return err;
	}
	return 0;
}

/* place(), done once for the same stack and the same mappings. */
static int place_once(struct intake *intake, const struct raw_stack *raw,
		      const struct process *process, uint64_t time_ns, uint32_t *stack)
{
	struct placed_stack wanted = {
		.hash = raw->hash,
		.owner = process ? process->id : *stack,
		.version = process ? process->mappings_version : KERNEL_STACK,
		.stack = *stack,
	};
	uint32_t item = placed_stack_table_find(&intake->placed_stacks, &wanted);
	int err;

	if (item != HASH_INDEX_NONE) {
		*stack = intake->placed_stacks.items[item].stack;
		return 0;
	}
	err = place(intake, raw, process, time_ns, &wanted.stack);
	if (err)
		return err;
	*stack = wanted.stack;
	return placed_stack_table_add(&intake->placed_stacks, &wanted, &item);
}

static int count_user_stack(struct intake *intake, uint32_t stack, bool is_at_limit)
{
	struct user_stack_count *count;
	uint32_t item;
	int err = user_stack_table_intern(&intake->user_stacks,
					  &(struct user_stack_count){.stack = stack}, &item);

	if (err)
		return err;
	count = &intake->user_stacks.items[item];
	count->num_samples++;
	count->num_at_limit += is_at_limit;
	return 0;
}

/*
 * Inside exec, the registers are those of the old program, but the memory may already be the new
 * one's. A walk of more than one level has found the old stack; a lone pc means nothing.
 */
static bool is_stack_gone(const struct intake *intake, const struct wire_sample *sample,
			  const struct raw_stack *raw, bool is_in_exec)
{
	if (is_in_exec || !(sample->flags & WIRE_SAMPLE_IN_EXEC))
		return is_in_exec;
	if (intake->user_stacks_kind == USER_STACKS_TABLE)
		return sample->walk_end != WALK_COMPLETE;
	return !raw || raw->num_pcs < 2;
}

/* The user part of a sample's stack, and what it means for the account. */
static int add_user_stack(struct intake *intake, const struct wire_sample *sample,
			  const struct raw_stack *raw, const struct process *process,
			  bool is_in_exec, uint32_t *stack)
{
	int err;

	if (is_stack_gone(intake, sample, raw, is_in_exec)) {
		intake->counts.in_exec++;
		return 0;
	}
	if (intake->user_stacks_kind == USER_STACKS_TABLE) {
		intake->counts.walks[sample->walk_end < NUM_WALK_ENDS ? sample->walk_end : 0]++;
		return raw ? place_once(intake, raw, process, sample->time_ns, stack) : 0;
	}
	if (!raw)
		return count_user_stack(intake, STACK_EMPTY, false);
	err = place_once(intake, raw, process, sample->time_ns, stack);
	if (err)
		return err;
	return count_user_stack(intake, *stack, raw->num_pcs >= intake->max_depth);
}

static void keep_time(struct intake *intake, const struct wire_sample *sample, uint32_t thread,
		      uint32_t stack)
{
	/* Of a walk along frame pointers nobody knows whether its end is the stack's. */
	bool is_truncated = intake->user_stacks_kind == USER_STACKS_TABLE &&
			    !(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY) &&
			    sample->walk_end != WALK_COMPLETE;
	struct timed_sample timed = {
		.time_ns = sample->time_ns,
		.user_sp = sample->user_sp,
		.thread = thread,
		.stack = stack,
		.cpu = sample->cpu,
		.is_in_kernel = sample->flags & WIRE_SAMPLE_IN_KERNEL,
		.is_truncated = is_truncated,
	};

	trace_log_add_sample(intake->trace_log, &timed);
}

/* A sample of a process that is known. */
static int add_to_process(struct intake *intake, const struct wire_sample *sample,
			  const struct process *process, bool is_in_exec)
{
	const struct raw_stack *user = find_raw(intake, sample->user_stack);
	const struct raw_stack *kernel = find_raw(intake, sample->kernel_stack);
	bool has_user_stack = intake->user_stacks_kind != USER_STACKS_NONE &&
			      !(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY);
	struct thread thread = {.process = process->id, .tid = sample->tid};
	uint32_t thread_id;
	uint32_t stack = STACK_EMPTY;
	int err;

	if ((sample->user_stack && !user) || (sample->kernel_stack && !kernel)) {
		intake->counts.unknown_stack++;
		return 0;
	}
	err = sync_processes(intake);
	if (err)
		return err;
	err = profile_add_frame_name(intake->profile, sample->comm,
				     strnlen(sample->comm, sizeof(sample->comm)), &thread.comm);
	if (err)
		return err;
	err = profile_add_thread(intake->profile, &thread, &thread_id);
	if (err)
		return err;
	if (has_user_stack) {
		err = add_user_stack(intake, sample, user, process, is_in_exec, &stack);
		if (err)
			return err;
	}
	if (kernel) {
		err = place_once(intake, kernel, NULL, sample->time_ns, &stack);
		if (err)
			return err;
	}
	err = profile_add_sample(intake->profile, thread_id, stack, intake->metric, 1);
	if (err)
		return err;
	err = profile_add_moment(intake->profile, thread_id, stack, intake->metric, 1,
				 sample->time_ns);
	if (err)
		return err;
	if (intake->trace_log)
		keep_time(intake, sample, thread_id, stack);
	intake->counts.samples++;
	return 0;
}

int intake_add_sample(struct intake *intake, const struct wire_sample *sample)
{
	struct process *process;
	bool is_in_exec = false;
	int err = process_table_find(intake->processes, sample->time_ns, (pid_t)sample->pid,
				     sample->generation, &process, &is_in_exec);

	if (err)
		return err;
	return add_to_process(intake, sample, process, is_in_exec);
}

int intake_add_recovered(struct intake *intake, const struct wire_sample *sample,
			 const struct process *process, bool is_in_exec, struct wire_stack *stack)
{
	struct wire_sample walked = *sample;
	int err;

	/* The kernel hashes otherwise, so that equal hashes mean equal stacks only by chance. */
	stack->hash = hash_bytes(stack->pcs, stack->num_frames * sizeof(stack->pcs[0])) | 1;
	walked.user_stack = stack->hash;
	err = intake_add_stack(intake, stack, sizeof(*stack));
	if (err)
		return err;
	err = add_to_process(intake, &walked, process, is_in_exec);
	if (err)
		return err;
	if (!is_in_exec && walked.walk_end == WALK_COMPLETE)
		intake->counts.recovered++;
	return 0;
}

struct intake_counts intake_get_counts(const struct intake *intake)
{
	return intake->counts;
}

const struct user_stack_count *intake_get_user_stacks(const struct intake *intake,
						      size_t *ret_count)
{
	*ret_count = intake->user_stacks.length;
	return intake->user_stacks.items;
}
