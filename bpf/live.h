/*
 * Memory that is allocated and not freed. A sample is taken at an allocation. When the function
 * returns, its address is known, and it is kept as a block until that is freed. User space keeps
 * the samples in slots; the slots in use at the end are the blocks not freed. So neither side grows
 * with the number of allocations.
 *
 * Memory of a process that ended or executed another program counts as never freed. A block whose
 * free was not seen, as when an allocator returns all memory at once, is replaced when a sampled
 * one gets its address.
 */
#ifndef BPF_LIVE_H
#define BPF_LIVE_H

#include "maps.h"
#include "probe_argument.h"
#include "task.h"

/* Set by user space before loading. */
const volatile bool is_live = false;

/* Filled by user space before the first hit. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(__u32));
} free_slots SEC(".maps");

/* Sampled calls of allocation functions that have not returned. */
#define MAX_RETURNING 4096

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_RETURNING);
	__type(key, struct wire_call_key);
	__type(value, struct wire_returning);
} returning SEC(".maps");

/* Calls of realloc() with a block that have not returned. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_RETURNING);
	__type(key, struct wire_call_key);
	__type(value, struct wire_reallocation);
} reallocations SEC(".maps");

/* As many as slots. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct wire_block_key);
	__type(value, struct wire_block);
} blocks SEC(".maps");

static __always_inline bool take_slot(__u32 *ret)
{
	return !bpf_map_pop_elem(&free_slots, ret);
}

static __always_inline void give_slot_back(__u32 slot)
{
	/* There is room for all. */
	(void)bpf_map_push_elem(&free_slots, &slot, BPF_ANY);
}

/*
 * The running thread's memory. A child of vfork() has that of its parent, and so may processes of
 * clone().
 */
static __always_inline __u64 read_memory(void)
{
	struct mm_struct *mm = TASK_POINTER(get_current_task(), mm);

	if (!bpf_core_field_exists(mm->MEMORY_NUMBER))
		return bpf_get_current_pid_tgid() >> 32;
	return BPF_CORE_READ(mm, MEMORY_NUMBER);
}

static __always_inline struct wire_block_key get_block_key(__u64 address)
{
	return (struct wire_block_key){.address = address, .memory = read_memory()};
}

/* The same at each free. Mostly the thread has freed before. mine: NULL if preempted. */
static __always_inline struct wire_block_key find_block_key(struct wire_running *mine,
							    __u64 address)
{
	struct wire_block_key key = {.address = address};
	struct task_struct *task = get_current_task();
	__u64 tid = TASK_FIELD(task, pid);
	__u64 num_execs = TASK_FIELD(task, self_exec_id);

	if (!mine)
		return get_block_key(address);
	if (mine->freeing_tid != tid || mine->freeing_exec != num_execs) {
		mine->memory = read_memory();
		mine->freeing_tid = tid;
		mine->freeing_exec = num_execs;
	}
	key.memory = mine->memory;
	return key;
}

static __always_inline struct wire_call_key get_call_key(__u64 sp)
{
	return (struct wire_call_key){.sp = sp, .tid = (__u32)bpf_get_current_pid_tgid()};
}

/*
 * The running thread's function is about to allocate. pointer: location for the address; 0:
 * returned.
 */
static __always_inline void expect_return(const struct user_registers *ctx, __u64 pointer,
					  __u32 slot, __u64 time_ns)
{
	struct wire_call_key key = get_call_key(ctx->sp);
	struct wire_returning call = {.pointer = pointer};
	const struct wire_returning *last = bpf_map_lookup_elem(&returning, &key);

	/* The last call was left not by returning, but by longjmp() out of a signal handler. */
	if (last)
		give_slot_back(last->block.slot);
	call.block.slot = slot;
	call.block.time_ns = time_ns;
	if (bpf_map_update_elem(&returning, &key, &call, BPF_ANY))
		give_slot_back(slot);
}

static __always_inline void handle_free(struct wire_block_key key)
{
	const struct wire_block *block = key.address ? bpf_map_lookup_elem(&blocks, &key) : NULL;
	__u32 slot;

	if (!block)
		return;
	slot = block->slot;
	if (!bpf_map_delete_elem(&blocks, &key))
		give_slot_back(slot);
}

/*
 * The running thread's function is about to free a block, unless it fails. Not inline, so that its
 * part of the stack is free again when the walk needs all of it.
 */
static __attribute__((noinline)) int expect_free(const struct user_registers *ctx,
						 struct wire_running *mine, __u64 address,
						 __u32 point, bool frees_always)
{
	struct wire_call_key key = get_call_key(ctx->sp);
	struct wire_block_key block_key = find_block_key(mine, address);
	const struct wire_block *block = address ? bpf_map_lookup_elem(&blocks, &block_key) : NULL;
	struct wire_reallocation call = {.address = address};

	if (!block) {
		/* The last call may have been left by longjmp(). */
		bpf_map_delete_elem(&reallocations, &key);
		return 0;
	}
	call.block = *block;
	call.point = point;
	call.frees_always = frees_always;
	(void)bpf_map_update_elem(&reallocations, &key, &call, BPF_ANY);
	return 0;
}

/* A function has returned. The address of the block that it has freed may be another thread's now. */
static __always_inline void handle_reallocation(const struct wire_call_key *key, __u32 point,
						bool has_address)
{
	const struct wire_argument *argument = bpf_map_lookup_elem(&arguments, &point);
	const struct wire_reallocation *call;
	struct wire_block_key block_key;
	const struct wire_block *block;

	if (!argument || argument->frees == WIRE_NO_REGISTER)
		return;
	call = bpf_map_lookup_elem(&reallocations, key);
	if (!call || call->point != point)
		return;
	block_key = get_block_key(call->address);
	block = has_address || call->frees_always ? bpf_map_lookup_elem(&blocks, &block_key) : NULL;
	if (block && block->slot == call->block.slot && block->time_ns == call->block.time_ns)
		handle_free(block_key);
	bpf_map_delete_elem(&reallocations, key);
}

static __always_inline void handle_return(struct user_registers *ctx, __u32 point)
{
	struct wire_call_key call_key = get_call_key(ctx->sp - RETURN_ADDRESS_BYTES);
	const struct wire_returning *call;
	const struct wire_block *last;
	struct wire_block_key key;
	struct wire_block block;
	__u64 address = ctx->RETURN_VALUE;
	__u64 pointer;

	handle_reallocation(&call_key, point, address);
	/* Functions that the one calls return before it. */
	call = bpf_map_lookup_elem(&returning, &call_key);
	if (!call)
		return;
	block = call->block;
	pointer = call->pointer;
	bpf_map_delete_elem(&returning, &call_key);
	/* posix_memalign() returns an error's number. */
	if (pointer &&
	    ((__u32)address || bpf_probe_read_user(&address, sizeof(address), (void *)pointer)))
		address = 0;
	if (!address) {
		give_slot_back(block.slot);
		return;
	}
	key = get_block_key(address);
	last = bpf_map_lookup_elem(&blocks, &key);
	if (last)
		give_slot_back(last->slot);
	if (bpf_map_update_elem(&blocks, &key, &block, BPF_ANY))
		give_slot_back(block.slot);
}

#endif
