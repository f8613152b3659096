/*
 * HotSpot's code in the stack of the running thread: the walk goes through it by the virtual
 * machine's description of itself, and collects its methods on the way. The thread is stopped
 * meanwhile, so nothing changes.
 */
#ifndef BPF_HOTSPOT_STACK_H
#define BPF_HOTSPOT_STACK_H

#include "maps.h"
#include "output.h"
#include "runtime_stack.h"
#include "user_walk.h"
#include "wire/hotspot.h"

__u64 find_hotspot_segment(__u64 segments, __u64 segment);
__u64 take_some_hotspot_hops(__u64 segments, __u64 segment);
int find_hotspot_blob(__u64 pc);
int try_hotspot_return(__u64 offset);

#define HOTSPOT_INLINE                                     static __always_inline
#define HOTSPOT_FIND_SEGMENT(hotspot, segments, segment)   find_hotspot_segment(segments, segment)
#define HOTSPOT_TAKE_SOME_HOPS(hotspot, segments, segment) take_some_hotspot_hops(segments, segment)
#define HOTSPOT_FIND_BLOB(hotspot, pc)                     find_hotspot_blob(pc)
#define HOTSPOT_TRY_RETURN(hotspot, walk, offset)          try_hotspot_return(offset)
#include "runtime/hotspot_walk.h"

/* Location of each process's code, by pid: it is searched once. */
#define MAX_HOTSPOT_CODES 1024

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_HOTSPOT_CODES);
	__type(key, __u32);
	__type(value, struct hotspot_code);
} hotspot_codes SEC(".maps");

/* State of a walk. */
enum hotspot_state {
	HOTSPOT_NOT_STARTED,
	HOTSPOT_STARTED,
	HOTSPOT_NOT_FOUND, /* no code yet, or unreadable */
};

struct hotspot_scratch {
	struct hotspot_walk walk;
	struct wire_hotspot_method method;
};
PER_CPU(struct hotspot_scratch, hotspot_scratches);

static __always_inline int hotspot_read(struct hotspot_walk *walk, void *ret, __u32 bytes,
					__u64 address)
{
	return bpf_probe_read_user(ret, bytes, (void *)address);
}

static __always_inline int hotspot_read_string(struct hotspot_walk *walk, void *ret, __u32 size,
					       __u64 address)
{
	/* The zero is counted. */
	return bpf_probe_read_user_str(ret, size, (void *)address) - 1;
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) __u64 take_some_hotspot_hops(__u64 segments, __u64 segment)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);

	return hotspot ? hotspot_take_some_hops(&hotspot->walk, segments, segment)
		       : HOTSPOT_NO_SEGMENT;
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) __u64 find_hotspot_segment(__u64 segments, __u64 segment)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);

	return hotspot ? hotspot_find_segment(&hotspot->walk, segments, segment)
		       : HOTSPOT_NO_SEGMENT;
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) int find_hotspot_blob(__u64 pc)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);

	return hotspot ? hotspot_find_blob(&hotspot->walk, pc) : -1;
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) int try_hotspot_return(__u64 offset)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);
	struct scratch *scratch = get_scratch();

	return hotspot && scratch && hotspot_try_return(&hotspot->walk, &scratch->walk, offset);
}

/* Gives 0, or another number when the process's code is not found. Not static: see user_walk.h. */
__attribute__((noinline)) int start_hotspot_walk(void)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);
	struct scratch *scratch = get_scratch();
	struct wire_runtime_layout *layout;
	struct hotspot_code *code;
	__u32 pid;

	if (!hotspot || !scratch)
		return -1;
	pid = scratch->sample.pid;
	layout = find_layout(scratch->hotspot_layout);
	if (!layout)
		return -1;
	hotspot->walk.layout = layout->hotspot;
	code = bpf_map_lookup_elem(&hotspot_codes, &pid);
	/*
	 * A process with the pid and the number of execs of an earlier one has its code elsewhere.
	 */
	if (code && code->generation == scratch->sample.generation &&
	    code->bias == scratch->hotspot_bias) {
		hotspot->walk.code = *code;
		return hotspot_start(&hotspot->walk, scratch->registers.HOTSPOT_BYTECODE_REGISTER);
	}
	if (hotspot_find_code(&hotspot->walk, scratch->hotspot_bias))
		return -1;
	hotspot->walk.code.generation = scratch->sample.generation;
	hotspot->walk.code.bias = scratch->hotspot_bias;
	bpf_map_update_elem(&hotspot_codes, &pid, &hotspot->walk.code, BPF_ANY);
	return hotspot_start(&hotspot->walk, scratch->registers.HOTSPOT_BYTECODE_REGISTER);
}

/*
 * Whether pc is in HotSpot's code. Its mapping may be so new that user space does not know it yet.
 */
static __always_inline bool is_at_hotspot_code(const struct hotspot_scratch *hotspot,
					       const struct walk *walk)
{
	if (walk->end == WALK_AT_HOTSPOT_CODE)
		return true;
	return walk->end == WALK_NO_MAPPING &&
	       hotspot_get_heap(&hotspot->walk, walk->registers.pc - !walk->is_exact) <
		       WIRE_HOTSPOT_MAX_HEAPS;
}

__attribute__((noinline)) int step_hotspot(int number)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();

	if (number < 0 || !hotspot || !stack || !scratch || !scratch->hotspot_layout)
		return 1;
	if (scratch->walk.end != WALK_AT_HOTSPOT_CODE && scratch->walk.end != WALK_NO_MAPPING)
		return 1;
	if (scratch->hotspot_state == HOTSPOT_NOT_STARTED)
		scratch->hotspot_state = start_hotspot_walk() ? HOTSPOT_NOT_FOUND : HOTSPOT_STARTED;
	if (scratch->hotspot_state == HOTSPOT_STARTED &&
	    is_at_hotspot_code(hotspot, &scratch->walk))
		return hotspot_step(&hotspot->walk, &scratch->walk, stack->frames);
	if (scratch->walk.end == WALK_AT_HOTSPOT_CODE)
		scratch->walk.end = WALK_JIT_CODE;
	return 1;
}

/* Read the method of a frame, or its name. Gives 0, or another number. */
__attribute__((noinline)) int read_hotspot_method(int number)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct wire_runtime_frame *frame;
	__u64 method;
	__u64 id = 0;

	if (!hotspot || !stack || number < 0)
		return -1;
	frame = &stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)];
	method = frame->code;
	hotspot->method.code = frame->code;
	hotspot->method.fingerprint = frame->fingerprint;
	hotspot->method.compile_id = 0;
	if (frame->position & WIRE_HOTSPOT_STUB)
		return hotspot_read_stub(&hotspot->walk, frame->code, &hotspot->method);
	if (!(frame->position & WIRE_HOTSPOT_INTERPRETED) &&
	    (hotspot_read_word(&hotspot->walk, frame->code + hotspot->walk.layout.nmethod_method,
			       &method) ||
	     hotspot_read(&hotspot->walk, &id, 4,
			  frame->code + hotspot->walk.layout.nmethod_compile_id)))
		return -1;
	hotspot->method.compile_id = id;
	return hotspot_read_method(&hotspot->walk, method, &hotspot->method);
}

/* Whether user space names a frame without a record. */
static __always_inline bool has_own_name(const struct wire_runtime_frame *frame)
{
	const __u32 interpreter = WIRE_HOTSPOT_INTERPRETED | WIRE_HOTSPOT_STUB;

	return (frame->position & WIRE_HOTSPOT_CALL_STUB) ||
	       (frame->position & interpreter) == interpreter;
}

/* Send the method of a frame if this CPU has not lately. Gives enum code_sending. */
__attribute__((noinline)) int send_hotspot_method(int number)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (!hotspot || !stack || number < 0)
		return CODE_LOST;
	if (has_own_name(&stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)]))
		return CODE_SENT;
	return send_runtime_code(number, &hotspot->method, sizeof(hotspot->method),
				 read_hotspot_method);
}

/* Take the methods found by the walk. Gives 0, or another number. Not static: see user_walk.h. */
__attribute__((noinline)) int take_hotspot_stack(void)
{
	struct hotspot_scratch *hotspot = get_per_cpu(&hotspot_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();

	if (!hotspot || !stack || !scratch)
		return -1;
	stack->runtime = WIRE_RUNTIME_HOTSPOT;
	stack->num_frames = hotspot->walk.num_frames;
	stack->end = WIRE_RUNTIME_COMPLETE;
	if (hotspot->walk.is_deep)
		stack->end = WIRE_RUNTIME_DEEP;
	else if (scratch->walk.end != WALK_COMPLETE)
		stack->end = WIRE_RUNTIME_PARTIAL;
	return 0;
}

#endif
