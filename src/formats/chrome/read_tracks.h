/*
 * Processes, threads, and operations that no thread has, of a trace of Chrome.
 */
#ifndef FORMATS_CHROME_READ_TRACKS_H
#define FORMATS_CHROME_READ_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/intern.h"
#include "formats/chrome/read_event.h"

/* The owner of slices: a thread, or an asynchronous operation of a process. */
struct chrome_track {
	uint64_t pid;     /* of an operation: 0, unless its id is local to the process */
	uint64_t id;      /* tid, or a hash of the operation's identifiers */
	uint32_t name;    /* string */
	uint32_t process; /* of the profile */
	uint32_t thread;  /* of the profile; of an operation: a synthetic one */
	bool has_thread;
	bool is_async;
};
INTERN_TABLE(chrome_track_table, struct chrome_track, is_async, pid, id);

struct chrome_process {
	uint64_t pid;
	uint32_t process; /* of the profile */
};
INTERN_TABLE(chrome_processes, struct chrome_process, pid);

struct chrome_tracks {
	struct import *import; /* borrowed */
	struct chrome_track_table items;
	struct hash_index tid_index; /* of threads: the first with the tid, of whatever process */
	struct chrome_processes processes;
	bool has_too_many; /* some were left out */
	struct text text;
};

void chrome_tracks_init(struct chrome_tracks *tracks, struct import *import);
void chrome_tracks_release(struct chrome_tracks *tracks);

/*
 * After JSON_KEY: a pid or tid. A name in its place is an id beyond those of the system. 0 or
 * -ENOMEM.
 */
_must_check_ int chrome_take_number(struct profile *profile, struct json *json, uint64_t *ret);
/*
 * The track of an event, of its thread or of its operation. *ret is HASH_INDEX_NONE when there are
 * too many. 0 or -ENOMEM.
 */
_must_check_ int chrome_tracks_find(struct chrome_tracks *tracks, const struct chrome_event *event,
				    bool is_async, uint32_t *ret);
/* The thread with this tid, of whatever process. *ret as above. 0 or -ENOMEM. */
_must_check_ int chrome_tracks_find_tid(struct chrome_tracks *tracks, uint64_t tid, uint32_t *ret);
/* The names of processes and threads. 0 or -ENOMEM. */
_must_check_ int chrome_tracks_read_name(struct chrome_tracks *tracks,
					 const struct chrome_event *event);
/* When all names are known: the thread of a track on which something weighs. 0 or -ENOMEM. */
_must_check_ int chrome_tracks_get_thread(struct chrome_tracks *tracks, uint32_t track,
					  uint32_t *ret);

#endif
