/*
 * Filters of tracepoints, in the syntax of the kernel (Documentation/trace/events.rst): `bytes > 4096 && comm ~ "ng*"`,
 * compiled to what the program of the event evaluates (include/wire/event_filter.h).
 *
 *	expression  = all { "||" all }
 *	all         = part { "&&" part }
 *	part        = { "!" } ( "(" expression ")" | comparison )
 *	comparison  = field operator value
 *
 * A field is one of the record, CPU (or cpu, common_cpu), or COMM (or comm): that of the running thread. A number has ==
 * != < <= > >= and &, which asks for a common bit; text, in either kind of quotes, has == != and ~, whose value is a
 * pattern with * ? [a-z] [!a-z] and \, and means the opposite if it begins with a !. Text that is an address in the
 * program's memory is field.ustring.
 *
 * Where the kernel's own code is at odds with its text, this goes by the text: "*sh" matches "bash" in an array of 16
 * characters, too, where the kernel looks for it at the array's end.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_EVENTS_EVENT_FILTER_H
#define COLLECT_EVENTS_EVENT_FILTER_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "wire/event_filter.h"

struct event_format;
struct event_filter;

/* Of a tracepoint, "block:block_rq_issue", and its number; every hit passes. NULL: out of memory. */
struct event_filter *event_filter_new(const char *event, uint32_t type);
void event_filter_free(struct event_filter *filter);

/*
 * Let those hits alone pass that match this expression, too.
 *
 * Returns 0; -EINVAL (error says in which column, and what was expected), -E2BIG (more than it holds), with error
 * filled; or -ENOMEM. After a failure it is only to be freed.
 */
_must_check_ int event_filter_add(struct event_filter *filter, const char *expression,
				  const struct event_format *format, struct error *error);

/* What the program is to have: an array of that length, at most WIRE_MAX_PREDICATES. Borrowed. */
const struct wire_filter_part *event_filter_get_parts(const struct event_filter *filter,
						      uint32_t *ret_length);

/* All of it, as any kernel since 5.10 would take it: these have no `.ustring`. Borrowed. */
const char *event_filter_get_text(const struct event_filter *filter);

#endif
