/*
 * The walk of user stacks by unwind tables, inside the kernel: the maps that hold the tables, and
 * the functions that unwind/walk.h needs from its includer.
 *
 * Functions with loops, and functions called in loops, are global: the verifier checks such a
 * function once, by itself, however often and in whatever state it is called. If they were inlined,
 * each path through one part would multiply the paths through the next. Before Linux 6.5 a call
 * inside a loop also makes the verifier tell all numbers apart: 6.1 gave up after a million
 * instructions where a fiftieth is enough now. Global functions take numbers and give numbers.
 */
#ifndef USER_WALK_H
#define USER_WALK_H

#include "maps.h"
#include "output.h"
#include "probed_program.h"
#include "registers.h"
#include "task.h"

int look_at_frame(void);
int read_stack_word(__u64 address);

#define WALK_INLINE              static __always_inline
#define WALK_LOOK_AT_FRAME(walk) look_at_frame()
#include "unwind/plain_step.h"

#define WINDOW_WORDS 128
/* No window is open: no user address is in reach of this. */
#define WINDOW_NONE (1ull << 63)

struct unwind_pages {
	struct unwind_page pages[UNWIND_MAX_PAGES];
};

struct unwind_mappings {
	struct unwind_mapping mappings[UNWIND_MAX_MAPPINGS];
};

/* Written by user space with plain stores. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_pages);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_mappings);
} unwind_mappings SEC(".maps");

struct unwind_shard_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_shard)); /* clang leaves the type itself out */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_SHARDS);
	__type(key, __u32);
	__array(values, struct unwind_shard_map);
} unwind_shards SEC(".maps");

/* Key: pid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

/*
 * A rule that was found lately. Tables never change once they are reachable, so it holds as long as
 * the recording.
 */
struct known_rule {
	__u32 key; /* number of the address's page, and address in that page; 0: none, as user space
		      leaves out page 0 */
	struct unwind_rule rule;
};

#define KNOWN_RULES_BITS 10

/*
 * Data of a tick that its functions share. It is too large for the program's stack, and separately
 * verified functions take no pointers. It has the user registers, the walk, the part of the user
 * stack that it has read, and the records to send. One read of a kilobyte serves many frames.
 */
struct scratch {
	struct walk walk;
	__u64 word; /* that read_stack_word() has read */
	__u64 window_start;
	__u64 window[WINDOW_WORDS];
	struct user_registers registers;
	struct mm_struct *mm; /* of the task; NULL: it has none */
	struct wire_sample sample;
	struct wire_stack stack;
	__u64 frame_pointers
		[WIRE_MAX_FRAMES]; /* of the levels of the stack that were stepped over by it */
	__u64 trampoline; /* where functions return to whose return is probed; or NO_TRAMPOLINE */
	struct unwind_runtime
		runtime; /* of the process, as struct unwind_process has these three */
	__u64 hotspot_bias;
	__u32 hotspot_layout;
	__u32 hotspot_state; /* enum hotspot_state */
	__u32 num_untouched; /* pages in a row: here, the verifier does not tell its values apart */
	__u64 copied_end;    /* the last page of the stack that could be read ends here */
	struct known_rule known_rules[1 << KNOWN_RULES_BITS]; /* by a hash of their keys */
};

PER_CPU(struct scratch, scratches);

/* Read a word from the window, which is moved there if the word is not in it. */
static __always_inline int read_window(struct scratch *scratch, __u64 address, __u64 *ret)
{
	__u64 offset = address - scratch->window_start;

	if (offset <= (WINDOW_WORDS - 1) * 8 && !(offset & 7)) {
		*ret = scratch->window[offset >> 3 & (WINDOW_WORDS - 1)];
		return 0;
	}
	if (address & 7)
		return -1;
	if (bpf_probe_read_user(scratch->window, sizeof(scratch->window), (void *)address)) {
		scratch->window_start = WINDOW_NONE; /* a failed read has zeroed it */
		return -1;
	}
	scratch->window_start = address;
	*ret = scratch->window[0];
	return 0;
}

static __always_inline int walk_read_plain(struct walk *walk, __u64 address, __u64 *ret)
{
	struct scratch *scratch = (struct scratch *)walk;

	return read_window(scratch, address, ret) || *ret == scratch->trampoline ? -1 : 0;
}

static __always_inline int walk_read(struct walk *walk, __u64 address, __u64 *ret)
{
	if (read_stack_word(address))
		return -1;
	*ret = ((struct scratch *)walk)->word;
	return 0;
}

/*
 * All ones if a <= b, else 0; both below 1 << 63. Not a branch: no CPU predicts the comparisons of
 * a search, and the verifier would follow both ways of each through the rest.
 */
static __always_inline __u64 mask_if_not_above(__u64 a, __u64 b)
{
	__u64 difference = a - b - 1;

	barrier_var(difference);
	return (__u64)((__s64)difference >> 63);
}

static __always_inline int walk_find_mapping(struct walk *walk, __u64 pc)
{
	__u32 zero = 0;
	struct unwind_mappings *all = bpf_map_lookup_elem(&unwind_mappings, &zero);
	__u32 low = walk->first_mapping;
	__u32 length = walk->num_mappings;
	struct unwind_mapping *mapping;

	if (!all || !length)
		return 0;
	/* The last mapping that starts at or below pc. */
	for (int i = 0; i < 16; i++) {
		__u32 half = length >> 1;

		if (length <= 1)
			break;
		low += half &
		       (__u32)mask_if_not_above(
			       all->mappings[(low + half) & (UNWIND_MAX_MAPPINGS - 1)].start, pc);
		length -= half;
	}
	mapping = &all->mappings[low & (UNWIND_MAX_MAPPINGS - 1)];
	if (pc < mapping->start || pc >= mapping->end)
		return 0;
	walk->mapping = *mapping;
	return 1;
}

/* The place of the rule for an address, which may have another one or none; NULL: no page has it. */
static __always_inline struct known_rule *get_known_rule(struct walk *walk, __u64 elf_address,
							 __u32 *key)
{
	struct scratch *scratch = (struct scratch *)walk;
	__u64 page_number = (elf_address >> UNWIND_PAGE_SHIFT) - walk->mapping.base_page;

	if (page_number >= walk->mapping.num_pages)
		return NULL;
	*key = (walk->mapping.first_page + (__u32)page_number) << UNWIND_PAGE_SHIFT |
	       (elf_address & ((1 << UNWIND_PAGE_SHIFT) - 1));
	return &scratch->known_rules[*key * 0x9e3779b1u >> (32 - KNOWN_RULES_BITS)];
}

static __always_inline const struct unwind_rule *walk_find_known_rule(struct walk *walk,
								      __u64 elf_address)
{
	__u32 key = 0;
	struct known_rule *known = get_known_rule(walk, elf_address, &key);

	return known && known->key == key ? &known->rule : NULL;
}

/* The rule for an address by its key, or NULL. */
static __always_inline const struct unwind_rule *search_rule(__u32 key)
{
	__u32 zero = 0;
	struct unwind_pages *all = bpf_map_lookup_elem(&unwind_pages, &zero);
	__u32 pc_low = key & ((1 << UNWIND_PAGE_SHIFT) - 1);
	struct unwind_shard *shard;
	struct unwind_page *page;
	__u32 shard_number;
	__u32 length;
	void *inner;
	__u32 low;

	if (!all)
		return 0;
	page = &all->pages[key >> UNWIND_PAGE_SHIFT & (UNWIND_MAX_PAGES - 1)];
	low = page->first_row;
	length = page->num_rows;
	shard_number = low / UNWIND_SHARD_ROWS;
	inner = length ? bpf_map_lookup_elem(&unwind_shards, &shard_number) : 0;
	shard = inner ? bpf_map_lookup_elem(inner, &zero) : 0;
	if (!shard)
		return 0;
	for (int i = 0; i < UNWIND_PAGE_SHIFT + 1; i++) {
		__u32 half = length >> 1;

		if (length <= 1)
			break;
		low += half &
		       (__u32)mask_if_not_above(
			       shard->rows[(low + half) & (UNWIND_SHARD_ROWS - 1)].pc_low, pc_low);
		length -= half;
	}
	return &shard->rules[shard->rows[low & (UNWIND_SHARD_ROWS - 1)].rule &
			     (UNWIND_SHARD_RULES - 1)];
}

static __always_inline const struct unwind_rule *walk_find_rule(struct walk *walk,
								__u64 elf_address)
{
	__u32 key = 0;
	struct known_rule *known = get_known_rule(walk, elf_address, &key);
	const struct unwind_rule *rule;

	if (!known)
		return 0;
	if (known->key == key)
		return &known->rule;
	rule = search_rule(key);
	if (!rule)
		return 0;
	known->key = key;
	known->rule = *rule;
	return &known->rule;
}

static __always_inline void walk_note_frame_pointer(struct walk *walk, __u64 fp)
{
	struct scratch *scratch = (struct scratch *)walk;

	scratch->frame_pointers[(walk->num_frames - 1) & (WIRE_MAX_FRAMES - 1)] = fp;
}

static __always_inline __u64 walk_get_thread_pointer(struct walk *walk)
{
	return TASK_THREAD_POINTER(get_current_task());
}

static __always_inline int walk_may_have_signal_stack(struct walk *walk, __u64 start,
						      __u64 num_bytes)
{
	struct task_struct *task = get_current_task();

	return TASK_FIELD(task, sas_ss_sp) == start && TASK_FIELD(task, sas_ss_size) == num_bytes;
}

static __always_inline struct scratch *get_scratch(void)
{
	return get_per_cpu(&scratches);
}

static __always_inline struct wire_stack *get_scratch_stack(void)
{
	struct scratch *scratch = get_scratch();

	return scratch ? &scratch->stack : NULL;
}

/*
 * Read a word for the walk, from the window if it can be in there; a probed function's return address in
 * place of the trampoline. Gives 0 with the word in the scratch area, or -1. Not static: see above.
 */
__attribute__((noinline)) int read_stack_word(__u64 address)
{
	struct scratch *scratch = get_scratch();
	__u64 probed;

	if (!scratch)
		return -1;
	if (read_window(scratch, address, &scratch->word) &&
	    bpf_probe_read_user(&scratch->word, sizeof(scratch->word), (void *)address))
		return -1;
	if (scratch->word != scratch->trampoline)
		return 0;
	probed = find_probed_return(address);
	if (probed)
		scratch->word = probed;
	return 0;
}

/* Not static: see above. */
__attribute__((noinline)) int look_at_frame(void)
{
	struct scratch *scratch = get_scratch();

	if (scratch)
		walk_look_at_frame(&scratch->walk);
	return 0;
}

/* Walk a step by the tables. Not static: see above. */
__attribute__((noinline)) int walk_one_step(int number)
{
	struct scratch *scratch = get_scratch();

	if (number < 0 || !scratch)
		return 1;
	return walk_step(&scratch->walk, scratch->stack.pcs);
}

/*
 * The walk has ended: go on if it ended at HotSpot's code. Gives 0, or another number at the end.
 * Defined in hotspot_stack.h.
 */
int step_hotspot(int number);

/*
 * The verifier goes through each round of a loop. So a loop calls a function that takes this number
 * of steps, and the verifier goes through that function once.
 */
#define STEPS_AT_ONCE 16

/* The verifier goes through each: more of them take longer to load, fewer longer to walk. */
#define PLAIN_STEPS_AT_ONCE 16

/* Take plain steps. Gives 0, or 1 if the next step is not plain. Not static: see above. */
__attribute__((noinline)) int take_plain_steps(void)
{
	struct scratch *scratch = get_scratch();

	if (!scratch)
		return 1;
	return walk_take_plain_steps(&scratch->walk, scratch->stack.pcs, PLAIN_STEPS_AT_ONCE);
}

/*
 * Some steps of any kind. Gives 0 to go on, 1 at the end. Nothing is kept on the stack: deep calls
 * nearly fill it.
 */
__attribute__((noinline)) int walk_some_steps(int number)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (take_plain_steps() && walk_one_step(number) && step_hotspot(number))
			return 1;
	return 0;
}

/*
 * Walk the running thread's user stack into the scratch stack, and set walk_end in the scratch
 * sample. Gives the number of frames.
 */
__attribute__((noinline)) int walk_user_stack(void)
{
	struct scratch *scratch = get_scratch();
	struct unwind_process *process;
	struct walk *walk;
	__u64 generation;
	__u32 pid;

	if (!scratch)
		return 0;
	walk = &scratch->walk;
	pid = scratch->sample.pid;
	generation = scratch->sample.generation;
	process = bpf_map_lookup_elem(&unwind_processes, &pid);
	scratch->window_start = WINDOW_NONE;
	scratch->trampoline = find_trampoline(scratch->mm);
	leave_probe(&scratch->registers, scratch->trampoline);
	get_registers(&scratch->registers, &walk->registers);
	walk_start(walk, &walk->registers);
	if (process &&
	    (process->generation == generation || process->generation == WIRE_GENERATION_UNKNOWN)) {
		walk->first_mapping = process->first_mapping;
		walk->num_mappings = process->num_mappings;
		scratch->sample.mappings_version = process->version;
		scratch->runtime = process->runtime;
		scratch->hotspot_bias = process->hotspot_bias;
		scratch->hotspot_layout = process->hotspot_layout;
	} else {
		process = 0;
	}
	for (int i = 0; i < WIRE_MAX_FRAMES + 1; i += STEPS_AT_ONCE)
		if (walk_some_steps(i))
			break;
	if (walk->end == WALK_NO_MAPPING)
		look_at_frame();
	scratch->sample.walk_end =
		!process && walk->end == WALK_NO_MAPPING ? WALK_NO_PROCESS : walk->end;
	if (walk->end == WALK_COMPLETE)
		scratch->sample.outermost_sp = walk->registers.sp;
	return walk->num_frames;
}

/* Per CPU, as a value of a per-CPU map may not be this large. Key: CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_raw_sample);
} raw_samples SEC(".maps");

struct raw_budget {
	__u64 start_ns; /* of the present second */
	__u64 num_samples;
	__u64 num_bytes;
};
PER_CPU(struct raw_budget, raw_budget);

/* Whether user space may still find the stack by the tables it has or will have. */
static __always_inline bool is_recoverable(__u32 walk_end)
{
	return walk_end == WALK_NO_PROCESS || walk_end == WALK_NO_MAPPING ||
	       walk_end == WALK_NO_TABLE;
}

static __always_inline bool may_send_raw(__u64 now_ns)
{
	struct raw_budget *budget = get_per_cpu(&raw_budget);

	if (!budget)
		return false;
	if (now_ns - budget->start_ns > 1000000000) {
		budget->start_ns = now_ns;
		budget->num_samples = budget->num_bytes = 0;
	}
	return budget->num_samples++ < WIRE_RAW_SAMPLES_PER_SECOND &&
	       budget->num_bytes < WIRE_RAW_BYTES_PER_SECOND;
}

static __always_inline void note_raw_bytes(__u64 num_bytes)
{
	struct raw_budget *budget = get_per_cpu(&raw_budget);

	if (budget)
		budget->num_bytes += num_bytes;
}

static __always_inline struct wire_raw_sample *get_raw_sample(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&raw_samples, &cpu);
}

/*
 * In a copy of the stack from sp on, which starts at `at`: put the return address of a probed function
 * back. Gives the address of the next function's struct return_instance, or 0. Not static: see above.
 */
__attribute__((noinline)) __u64 restore_return(__u64 address, __u64 at, __u64 sp, __u64 num_bytes)
{
	struct return_instance *instance = (void *)address;
	struct wire_raw_sample *raw = get_raw_sample();
	struct scratch *scratch = get_scratch();
	__u64 offset = BPF_CORE_READ(instance, stack) - sp;
	__u64 to = at + offset;
	__u64 probed = BPF_CORE_READ(instance, orig_ret_vaddr);

	if (!raw || !scratch)
		return 0;
	asm volatile("" : "+r"(to)); /* the verifier must see the limit */
	if (offset < num_bytes && num_bytes - offset >= sizeof(probed) &&
	    to <= WIRE_RAW_STACK_BYTES - sizeof(probed) &&
	    *(__u64 *)(raw->bytes + to) == scratch->trampoline)
		*(__u64 *)(raw->bytes + to) = probed;
	return (__u64)BPF_CORE_READ(instance, next);
}

/* The same for all of them. Not static: see above. */
__attribute__((noinline)) int restore_returns(__u64 at, __u64 sp, __u64 num_bytes)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 instance;

	if (!bpf_core_field_exists(task->utask))
		return 0;
	instance = (__u64)BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < MAX_PROBED_RETURNS && instance; i++)
		instance = restore_return(instance, at, sp, num_bytes);
	return 0;
}

/* Whole pages of a frame that may not be there. */
#define MAX_UNTOUCHED_PAGES 4

/*
 * Copy a page of the stack, or a part of one, to an offset of the raw sample. Gives 0 to go on; 1: too
 * many pages in a row are absent, or there is no room. Not static: see above.
 */
__attribute__((noinline)) int copy_page(__u64 to, __u64 from, __u64 size, __u32 max_untouched)
{
	struct wire_raw_sample *raw = get_raw_sample();
	struct scratch *scratch = get_scratch();

	asm volatile("" : "+r"(to), "+r"(size)); /* the verifier must see the limits */
	if (!raw || !scratch || to > WIRE_RAW_STACK_BYTES - WIRE_RAW_PAGE_BYTES ||
	    size > WIRE_RAW_PAGE_BYTES)
		return 1;
	if (bpf_probe_read_user(raw->bytes + to, size, (void *)from))
		return ++scratch->num_untouched > max_untouched;
	scratch->num_untouched = 0;
	scratch->copied_end = from + size;
	return 0;
}

/*
 * Copy the stack from sp up to limit: first up to the end of the page, then whole pages. It goes to
 * offset `at` of the raw sample. Gives the number of bytes, up to the last page that can be read.
 *
 * A function may have moved sp to pages that it has not touched yet, or need only a part of its
 * frame. Such pages are absent, and are copied as the zeros that they would be. More than
 * max_untouched of them in a row do not belong to the stack.
 */
__attribute__((noinline)) int copy_stack(__u64 at, __u64 sp, __u64 limit, __u32 max_pages,
					 __u32 max_untouched)
{
	struct scratch *scratch = get_scratch();
	__u64 size = WIRE_RAW_PAGE_BYTES - (sp & (WIRE_RAW_PAGE_BYTES - 1));
	__u64 num_bytes = 0;
	__u64 num_read;

	if (!scratch)
		return 0;
	scratch->num_untouched = 0;
	scratch->copied_end = sp;
	for (__u32 i = 0; i <= WIRE_RAW_PAGES; i++) {
		if (i > max_pages || sp + num_bytes >= limit ||
		    copy_page(at + num_bytes, sp + num_bytes, size, max_untouched))
			break;
		num_bytes += size;
		size = WIRE_RAW_PAGE_BYTES;
	}
	num_read = scratch->copied_end - sp;
	if (num_read > limit - sp)
		num_read = limit - sp;
	return num_read;
}

/* A divisor of MAX_CONTEXTS. */
#define CONTEXTS_AT_ONCE 8

/* Results of find_context() that are no addresses. */
#define CONTEXT_NOT_THERE 0
#define CONTEXT_NOT_FOUND 1

/*
 * The last ucontext before an address that holds this signal stack; CONTEXT_NOT_FOUND: further down, if
 * anywhere; CONTEXT_NOT_THERE: at or above sp, all was searched, or cannot be read. Not static: see above.
 */
__attribute__((noinline)) __u64 find_context(__u64 before, __u64 sp, __u64 stack, __u64 size)
{
	__u64 words[3];

	for (int i = 0; i < CONTEXTS_AT_ONCE; i++) {
		before -= CONTEXT_ALIGNMENT;
		if (before < sp || bpf_probe_read_user(words, sizeof(words),
						       (void *)(before + WALK_CONTEXT_STACK)))
			return CONTEXT_NOT_THERE;
		if (words[0] == stack && words[2] == size)
			return before;
	}
	return CONTEXT_NOT_FOUND;
}

/*
 * The stack pointer that the first signal on the thread's signal stack has interrupted. The place
 * of its ucontext depends on the CPU, but the ucontext is known to hold the signal stack.
 */
__attribute__((noinline)) __u64 find_interrupted_sp(__u64 sp, __u64 stack, __u64 size)
{
	__u64 before = (stack + size) & ~(__u64)(CONTEXT_ALIGNMENT - 1);
	__u64 context = CONTEXT_NOT_FOUND;
	__u64 interrupted_sp;

	for (int i = 0; i < MAX_CONTEXTS && context == CONTEXT_NOT_FOUND; i += CONTEXTS_AT_ONCE) {
		context = find_context(before, sp, stack, size);
		before -= CONTEXTS_AT_ONCE * CONTEXT_ALIGNMENT;
	}
	if (context == CONTEXT_NOT_THERE || context == CONTEXT_NOT_FOUND ||
	    bpf_probe_read_user(&interrupted_sp, sizeof(interrupted_sp),
				(void *)(context + WALK_CONTEXT_SP)))
		return 0;
	return interrupted_sp;
}

/* No stack is so large: an address further up is not its end. */
#define MAX_STACK_BYTES (64ull << 20)

/*
 * The address above which the thread has no stack: only data of the thread, or the program's
 * arguments and environment. 0: unknown. On a stack that the program has made itself, such as a
 * coroutine's, the address may be the thread's all the same. Then the bytes copied from there are
 * useless, but harmless.
 */
static __always_inline __u64 find_stack_end(struct task_struct *task, __u64 sp)
{
	__u64 thread_pointer = TASK_THREAD_POINTER(task);
	struct mm_struct *mm = TASK_POINTER(task, mm);
	__u64 start_stack;

	if (thread_pointer - sp < MAX_STACK_BYTES)
		return thread_pointer;
	start_stack = BPF_CORE_READ(mm, start_stack);
	return start_stack - sp < MAX_STACK_BYTES ? start_stack : 0;
}

/* Bytes copied above the end that was found: a thread starts there with nothing below. */
#define STACK_END_MARGIN 256

/* Start of the last pages of a stack that is deeper than max_pages; 0 if it is not. */
static __always_inline __u64 find_far_part(struct task_struct *task, __u64 sp, __u32 max_pages,
					   __u32 num_end_pages)
{
	__u64 end = find_stack_end(task, sp);

	if (end <= sp || end - sp < (__u64)max_pages * WIRE_RAW_PAGE_BYTES)
		return 0;
	return (end & ~(WIRE_RAW_PAGE_BYTES - 1ull)) -
	       (__u64)(num_end_pages - 1) * WIRE_RAW_PAGE_BYTES;
}

/*
 * Fill in registers and stack of the raw sample. Gives the size of the record, or 0 when nothing
 * could be read.
 */
__attribute__((noinline)) int fill_raw_sample(__u32 max_pages)
{
	struct task_struct *task = get_current_task();
	struct wire_raw_sample *raw = get_raw_sample();
	struct scratch *scratch = get_scratch();
	__u32 max_far_pages = max_pages;
	__u64 limit = ~0ull;
	__u64 num_bytes;
	__u64 sp;

	if (!raw || !scratch)
		return 0;
	get_registers(&scratch->registers, &raw->registers);
	sp = raw->registers.sp;
	raw->far_sp = raw->num_far_bytes = 0;
	raw->entry_bytes = scratch->walk.entry_bytes;
	raw->cfa_offset = scratch->walk.cfa_offset;
	raw->frame_setup = scratch->walk.frame_setup;
	raw->has_signal_stack = true;
	raw->signal_stack = TASK_FIELD(task, sas_ss_sp);
	raw->signal_stack_bytes = TASK_FIELD(task, sas_ss_size);
	if (is_on_signal_stack(task, sp))
		raw->far_sp = find_interrupted_sp(sp, raw->signal_stack, raw->signal_stack_bytes);
	if (raw->far_sp) {
		limit = raw->signal_stack + raw->signal_stack_bytes;
	} else {
		__u32 num_end_pages = max_pages / 2;

		raw->far_sp = find_far_part(task, sp, max_pages, num_end_pages);
		if (raw->far_sp) {
			max_far_pages = num_end_pages - 1; /* and the one that it starts with */
			max_pages -= num_end_pages;
			limit = raw->far_sp;
		} else {
			__u64 end = find_stack_end(task, sp);

			/* Above it is the program's environment, or the thread's own data. */
			if (end)
				limit = end + STACK_END_MARGIN;
		}
	}
	num_bytes = copy_stack(0, sp, limit, max_pages, MAX_UNTOUCHED_PAGES);
	if (!num_bytes)
		return 0;
	raw->num_bytes = num_bytes;
	if (raw->far_sp)
		raw->num_far_bytes =
			copy_stack(num_bytes, raw->far_sp, ~0ull, max_far_pages, max_far_pages);
	if (scratch->trampoline != NO_TRAMPOLINE) {
		restore_returns(0, sp, num_bytes);
		restore_returns(num_bytes, raw->far_sp, raw->num_far_bytes);
	}
	return sizeof(*raw) - sizeof(raw->bytes) + raw->num_bytes + raw->num_far_bytes;
}

#endif
