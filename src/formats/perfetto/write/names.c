#include "formats/perfetto/write/names.h"

#include <errno.h>

#include "base/array.h"
#include "base/utf8.h"
#include "formats/arena.h"

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

/*
 * A name has numbers of its own in each kind, because event names, categories and the like are
 * tables of their own in the protocol.
 */
struct perfetto_names {
	const struct timeline *timeline;
	struct string_table *texts;
	struct perfetto_emitted emitted[NUM_PERFETTO_NAME_KINDS];
	struct perfetto_emitted emitted_locations;
	/* New items: the messages and their strings, all of them to be freed by the flush. */
	Perfetto__InternedData data;
	ARRAY(Perfetto__EventName *) events;
	ARRAY(Perfetto__EventCategory *) categories;
	ARRAY(Perfetto__DebugAnnotationName *) annotations;
	ARRAY(Perfetto__InternedString *) values;
	ARRAY(Perfetto__SourceLocation *) locations;
	struct arena garbage; /* memory of the messages, until they are written */
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
	perfetto_names_flush(names);
	for (size_t i = 0; i < NUM_PERFETTO_NAME_KINDS; i++)
		perfetto_emitted_release(&names->emitted[i]);
	perfetto_emitted_release(&names->emitted_locations);
	array_release(&names->events);
	array_release(&names->categories);
	array_release(&names->annotations);
	array_release(&names->values);
	array_release(&names->locations);
	arena_release(&names->garbage);
	string_table_free(names->texts);
	free(names);
}

/*
 * A copy of a string as the format takes it; NULL when out of memory. The format's strings are
 * UTF-8 and end at a NUL: utf8_append_name() replaces everything else.
 */
static char *fit(struct perfetto_names *names, const struct string_table *strings, uint32_t string,
		 size_t *ret_length)
{
	struct text text = {0};

	text_append_string(&text, "");
	utf8_append_name(&text, string_table_get(strings, string),
			 string_table_get_length(strings, string));
	*ret_length = text.length;
	if (text.failed)
		text_release(&text);
	return arena_add(&names->garbage, text.data);
}

/* Put a new message of one type, with its number and its name, at the end of its list. */
#define ADD_NAME(names, list, type, init, number, text)                              \
	({                                                                           \
		type *message_ = arena_add(&(names)->garbage, malloc(sizeof(type))); \
		type **added_ = message_ ? array_add(&(list)) : NULL;                \
                                                                                     \
		if (added_) {                                                        \
			*message_ = (type)init;                                      \
			message_->has_iid = 1;                                       \
			message_->iid = (number);                                    \
			message_->name = (text);                                     \
			*added_ = message_;                                          \
		}                                                                    \
		added_ ? 0 : -ENOMEM;                                                \
	})

static int add_value(struct perfetto_names *names, uint64_t number, char *text, size_t length)
{
	Perfetto__InternedString *message = arena_add(&names->garbage, malloc(sizeof(*message)));
	Perfetto__InternedString **added = message ? array_add(&names->values) : NULL;

	if (!added)
		return -ENOMEM;
	*message = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
	message->has_iid = 1;
	message->iid = number;
	message->has_str = 1;
	message->str.data = (uint8_t *)text;
	message->str.len = length;
	*added = message;
	return 0;
}

static int add_name(struct perfetto_names *names, enum perfetto_name_kind kind, uint64_t number,
		    char *text, size_t length)
{
	if (!text)
		return -ENOMEM;
	switch (kind) {
	case PERFETTO_EVENT_NAME:
		return ADD_NAME(names, names->events, Perfetto__EventName,
				PERFETTO__EVENT_NAME__INIT, number, text);
	case PERFETTO_CATEGORY:
		return ADD_NAME(names, names->categories, Perfetto__EventCategory,
				PERFETTO__EVENT_CATEGORY__INIT, number, text);
	case PERFETTO_ANNOTATION_NAME:
		return ADD_NAME(names, names->annotations, Perfetto__DebugAnnotationName,
				PERFETTO__DEBUG_ANNOTATION_NAME__INIT, number, text);
	case PERFETTO_STRING_VALUE:
		return add_value(names, number, text, length);
	case NUM_PERFETTO_NAME_KINDS:
		break;
	}
	return -EINVAL;
}

static int use(struct perfetto_names *names, enum perfetto_name_kind kind,
	       const struct string_table *strings, uint32_t string, uint32_t id, uint64_t *ret)
{
	bool is_new;
	size_t length;
	char *text;
	int err = perfetto_emitted_add(&names->emitted[kind], id, ret, &is_new);

	if (err || !is_new)
		return err;
	text = fit(names, strings, string, &length);
	return add_name(names, kind, *ret, text, length);
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
	Perfetto__SourceLocation **added;
	Perfetto__SourceLocation *message;
	size_t length;
	bool is_new;
	int err = perfetto_emitted_add(&names->emitted_locations, location, ret, &is_new);

	if (err || !is_new)
		return err;
	message = arena_add(&names->garbage, malloc(sizeof(*message)));
	added = message ? array_add(&names->locations) : NULL;
	if (!added)
		return -ENOMEM;
	*message = (Perfetto__SourceLocation)PERFETTO__SOURCE_LOCATION__INIT;
	message->has_iid = 1;
	message->iid = *ret;
	message->file_name = fit(names, strings, source->file, &length);
	message->function_name = fit(names, strings, source->function, &length);
	message->has_line_number = 1;
	message->line_number = source->line;
	*added = message;
	return message->file_name && message->function_name ? 0 : -ENOMEM;
}

Perfetto__InternedData *perfetto_names_get_new(struct perfetto_names *names)
{
	Perfetto__InternedData *data = &names->data;

	/* Nothing was made: the packet has no interned data at all. */
	if (!names->garbage.blocks.length)
		return NULL;
	*data = (Perfetto__InternedData)PERFETTO__INTERNED_DATA__INIT;
	data->n_event_names = names->events.length;
	data->event_names = names->events.items;
	data->n_event_categories = names->categories.length;
	data->event_categories = names->categories.items;
	data->n_debug_annotation_names = names->annotations.length;
	data->debug_annotation_names = names->annotations.items;
	data->n_debug_annotation_string_values = names->values.length;
	data->debug_annotation_string_values = names->values.items;
	data->n_source_locations = names->locations.length;
	data->source_locations = names->locations.items;
	return data;
}

void perfetto_names_flush(struct perfetto_names *names)
{
	arena_clear(&names->garbage);
	names->events.length = 0;
	names->categories.length = 0;
	names->annotations.length = 0;
	names->values.length = 0;
	names->locations.length = 0;
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
