/*
 * Helpers shared by the readers of foreign formats, beyond import.h: threads and frames as such
 * formats describe them, and numbers in text.
 */
#ifndef FORMATS_READER_H
#define FORMATS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/json.h"
#include "formats/format.h"
#include "formats/import.h"
#include "profile/profile.h"

struct lines;

/* The readers of formats that are also written; their struct format is beside the writer. */
int firefox_read(struct import *import);
enum detection firefox_detect(const uint8_t *data, size_t size);
int html_read(struct import *import);
enum detection html_detect(const uint8_t *data, size_t size);
int tree_json_read(struct import *import);
enum detection tree_json_detect(const uint8_t *data, size_t size);
int speedscope_read(struct import *import);
enum detection speedscope_detect(const uint8_t *data, size_t size);
int sampling_prof_read(struct import *import);
enum detection sampling_prof_detect(const uint8_t *data, size_t size);
int svg_read(struct import *import);
enum detection svg_detect(const uint8_t *data, size_t size);

/*
 * Handle a malformed record: -EBADMSG and the error if the import is strict; else 0, with a warning
 * ("…, skipping").
 */
_must_check_ int reader_skip_line(struct import *import, uint64_t line, const char *reason);

/* The same by the offset of the record in bytes; only the first of an input gives a warning. */
_must_check_ int reader_skip_byte(struct import *import, uint64_t offset, const char *reason);

/*
 * Report the byte that an input ends at too early, or cannot be read beyond, whatever was skipped
 * before: -EBADMSG and the error if the import is strict; else 0, with a warning.
 */
_must_check_ int reader_end_at_byte(struct import *import, uint64_t offset, const char *reason);

/*
 * After the last line of a text: warn if it has no line feed, and about NUL bytes, which a file has
 * where it was never written: after a crash, or on a full disk.
 */
void reader_report_damage(struct import *import, const struct lines *lines);

/* The error of JSON_FAILED. base: the offset of the JSON in the input. */
_must_check_ int reader_fail_json(struct import *import, const struct json *json, size_t base);

/*
 * After JSON_KEY: call read() after the JSON_OBJECT of every item of a list; it goes to the item's
 * JSON_OBJECT_END. A value other than a list is skipped. An item that is no object is an error.
 *
 * expected  kind of the items, for that error: "a node"
 *
 * Returns 0, -EBADMSG or the error of read(). Broken JSON is left to the caller's next token.
 */
_must_check_ int reader_read_objects(struct import *import, struct json *json, const char *expected,
				     int (*read)(void *context, struct json *json), void *context);

/* A thread without name and id, for samples that name none. Returns 0 or -ENOMEM. */
_must_check_ int reader_add_anonymous_thread(struct import *import, uint32_t *ret);

/* The processes of an input, by pid; all that have none, pid 0, are one. Zeroed at first. */
struct process_of_input {
	uint32_t pid;
	uint32_t process; /* of the profile */
};
INTERN_TABLE(processes, struct process_of_input, pid);

/* comm  of a process that is new, a string of the profile. Returns 0 or -ENOMEM. */
_must_check_ int reader_find_process(struct processes *processes, struct profile *profile,
				     uint32_t pid, uint32_t comm, uint32_t *ret);

/*
 * Find a module of the profile, by path and build ID, or add it.
 *
 * modules  the index, zeroed at first; also knows the modules that are added otherwise
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int reader_find_module(struct hash_index *modules, struct profile *profile,
				    const struct module *module, uint32_t *ret);

/* Whether the location has exactly these frames. */
bool reader_has_frames(const struct profile *profile, const struct location *location,
		       const struct frame *frames, size_t num_frames);

/* The module of the kernel's own functions. */
#define KERNEL_MODULE "[kernel]"

/*
 * Strip a FlameGraph annotation, _[k] _[i] _[j], from the end of a name: *length is the new length.
 * Sets the frame's kind or is_inlined; a kernel frame without module gets KERNEL_MODULE.
 */
_must_check_ int reader_strip_annotation(struct profile *profile, const char *name, size_t *length,
					 struct frame *frame);

/*
 * ASCII digits only, the whole text. False if it contains anything else, is empty, or exceeds 64
 * bits.
 */
bool parse_u64(const char *text, size_t length, uint64_t *ret);

/*
 * A weight: a number from 0, perhaps in quotes. Decimals are rounded and reported in *has_decimals
 * (may be NULL). False: anything else, or more than 64 bits hold; *ret stays.
 */
bool reader_get_weight(const struct json *json, enum json_token token, uint64_t *ret,
		       bool *has_decimals);

/* The same of a number that may be below 0: *ret is without its sign. */
bool reader_get_signed_weight(const struct json *json, enum json_token token, uint64_t *ret,
			      bool *ret_is_negative, bool *has_decimals);

/* Add a sample; an overflow of the sum is an error that names the byte. */
_must_check_ int reader_add_sample(struct import *import, uint64_t offset, uint32_t thread,
				   uint32_t stack, uint32_t metric, uint64_t weight);

#endif
