/*
 * The name of a thread in stacks that start with their thread: one label for the report, folded
 * text and the viewer, so that all use the same.
 */
#ifndef ANALYSIS_THREAD_LABEL_H
#define ANALYSIS_THREAD_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/profile.h"

/* The first level of every stack. */
enum tree_root {
	TREE_ROOT_COMM,   /* name of the thread: nginx */
	TREE_ROOT_SCRIPT, /* with the script of an interpreter: python3 (manage.py) */
	TREE_ROOT_PID,    /* nginx-812 */
	TREE_ROOT_TID,    /* nginx-812/815 */
	TREE_ROOT_NONE,   /* no level of its own */
};

/*
 * Whether a thread's stacks start with a level for the thread: not with TREE_ROOT_NONE, nor if the
 * thread has neither a name nor an id.
 */
bool thread_has_label(const struct profile *profile, uint32_t thread, enum tree_root root);

/*
 * Append the label of a thread that has one. A thread without a name is "[unknown]"; a pid that the
 * input does not have is "?", as stackcollapse-perf.pl writes it: java-?. A thread whose name is
 * not an interpreter's is shown without the script of its process.
 *
 * label  as everywhere, remembers in `failed` that there was no memory
 */
void thread_label_append(const struct profile *profile, uint32_t thread, enum tree_root root,
			 struct text *label);

/* Whether the text is one of the thread's labels, for any tree_root; false if it has none. */
bool thread_is_labelled(const struct profile *profile, uint32_t thread, const char *text,
			size_t length);

#endif
