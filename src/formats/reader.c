#include "formats/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/json_table.h"
#include "formats/slice.h"

int reader_skip_line(struct import *import, uint64_t line, const char *reason)
{
	if (import->is_strict)
		return import_fail_line(import, line, "%s", reason);
	import_skip_line(import, line, "%s, skipping", reason);
	return 0;
}

/* A damaged file may have millions of them: one warning for all. */
int reader_skip_byte(struct import *import, uint64_t offset, const char *reason)
{
	if (import->is_strict)
		return import_fail_byte(import, offset, "%s", reason);
	if (import->counts.skipped++ == 0)
		import_warn(import, "at byte %" PRIu64 ": %s, skipping this and others like it",
			    offset, reason);
	return 0;
}

int reader_end_at_byte(struct import *import, uint64_t offset, const char *reason)
{
	if (import->is_strict)
		return import_fail_byte(import, offset, "%s", reason);
	import->counts.skipped++;
	import_warn(import, "at byte %" PRIu64 ": %s", offset, reason);
	return 0;
}

void reader_report_damage(struct import *import, const struct lines *lines)
{
	if (lines->first_nul)
		import_warn(import, "line %" PRIu64 " contains NUL bytes: the file may be damaged",
			    lines->first_nul);
	if (lines->is_unended)
		import_warn(import,
			    "line %" PRIu64 ", the last one, does not end in a line feed: the file "
			    "may be truncated",
			    lines->number);
}

int reader_fail_json(struct import *import, const struct json *json, size_t base)
{
	if (string_equals(json->fault, "out of memory"))
		return -ENOMEM;
	return import_fail_byte(import, base + json->offset, "%s", json->fault);
}

int reader_read_objects(struct import *import, struct json *json, const char *expected,
			int (*read)(void *context, struct json *json), void *context)
{
	enum json_token token = json_next(json);
	int err = 0;

	if (token != JSON_ARRAY) {
		json_skip(json, token);
		return 0;
	}
	while ((token = json_next(json)) == JSON_OBJECT) {
		err = read(context, json);
		if (err)
			return err;
	}
	if (token != JSON_ARRAY_END && token != JSON_FAILED)
		err = import_fail_byte(import, json->offset, "expected %s", expected);
	return err;
}

/* The process is new each time: inputs without processes are not known to be of the same one. */
int reader_add_anonymous_thread(struct import *import, uint32_t *ret)
{
	struct thread thread = {.source = import->source};
	int err = profile_add_process(import->profile, 0, STRING_EMPTY, &thread.process);

	if (err)
		return err;
	return profile_add_thread(import->profile, &thread, ret);
}

/*
 * A pid that is used again is taken for the same process: most formats give nothing to keep them
 * apart.
 */
int reader_find_process(struct processes *processes, struct profile *profile, uint32_t pid,
			uint32_t comm, uint32_t *ret)
{
	struct process_of_input wanted = {.pid = pid};
	uint32_t item = processes_find(processes, &wanted);
	int err;

	if (item != HASH_INDEX_NONE) {
		*ret = processes->items[item].process;
		return 0;
	}
	err = profile_add_process(profile, pid, comm, &wanted.process);
	if (err)
		return err;
	*ret = wanted.process;
	return processes_add(processes, &wanted, &item);
}

static uint64_t hash_module(const struct module *module)
{
	return hash_mix(hash_bytes(module->build_id, module->build_id_size), module->path);
}

static bool is_module(const void *owner, uint32_t item, const void *key)
{
	const struct module *module = profile_get_module(owner, item);
	const struct module *wanted = key;

	return module->path == wanted->path && module->build_id_size == wanted->build_id_size &&
	       !memcmp(module->build_id, wanted->build_id, wanted->build_id_size);
}

int reader_find_module(struct hash_index *modules, struct profile *profile,
		       const struct module *module, uint32_t *ret)
{
	uint64_t hash = hash_module(module);
	int err;

	/* The index lags behind the profile: other inputs and other functions add modules, too. */
	for (uint32_t i = modules->num_items; i < profile_count_modules(profile); i++) {
		err = hash_index_add(modules, hash_module(profile_get_module(profile, i)), i);
		if (err)
			return err;
	}
	*ret = hash_index_find(modules, hash, is_module, profile, module);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	err = profile_add_module(profile, module, ret);
	if (err)
		return err;
	return hash_index_add(modules, hash, *ret);
}

bool reader_has_frames(const struct profile *profile, const struct location *location,
		       const struct frame *frames, size_t num_frames)
{
	if (location->num_frames != num_frames)
		return false;
	for (uint32_t i = 0; i < location->num_frames; i++)
		if (!frame_is_same(profile_get_frame(profile, location->first_frame + i),
				   &frames[i]))
			return false;
	return true;
}

/* As stackcollapse-perf.pl and flamegraph.pl agree on them. */
int reader_strip_annotation(struct profile *profile, const char *name, size_t *length,
			    struct frame *frame)
{
	uint8_t mark;

	if (!frame_mark_strip(name, length, &mark))
		return 0;
	if (mark == FRAME_MARK_INLINED)
		frame->is_inlined = true;
	else
		frame->kind = mark;
	if (frame->kind == FRAME_KERNEL && frame->module == STRING_EMPTY)
		return profile_add_string(profile, KERNEL_MODULE, &frame->module);
	return 0;
}

/* Unlike strtoull(): no sign, no blanks, no locale, no NUL needed at the end. */
bool parse_u64(const char *text, size_t length, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned int digit = (unsigned char)text[i] - (unsigned int)'0';

		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (length)
		*ret = value;
	return length != 0;
}

bool reader_get_weight(const struct json *json, enum json_token token, uint64_t *ret,
		       bool *has_decimals)
{
	const struct json_cell cell = {
		.token = JSON_NUMBER, .text = json->text, .length = json->length};

	if (!json_is_number(json, token) || !json_cell_get_scaled(&cell, 0, ret))
		return false;
	if (has_decimals)
		*has_decimals |= memchr(json->text, '.', json->length) != NULL;
	return true;
}

bool reader_get_signed_weight(const struct json *json, enum json_token token, uint64_t *ret,
			      bool *ret_is_negative, bool *has_decimals)
{
	struct json amount = *json;

	*ret_is_negative = json->length && json->text[0] == '-';
	amount.text += *ret_is_negative;
	amount.length -= *ret_is_negative;
	return json_is_number(json, token) &&
	       reader_get_weight(&amount, JSON_NUMBER, ret, has_decimals);
}

int reader_add_sample(struct import *import, uint64_t offset, uint32_t thread, uint32_t stack,
		      uint32_t metric, uint64_t weight)
{
	int err = profile_add_sample(import->profile, thread, stack, metric, weight);

	if (err == -EOVERFLOW)
		return import_fail_byte(import, offset, "the weights of a stack exceed 64 bits");
	if (err)
		return err;
	import->counts.records++;
	return 0;
}
