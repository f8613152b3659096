/*
 * Our own format: the whole profile inside an SVG file or a page of the viewer. It has every
 * metric, thread and stack with all frames, drawn or not. So the picture that people keep and mail
 * is also the data. Only addresses, build IDs and the reasons of missing names stay out.
 *
 * In a page it is base64 (RFC 4648) of gzip of the packed profile; in an SVG file the same, after a
 * line with its version:
 *
 *     <metadata id="stackwide-profile">
 *     stackwide profile 3
 *     H4sIAAAAAAAAA...
 *     </metadata>
 *
 * Base64, because it must survive XML tools, editors and mail, and every language can read it.
 *
 * A packed profile is a line, "stackwide profile 3", and columns of numbers (native/column.h). They
 * form tables. A table's first column is whole, and as long as the table; the other columns lack
 * the zeros at their end. Signed numbers are 0, -1, 1, -2 as 0, 1, 2, 3. A distance is the
 * difference from the row before.
 *
 *     names       own bytes, bytes in common with the name before; behind these columns the own
 *                 bytes of all. Sorted; they count from 1, and 0 is the empty name. All ids below
 *                 count from 0 but for sources, which count from 1.
 *     metrics     name, unit, step: weights are multiples of it and written divided by it; samples:
 *                 their number (struct metric)
 *     sources     name, label: files that were read
 *     samplings   source, start, duration, period, complete, truncated, lost: struct sampling.
 *                 Source 0, here and below: the file itself
 *     tallies     source, name, count: struct tally
 *     clocks      source, start, real: times of the source count from start, its nanoseconds; real:
 *                 the same moment of CLOCK_REALTIME; 0: unknown
 *     processes   pid, comm: "python3 (manage.py)" if the script of an interpreter is known
 *     threads     tid, process, comm, source
 *     frames      name: distance; full name: difference from the name (signed); module; file:
 *                 distance (signed); line; kind: enum frame_kind, whose bits from the third on are
 *                 shifted by one, as 4 is added for an inlined call
 *     callees     the callees of each frame anywhere, one frame's list after the other's, and last
 *                 a list of the outermost frames. First column: frame, as its distance from the
 *                 frame behind the one before in the list, modulo the number of frames. Second:
 *                 length of each list
 *     stacks      level by level from the outermost; those of one caller are adjacent. One column:
 *                 the place of the frame among the callees of the caller's frame, as its distance
 *                 from that of the stack before with the same caller. Then a column for each class
 *                 of stack_order_classify(); the empty stack is the first of class 0. A number is 0
 *                 for a stack without callees, which has samples; else twice the number of callees,
 *                 minus 1, plus 1 if it has samples. (The empty stack of a profile without stacks
 *                 has samples if there are any.)
 *     samples     by stack with samples: their number minus 1. By sample, those of a stack sorted
 *                 by metric and thread: metric; thread: distance (signed). Then for each metric a
 *                 whole column of weights
 *     times       one number: the resolution in nanoseconds; without it there are no times, and
 *                 nothing follows. Two whole columns: the first time of each sample with times, as
 *                 its distance from that of the sample before (signed); and each further time, as
 *                 its distance from the one before. By sample: number of times. By sample with
 *                 times: 1 if they have weights; else these are even shares. Weights
 *
 * Other versions are refused.
 */
#ifndef FORMATS_NATIVE_H
#define FORMATS_NATIVE_H

#include <stdbool.h>

#include "formats/format.h"

/* Start of the profile in an SVG file; nothing else in a file of ours has it. */
#define NATIVE_START "<metadata id=\"stackwide-profile\">"
#define NATIVE_END   "</metadata>"
/* The first line, without its end. */
#define NATIVE_HEAD "stackwide profile 3"

/*
 * In a frame's kind: this bit is between those of enum frame_kind, which had only two at that time.
 */
#define NATIVE_INLINED   4
#define NATIVE_KIND_BITS 2

static inline uint32_t native_pack_kind(uint8_t kind, bool is_inlined)
{
	return (kind & ((1u << NATIVE_KIND_BITS) - 1)) | (is_inlined ? NATIVE_INLINED : 0) |
	       (uint32_t)kind >> NATIVE_KIND_BITS << (NATIVE_KIND_BITS + 1);
}

/* Returns false for an invalid kind. */
static inline bool native_unpack_kind(uint64_t number, uint8_t *ret_kind, bool *ret_is_inlined)
{
	uint64_t kind = (number & ((1u << NATIVE_KIND_BITS) - 1)) |
			number >> (NATIVE_KIND_BITS + 1) << NATIVE_KIND_BITS;

	if (kind >= NUM_FRAME_KINDS)
		return false;
	*ret_kind = (uint8_t)kind;
	*ret_is_inlined = number & NATIVE_INLINED;
	return true;
}

struct native_opts {
	bool has_times; /* the times that the profile keeps, too */
	const uint8_t
		*is_left_out; /* by source: skip the source and its data; NULL: all are written */
};

/* Write the packed profile. Returns 0, -ENOMEM or the error of the sink. */
_must_check_ int native_write(const struct profile *profile, const struct native_opts *opts,
			      const struct sink *sink);
/* Base64 of its gzip. The same profile gives the same text, with the same version of zlib. */
_must_check_ int native_write_text(const struct profile *profile, const struct native_opts *opts,
				   const struct sink *sink);
/* Write that in the element of an SVG file, with its tags; without times. */
_must_check_ int native_write_element(const struct profile *profile, const struct sink *sink);

/*
 * Add the profile to import->profile.
 *
 * start, end  the text between the tags of an SVG file, in bytes of the file
 *
 * Returns 0, -ENOMEM, or -EBADMSG or -EOVERFLOW with the reason in import->error.
 */
_must_check_ int native_read(struct import *import, size_t start, size_t end);
/* Add the text of native_write_text(). Returns as native_read(). */
_must_check_ int native_read_text(struct import *import, size_t start, size_t end);

/* Whether the bytes are a packed profile, of whatever version. */
bool native_is_packed(const uint8_t *data, size_t size);
/* Add a packed profile: all of import->data. Returns as native_read(). */
_must_check_ int native_read_packed(struct import *import);

#endif
