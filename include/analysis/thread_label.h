/*
 * How a thread is named where stacks begin with the thread that they were seen on: one label for
 * the report, for folded text and for the viewer, so that all of them call it the same.
 */
#ifndef ANALYSIS_THREAD_LABEL_H
#define ANALYSIS_THREAD_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/profile.h"

/* What the first level of every stack is. */
enum tree_root {
	TREE_ROOT_COMM,   /* name of the thread: nginx */
	TREE_ROOT_SCRIPT, /* that of an interpreter with what it runs: python3 (manage.py) */
	TREE_ROOT_PID,    /* nginx-812 */
	TREE_ROOT_TID,    /* nginx-812/815 */
	TREE_ROOT_NONE,   /* no level of its own */
};

/*
 * Whether a thread's stacks begin with a level that stands for it: never with TREE_ROOT_NONE, nor
 * where the thread has neither a name nor an id.
 */
bool thread_has_label(const struct profile *profile, uint32_t thread, enum tree_root root);

/*
 * Append the label of a thread that has one. A thread without a name is "[unknown]"; a pid that
 * the input does not have is "?", as stackcollapse-perf.pl writes it: java-?. A thread that is not
 * called as interpreters are has its name alone, whatever its process runs.
 *
 * label  as everywhere, remembers in `failed` that there was no memory
 */
void thread_label_append(const struct profile *profile, uint32_t thread, enum tree_root root,
			 struct text *label);

/* Whether the text is one of the labels of a thread that has one, whatever stacks begin with. */
bool thread_is_labelled(const struct profile *profile, uint32_t thread, const char *text,
			size_t length);

#endif
