#include "collect/runtimes/script_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/runtimes/evaluated_stacks.h"
#include "runtime/script.h"
#include "runtime/script_function.h"

/* All of a file that is in no function, of the first one, which begins the program. */
#define MAIN_NAME "{main}"

/* What frames of an interpreter are called that are no function's. */
struct frame_words {
	enum frame_kind kind;
	const char *include_prefix; /* of a file that the program includes */
	const char *eval_name;
};

struct script_stacks {
	struct profile *profile;
	const struct file_table *files;
	const struct elf_files *elf_files;
	enum runtime_frames shown;
	struct script_functions *functions;
	struct text name;                /* that is being made */
	const struct frame_words *words; /* of the interpreter whose stack is spliced */
};

struct script_stacks *script_stacks_new(struct profile *profile, const struct file_table *files,
					const struct elf_files *elf_files,
					enum runtime_frames shown)
{
	struct script_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->profile = profile;
	stacks->files = files;
	stacks->elf_files = elf_files;
	stacks->shown = shown;
	stacks->functions = script_functions_new();
	if (!stacks->functions) {
		free(stacks);
		return NULL;
	}
	return stacks;
}

void script_stacks_free(struct script_stacks *stacks)
{
	if (!stacks)
		return;
	script_functions_free(stacks->functions);
	text_release(&stacks->name);
	free(stacks);
}

int script_stacks_add_function(struct script_stacks *stacks,
			       const struct wire_script_function *record)
{
	return script_functions_add(stacks->functions, record);
}

static const struct evaluation_part *find_parts(const void *context, const struct mapped_file *file,
						unsigned int *ret_num)
{
	const struct script_stacks *stacks = context;
	const struct script_build *build = elf_files_get_script(stacks->elf_files, file);

	if (!build || build->support != SCRIPT_KNOWN)
		return NULL;
	*ret_num = build->num_eval_parts;
	return build->eval_parts;
}

static bool is_unwritten(const void *context, const struct mapped_file *file, uint64_t elf_address)
{
	const struct script_stacks *stacks = context;
	const struct script_build *build = elf_files_get_script(stacks->elf_files, file);

	for (unsigned int i = 0; build && i < build->num_pushes; i++)
		if (elf_address >= build->pushes[i].start && elf_address < build->pushes[i].end)
			return true;
	return false;
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
 * What is known of the function of a frame; NULL: it was not sent. Memory that a process has from its parent, and has not looked at,
 * cannot be read in it: what it has there is what the parent had.
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
static int locate(void *context, const struct runtime_sample *source,
		  const struct runtime_frame_list *frames, uint32_t number, uint32_t *ret)
{
	struct script_stacks *stacks = context;
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
	err = profile_name_frame(stacks->profile, name, name, get_base_name(file), &frame);
	if (err)
		return err;
	err = profile_add_string(stacks->profile, file, &frame.file);
	if (err)
		return err;
	return profile_add_frame_location(stacks->profile, &frame, ret);
}

/* Generators that wait for each other, which came with the outermost first, are put the other way round. */
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
 * What Ruby calls in C without a frame in Ruby around it, as a thread that runs a method in C, is outside of the outermost call
 * of the function that evaluates frames: it comes with these.
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

/* Perl says `require` of all three ways to run a file, and has a name for what it evaluates. */
static const struct frame_words php_words = {FRAME_PHP, "include", "eval"};
static const struct frame_words perl_words = {FRAME_PERL, "require", "(eval)"};
static const struct frame_words ruby_words = {FRAME_RUBY, "require", "eval"};

int script_stacks_splice(struct script_stacks *stacks, enum wire_runtime which,
			 const struct runtime_sample *source,
			 const struct runtime_frame_list *frames, const uint64_t *pcs,
			 uint32_t num_pcs, struct runtime_level *ret, uint32_t *ret_num,
			 enum runtime_fit *ret_fit)
{
	bool is_perl = which == WIRE_RUNTIME_PERL;
	const struct evaluated_runtime runtime = {
		.files = stacks->files,
		.elf_files = stacks->elf_files,
		.shown = stacks->shown,
		.has_one_thread = !is_perl,
		.has_frame_before_call = which == WIRE_RUNTIME_RUBY,
		.stack_begin_flag = WIRE_SCRIPT_STACK_BEGIN,
		.no_frame_flag = WIRE_SCRIPT_NO_FRAME,
		.may_wait_flag = WIRE_SCRIPT_MAY_WAIT,
		.tells_idle_calls = is_perl,
		.context = stacks,
		.find_parts = find_parts,
		.is_unwritten = is_unwritten,
		.locate = locate,
	};

	struct wire_runtime_frame turned[WIRE_MAX_RUNTIME_FRAMES];
	struct runtime_frame_list list = *frames;

	stacks->words = &php_words;
	if (which == WIRE_RUNTIME_RUBY)
		stacks->words = &ruby_words;
	else if (is_perl)
		stacks->words = &perl_words;
	if (frames->length)
		memcpy(turned, frames->items, frames->length * sizeof(turned[0]));
	if (which == WIRE_RUNTIME_RUBY && frames->end == WIRE_RUNTIME_COMPLETE)
		take_outermost_methods(turned, frames->length);
	else if (which == WIRE_RUNTIME_PHP)
		turn_generators(turned, frames->length);
	list.items = turned;
	return evaluated_stacks_splice(&runtime, source, &list, pcs, num_pcs, ret, ret_num,
				       ret_fit);
}
