/*
 * Reading traces of Chrome: processes, threads, and operations that no thread has.
 *
 * A track is added when an event is first met on it; its thread in the profile only when something
 * on it weighs (chrome_tracks_get_thread). Its name may be anywhere in the input, and traces name
 * many threads that do nothing.
 *
 * Some producers write names in the place of pids and tids. A name becomes a number above all that
 * a system gives: NAMED_IDS plus the string's id.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/read_tracks.h"
#include "formats/reader.h"

#define ASYNC_THREAD_NAME "async"

/* Ids that replace names are above those that a system gives. */
#define NAMED_IDS (1ull << 32)

/* A hostile trace must not have more of them than its size allows. */
#define FREE_TRACKS     65536u
#define BYTES_PER_TRACK 128u

void chrome_tracks_init(struct chrome_tracks *tracks, struct import *import)
{
	*tracks = (struct chrome_tracks){.import = import};
}

void chrome_tracks_release(struct chrome_tracks *tracks)
{
	chrome_track_table_release(&tracks->items);
	hash_index_release(&tracks->tid_index);
	chrome_processes_release(&tracks->processes);
	text_release(&tracks->text);
}

/* ---- processes ---- */

static int find_process(struct chrome_tracks *tracks, uint64_t pid, uint32_t *ret)
{
	struct chrome_process process = {.pid = pid};
	uint32_t id = chrome_processes_find(&tracks->processes, &process);
	int err;

	if (id != HASH_INDEX_NONE) {
		*ret = tracks->processes.items[id].process;
		return 0;
	}
	err = profile_add_process(tracks->import->profile, pid < NAMED_IDS ? (uint32_t)pid : 0,
				  pid < NAMED_IDS ? STRING_EMPTY : (uint32_t)pid, &process.process);
	if (err)
		return err;
	*ret = process.process;
	return chrome_processes_add(&tracks->processes, &process, &id);
}

/* ---- tracks ---- */

static bool has_tid(const void *owner, uint32_t item, const void *key)
{
	const struct chrome_tracks *tracks = owner;

	return tracks->items.items[item].id == *(const uint64_t *)key;
}

/*
 * key  pid, id and is_async of a track
 * pid  of the process that the track is in, if it is new
 */
static int find_track(struct chrome_tracks *tracks, const struct chrome_track *key, uint64_t pid,
		      uint32_t *ret)
{
	struct chrome_track track = *key;
	uint64_t tid_hash = hash_mix(0, key->id);
	int err;

	*ret = chrome_track_table_find(&tracks->items, key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (tracks->items.length >= FREE_TRACKS + tracks->import->size / BYTES_PER_TRACK) {
		tracks->has_too_many = true;
		return 0;
	}
	if (!key->is_async && key->id >= NAMED_IDS)
		track.name = (uint32_t)key->id;
	err = find_process(tracks, pid, &track.process);
	if (err)
		return err;
	err = chrome_track_table_add(&tracks->items, &track, ret);
	if (err)
		return err;
	if (key->is_async || hash_index_find(&tracks->tid_index, tid_hash, has_tid, tracks,
					     &key->id) != HASH_INDEX_NONE)
		return 0;
	return hash_index_add(&tracks->tid_index, tid_hash, *ret);
}

int chrome_tracks_find(struct chrome_tracks *tracks, const struct chrome_event *event,
		       bool is_async, uint32_t *ret)
{
	struct chrome_track key = {.pid = event->pid, .id = event->tid, .is_async = is_async};

	if (is_async) {
		key.id = hash_mix(hash_bytes(event->category.data, event->category.length),
				  hash_bytes(event->id.data, event->id.length));
		/* An operation may start in one process and end in another. */
		if (event->has_local_id)
			key.id = hash_mix(key.id, 1);
		else
			key.pid = 0;
	}
	return find_track(tracks, &key, event->pid, ret);
}

int chrome_tracks_find_tid(struct chrome_tracks *tracks, uint64_t tid, uint32_t *ret)
{
	struct chrome_track key = {.id = tid};

	*ret = hash_index_find(&tracks->tid_index, hash_mix(0, tid), has_tid, tracks, &tid);
	return *ret == HASH_INDEX_NONE ? find_track(tracks, &key, 0, ret) : 0;
}

int chrome_take_number(struct profile *profile, struct json *json, uint64_t *ret)
{
	enum json_token token = json_next(json);
	uint32_t name;
	int err;

	if (token == JSON_NUMBER) {
		/*
		 * Ids that no system has, below 0 or too large, are distinguished by their digits.
		 */
		if (!json_get_u64(json, ret) || *ret >= NAMED_IDS)
			*ret = (uint32_t)hash_bytes(json->text, json->length);
	} else if (token == JSON_STRING && !parse_u64(json->text, json->length, ret)) {
		err = string_table_add(profile_get_strings(profile), json->text, json->length,
				       &name);
		if (err)
			return err;
		*ret = NAMED_IDS + name;
	}
	json_skip(json, token);
	return 0;
}

/* ---- names ---- */

/* {"name": "CrRendererMain"} */
static int read_name(struct chrome_tracks *tracks, const struct chrome_event *event, uint32_t *ret)
{
	_cleanup_(json_release) struct json json = chrome_open(tracks->import, event->args);

	text_truncate(&tracks->text, 0);
	if (json_next(&json) == JSON_OBJECT) {
		while (json_next(&json) == JSON_KEY) {
			if (json_is(&json, "name"))
				json_take_string(&json, &tracks->text);
			else
				json_skip_value(&json);
		}
	}
	return chrome_add_string(tracks->import->profile, &tracks->text, ret);
}

int chrome_tracks_read_name(struct chrome_tracks *tracks, const struct chrome_event *event)
{
	bool is_thread = string_equals(event->name.data, "thread_name");
	uint32_t track;
	uint32_t name;
	int err;

	if (event->args == CHROME_NOWHERE ||
	    (!is_thread && !string_equals(event->name.data, "process_name")))
		return 0;
	err = read_name(tracks, event, &name);
	if (err)
		return err;
	err = chrome_tracks_find(tracks, event, false, &track);
	if (err || track == HASH_INDEX_NONE)
		return err;
	if (is_thread)
		tracks->items.items[track].name = name;
	else
		profile_set_process_comm(tracks->import->profile,
					 tracks->items.items[track].process, name);
	return 0;
}

/* A thread without a name gets that of its process, or else one made of its number. */
static int name_track(struct chrome_tracks *tracks, struct chrome_track *track)
{
	struct profile *profile = tracks->import->profile;

	if (track->is_async)
		return profile_add_string(profile, ASYNC_THREAD_NAME, &track->name);
	if (track->name == STRING_EMPTY)
		track->name = profile_get_process(profile, track->process)->comm;
	if (track->name != STRING_EMPTY || !track->id)
		return 0;
	text_truncate(&tracks->text, 0);
	text_append_string(&tracks->text, "thread ");
	text_append_number(&tracks->text, track->id);
	return chrome_add_string(tracks->import->profile, &tracks->text, &track->name);
}

int chrome_tracks_get_thread(struct chrome_tracks *tracks, uint32_t id, uint32_t *ret)
{
	struct chrome_track *track = &tracks->items.items[id];
	int err;

	if (!track->has_thread) {
		struct thread thread = {
			.process = track->process,
			.tid = track->is_async || track->id >= NAMED_IDS ? 0 : (uint32_t)track->id,
			.source = tracks->import->source,
		};

		err = name_track(tracks, track);
		if (err)
			return err;
		thread.comm = track->name;
		err = profile_add_thread(tracks->import->profile, &thread, &track->thread);
		if (err)
			return err;
		track->has_thread = true;
	}
	*ret = track->thread;
	return 0;
}
