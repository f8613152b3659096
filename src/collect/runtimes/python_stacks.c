#include "collect/runtimes/python_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/runtimes/evaluated_stacks.h"
#include "runtime/python.h"
#include "runtime/python_code.h"

struct python_stacks {
	struct profile *profile;
	const struct file_table *files;
	const struct elf_files *elf_files;
	enum runtime_frames shown;
	struct python_codes *codes;
};

struct python_stacks *python_stacks_new(struct profile *profile, const struct file_table *files,
					const struct elf_files *elf_files,
					enum runtime_frames shown)
{
	struct python_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->profile = profile;
	stacks->files = files;
	stacks->elf_files = elf_files;
	stacks->shown = shown;
	stacks->codes = python_codes_new();
	if (!stacks->codes) {
		python_stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void python_stacks_free(struct python_stacks *stacks)
{
	if (!stacks)
		return;
	python_codes_free(stacks->codes);
	free(stacks);
}

int python_stacks_add_code(struct python_stacks *stacks, const struct wire_python_code *record)
{
	return python_codes_add(stacks->codes, record);
}

static const struct evaluation_part *find_parts(const void *context, const struct mapped_file *file,
						unsigned int *ret_num)
{
	const struct python_stacks *stacks = context;
	const struct python_build *build = elf_files_get_python(stacks->elf_files, file);

	if (!build || build->support != PYTHON_KNOWN)
		return NULL;
	*ret_num = build->num_eval_parts;
	return build->eval_parts;
}

/* The frame's location: its name, its file as its module and its source, and the line that ran. */
static int locate(void *context, const struct runtime_sample *source,
		  const struct runtime_frame_list *frames, uint32_t number, uint32_t *ret)
{
	struct python_stacks *stacks = context;
	const struct wire_runtime_frame *wire = &frames->items[number];
	const struct python_code *code =
		python_codes_find(stacks->codes, source->process->pid, source->generation,
				  wire->code, wire->fingerprint);
	struct frame frame = {.kind = FRAME_PYTHON};
	const char *name = code && *code->name ? code->name : "[unknown]";
	const char *file = code ? code->file : "";
	const char *base = strrchr(file, '/');
	int err = profile_name_frame(stacks->profile, name, name, base ? base + 1 : file, &frame);

	if (err)
		return err;
	err = profile_add_string(stacks->profile, file, &frame.file);
	if (err)
		return err;
	if (code)
		frame.line = python_code_get_line(code, wire->position);
	return profile_add_frame_location(stacks->profile, &frame, ret);
}

/* greenlet's module, which gevent, eventlet and SQLAlchemy use: _greenlet.cpython-311-x86_64-linux-gnu.so, without `_` before 1.0. */
static bool switches_coroutines(const struct mapped_file *file)
{
	const char *name = path_basename(file->path);

	return string_starts_with(name, "_greenlet.") || string_starts_with(name, "greenlet.");
}

int python_stacks_splice(struct python_stacks *stacks, const struct runtime_sample *source,
			 const struct runtime_frame_list *frames, const uint64_t *pcs,
			 uint32_t num_pcs, struct runtime_level *ret, uint32_t *ret_num,
			 enum runtime_fit *ret_fit)
{
	const struct evaluated_runtime runtime = {
		.files = stacks->files,
		.elf_files = stacks->elf_files,
		.shown = stacks->shown,
		.switches_coroutines = switches_coroutines,
		.context = stacks,
		.find_parts = find_parts,
		.locate = locate,
	};

	return evaluated_stacks_splice(&runtime, source, frames, pcs, num_pcs, ret, ret_num,
				       ret_fit);
}
