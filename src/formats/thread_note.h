/*
 * Thread and metric of a sample in JSON formats that have no field for them: a member of our own,
 * which other programs ignore, so that nothing is lost when we read the file again.
 *
 *	"stackwide":{"metric":"cpu","unit":"nanoseconds","comm":"make","process":"make","pid":1,"tid":2,
 *	             "samples":291}
 *
 * The samples are those of the metric, in the whole file (struct metric).
 */
#ifndef FORMATS_THREAD_NOTE_H
#define FORMATS_THREAD_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "profile/profile.h"

#define THREAD_NOTE_KEY "stackwide"

/* All zero is empty. The texts are strings after thread_note_clear(). */
struct thread_note {
	struct text metric;
	struct text unit;
	struct text comm;
	struct text process; /* its comm */
	uint64_t pid;
	uint64_t tid;
	uint64_t num_samples; /* 0: unknown */
	bool is_given;        /* false: the rest means nothing */
};

void thread_note_release(struct thread_note *note);
void thread_note_clear(struct thread_note *note);

/* Read the member's value; malformed parts are ignored. Then check thread_note_has_failed(). */
void thread_note_take(struct thread_note *note, struct json *json);
bool thread_note_has_failed(const struct thread_note *note);

/* Append the member, about the sample's thread and metric. */
void thread_note_append(struct text *text, const struct profile *profile,
			const struct sample *sample);

#endif
