#include "formats/thread_note.h"

#include <inttypes.h>

#include "base/attributes.h"
#include "formats/known_samples.h"

enum { NUM_TEXTS = 4 };

/* In the order of get_text() and of `strings` in thread_note_append(). */
static const char *const keys[NUM_TEXTS] = {"metric", "unit", "comm", "process"};

static struct text *get_text(struct thread_note *note, size_t index)
{
	struct text *const texts[NUM_TEXTS] = {&note->metric, &note->unit, &note->comm,
					       &note->process};

	return texts[index];
}

void thread_note_release(struct thread_note *note)
{
	for (size_t i = 0; i < NUM_TEXTS; i++)
		text_release(get_text(note, i));
}

/* The empty string makes room: data is never NULL, and an empty note reads as empty texts. */
void thread_note_clear(struct thread_note *note)
{
	for (size_t i = 0; i < NUM_TEXTS; i++) {
		text_truncate(get_text(note, i), 0);
		text_append_string(get_text(note, i), "");
	}
	note->pid = note->tid = note->num_samples = 0;
	note->is_given = false;
}

/* Members that are not known are of a later version. */
static void take_member(struct thread_note *note, struct json *json)
{
	for (size_t i = 0; i < NUM_TEXTS; i++) {
		if (json_is(json, keys[i])) {
			json_take_string(json, get_text(note, i));
			return;
		}
	}
	if (json_is(json, "pid"))
		note->pid = json_take_u64(json);
	else if (json_is(json, "tid"))
		note->tid = json_take_u64(json);
	else if (json_is(json, "samples"))
		note->num_samples = json_take_u64(json);
	else
		json_skip_value(json);
}

void thread_note_take(struct thread_note *note, struct json *json)
{
	enum json_token token = json_next(json);

	/*
	 * An array has to be skipped, an object is read below, and any other token is complete
	 * already.
	 */
	json_skip(json, token == JSON_ARRAY ? token : JSON_NULL);
	if (token != JSON_OBJECT)
		return;
	note->is_given = true;
	while (json_next(json) == JSON_KEY)
		take_member(note, json);
}

bool thread_note_has_failed(const struct thread_note *note)
{
	return note->metric.failed || note->unit.failed || note->comm.failed ||
	       note->process.failed;
}

void thread_note_append(struct text *text, const struct profile *profile,
			const struct sample *sample)
{
	const struct thread *thread = profile_get_thread(profile, sample->thread);
	const struct process_info *process = profile_get_process(profile, thread->process);
	const struct metric *metric = profile_get_metric(profile, sample->metric);
	uint64_t num_samples = known_samples_get(profile, sample->metric);
	const uint32_t strings[NUM_TEXTS] = {metric->name, metric->unit, thread->comm,
					     process->comm};

	text_append_string(text, "\"" THREAD_NOTE_KEY "\":{");
	for (size_t i = 0; i < NUM_TEXTS; i++) {
		text_printf(text, "\"%s\":", keys[i]);
		json_append_string(text, profile_get_string(profile, strings[i]),
				   profile_get_string_length(profile, strings[i]));
		text_append_char(text, ',');
	}
	text_printf(text, "\"pid\":%u,\"tid\":%u", process->pid, thread->tid);
	if (num_samples)
		text_printf(text, ",\"samples\":%" PRIu64, num_samples);
	text_append_char(text, '}');
}
