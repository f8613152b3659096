/*
 * The offsets of a pprof profile's strings, mappings, locations and functions, found in two passes:
 * the first counts, so that the second can fill arrays of just that size. Strings are numbered in
 * the order of the file; the others have ids in them (read_table.c). Only the offset of each is
 * kept, 4 bytes: the message itself stays in place.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/pprof/pprof.h"
#include "formats/pprof/read.h"

/* Read again, each time: decoding a field's head costs less than a larger table. */
struct protobuf_field pprof_index_get_field(const struct pprof_index *index, size_t offset)
{
	struct bytes bytes = bytes_of(index->import->data, index->import->size);
	struct protobuf_field field = {0};

	bytes.offset = offset;
	(void)protobuf_next(&bytes, &field); /* it could be read before */
	return field;
}

int pprof_index_get_string(const struct pprof_index *index, uint64_t number, const char *what,
			   size_t offset, struct bytes *ret)
{
	/* Number 0 is the empty string also in files that have no strings at all. */
	if (number >= index->num_strings && number)
		return import_fail_byte(index->import, offset, "no string %llu for %s",
					(unsigned long long)number, what);
	if (number)
		*ret = pprof_index_get_field(index, index->string_offsets[number]).body;
	else
		*ret = bytes_of("", 0); /* by definition */
	return 0;
}

static struct pprof_table *find_table(struct pprof_index *index, uint32_t field_number)
{
	switch (field_number) {
	case PPROF_FIELD_MAPPING:
		return &index->mappings;
	case PPROF_FIELD_LOCATION:
		return &index->locations;
	case PPROF_FIELD_FUNCTION:
		return &index->functions;
	}
	return NULL;
}

/* The first pass. Fields are checked here: fields that can be read now can be read later. */
static int count_fields(struct pprof_index *index)
{
	struct bytes bytes = bytes_of(index->import->data, index->import->size);
	struct protobuf_field field;
	size_t offset = 0;

	while (protobuf_next(&bytes, &field)) {
		struct pprof_table *table = find_table(index, field.number);

		if (field.type == PROTOBUF_BYTES && field.number == PPROF_FIELD_STRING)
			index->num_strings++;
		else if (field.type == PROTOBUF_BYTES && table &&
			 !pprof_table_count(table, field.body))
			return import_fail_byte(index->import, offset, "a broken message");
		offset = bytes.offset;
	}
	if (bytes.failed)
		return import_fail_byte(index->import, offset,
					"expected a field of a pprof profile");
	return 0;
}

/* An extra element of everything, so that nothing has size 0. */
static int reserve(struct pprof_index *index)
{
	int err;

	index->string_offsets =
		calloc((size_t)index->num_strings + 1, sizeof(*index->string_offsets));
	if (!index->string_offsets)
		return -ENOMEM;
	err = pprof_table_reserve(&index->mappings);
	if (err)
		return err;
	err = pprof_table_reserve(&index->locations);
	if (err)
		return err;
	return pprof_table_reserve(&index->functions);
}

/* The second pass: all offsets. */
static int note_fields(struct pprof_index *index)
{
	struct bytes bytes = bytes_of(index->import->data, index->import->size);
	struct protobuf_field field;
	uint32_t places[PPROF_FIELD_STRING + 1] = {0}; /* by kind of message */
	size_t offset = 0;
	int err = reserve(index);

	if (err)
		return err;
	while (protobuf_next(&bytes, &field)) {
		struct pprof_table *table = find_table(index, field.number);

		if (field.type == PROTOBUF_BYTES && field.number == PPROF_FIELD_STRING)
			index->string_offsets[places[field.number]++] = (uint32_t)offset;
		else if (field.type == PROTOBUF_BYTES && table)
			pprof_table_add(table, places[field.number]++, field.body, offset);
		offset = bytes.offset;
	}
	pprof_table_finish(&index->mappings);
	pprof_table_finish(&index->locations);
	pprof_table_finish(&index->functions);
	return 0;
}

int pprof_index_init(struct pprof_index *index, struct import *import)
{
	int err;

	*index = (struct pprof_index){.import = import};
	err = count_fields(index);
	if (err)
		return err;
	return note_fields(index);
}

void pprof_index_release(struct pprof_index *index)
{
	pprof_table_release(&index->mappings);
	pprof_table_release(&index->locations);
	pprof_table_release(&index->functions);
	free(index->string_offsets);
}
