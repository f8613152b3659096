/*
 * Zones as text, and helpers shared by the readers of both kinds of zones, text and binary.
 *
 * One record a line; fields are separated by commas, and blanks around them do not count. A field
 * in quotes may hold commas and blanks, and quotes when they are doubled.
 */
#ifndef FORMATS_ZONES_H
#define FORMATS_ZONES_H

#include "base/error.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/import.h"
#include "timeline/timeline.h"

/*
 * The common part of the two readers of zones, text and binary: checks a record whose fields are
 * known and puts it into the timeline.
 *
 * Every function returns 0 or negative errno; the reason is then in zones_builder_get_problem(),
 * for the reader to add file and position. Faults that --lenient forgives are reported there, too,
 * after a return of 0.
 *
 * Ids of threads, locations and counters are numbers of the file's own choice.
 */

struct zones_builder;

/* A slice of the input or of a decoded field. */
struct zones_string {
	const char *data; /* not NUL-terminated; not NULL, even if length is 0 */
	size_t length;
};

/*
 * Zones go to import->timeline if not NULL, and as stacks with their times to import->profile. If
 * that timeline has a consumer, only it gets the zones. Returns NULL when out of memory.
 */
struct zones_builder *zones_builder_new(struct import *import);
void zones_builder_free(struct zones_builder *builder);
static inline void zones_builder_freep(struct zones_builder **builder)
{
	zones_builder_free(*builder);
}

/* The last problem, or an empty string. Reading it clears it. */
const char *zones_builder_get_problem(struct zones_builder *builder);

/*
 * The following records are of another process, with its own ids and addresses; open zones end.
 *
 * pid  0: unknown
 */
_must_check_ int zones_builder_start_process(struct zones_builder *builder, uint32_t pid,
					     struct zones_string name);

/*
 * The records are incomplete, as of a ring that was overwritten. A zone whose end is missing ends
 * when something happens around it, and records about a zone that is not open are skipped. Both are
 * counted.
 */
struct zones_torn_counts {
	uint64_t lost_ends;
	uint64_t lost_starts; /* ends of zones without a start */
};
void zones_builder_set_torn(struct zones_builder *builder);
struct zones_torn_counts zones_builder_get_torn_counts(const struct zones_builder *builder);

bool zones_builder_has_location(const struct zones_builder *builder, uint64_t id);

_must_check_ int zones_builder_add_stack(struct zones_builder *builder, uint64_t start,
					 uint64_t end, struct zones_string name);
_must_check_ int zones_builder_add_thread(struct zones_builder *builder, uint64_t tid,
					  struct zones_string name);
_must_check_ int zones_builder_add_location(struct zones_builder *builder, uint64_t id,
					    struct zones_string name, struct zones_string function,
					    struct zones_string file, uint32_t line);
_must_check_ int zones_builder_add_counter(struct zones_builder *builder, uint64_t id,
					   struct zones_string name);
/* Ignores track and process of *value. */
_must_check_ int zones_builder_add_counter_value(struct zones_builder *builder, uint64_t id,
						 const struct counter_value *value);

_must_check_ int zones_builder_start(struct zones_builder *builder, uint64_t pointer, uint64_t tid,
				     uint64_t time_ns, uint64_t location);
_must_check_ int zones_builder_end(struct zones_builder *builder, uint64_t pointer,
				   uint64_t time_ns);

/* These are about the zone that is open at the pointer. */
_must_check_ int zones_builder_set_name(struct zones_builder *builder, uint64_t pointer,
					struct zones_string name);
_must_check_ int zones_builder_add_flow(struct zones_builder *builder, uint64_t pointer,
					uint64_t flow, bool is_terminating);
_must_check_ int zones_builder_add_category(struct zones_builder *builder, uint64_t pointer,
					    struct zones_string category);
/* Ignores name, kind and next of *value. */
_must_check_ int zones_builder_add_parameter(struct zones_builder *builder, uint64_t pointer,
					     struct zones_string name,
					     const struct zone_attribute *value);
_must_check_ int zones_builder_add_string_parameter(struct zones_builder *builder, uint64_t pointer,
						    struct zones_string name,
						    struct zones_string value);

/* End zones that are still open (with a warning) and fill the profile. */
_must_check_ int zones_builder_finish(struct zones_builder *builder);

/* A comment that names the process of the following records: pid, blank, name of the process. */
#define ZONES_PROCESS_MARK "#! process "

/* The name of the process if a text has no such comment. */
#define ZONES_PROCESS_NAME "Stacks and zones"

#define ZONES_MAX_FIELDS 6

struct zones_line {
	struct import *import; /* gets the errors */
	uint64_t number;
	const char *data; /* borrowed */
	size_t length;
	/* Point into the line, or into `unquoted`; valid until the next split. */
	struct zones_string fields[ZONES_MAX_FIELDS];
	size_t num_fields; /* in the line; may exceed ZONES_MAX_FIELDS */
	struct text unquoted;
};

bool zones_is_blank(char c);
struct zones_string zones_trim(struct zones_string string);

/* Fill fields from data. Returns 0, -ENOMEM, or -EBADMSG with the error set. */
_must_check_ int zones_line_split(struct zones_line *line);

/*
 * Parse one field as a number. Returns 0, or -EBADMSG with the error set.
 *
 * what  the expected thing, for the message: "a time"
 */
_must_check_ int zones_line_read_unsigned(struct zones_line *line, size_t field, const char *what,
					  uint64_t *ret);
/* An id may be any integer, also a negative one; its lowest 64 bits count. */
_must_check_ int zones_line_read_id(struct zones_line *line, size_t field, const char *what,
				    uint64_t *ret);
/* Decimal, or hexadecimal after 0x. */
_must_check_ int zones_line_read_pointer(struct zones_line *line, size_t field, uint64_t *ret);
_must_check_ int zones_line_read_u32(struct zones_line *line, size_t field, const char *what,
				     uint32_t *ret);
/* An integer of 64 bits or a finite decimal; fills value and type. */
_must_check_ int zones_line_read_value(struct zones_line *line, size_t field,
				       struct counter_value *ret);

/* Decimal digits. False if empty or anything else. The value is taken modulo 2^64. */
bool zones_read_digits(struct zones_string digits, uint64_t *ret, bool *ret_overflows);

/* See struct format. */
_must_check_ int zones_read(struct import *import);
enum detection zones_detect(const uint8_t *data, size_t size);
/* Detects the binary kind; see zones/read_binary.c. */
bool zones_is_capture(const uint8_t *data, size_t size);
/* Shared memory of include/stackwide/zones_shared.h; see zones/read_rings.c. */
#define ZONES_RINGS_MAGIC       "stackwide rings\n"
#define ZONES_RINGS_MAGIC_BYTES 16
static inline bool zones_is_rings(const uint8_t *data, size_t size)
{
	return size >= ZONES_RINGS_MAGIC_BYTES &&
	       memcmp(data, ZONES_RINGS_MAGIC, ZONES_RINGS_MAGIC_BYTES) == 0;
}

/* The header of shared memory, unchecked. */
#define ZONES_RINGS_HEADER_BYTES 4096u
#define ZONES_RINGS_BLOCK_BYTES  4096u
#define ZONES_RINGS_BLOCK_HEADER 32u
struct zones_rings_header {
	uint32_t capacity_bytes; /* of declarations; blocks are behind that */
	uint32_t ring_blocks;    /* of a ring; they are contiguous */
	uint64_t declared_bytes;
	uint64_t num_undeclared;
	uint64_t num_dropped;
};

/* Whether the header is valid and of a known version. */
bool zones_rings_parse_header(const uint8_t *data, size_t size, struct zones_rings_header *ret);

/*
 * The offset of a section in a text of zones: the last one when the text was `offset` bytes long,
 * or the one that starts there. The text before it is of processes that had ended by then. 0 if
 * there are no sections.
 */
size_t zones_find_section(const uint8_t *data, size_t size, uint64_t offset);

/* A string for messages: shortened, without control characters. */
struct zones_shown {
	char text[44];
};
struct zones_shown zones_show(struct zones_string string);

#endif
