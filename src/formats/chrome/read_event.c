/*
 * One event at a time is held, in one struct whose texts keep their memory: a trace has millions.
 * Members may be in any order, so that the meaning of an event is known only when all are read. Its
 * `args` and its stack are therefore kept as positions in the input, and read again if needed.
 */
#include "formats/chrome/read_event.h"

#include <errno.h>

void chrome_event_start(struct chrome_event *event, size_t offset)
{
	event->offset = offset;
	event->args = CHROME_NOWHERE;
	event->stack = CHROME_NOWHERE;
	event->pid = 0;
	event->tid = 0;
	event->ts_ns = 0;
	event->dur_ns = 0;
	event->phase = 0;
	event->has_ts = false;
	event->has_bad_dur = false;
	event->has_local_id = false;
	event->is_in_slice = false;
	text_truncate(&event->name, 0);
	text_append_string(&event->name, "");
	text_truncate(&event->category, 0);
	text_truncate(&event->id, 0);
	text_truncate(&event->frame, 0);
}

void chrome_event_release(struct chrome_event *event)
{
	text_release(&event->name);
	text_release(&event->category);
	text_release(&event->id);
	text_release(&event->frame);
}

int chrome_add_string(struct profile *profile, const struct text *text, uint32_t *ret)
{
	if (text->failed)
		return -ENOMEM;
	return string_table_add(profile_get_strings(profile), text->data ? text->data : "",
				text->length, ret);
}

/* Ids are strings ("0x1f") or numbers, and are compared as they are written. */
void chrome_take_id(struct json *json, struct text *text)
{
	enum json_token token = json_next(json);

	text_truncate(text, 0);
	if (token == JSON_STRING || token == JSON_NUMBER)
		text_append(text, json->text, json->length);
	json_skip(json, token);
}
