/*
 * Filters of tracepoints, in the syntax of the kernel (Documentation/trace/events.rst):
 * `bytes > 4096 && comm ~ "ng*"`, compiled to the form that the event's BPF program evaluates
 * (include/wire/event_filter.h).
 *
 *	expression  = all { "||" all }
 *	all         = part { "&&" part }
 *	part        = { "!" } ( "(" expression ")" | comparison )
 *	comparison  = field operator value
 *
 * A field is a field of the record, CPU (or cpu, common_cpu), or COMM (or comm) of the running
 * thread. Numbers have == != < <= > >= and &, which tests for a common bit. Text, in either kind of
 * quotes, has == != and ~. The value of ~ is a pattern with * ? [a-z] [!a-z] and \, negated if it
 * starts with a !. Text at an address in the program's memory is field.ustring.
 *
 * If the kernel's code contradicts its documentation, this follows the documentation: "*sh" also
 * matches "bash" in an array of 16 characters, although the kernel searches at the array's end.
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

/*
 * New filter of a tracepoint ("block:block_rq_issue" and its number) that passes every hit. NULL:
 * out of memory.
 */
struct event_filter *event_filter_new(const char *event, uint32_t type);
void event_filter_free(struct event_filter *filter);

/*
 * Pass only hits that also match this expression.
 *
 * Returns 0, -EINVAL (error has the column and the expected token), -E2BIG (too many parts), with
 * error filled; or -ENOMEM. After a failure the filter may only be freed.
 */
_must_check_ int event_filter_add(struct event_filter *filter, const char *expression,
				  const struct event_format *format, struct error *error);

/* The parts for the BPF program: an array of at most WIRE_MAX_PREDICATES. Borrowed. */
const struct wire_filter_part *event_filter_get_parts(const struct event_filter *filter,
						      uint32_t *ret_length);

/* All of it, as any kernel since 5.10 would take it: these have no `.ustring`. Borrowed. */
const char *event_filter_get_text(const struct event_filter *filter);

#endif
