/*
 * For each source, the numbers of the characters that end its lines are kept. They follow V8's
 * rules: the line of a character is the number of ends before it.
 */
#include "runtime/v8_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/intern.h"
#include "runtime/v8/memory_walk.h"

#define READ_BYTES (64u << 10)
/* Start of a string: its map, its length, and the address of the characters of an external one. */
#define HEAD_BYTES 32

/* Unicode characters that end lines, too. */
#define LINE_SEPARATOR      0x2028
#define PARAGRAPH_SEPARATOR 0x2029

struct v8_source {
	/* Identity of the source. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t hash;
	uint64_t num_bytes;
	uint32_t pid;
	uint32_t length;       /* in characters */
	uint32_t num_attempts; /* to read it */
	bool is_read;
	/* The characters that end lines, by their numbers: these of all ends. */
	uint32_t first_end;
	uint32_t num_ends;
};
INTERN_TABLE(v8_source_table, struct v8_source, pid, generation, hash, num_bytes);

/* Data read from one process, so that no other process has to wait for it. */
struct source_owner {
	uint64_t generation;
	uint32_t pid;
	uint32_t num_sources;
	uint32_t num_failures;
};
INTERN_TABLE(source_owner_table, struct source_owner, pid, generation);

struct v8_sources {
	struct v8_source_table table;
	struct source_owner_table owners;
	ARRAY(uint32_t) ends;
	uint64_t num_bytes; /* bytes read */
};

struct v8_sources *v8_sources_new(void)
{
	return calloc(1, sizeof(struct v8_sources));
}

void v8_sources_free(struct v8_sources *sources)
{
	if (!sources)
		return;
	v8_source_table_release(&sources->table);
	source_owner_table_release(&sources->owners);
	array_release(&sources->ends);
	free(sources);
}

static bool is_valid(const struct wire_v8_source *record)
{
	uint64_t num_bytes = (uint64_t)record->length << (record->is_wide & 1);

	return record->is_wide <= 1 && num_bytes >= 8 && record->length <= record->string_length &&
	       record->words < 1u << WIRE_V8_SOURCE_WORDS &&
	       record->length_offset <= HEAD_BYTES - 4 && record->pointer_offset <= HEAD_BYTES - 8;
}

/* The script's present source. Scripts are rarely moved, if ever. */
static bool find_again(const struct wire_v8_function *record, const struct v8_memory *memory,
		       struct wire_v8_source *ret)
{
	struct memory_walk source = {.memory = memory};
	struct v8_walk *walk = &source.walk;

	*ret = (struct wire_v8_source){0};
	v8_walk_start(walk, &record->layout);
	if (v8_read_type_of(walk, record->script) || walk->type != record->layout.script_type ||
	    v8_read_script(walk, record->script))
		return false;
	v8_find_source(walk, walk->words[0], ret);
	ret->hash = record->source.hash;
	ret->words = record->source.words;
	return ret->string && is_valid(ret) && ret->length == record->source.length &&
	       ret->is_wide == record->source.is_wide;
}

/* Whether the string is still in its place. */
static bool is_there(const struct wire_v8_source *record, const struct v8_memory *memory)
{
	uint8_t head[HEAD_BYTES];
	uint64_t map;
	uint64_t pointer;
	uint32_t length;

	if (memory->read(memory->context, record->string, head, sizeof(head)))
		return false;
	memcpy(&map, head, sizeof(map));
	memcpy(&length, head + record->length_offset, sizeof(length));
	memcpy(&pointer, head + record->pointer_offset, sizeof(pointer));
	if (map != record->map || length != record->string_length)
		return false;
	return !record->pointer_offset ||
	       record->characters - pointer <= (uint64_t)(record->string_length - record->length)
						       << record->is_wide;
}

static bool read_text(const struct wire_v8_source *record, const struct v8_memory *memory,
		      uint8_t *ret, uint64_t num_bytes)
{
	for (uint64_t at = 0; at < num_bytes; at += READ_BYTES) {
		uint64_t rest = num_bytes - at;

		if (memory->read(memory->context, record->characters + at, ret + at,
				 (size_t)(rest < READ_BYTES ? rest : READ_BYTES)))
			return false;
	}
	return true;
}

static uint64_t hash_text(const struct wire_v8_source *record, const uint8_t *text,
			  uint64_t num_bytes)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < WIRE_V8_SOURCE_WORDS; i++) {
		uint64_t word;

		if (!(record->words & 1u << i))
			continue;
		memcpy(&word, text + wire_v8_get_source_offset(num_bytes, i), sizeof(word));
		hash = wire_v8_hash_source(hash, word);
	}
	return hash;
}

static uint16_t get_character(const struct wire_v8_source *record, const uint8_t *text,
			      uint32_t number)
{
	uint16_t character;

	if (!record->is_wide)
		return text[number];
	memcpy(&character, text + 2ul * number, sizeof(character));
	return character;
}

/* As V8 counts them: of two characters that end a line together, the second one does. */
static int add_ends(struct v8_sources *sources, const struct wire_v8_source *record,
		    const uint8_t *text)
{
	for (uint32_t i = 0; i < record->length; i++) {
		uint16_t character = get_character(record, text, i);
		uint32_t *end;

		if (character == '\r' && i + 1 < record->length &&
		    get_character(record, text, i + 1) == '\n')
			continue;
		if (character != '\n' && character != '\r' && character != LINE_SEPARATOR &&
		    character != PARAGRAPH_SEPARATOR)
			continue;
		if (sources->ends.length >= V8_SOURCES_LINES_MAX)
			return -ENOSPC;
		end = array_add(&sources->ends);
		if (!end)
			return -ENOMEM;
		*end = i;
	}
	return 0;
}

/*
 * Characters inside the heap may be overwritten while the head of the string remains, once it is
 * unused. So for these, words must be known.
 */
static bool read_checked(struct v8_sources *sources, const struct wire_v8_source *record,
			 const struct v8_memory *memory, uint8_t *ret, uint64_t num_bytes)
{
	if ((!record->words && !record->pointer_offset) || !is_there(record, memory) ||
	    sources->num_bytes + num_bytes > V8_SOURCES_BYTES_MAX)
		return false;
	sources->num_bytes += num_bytes;
	return read_text(record, memory, ret, num_bytes) && is_there(record, memory) &&
	       hash_text(record, ret, num_bytes) == record->hash;
}

/* If the source is gone, nothing is stored. Returns 0 or -ENOMEM. */
static int read_source(struct v8_sources *sources, struct v8_source *source,
		       const struct wire_v8_function *record, const struct v8_memory *memory)
{
	uint64_t num_bytes = source->num_bytes;
	uint32_t first_end = (uint32_t)sources->ends.length;
	_cleanup_free_ uint8_t *text = NULL;
	struct wire_v8_source moved;
	int err;

	source->num_attempts++;
	if (num_bytes > V8_SOURCE_BYTES_MAX)
		return 0;
	text = malloc((size_t)num_bytes);
	if (!text)
		return -ENOMEM;
	if (!read_checked(sources, &record->source, memory, text, num_bytes) &&
	    (!find_again(record, memory, &moved) ||
	     !read_checked(sources, &moved, memory, text, num_bytes)))
		return 0;
	err = add_ends(sources, &record->source, text);
	if (err) {
		sources->ends.length = first_end;
		return err == -ENOSPC ? 0 : err;
	}
	source->first_end = first_end;
	source->num_ends = (uint32_t)sources->ends.length - first_end;
	source->is_read = true;
	return 0;
}

static int try_to_read(struct v8_sources *sources, struct v8_source *source,
		       struct source_owner *owner, const struct wire_v8_function *record,
		       const struct v8_memory *memory)
{
	int err;

	if (source->is_read || source->num_attempts >= V8_SOURCE_ATTEMPTS_MAX ||
	    owner->num_failures >= V8_SOURCES_FAILURES_MAX)
		return 0;
	err = read_source(sources, source, record, memory);
	owner->num_failures += !source->is_read;
	return err;
}

int v8_sources_add(struct v8_sources *sources, const struct wire_v8_function *record,
		   const struct v8_memory *memory, uint32_t *ret)
{
	const struct wire_v8_source *said = &record->source;
	struct v8_source source = {
		.generation = record->generation,
		/* Sources of several scripts may differ but between these words. */
		.hash = wire_v8_hash_source(wire_v8_hash_source(said->hash, said->words),
					    record->script),
		.num_bytes = (uint64_t)said->length << (said->is_wide & 1),
		.pid = record->pid,
		.length = said->length,
	};
	struct source_owner *owner;
	uint32_t number;
	int err;

	*ret = V8_NO_SOURCE;
	if (record->line || !said->string || record->position == WIRE_V8_NO_POSITION)
		return 0;
	if (!is_valid(said))
		return -EINVAL;
	err = source_owner_table_intern(
		&sources->owners,
		&(struct source_owner){.generation = record->generation, .pid = record->pid},
		&number);
	if (err)
		return err;
	owner = &sources->owners.items[number];
	number = v8_source_table_find(&sources->table, &source);
	if (number == HASH_INDEX_NONE) {
		if (sources->table.length >= V8_SOURCES_MAX ||
		    owner->num_sources >= V8_SOURCES_OF_PROCESS_MAX)
			return -ENOSPC;
		err = v8_source_table_add(&sources->table, &source, &number);
		if (err)
			return err;
		owner->num_sources++;
	}
	*ret = number;
	return try_to_read(sources, &sources->table.items[number], owner, record, memory);
}

uint32_t v8_sources_get_line(const struct v8_sources *sources, uint32_t source, uint32_t position)
{
	const struct v8_source *read;

	if (source >= sources->table.length)
		return 0;
	read = &sources->table.items[source];
	if (!read->is_read || position > read->length)
		return 0;
	return 1 + (uint32_t)count_front(sources->ends.items + read->first_end, read->num_ends, end,
					 *end < position);
}
