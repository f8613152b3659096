/*
 * Frames of interpreters whose frames hold the current line (PHP, Ruby, Perl), and their places in
 * the stacks of processes that run them (evaluated_stacks.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/runtimes/evaluated_stacks.h"
#include "runtime/script_function.h"

/* The code of the program's first file that is in no function. */
#define MAIN_NAME "{main}"

/* Names of an interpreter's frames without a function. */
struct frame_words {
	enum frame_kind kind;
	const char *include_prefix; /* of a file that the program includes */
	const char *eval_name;
};

/* Perl calls all three ways to run a file `require`, and names evaluated strings. */
static const struct frame_words words_of_runtimes[] = {
	[WIRE_RUNTIME_PHP] = {FRAME_PHP, "include", "eval"},
	[WIRE_RUNTIME_RUBY] = {FRAME_RUBY, "require", "eval"},
	[WIRE_RUNTIME_PERL] = {FRAME_PERL, "require", "(eval)"},
};

struct script_stacks {
	struct runtime_context context;
	enum wire_runtime runtime;
	const struct frame_words *words;
	struct script_functions *functions;
	struct text name; /* name being made */
};

static void *create(const struct runtime_context *context, enum wire_runtime runtime)
{
	struct script_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->context = *context;
	stacks->runtime = runtime;
	stacks->words = &words_of_runtimes[runtime];
	stacks->functions = script_functions_new();
	if (!stacks->functions) {
		free(stacks);
		return NULL;
	}
	return stacks;
}

static void free_stacks(void *runtime)
{
	struct script_stacks *stacks = runtime;

	if (!stacks)
		return;
	script_functions_free(stacks->functions);
	text_release(&stacks->name);
	free(stacks);
}

static int add_code(void *runtime, const void *record)
{
	const struct script_stacks *stacks = runtime;

	return script_functions_add(stacks->functions, record);
}

static const char *get_base_name(const char *path)
{
	const char *base = strrchr(path, '/');

	return base ? base + 1 : path;
}

/* function: NULL: it was not sent. */
static int make_name(struct script_stacks *stacks, const struct script_function *function,
		     bool is_outermost, const char **ret)
{
	text_truncate(&stacks->name, 0);
	if (function && *function->name)
		text_append_string(&stacks->name, function->name);
	else if (!function || function->code_kind == WIRE_SCRIPT_CODE_FUNCTION)
		text_append_string(&stacks->name, "[unknown]");
	else if (function->code_kind == WIRE_SCRIPT_CODE_EVAL)
		text_append_string(&stacks->name, stacks->words->eval_name);
	else if (is_outermost)
		text_append_string(&stacks->name, MAIN_NAME);
	else
		text_printf(&stacks->name, "%s %s", stacks->words->include_prefix,
			    get_base_name(function->file));
	*ret = stacks->name.data;
	return stacks->name.failed ? -ENOMEM : 0;
}

/*
 * The function of a frame; NULL: not sent. Memory inherited from the parent that the process has
 * not touched cannot be read in it: its content is the parent's.
 */
static const struct script_function *find_function(const struct script_stacks *stacks,
						   const struct runtime_sample *source,
						   const struct wire_runtime_frame *wire)
{
	const struct script_function *function =
		script_functions_find(stacks->functions, source->process->pid, source->generation,
				      wire->code, wire->fingerprint);
	const struct script_function *of_parent;

	if (function && *function->name)
		return function;
	of_parent = script_functions_find(stacks->functions, source->process->parent_pid,
					  source->generation, wire->code, wire->fingerprint);
	return of_parent ? of_parent : function;
}

/* The frame's location: its name, its file as its module and its source, and the line that ran. */
static int locate(void *runtime, const struct runtime_sample *source,
		  const struct runtime_frame_list *frames, uint32_t number, uint32_t *ret)
{
	struct script_stacks *stacks = runtime;
	const struct wire_runtime_frame *wire = &frames->items[number];
	const struct script_function *function = find_function(stacks, source, wire);
	bool is_outermost = number + 1 == frames->length && frames->end == WIRE_RUNTIME_COMPLETE;
	struct frame frame = {.kind = stacks->words->kind,
			      .line = wire->position & WIRE_SCRIPT_MAX_LINE};
	const char *file = function ? function->file : "";
	const char *name;
	int err = make_name(stacks, function, is_outermost, &name);

	if (err)
		return err;
	err = profile_name_frame(stacks->context.profile, name, name, get_base_name(file), &frame);
	if (err)
		return err;
	err = profile_add_string(stacks->context.profile, file, &frame.file);
	if (err)
		return err;
	return profile_add_frame_location(stacks->context.profile, &frame, ret);
}

/* Reverse generators that wait for each other: they were sent outermost first. */
static void turn_generators(struct wire_runtime_frame *frames, uint32_t num_frames)
{
	for (uint32_t first = 0; first < num_frames; first++) {
		uint32_t end = first;

		while (end < num_frames && (frames[end].position & WIRE_SCRIPT_DELEGATES))
			end++;
		for (uint32_t i = first, j = end; i + 1 < j; i++) {
			struct wire_runtime_frame frame = frames[i];

			frames[i] = frames[--j];
			frames[j] = frame;
		}
		first = end;
	}
}

/*
 * C methods that Ruby calls without a Ruby frame around them (as in a thread that runs a C method)
 * are outside the outermost evaluating call. They are put with its frames.
 */
static void take_outermost_methods(struct wire_runtime_frame *frames, uint32_t num_frames)
{
	for (uint32_t i = num_frames; i > 0; i--) {
		if (!(frames[i - 1].position & WIRE_RUNTIME_ENTRY_FRAME))
			continue;
		frames[i - 1].position &= ~WIRE_RUNTIME_ENTRY_FRAME;
		frames[num_frames - 1].position |= WIRE_RUNTIME_ENTRY_FRAME;
		return;
	}
}

static int splice_frames(void *runtime, struct runtime_splice *splice)
{
	struct script_stacks *stacks = runtime;
	const struct runtime_frame_list *frames = &splice->frames;
	bool is_ruby = stacks->runtime == WIRE_RUNTIME_RUBY;
	bool is_perl = stacks->runtime == WIRE_RUNTIME_PERL;
	const struct evaluated_runtime script = {
		.context = &stacks->context,
		.runtime = stacks->runtime,
		.has_one_thread = !is_perl,
		.has_frame_before_call = is_ruby,
		.stack_start_flag = WIRE_SCRIPT_STACK_START,
		.no_frame_flag = WIRE_SCRIPT_NO_FRAME,
		.may_wait_flag = WIRE_SCRIPT_MAY_WAIT,
		.tells_idle_calls = is_perl,
		.locate = locate,
		.stacks = stacks,
	};
	struct wire_runtime_frame turned[WIRE_MAX_RUNTIME_FRAMES];

	if (frames->length)
		memcpy(turned, frames->items, frames->length * sizeof(turned[0]));
	if (is_ruby && frames->end == WIRE_RUNTIME_COMPLETE)
		take_outermost_methods(turned, frames->length);
	else if (stacks->runtime == WIRE_RUNTIME_PHP)
		turn_generators(turned, frames->length);
	splice->frames.items = turned;
	return evaluated_stacks_splice(&script, splice);
}

const struct runtime_ops script_stack_ops = {
	.create = create,
	.free = free_stacks,
	.add_code = add_code,
	.code_bytes = sizeof(struct wire_script_function),
	.splice = splice_frames,
};
