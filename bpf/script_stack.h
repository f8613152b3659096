/*
 * The PHP, Ruby or Perl frames of the running thread: collected beside its native stack, like
 * Python's (python_stack.h).
 */
#ifndef BPF_SCRIPT_STACK_H
#define BPF_SCRIPT_STACK_H

#include "maps.h"
#include "output.h"
#include "runtime_stack.h"
#include "user_walk.h"
#include "wire/script.h"

int hash_some_perl_words(__u32 first);

#define PHP_INLINE static __always_inline
#include "runtime/php_walk.h"
#define RUBY_INLINE static __always_inline
#include "runtime/ruby_walk.h"
#define PERL_INLINE                       static __always_inline
#define PERL_HASH_SOME_WORDS(walk, first) hash_some_perl_words(first)
#include "runtime/perl_walk.h"

/* The steps of any of these walks: one that needs fewer ends earlier. */
#define SCRIPT_MAX_STEPS (PERL_MAX_STEPS > PHP_MAX_STEPS ? PERL_MAX_STEPS : PHP_MAX_STEPS)

struct script_scratch {
	__u32 runtime; /* enum wire_runtime: which walk it is */
	__u32 padding;
	struct php_walk php;
	struct ruby_walk ruby;
	struct perl_walk perl;
	struct wire_script_function function;
};
PER_CPU(struct script_scratch, script_scratches);

static __always_inline int php_read(struct php_walk *walk, void *ret, __u32 bytes, __u64 address)
{
	return bpf_probe_read_user(ret, bytes, (void *)address);
}

static __always_inline int ruby_read(struct ruby_walk *walk, void *ret, __u32 bytes, __u64 address)
{
	return bpf_probe_read_user(ret, bytes, (void *)address);
}

static __always_inline int perl_read(struct perl_walk *walk, void *ret, __u32 bytes, __u64 address)
{
	return bpf_probe_read_user(ret, bytes, (void *)address);
}

static __always_inline int perl_read_string(struct perl_walk *walk, void *ret, __u32 size,
					    __u64 address)
{
	/* The zero is counted. */
	return bpf_probe_read_user_str(ret, size, (void *)address) - 1;
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) int hash_some_perl_words(__u32 first)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);

	if (script)
		perl_hash_some_words(&script->perl, first);
	return 0;
}

/* Gives 0, or another number when there is nothing to walk. Not static: see user_walk.h. */
__attribute__((noinline)) int start_script_walk(void)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();
	struct wire_runtime_layout *layout;

	if (!script || !stack || !scratch)
		return 1;
	script->runtime = WIRE_RUNTIME_PHP;
	script->php.end = script->ruby.end = script->perl.end = WIRE_RUNTIME_UNREADABLE;
	script->php.num_frames = script->ruby.num_frames = script->perl.num_frames = 0;
	layout = find_layout(scratch->runtime.layout);
	if (!layout)
		return 1;
	script->runtime = layout->runtime;
	if (layout->runtime == WIRE_RUNTIME_RUBY)
		return ruby_walk_start(&script->ruby, &layout->ruby, scratch->runtime.state,
				       TASK_THREAD_POINTER(get_current_task()),
				       scratch->registers.sp,
				       scratch->registers.RUBY_FRAME_REGISTER,
				       scratch->registers.RUBY_INSTRUCTION_REGISTER);
	if (layout->runtime == WIRE_RUNTIME_PERL)
		return perl_walk_start(&script->perl, &layout->perl, scratch->runtime.state,
				       TASK_THREAD_POINTER(get_current_task()),
				       scratch->registers.sp, stack->frames);
	return php_walk_start(&script->php, &layout->php, scratch->runtime.state,
			      scratch->registers.PHP_FRAME_REGISTER,
			      scratch->registers.PHP_INSTRUCTION_REGISTER);
}

__attribute__((noinline)) int step_script_walk(int number)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (number < 0 || !script || !stack)
		return 1;
	if (script->runtime == WIRE_RUNTIME_RUBY)
		return ruby_walk_step(&script->ruby, stack->frames);
	if (script->runtime == WIRE_RUNTIME_PERL)
		return perl_walk_step(&script->perl, stack->frames);
	return php_walk_step(&script->php, stack->frames);
}

#define SCRIPT_STEPS_AT_ONCE 32

/* Gives 0 to go on, 1 at the end. Not static: see user_walk.h. */
__attribute__((noinline)) int take_some_script_steps(int number)
{
	for (int i = 0; i < SCRIPT_STEPS_AT_ONCE; i++)
		if (step_script_walk(number))
			return 1;
	return 0;
}

/*
 * Read the function of a frame's code into the scratch function. Gives 0, or another number when it
 * cannot be read.
 */
__attribute__((noinline)) int read_ruby_function(__u64 code)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);

	if (!script)
		return -1;
	return ruby_read_function(&script->ruby, code, &script->function);
}

/* Read the function of the frame with this number. Gives 0, or another number. Not static: see user_walk.h. */
__attribute__((noinline)) int read_script_function(int number)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct wire_runtime_frame *frame;

	if (!script || !stack || number < 0)
		return -1;
	frame = &stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)];
	if (script->runtime == WIRE_RUNTIME_RUBY)
		return read_ruby_function(frame->code);
	if (script->runtime != WIRE_RUNTIME_PERL)
		return php_read_function_names(&script->php, frame->code, &script->function);
	perl_read_function_names(&script->perl, number, frame, &script->function);
	return 0;
}

/* Gives enum code_sending. */
__attribute__((noinline)) int send_script_function(int number)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (!script || !stack || number < 0)
		return CODE_LOST;
	if (stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)].position & WIRE_SCRIPT_NO_FRAME)
		return CODE_SENT;
	return send_runtime_code(number, &script->function, sizeof(script->function),
				 read_script_function);
}

/* Collect the frames of the thread of the scratch sample. Gives 0, or another number. Not static: see user_walk.h. */
__attribute__((noinline)) int take_script_stack(void)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();

	if (!script || !stack || !scratch)
		return -1;
	if (!start_script_walk())
		for (int i = 0; i < SCRIPT_MAX_STEPS; i += SCRIPT_STEPS_AT_ONCE)
			if (take_some_script_steps(i))
				break;
	stack->runtime = script->runtime;
	stack->num_frames = script->php.num_frames;
	stack->end = script->php.end;
	if (script->runtime == WIRE_RUNTIME_RUBY) {
		stack->num_frames = script->ruby.num_frames;
		stack->end = script->ruby.end;
	} else if (script->runtime == WIRE_RUNTIME_PERL) {
		stack->num_frames = script->perl.num_frames;
		stack->end = script->perl.end;
	}
	return 0;
}

#endif
