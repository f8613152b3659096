/*
 * Tracepoints, as tracefs has them: a folder a subsystem, a folder an event.
 */
#ifndef COLLECT_EVENTS_EVENT_TRACEPOINTS_H
#define COLLECT_EVENTS_EVENT_TRACEPOINTS_H

#include "collect/events.h"

/* "block:block_rq_issue{bytes:By}", taken apart. */
struct tracepoint_words {
	const char *pattern;
	const char *field; /* NULL: hits are counted */
	char *unit;        /* NULL: none was given */
};

/*
 * Add the tracepoints that match a pattern, "block:block_rq_issue" or "syscalls:sys_enter_*";
 * perhaps none.
 *
 * Returns 0 or, with error filled, -EINVAL (not a pattern, or the field cannot be summed), -ENOTSUP
 * (tracefs is not mounted), -EACCES (unreadable), -E2BIG (too many); or -ENOMEM.
 */
_must_check_ int event_tracepoints_add(const char *tracing, const struct tracepoint_words *words,
				       struct event_list *ret, struct error *error);

/*
 * The number of a tracepoint, for `config` of struct perf_event_attr.
 *
 * Returns 0, -ENOTSUP (no such tracepoint, or tracefs is not mounted), -EACCES (not readable), with
 * error filled, or -ENOMEM.
 */
_must_check_ int event_tracepoint_find(const char *tracing, const char *name, uint64_t *ret,
				       struct error *error);

/*
 * Find a numeric field in the records of a tracepoint: the event's field_offset and field_bytes.
 *
 * Returns 0, -ENOTSUP (no such field), with error filled, or -ENOMEM.
 */
_must_check_ int event_tracepoint_find_field(const char *tracing, const char *name,
					     const char *field, struct event *ret,
					     struct error *error);

/* Find any field in the records of a tracepoint. Returns as event_tracepoint_find_field(). */
_must_check_ int event_tracepoint_find_offset(const char *tracing, const char *name,
					      const char *field, uint16_t *ret,
					      struct error *error);

/*
 * Restrict a tracepoint to hits that match an expression, in addition to earlier ones.
 *
 * Returns 0, -EINVAL (not an expression over the tracepoint's fields), -E2BIG, -EACCES, with error
 * filled; or -ENOMEM.
 */
_must_check_ int event_tracepoint_filter(const char *tracing, const char *expression,
					 struct event *event, struct error *error);

/*
 * Pass all names to handle(). Returns 0, the first nonzero result of handle(), or negative errno.
 */
_must_check_ int event_tracepoints_list(const char *tracing,
					int (*handle)(const char *name, void *context),
					void *context);

#endif
