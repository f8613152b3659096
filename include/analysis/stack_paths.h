/*
 * The paths of samples, made of levels of the caller's choice: labels, or functions. Stacks whose
 * locations have the same levels are one path, so that paths form a tree of frames as a person sees
 * them. The caller keeps the tree, mostly a struct stack_table, and steps from one path to the
 * next. This code ensures that no part of a stack is walked twice.
 *
 * Pure, no I/O. Thread-safe as far as the callbacks are.
 */
#ifndef ANALYSIS_STACK_PATHS_H
#define ANALYSIS_STACK_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "profile/profile.h"

/* The path without levels. */
#define STACK_PATHS_ROOT 0u

struct stack_paths_steps {
	/* Whether a sample gets a path; NULL: all do. */
	bool (*takes)(const void *context, const struct sample *sample);
	/*
	 * Step from the root to the level of a thread; *path stays unchanged if there is no such
	 * level. Called once for each thread of these samples.
	 */
	int (*add_thread)(void *context, uint32_t thread, uint32_t *path);
	/* Step on through the levels of a location, outermost first. */
	int (*add_location)(void *context, uint32_t location, uint32_t *path);
	void *context;
};

/*
 * Find the path of every sample. Paths are numbers that the steps give, equal ones for equal paths.
 *
 * ret  by sample of the profile, STACK_PATHS_ROOT if it has no path; the caller frees it
 *
 * Returns 0, -ENOMEM or the error of a step.
 */
_must_check_ int stack_paths_find(const struct profile *profile,
				  const struct stack_paths_steps *steps, uint32_t **ret);

#endif
