/* CPython frames, and their places in the stacks of processes that run it (evaluated_stacks.h). */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/runtimes/evaluated_stacks.h"
#include "runtime/python_code.h"

struct python_stacks {
	struct runtime_context context;
	struct python_codes *codes;
};

static void *create(const struct runtime_context *context, enum wire_runtime runtime _unused_)
{
	struct python_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->context = *context;
	stacks->codes = python_codes_new();
	if (!stacks->codes) {
		free(stacks);
		return NULL;
	}
	return stacks;
}

static void free_stacks(void *runtime)
{
	struct python_stacks *stacks = runtime;

	if (!stacks)
		return;
	python_codes_free(stacks->codes);
	free(stacks);
}

static int add_code(void *runtime, const void *record)
{
	const struct python_stacks *stacks = runtime;

	return python_codes_add(stacks->codes, record);
}

/* The frame's location: its name, its file as its module and its source, and the line that ran. */
static int locate(void *runtime, const struct runtime_sample *source,
		  const struct runtime_frame_list *frames, uint32_t number, uint32_t *ret)
{
	struct python_stacks *stacks = runtime;
	const struct wire_runtime_frame *wire = &frames->items[number];
	const struct python_code *code =
		python_codes_find(stacks->codes, source->process->pid, source->generation,
				  wire->code, wire->fingerprint);
	struct frame frame = {.kind = FRAME_PYTHON};
	const char *name = code && *code->name ? code->name : "[unknown]";
	const char *file = code ? code->file : "";
	const char *base = strrchr(file, '/');
	int err = profile_name_frame(stacks->context.profile, name, name, base ? base + 1 : file,
				     &frame);

	if (err)
		return err;
	err = profile_add_string(stacks->context.profile, file, &frame.file);
	if (err)
		return err;
	if (code)
		frame.line = python_code_get_line(code, wire->position);
	return profile_add_frame_location(stacks->context.profile, &frame, ret);
}

/* greenlet's module, which gevent, eventlet and SQLAlchemy use: _greenlet.cpython-311-ARCH-linux-gnu.so, without `_` before 1.0. */
static bool switches_coroutines(const struct mapped_file *file)
{
	const char *name = path_basename(file->path);

	return string_starts_with(name, "_greenlet.") || string_starts_with(name, "greenlet.");
}

static int splice_frames(void *runtime, struct runtime_splice *splice)
{
	struct python_stacks *stacks = runtime;
	const struct evaluated_runtime python = {
		.context = &stacks->context,
		.runtime = WIRE_RUNTIME_PYTHON,
		.switches_coroutines = switches_coroutines,
		.locate = locate,
		.stacks = stacks,
	};

	return evaluated_stacks_splice(&python, splice);
}

const struct runtime_ops python_stack_ops = {
	.create = create,
	.free = free_stacks,
	.add_code = add_code,
	.code_bytes = sizeof(struct wire_python_code),
	.splice = splice_frames,
};
