#include "collect/events/event_tracepoints.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "collect/events/event_filter.h"
#include "collect/events/event_format.h"
#include "collect/events/event_names.h"
#include "collect/kernel/name_list.h"

/* Pass the tracepoints of subsystems whose name matches a pattern to handle(). */
static int list(const char *tracing, const char *subsystems,
		int (*handle)(const char *name, void *context), void *context)
{
	_cleanup_(name_list_release) struct name_list found = {0};
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/events", tracing);
	err = name_list_read(path, &found);
	if (err)
		return err;
	array_for_each (&found.names, subsystem) {
		_cleanup_(name_list_release) struct name_list events = {0};

		/* ftrace's own records are not events. */
		if (fnmatch(subsystems, *subsystem, 0) || string_equals(*subsystem, "ftrace"))
			continue;
		snprintf(path, sizeof(path), "%s/events/%s", tracing, *subsystem);
		err = name_list_read(path, &events);
		if (err)
			return err;
		array_for_each (&events.names, event) {
			char name[2 * NAME_MAX + 2];

			/* Files of the whole subsystem, beside the events, have no id. */
			snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracing, *subsystem,
				 *event);
			if (access(path, F_OK))
				continue;
			snprintf(name, sizeof(name), "%s:%s", *subsystem, *event);
			err = handle(name, context);
			if (err)
				return err;
		}
	}
	return 0;
}

int event_tracepoints_list(const char *tracing, int (*handle)(const char *name, void *context),
			   void *context)
{
	return list(tracing, "*", handle, context);
}

struct tracepoint_search {
	const char *tracing;
	const struct tracepoint_words *words;
	struct event_list *ret;
	struct error *error;
};

/* A file of "block:block_rq_issue". */
static int read_description(const char *tracing, const char *name, const char *file,
			    struct text *ret)
{
	const char *colon = strchr(name, ':');
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/events/%.*s/%s/%s", tracing, (int)(colon - name), name,
		 colon + 1, file);
	return file_read_at(AT_FDCWD, path, MAX_FORMAT_BYTES, ret);
}

static int read_id(const char *tracing, const char *name, uint64_t *ret)
{
	_cleanup_(text_release) struct text id = {0};
	int err = read_description(tracing, name, "id", &id);
	char *end;

	if (err)
		return err;
	errno = 0;
	*ret = id.length ? strtoull(id.data, &end, 10) : 0;
	return !id.length || errno || end == id.data ? -EINVAL : 0;
}

/* Numbers can be summed; text and the target of an address cannot. */
static int put_field(const char *text, const char *name, struct event *event)
{
	_cleanup_(event_format_release) struct event_format format = {0};
	const struct event_field *field;
	int err = event_format_parse(text, &format);

	if (err)
		return err;
	field = event_format_find(&format, name, strlen(name));
	if (!field)
		return -ENOENT;
	if (!field->is_amount || field->offset < NUM_OVERWRITTEN_BYTES)
		return -EINVAL;
	event->field_offset = field->offset;
	event->field_bytes = (uint8_t)field->size;
	event->is_field_signed = field->is_signed;
	return 0;
}

/*
 * Find a field of a tracepoint. Returns -ENOENT (no such field), -EINVAL (not a number), or other
 * errors.
 */
static int find_field(const char *tracing, const char *name, const char *field, struct event *event)
{
	_cleanup_(text_release) struct text format = {0};
	int err = read_description(tracing, name, "format", &format);

	if (err)
		return err;
	return format.length ? put_field(format.data, field, event) : -ENOENT;
}

static int describe_field(const struct tracepoint_search *search, const char *name,
			  struct event *event)
{
	const struct tracepoint_words *words = search->words;
	int err;

	if (!words->field)
		return 0;
	err = find_field(search->tracing, name, words->field, event);
	if (err == -ENOMEM)
		return err;
	if (err)
		return error_set(
			search->error, -EINVAL,
			err == -ENOENT
				? "%s has no field '%s'; %s/events/*/*/format lists its fields"
				: "the field '%s' of %s is not a number; %s/events/*/*/format has the "
				  "types of fields",
			err == -ENOENT ? name : words->field, err == -ENOENT ? words->field : name,
			search->tracing);
	if (!words->unit)
		return 0;
	event->unit = strdup(event_unit_get(words->unit));
	return event->unit ? 0 : -ENOMEM;
}

/* The metric has the field in its name: several fields of one are different ones. */
static char *make_name(const char *name, const char *field)
{
	char *made;

	if (!field)
		return strdup(name);
	return asprintf(&made, "%s{%s}", name, field) < 0 ? NULL : made;
}

static int add(const char *name, void *context)
{
	struct tracepoint_search *search = context;
	struct event *event;
	int err;

	if (fnmatch(search->words->pattern, name, 0))
		return 0;
	if (search->ret->events.length >= MAX_EVENTS)
		return error_set(search->error, -E2BIG,
				 "'%s' matches more than %d tracepoints; use a narrower pattern or "
				 "several recordings",
				 search->words->pattern, MAX_EVENTS);
	event = array_add(&search->ret->events);
	if (!event)
		return -ENOMEM;
	event->kind = EVENT_TRACEPOINT;
	event->type = PERF_TYPE_TRACEPOINT;
	event->name = make_name(name, search->words->field);
	if (!event->name)
		return -ENOMEM;
	err = read_id(search->tracing, name, &event->config);
	if (err)
		return error_set(search->error, err, "%s: cannot read its number: %s", name,
				 strerror(-err));
	return describe_field(search, name, event);
}

static int refuse_without_tracefs(const char *name, struct error *error)
{
	return error_set(error, -ENOTSUP,
			 "%s: tracepoints need tracefs, which is not mounted; run 'mount -t "
			 "tracefs tracefs /sys/kernel/tracing'",
			 name);
}

static int refuse_without_rights(const char *tracing, const char *name, struct error *error)
{
	return error_set(error, -EACCES,
			 "%s: not permitted to read tracepoints: run as root, or 'mount -o "
			 "remount,mode=755 %s'",
			 name, tracing);
}

int event_tracepoint_find(const char *tracing, const char *name, uint64_t *ret, struct error *error)
{
	int err;

	if (!tracing)
		return refuse_without_tracefs(name, error);
	err = read_id(tracing, name, ret);
	if (err == -EACCES || err == -EPERM)
		return refuse_without_rights(tracing, name, error);
	if (!err || err == -ENOMEM)
		return err;
	return error_set(error, -ENOTSUP, "this kernel has no tracepoint %s: %s", name,
			 strerror(-err));
}

int event_tracepoint_find_field(const char *tracing, const char *name, const char *field,
				struct event *ret, struct error *error)
{
	int err = find_field(tracing, name, field, ret);

	if (!err || err == -ENOMEM)
		return err;
	return error_set(error, -ENOTSUP, "%s has no number '%s' on this kernel", name, field);
}

static int read_format(const char *tracing, const char *name, struct text *text,
		       struct event_format *ret)
{
	int err = read_description(tracing, name, "format", text);

	return err ? err : event_format_parse(text->length ? text->data : "", ret);
}

int event_tracepoint_find_offset(const char *tracing, const char *name, const char *field,
				 uint16_t *ret, struct error *error)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_(event_format_release) struct event_format format = {0};
	int err = read_format(tracing, name, &text, &format);
	const struct event_field *found;

	if (err == -ENOMEM)
		return err;
	found = err ? NULL : event_format_find(&format, field, strlen(field));
	if (!found || found->offset < NUM_OVERWRITTEN_BYTES)
		return error_set(error, -ENOTSUP, "%s has no '%s' on this kernel", name, field);
	*ret = found->offset;
	return 0;
}

int event_tracepoints_add(const char *tracing, const struct tracepoint_words *words,
			  struct event_list *ret, struct error *error)
{
	struct tracepoint_search search = {
		.tracing = tracing, .words = words, .ret = ret, .error = error};
	const char *pattern = words->pattern;
	size_t length = strcspn(pattern, ":");
	char subsystems[NAME_MAX + 1];
	int err;

	if (!tracing)
		return refuse_without_tracefs(pattern, error);
	if (!pattern[length] || length > NAME_MAX)
		return error_set(error, -EINVAL, "'%s' is not a name of a tracepoint", pattern);
	if (strchr(pattern + length + 1, ':'))
		return error_set(error, -EINVAL,
				 "%s: tracepoints are in the kernel and take no modifiers",
				 pattern);
	snprintf(subsystems, sizeof(subsystems), "%.*s", (int)length, pattern);
	err = list(tracing, subsystems, add, &search);
	if (err == -EACCES || err == -EPERM)
		return refuse_without_rights(tracing, pattern, error);
	return err;
}

int event_tracepoint_filter(const char *tracing, const char *expression, struct event *event,
			    struct error *error)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_(event_format_release) struct event_format format = {0};
	_cleanup_free_ char *name = strdup(event->tracepoint ? event->tracepoint : event->name);
	int err;

	if (!name)
		return -ENOMEM;
	name[strcspn(name, "{")] = '\0';
	err = read_format(tracing, name, &text, &format);
	if (err == -ENOMEM)
		return err;
	if (err)
		return error_set(error, err == -EACCES ? -EACCES : -EINVAL,
				 "%s: cannot read the fields for its filter: %s", name,
				 strerror(-err));
	if (!event->filter)
		event->filter = event_filter_new(name, (uint32_t)event->config);
	return event->filter ? event_filter_add(event->filter, expression, &format, error)
			     : -ENOMEM;
}
