#include "collect/v8_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "process/process_memory.h"
#include "runtime/v8_function.h"
#include "runtime/v8_source.h"

/* What a script of a module has before its path. */
#define FILE_URL "file://"

struct v8_stacks {
	struct profile *profile;
	struct slow_opener *opener;
	enum runtime_frames shown;
	struct v8_functions *functions;
	struct v8_sources *sources;
};

struct v8_stacks *v8_stacks_new(struct profile *profile, struct slow_opener *opener,
				enum runtime_frames shown)
{
	struct v8_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->profile = profile;
	stacks->opener = opener;
	stacks->shown = shown;
	stacks->functions = v8_functions_new();
	stacks->sources = v8_sources_new();
	if (!stacks->functions || !stacks->sources) {
		v8_stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void v8_stacks_free(struct v8_stacks *stacks)
{
	if (!stacks)
		return;
	v8_functions_free(stacks->functions);
	v8_sources_free(stacks->sources);
	free(stacks);
}

int v8_stacks_add_function(struct v8_stacks *stacks, const struct wire_v8_function *record)
{
	struct process_memory process = {.opener = stacks->opener, .pid = (pid_t)record->pid};
	const struct v8_memory memory = {.read = process_memory_read, .context = &process};
	uint32_t source;
	int err = v8_sources_add(stacks->sources, record, &memory, &source);

	/* A function whose source is one too many has no line, but for that it is what it is. */
	if (err && err != -ENOSPC)
		return err;
	return v8_functions_add(stacks->functions, record, source);
}

/* The line that a function begins in; 0: it is not known. */
static uint32_t find_line(const struct v8_stacks *stacks, const struct v8_function *function)
{
	int64_t line = function->line;

	if (!line)
		line = v8_sources_get_line(stacks->sources, function->source, function->position);
	if (!line || line + function->first_line <= 0)
		return 0;
	return (uint32_t)(line + function->first_line);
}

static const char *get_name(const struct v8_function *function)
{
	if (function->name[0])
		return function->name;
	return function->is_name_missing ? "[unknown]" : "(anonymous)";
}

/* The location of a function: its name, its file as its module and its source, and the line that it begins in. */
static int locate(struct v8_stacks *stacks, const struct v8_function *function, uint32_t *ret)
{
	struct frame frame = {.kind = FRAME_JAVASCRIPT};
	const char *name = get_name(function);
	const char *file = function->file;
	const char *base;
	int err = profile_add_frame_name(stacks->profile, name, strlen(name), &frame.name);

	if (err)
		return err;
	err = profile_add_string(stacks->profile, name, &frame.full_name);
	if (err)
		return err;
	if (string_starts_with(file, FILE_URL "/"))
		file += strlen(FILE_URL);
	base = strrchr(file, '/');
	/* Those that are built into the program are known by their whole name: node:internal/timers. */
	if (string_starts_with(file, "node:"))
		base = NULL;
	err = profile_add_string(stacks->profile, base ? base + 1 : file, &frame.module);
	if (err)
		return err;
	err = profile_add_string(stacks->profile, file, &frame.file);
	if (err)
		return err;
	/* A line is one of a file. */
	if (*file)
		frame.line = find_line(stacks, function);
	return profile_add_frame_location(stacks->profile, &frame, ret);
}

/* A whole stack whose outer levels the sampling program did not come to was walked later. */
static enum runtime_fit find_fit(const struct runtime_sample *source,
				 const struct runtime_frame_list *frames)
{
	if (!frames->have_come || (frames->end == WIRE_RUNTIME_PARTIAL && source->is_whole))
		return RUNTIME_EARLY;
	if (frames->end == WIRE_RUNTIME_UNREADABLE)
		return RUNTIME_UNREADABLE;
	return frames->length ? RUNTIME_FITS : RUNTIME_OUTSIDE;
}

int v8_stacks_splice(struct v8_stacks *stacks, const struct runtime_sample *source,
		     const struct runtime_frame_list *frames, uint32_t num_pcs,
		     struct runtime_level *ret, uint32_t *ret_num, enum runtime_fit *ret_fit)
{
	uint32_t next = 0;

	*ret_num = 0;
	*ret_fit = find_fit(source, frames);
	for (uint32_t i = 0; i < num_pcs; i++) {
		const struct v8_function *function = NULL;
		struct runtime_level level = {.pc = RUNTIME_LEVEL_FRAME};
		int err;

		/* They come in the order of the levels; what a hostile one says of others is left out. */
		while (next < frames->length && frames->items[next].position < i)
			next++;
		if (next < frames->length && frames->items[next].position == i)
			function = v8_functions_find(stacks->functions, source->process->pid,
						     source->generation, frames->items[next].code,
						     frames->items[next].fingerprint);
		if (!function || function->is_builtin) {
			ret[(*ret_num)++] = (struct runtime_level){.pc = i};
			continue;
		}
		err = locate(stacks, function, &level.location);
		if (err)
			return err;
		/* The machine code that runs it is what it calls. */
		if (stacks->shown == RUNTIME_FRAMES_ALL)
			ret[(*ret_num)++] = (struct runtime_level){.pc = i};
		ret[(*ret_num)++] = level;
	}
	return 0;
}
