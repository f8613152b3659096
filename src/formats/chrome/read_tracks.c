/*
 * Reading traces of Chrome: processes, threads, and operations that no thread has.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/read_tracks.h"
#include "formats/reader.h"

#define ASYNC_THREAD_NAME "async"

/* Where a name stands in the place of an id: above those that a system gives. */
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
	array_release(&tracks->items);
	hash_index_release(&tracks->index);
	hash_index_release(&tracks->tid_index);
	array_release(&tracks->processes);
	hash_index_release(&tracks->process_index);
	text_release(&tracks->text);
}

/* ---- processes ---- */

static bool is_process(const void *owner, uint32_t item, const void *key)
{
	const struct chrome_tracks *tracks = owner;

	return tracks->processes.items[item].pid == *(const uint64_t *)key;
}

static int find_process(struct chrome_tracks *tracks, uint64_t pid, uint32_t *ret)
{
	uint64_t hash = hash_mix(0, pid);
	uint32_t found = hash_index_find(&tracks->process_index, hash, is_process, tracks, &pid);
	struct chrome_process *added;
	int err;

	if (found != HASH_INDEX_NONE) {
		*ret = tracks->processes.items[found].process;
		return 0;
	}
	added = array_add(&tracks->processes);
	if (!added)
		return -ENOMEM;
	added->pid = pid;
	err = profile_add_process(tracks->import->profile, pid < NAMED_IDS ? (uint32_t)pid : 0,
				  pid < NAMED_IDS ? STRING_EMPTY : (uint32_t)pid, &added->process);
	*ret = added->process;
	return err ? err
		   : hash_index_add(&tracks->process_index, hash,
				    (uint32_t)(tracks->processes.length - 1));
}

/* ---- tracks ---- */

struct track_key {
	uint64_t pid;
	uint64_t id;
	bool is_async;
};

static bool is_track(const void *owner, uint32_t item, const void *key)
{
	const struct chrome_tracks *tracks = owner;
	const struct chrome_track *track = &tracks->items.items[item];
	const struct track_key *wanted = key;

	return track->pid == wanted->pid && track->id == wanted->id &&
	       track->is_async == wanted->is_async;
}

static uint64_t hash_key(const struct track_key *key)
{
	return hash_mix(hash_mix(key->is_async, key->pid), key->id);
}

static bool is_any(const void *owner, uint32_t item, const void *key)
{
	return ((const struct chrome_tracks *)owner)->items.items[item].id ==
	       *(const uint64_t *)key;
}

static int add_track(struct chrome_tracks *tracks, const struct track_key *key, uint32_t *ret)
{
	struct chrome_track *track = array_add(&tracks->items);
	uint32_t id = (uint32_t)tracks->items.length - 1;
	uint64_t tid_hash = hash_mix(0, key->id);
	int err;

	if (!track)
		return -ENOMEM;
	track->pid = key->pid;
	track->id = key->id;
	track->is_async = key->is_async;
	if (!key->is_async && key->id >= NAMED_IDS)
		track->name = (uint32_t)key->id;
	err = find_process(tracks, key->pid, &track->process);
	if (!err)
		err = hash_index_add(&tracks->index, hash_key(key), id);
	if (!err && !key->is_async &&
	    hash_index_find(&tracks->tid_index, tid_hash, is_any, tracks, &key->id) ==
		    HASH_INDEX_NONE)
		err = hash_index_add(&tracks->tid_index, tid_hash, id);
	*ret = id;
	return err;
}

static int find_track(struct chrome_tracks *tracks, const struct track_key *key, uint32_t *ret)
{
	*ret = hash_index_find(&tracks->index, hash_key(key), is_track, tracks, key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (tracks->items.length >= FREE_TRACKS + tracks->import->size / BYTES_PER_TRACK) {
		tracks->has_too_many = true;
		return 0;
	}
	return add_track(tracks, key, ret);
}

int chrome_tracks_find(struct chrome_tracks *tracks, const struct chrome_event *event,
		       bool is_async, uint32_t *ret)
{
	struct track_key key = {.pid = event->pid, .id = event->tid, .is_async = is_async};

	if (is_async) {
		key.id = hash_mix(hash_bytes(event->category.data, event->category.length),
				  hash_bytes(event->id.data, event->id.length));
		if (event->has_global_id)
			key.pid = 0;
	}
	return find_track(tracks, &key, ret);
}

int chrome_tracks_find_tid(struct chrome_tracks *tracks, uint64_t tid, uint32_t *ret)
{
	struct track_key key = {.id = tid};

	*ret = hash_index_find(&tracks->tid_index, hash_mix(0, tid), is_any, tracks, &tid);
	return *ret == HASH_INDEX_NONE ? find_track(tracks, &key, ret) : 0;
}

int chrome_take_number(struct profile *profile, struct json *json, uint64_t *ret)
{
	enum json_token token = json_next(json);
	uint32_t name;
	int err = 0;

	if (token == JSON_NUMBER) {
		/* What no system has, below 0 or too large, is told apart by its digits. */
		if (!json_get_u64(json, ret) || *ret >= NAMED_IDS)
			*ret = (uint32_t)hash_bytes(json->text, json->length);
	} else if (token == JSON_STRING && !parse_u64(json->text, json->length, ret)) {
		err = string_table_add(profile_get_strings(profile), json->text, json->length,
				       &name);
		*ret = NAMED_IDS + name;
	}
	json_skip(json, token);
	return err;
}

/* ---- names ---- */

/* {"name": "CrRendererMain"} */
static int read_name(struct chrome_tracks *tracks, const struct chrome_event *event, uint32_t *ret)
{
	struct json json = chrome_open(tracks->import, event->args);

	text_truncate(&tracks->text, 0);
	if (json_next(&json) == JSON_OBJECT) {
		while (json_next(&json) == JSON_KEY) {
			if (json_is(&json, "name"))
				json_take_string(&json, &tracks->text);
			else
				json_skip_value(&json);
		}
	}
	json_release(&json);
	return chrome_add_string(tracks->import->profile, &tracks->text, ret);
}

int chrome_tracks_read_name(struct chrome_tracks *tracks, const struct chrome_event *event)
{
	bool is_thread = string_equals(event->name.data, "thread_name");
	uint32_t track = HASH_INDEX_NONE;
	uint32_t name;
	int err;

	if (event->args == CHROME_NOWHERE ||
	    (!is_thread && !string_equals(event->name.data, "process_name")))
		return 0;
	err = read_name(tracks, event, &name);
	if (!err)
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

/* That of its process, where it has none; else its number tells it apart. */
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

static int add_thread(struct chrome_tracks *tracks, struct chrome_track *track)
{
	struct profile *profile = tracks->import->profile;
	int err = name_track(tracks, track);
	struct thread thread = {
		.process = track->process,
		.tid = track->is_async || track->id >= NAMED_IDS ? 0 : (uint32_t)track->id,
		.comm = track->name,
		.source = tracks->import->source,
	};

	return err ? err : profile_add_thread(profile, &thread, &track->thread);
}

int chrome_tracks_get_thread(struct chrome_tracks *tracks, uint32_t track, uint32_t *ret)
{
	struct chrome_track *found = &tracks->items.items[track];
	int err = found->has_thread ? 0 : add_thread(tracks, found);

	found->has_thread = !err;
	*ret = found->thread;
	return err;
}
