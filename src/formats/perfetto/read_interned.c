/*
 * Reading Perfetto traces: what packets refer to by number.
 *
 * A message may name what comes after it in the same packet, so kinds are read one after the
 * other, what refers to nothing first. What a stack consists of goes into the profile at once:
 * nothing but numbers is kept.
 */
#include <errno.h>

#include "formats/perfetto_reader.h"

struct pftrace_interned *pftrace_interned_new(void)
{
	return calloc(1, sizeof(struct pftrace_interned));
}

void pftrace_interned_free(struct pftrace_interned *interned)
{
	if (!interned)
		return;
	array_release(&interned->entries);
	hash_index_release(&interned->index);
	array_release(&interned->sources);
	array_release(&interned->mappings);
	array_release(&interned->frames);
	free(interned);
}

static bool is_entry(const void *owner, uint32_t item, const void *key)
{
	const struct pftrace_entry *entry =
		&((const struct pftrace_interned *)owner)->entries.items[item];
	const struct pftrace_entry *wanted = key;

	return entry->iid == wanted->iid && entry->kind == wanted->kind;
}

static struct pftrace_entry *find(const struct pftrace_interned *interned, enum pftrace_kind kind,
				  uint64_t iid)
{
	struct pftrace_entry wanted = {.iid = iid, .kind = kind};
	uint32_t found =
		hash_index_find(&interned->index, hash_mix(kind, iid), is_entry, interned, &wanted);

	return found == HASH_INDEX_NONE ? NULL : &interned->entries.items[found];
}

uint32_t pftrace_interned_find(const struct pftrace_interned *interned, enum pftrace_kind kind,
			       uint64_t iid)
{
	const struct pftrace_entry *entry = interned && iid ? find(interned, kind, iid) : NULL;

	return entry ? entry->value : PFTRACE_NONE;
}

const struct pftrace_source *pftrace_interned_find_source(const struct pftrace_interned *interned,
							  uint64_t iid)
{
	uint32_t source = pftrace_interned_find(interned, PFTRACE_SOURCE_LOCATION, iid);

	return source == PFTRACE_NONE ? NULL : &interned->sources.items[source];
}

/* What is told a second time replaces what was told before. */
int pftrace_interned_put(struct pftrace_interned *interned, enum pftrace_kind kind, uint64_t iid,
			 uint32_t value)
{
	struct pftrace_entry *entry = find(interned, kind, iid);
	int err;

	if (entry) {
		entry->value = value;
		return 0;
	}
	entry = array_add(&interned->entries);
	if (!entry)
		return -ENOMEM;
	*entry = (struct pftrace_entry){.iid = iid, .kind = kind, .value = value};
	err = hash_index_add(&interned->index, hash_mix(kind, iid),
			     (uint32_t)(interned->entries.length - 1));
	return err;
}

/* ---- strings ------------------------------------------------------------------------------ */

int pftrace_add_profile_string(struct pftrace_reader *reader, struct bytes string, uint32_t *ret)
{
	return string_table_add(profile_get_strings(reader->import->profile),
				string.size ? (const char *)string.data : "", string.size, ret);
}

/* Our writer tells which part of a function's name is the one without parameters. */
static int put_short_name(struct pftrace_reader *reader, struct pftrace_interned *interned,
			  uint64_t iid, struct bytes function, uint64_t start, uint64_t length)
{
	uint32_t value;
	int err;

	if (!length || start > function.size || length > function.size - start)
		return 0;
	err = pftrace_add_profile_string(reader, bytes_of(function.data + start, length), &value);
	return err ? err : pftrace_interned_put(interned, PFTRACE_SHORT_NAME, iid, value);
}

static int read_string(struct pftrace_reader *reader, struct pftrace_interned *interned,
		       enum pftrace_kind kind, struct bytes message)
{
	bool is_of_timeline = kind == PFTRACE_CATEGORY || kind == PFTRACE_EVENT_NAME ||
			      kind == PFTRACE_ANNOTATION_NAME || kind == PFTRACE_STRING_VALUE;
	struct bytes string = bytes_of("", 0);
	struct protobuf_field field;
	uint64_t short_start = 0;
	uint64_t short_length = 0;
	uint64_t iid = 0;
	uint32_t value;
	int err;

	while (protobuf_next(&message, &field)) {
		if (field.number == 2 && field.type == PROTOBUF_BYTES)
			string = field.body;
		else if (field.number == 1 && field.type == PROTOBUF_VARINT)
			iid = field.value;
		else if (field.number == 1000 && field.type == PROTOBUF_VARINT)
			short_start = field.value;
		else if (field.number == 1001 && field.type == PROTOBUF_VARINT)
			short_length = field.value;
	}
	err = kind == PFTRACE_FUNCTION
		      ? put_short_name(reader, interned, iid, string, short_start, short_length)
		      : 0;
	if (err)
		return err;
	err = is_of_timeline ? pftrace_add_string(reader, string, &value)
			     : pftrace_add_profile_string(reader, string, &value);
	return err ? err : pftrace_interned_put(interned, kind, iid, value);
}

static int read_source(struct pftrace_reader *reader, struct pftrace_interned *interned,
		       struct bytes message)
{
	struct pftrace_source *source = array_add(&interned->sources);
	struct protobuf_field field;
	uint64_t iid = 0;
	int err = 0;

	if (!source)
		return -ENOMEM;
	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			iid = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = pftrace_add_string(reader, field.body, &source->file);
		else if (field.number == 3 && field.type == PROTOBUF_BYTES)
			err = pftrace_add_string(reader, field.body, &source->function);
		else if (field.number == 4 && field.type == PROTOBUF_VARINT)
			source->line = (uint32_t)field.value;
	}
	return err ? err
		   : pftrace_interned_put(interned, PFTRACE_SOURCE_LOCATION, iid,
					  (uint32_t)(interned->sources.length - 1));
}

/* ---- all ---------------------------------------------------------------------------------- */

static int read_kind(struct pftrace_reader *reader, const struct pftrace_sequence *sequence,
		     enum pftrace_kind kind, struct bytes message)
{
	switch (kind) {
	case PFTRACE_CATEGORY:
	case PFTRACE_EVENT_NAME:
	case PFTRACE_ANNOTATION_NAME:
	case PFTRACE_STRING_VALUE:
	case PFTRACE_FUNCTION:
	case PFTRACE_BUILD_ID:
	case PFTRACE_PATH:
	case PFTRACE_SOURCE_PATH:
		return read_string(reader, sequence->interned, kind, message);
	case PFTRACE_SOURCE_LOCATION:
		return read_source(reader, sequence->interned, message);
	case PFTRACE_MAPPING:
		return pftrace_read_mapping(reader, sequence->interned, message);
	case PFTRACE_FRAME:
		return pftrace_read_frame(reader, sequence, message);
	case PFTRACE_CALLSTACK:
		return pftrace_read_callstack(reader, sequence, message);
	case PFTRACE_SHORT_NAME:
		break;
	}
	return 0;
}

/* In which round a field is read; 0: never. */
static unsigned int find_round(const struct protobuf_field *field)
{
	if (field->type != PROTOBUF_BYTES)
		return 0;
	switch (field->number) {
	case PFTRACE_CATEGORY:
	case PFTRACE_EVENT_NAME:
	case PFTRACE_ANNOTATION_NAME:
	case PFTRACE_STRING_VALUE:
	case PFTRACE_FUNCTION:
	case PFTRACE_BUILD_ID:
	case PFTRACE_PATH:
	case PFTRACE_SOURCE_PATH:
	case PFTRACE_SOURCE_LOCATION:
		return 1;
	case PFTRACE_MAPPING:
		return 2;
	case PFTRACE_FRAME:
		return 3;
	case PFTRACE_CALLSTACK:
		return 4;
	}
	return 0;
}

int pftrace_read_interned(struct pftrace_reader *reader, struct pftrace_sequence *sequence,
			  struct bytes message)
{
	int err = 0;

	if (!sequence->interned)
		sequence->interned = pftrace_interned_new();
	if (!sequence->interned)
		return -ENOMEM;
	for (unsigned int round = 1; !err && round <= 4; round++) {
		struct bytes rest = message;
		struct protobuf_field field;

		while (!err && protobuf_next(&rest, &field))
			if (find_round(&field) == round)
				err = read_kind(reader, sequence, (enum pftrace_kind)field.number,
						field.body);
	}
	return err;
}
