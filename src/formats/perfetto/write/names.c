#include "formats/perfetto/write/names.h"

#include <errno.h>

#include "base/array.h"
#include "base/utf8.h"
#include "formats/protobuf_writer.h"

/*
 * Ids of emitted names: strings of the timeline have even ones, texts of our own, which are in a
 * table of their own, odd ones.
 */
static uint32_t id_of_string(uint32_t string)
{
	return string * 2;
}

static uint32_t id_of_text(uint32_t text)
{
	return text * 2 + 1;
}

/* The lists of InternedData, in the order of their fields: a list is the kind of its names, or the source locations. */
#define LOCATIONS NUM_PERFETTO_NAME_KINDS
#define NUM_LISTS (LOCATIONS + 1)
static const struct {
	size_t list;
	uint32_t field;
} lists[NUM_LISTS] = {
	{PERFETTO_CATEGORY, 1}, {PERFETTO_EVENT_NAME, 2},    {PERFETTO_ANNOTATION_NAME, 3},
	{LOCATIONS, 4},         {PERFETTO_STRING_VALUE, 29},
};

/* Fields of the items. */
enum { NAME_IID = 1, NAME_NAME };
enum { SOURCE_IID = 1, SOURCE_FILE, SOURCE_FUNCTION, SOURCE_LINE };

static uint32_t get_field(size_t list)
{
	size_t i = 0;

	while (lists[i].list != list)
		i++;
	return lists[i].field;
}

/*
 * A name has numbers of its own in each kind, because event names, categories and the like are
 * tables of their own in the protocol.
 */
struct perfetto_names {
	const struct timeline *timeline;
	struct string_table *texts;
	struct perfetto_emitted emitted[NUM_PERFETTO_NAME_KINDS];
	struct perfetto_emitted emitted_locations;
	/* Encoded for the next packet; by kind, then the source locations. */
	struct text items[NUM_LISTS];
	struct text all;
	struct text text; /* text being made to fit the format */
};

struct perfetto_names *perfetto_names_new(const struct timeline *timeline)
{
	struct perfetto_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->timeline = timeline;
	names->texts = string_table_new();
	if (!names->texts) {
		perfetto_names_free(names);
		return NULL;
	}
	return names;
}

void perfetto_names_free(struct perfetto_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < NUM_PERFETTO_NAME_KINDS; i++)
		perfetto_emitted_release(&names->emitted[i]);
	perfetto_emitted_release(&names->emitted_locations);
	for (size_t i = 0; i < NUM_LISTS; i++)
		text_release(&names->items[i]);
	text_release(&names->all);
	text_release(&names->text);
	string_table_free(names->texts);
	free(names);
}

/* Append a string as a field. The format's strings are UTF-8 and end at a NUL: utf8_append_name() replaces everything else. */
static void put_string(struct perfetto_names *names, struct text *items, uint32_t field,
		       const struct string_table *strings, uint32_t string)
{
	text_truncate(&names->text, 0);
	utf8_append_name(&names->text, string_table_get(strings, string),
			 string_table_get_length(strings, string));
	protobuf_put_bytes(items, field, names->text.data, names->text.length);
	items->failed |= names->text.failed;
}

static int use(struct perfetto_names *names, enum perfetto_name_kind kind,
	       const struct string_table *strings, uint32_t string, uint32_t id, uint64_t *ret)
{
	struct text *items = &names->items[kind];
	bool is_new;
	size_t mark;
	int err = perfetto_emitted_add(&names->emitted[kind], id, ret, &is_new);

	if (err || !is_new)
		return err;
	mark = protobuf_start(items, get_field(kind));
	protobuf_put_number(items, NAME_IID, *ret);
	put_string(names, items, NAME_NAME, strings, string);
	protobuf_end(items, mark);
	return items->failed ? -ENOMEM : 0;
}

int perfetto_names_use(struct perfetto_names *names, enum perfetto_name_kind kind, uint32_t string,
		       uint64_t *ret)
{
	return use(names, kind, timeline_get_strings(names->timeline), string, id_of_string(string),
		   ret);
}

/*
 * For a consumer of zones, whose texts are not strings of the timeline. Each text is kept until the
 * state is cleared, however many there are.
 */
int perfetto_names_use_bytes(struct perfetto_names *names, enum perfetto_name_kind kind,
			     const char *text, size_t length, uint64_t *ret)
{
	uint32_t id;
	int err = string_table_add(names->texts, text, length, &id);

	if (err)
		return err;
	return use(names, kind, names->texts, id, id_of_text(id), ret);
}

int perfetto_names_use_location(struct perfetto_names *names, uint32_t location, uint64_t *ret)
{
	const struct source_location *source = timeline_get_location(names->timeline, location);
	const struct string_table *strings = timeline_get_strings(names->timeline);
	struct text *items = &names->items[LOCATIONS];
	bool is_new;
	size_t mark;
	int err = perfetto_emitted_add(&names->emitted_locations, location, ret, &is_new);

	if (err || !is_new)
		return err;
	mark = protobuf_start(items, get_field(LOCATIONS));
	protobuf_put_number(items, SOURCE_IID, *ret);
	put_string(names, items, SOURCE_FILE, strings, source->file);
	put_string(names, items, SOURCE_FUNCTION, strings, source->function);
	protobuf_put_number(items, SOURCE_LINE, source->line);
	protobuf_end(items, mark);
	return items->failed ? -ENOMEM : 0;
}

int perfetto_names_get_new(struct perfetto_names *names, const struct text **ret)
{
	text_truncate(&names->all, 0);
	for (size_t i = 0; i < NUM_LISTS; i++) {
		const struct text *items = &names->items[lists[i].list];

		text_append(&names->all, items->data, items->length);
	}
	*ret = names->all.length ? &names->all : NULL;
	return names->all.failed ? -ENOMEM : 0;
}

void perfetto_names_flush(struct perfetto_names *names)
{
	for (size_t i = 0; i < NUM_LISTS; i++)
		text_truncate(&names->items[i], 0);
}

/*
 * If there is no memory for a new table, the old one is as good. Ids of texts start anew with the
 * new table: the marks of emitted old ones are forgotten, too.
 */
static void forget_texts(struct perfetto_names *names)
{
	struct string_table *texts = string_table_new();

	if (!texts)
		return;
	string_table_free(names->texts);
	names->texts = texts;
	for (size_t i = 0; i < NUM_PERFETTO_NAME_KINDS; i++)
		perfetto_emitted_release(&names->emitted[i]);
}

void perfetto_names_clear(struct perfetto_names *names)
{
	perfetto_names_flush(names);
	forget_texts(names);
	for (size_t i = 0; i < NUM_PERFETTO_NAME_KINDS; i++)
		perfetto_emitted_clear(&names->emitted[i]);
	perfetto_emitted_clear(&names->emitted_locations);
}
