/*
 * Reading traces of Chrome: processes, threads, and operations that no thread has.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/read.h"

#define ASYNC_THREAD_NAME "async"

/* Where a name stands in the place of an id: above those that a system gives. */
#define NAMED_IDS (1ull << 32)

/* A hostile trace must not have more of them than its size allows. */
#define FREE_TRACKS     65536u
#define BYTES_PER_TRACK 128u

/* ---- processes ---- */

static bool is_process(const void *owner, uint32_t item, const void *key)
{
	const struct chrome_reader *reader = owner;

	return reader->processes.items[item].pid == *(const uint64_t *)key;
}

static int find_process(struct chrome_reader *reader, uint64_t pid, uint32_t *ret)
{
	uint64_t hash = hash_mix(0, pid);
	uint32_t found = hash_index_find(&reader->process_index, hash, is_process, reader, &pid);
	struct chrome_process *added;
	int err;

	if (found != HASH_INDEX_NONE) {
		*ret = reader->processes.items[found].process;
		return 0;
	}
	added = array_add(&reader->processes);
	if (!added)
		return -ENOMEM;
	added->pid = pid;
	err = profile_add_process(reader->import->profile, pid < NAMED_IDS ? (uint32_t)pid : 0,
				  pid < NAMED_IDS ? STRING_EMPTY : (uint32_t)pid, &added->process);
	*ret = added->process;
	return err ? err
		   : hash_index_add(&reader->process_index, hash,
				    (uint32_t)(reader->processes.length - 1));
}

/* ---- tracks ---- */

struct track_key {
	uint64_t pid;
	uint64_t id;
	bool is_async;
};

static bool is_track(const void *owner, uint32_t item, const void *key)
{
	const struct chrome_reader *reader = owner;
	const struct chrome_track *track = &reader->tracks.items[item];
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
	return ((const struct chrome_reader *)owner)->tracks.items[item].id ==
	       *(const uint64_t *)key;
}

static int add_track(struct chrome_reader *reader, const struct track_key *key, uint32_t *ret)
{
	struct chrome_track *track = array_add(&reader->tracks);
	uint32_t id = (uint32_t)reader->tracks.length - 1;
	uint64_t tid_hash = hash_mix(0, key->id);
	int err;

	if (!track)
		return -ENOMEM;
	track->pid = key->pid;
	track->id = key->id;
	track->is_async = key->is_async;
	if (!key->is_async && key->id >= NAMED_IDS)
		track->name = (uint32_t)key->id;
	err = find_process(reader, key->pid, &track->process);
	if (!err)
		err = hash_index_add(&reader->track_index, hash_key(key), id);
	if (!err && !key->is_async &&
	    hash_index_find(&reader->tid_index, tid_hash, is_any, reader, &key->id) ==
		    HASH_INDEX_NONE)
		err = hash_index_add(&reader->tid_index, tid_hash, id);
	*ret = id;
	return err;
}

static int find_track(struct chrome_reader *reader, const struct track_key *key, uint32_t *ret)
{
	*ret = hash_index_find(&reader->track_index, hash_key(key), is_track, reader, key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (reader->tracks.length >= FREE_TRACKS + reader->import->size / BYTES_PER_TRACK) {
		reader->has_too_many = true;
		return 0;
	}
	return add_track(reader, key, ret);
}

int chrome_find_track(struct chrome_reader *reader, const struct chrome_event *event, bool is_async,
		      uint32_t *ret)
{
	struct track_key key = {.pid = event->pid, .id = event->tid, .is_async = is_async};

	if (is_async) {
		key.id = hash_mix(hash_bytes(reader->category.data, reader->category.length),
				  hash_bytes(reader->id.data, reader->id.length));
		if (event->has_global_id)
			key.pid = 0;
	}
	return find_track(reader, &key, ret);
}

int chrome_find_tid(struct chrome_reader *reader, uint64_t tid, uint32_t *ret)
{
	struct track_key key = {.id = tid};

	*ret = hash_index_find(&reader->tid_index, hash_mix(0, tid), is_any, reader, &tid);
	return *ret == HASH_INDEX_NONE ? find_track(reader, &key, ret) : 0;
}

int chrome_take_number(struct chrome_reader *reader, struct json *json, uint64_t *ret)
{
	enum json_token token = json_next(json);
	uint32_t name;
	int err = 0;

	if (token == JSON_NUMBER) {
		/* What no system has, below 0 or too large, is told apart by its digits. */
		if (!json_get_u64(json, ret) || *ret >= NAMED_IDS)
			*ret = (uint32_t)hash_bytes(json->text, json->length);
	} else if (token == JSON_STRING && !parse_u64(json->text, json->length, ret)) {
		err = string_table_add(profile_get_strings(reader->import->profile), json->text,
				       json->length, &name);
		*ret = NAMED_IDS + name;
	}
	json_skip(json, token);
	return err;
}

/* ---- names ---- */

/* {"name": "CrRendererMain"} */
static int read_name(struct chrome_reader *reader, const struct chrome_event *event, uint32_t *ret)
{
	struct json json = chrome_open(reader, event->args);

	text_truncate(&reader->value, 0);
	if (json_next(&json) == JSON_OBJECT) {
		while (json_next(&json) == JSON_KEY) {
			if (json_is(&json, "name"))
				json_take_string(&json, &reader->value);
			else
				json_skip_value(&json);
		}
	}
	json_release(&json);
	return chrome_add_string(reader, &reader->value, ret);
}

int chrome_read_metadata(struct chrome_reader *reader, const struct chrome_event *event)
{
	bool is_thread = string_equals(reader->name.data, "thread_name");
	uint32_t track = HASH_INDEX_NONE;
	uint32_t name;
	int err;

	if (event->args == CHROME_NOWHERE ||
	    (!is_thread && !string_equals(reader->name.data, "process_name")))
		return 0;
	err = read_name(reader, event, &name);
	if (!err)
		err = chrome_find_track(reader, event, false, &track);
	if (err || track == HASH_INDEX_NONE)
		return err;
	if (is_thread)
		reader->tracks.items[track].name = name;
	else
		profile_set_process_comm(reader->import->profile,
					 reader->tracks.items[track].process, name);
	return 0;
}

/* That of its process, where it has none; else its number tells it apart. */
static int name_track(struct chrome_reader *reader, struct chrome_track *track)
{
	struct profile *profile = reader->import->profile;

	if (track->is_async)
		return profile_add_string(profile, ASYNC_THREAD_NAME, &track->name);
	if (track->name == STRING_EMPTY)
		track->name = profile_get_process(profile, track->process)->comm;
	if (track->name != STRING_EMPTY || !track->id)
		return 0;
	text_truncate(&reader->name, 0);
	text_append_string(&reader->name, "thread ");
	text_append_number(&reader->name, track->id);
	return chrome_add_string(reader, &reader->name, &track->name);
}

static int add_thread(struct chrome_reader *reader, struct chrome_track *track)
{
	struct profile *profile = reader->import->profile;
	int err = name_track(reader, track);
	struct thread thread = {
		.process = track->process,
		.tid = track->is_async || track->id >= NAMED_IDS ? 0 : (uint32_t)track->id,
		.comm = track->name,
		.source = reader->import->source,
	};

	return err ? err : profile_add_thread(profile, &thread, &track->thread);
}

int chrome_get_thread(struct chrome_reader *reader, uint32_t track, uint32_t *ret)
{
	struct chrome_track *found = &reader->tracks.items[track];
	int err = found->has_thread ? 0 : add_thread(reader, found);

	found->has_thread = !err;
	*ret = found->thread;
	return err;
}
