/*
 * The filter of a tracepoint: predicates over the fields of its record. User space compiles them,
 * and the program of the event evaluates them at every hit. The kernel would apply a perf event's
 * own filter only after that program.
 *
 * A predicate has the next predicate for when it holds, and for when it does not: always forward,
 * so that each is evaluated once at most. Text is matched by an automaton whose states are the bits
 * of one number (Shift-And: Baeza-Yates and Gonnet, "A new approach to text searching"). Bit n is
 * set if the text so far may match the first n characters of the pattern. However many stars a
 * pattern has, a character is one step.
 *
 * The same code is compiled into the BPF program and into tests. The includer defines FILTER_INLINE
 * (the specifiers of functions here) before this file, and the functions that are only declared
 * here after it. Without FILTER_INLINE it gets only the structures.
 */
#ifndef WIRE_EVENT_FILTER_H
#define WIRE_EVENT_FILTER_H

#include "wire/types.h"

/* Maximum per event. */
#define WIRE_MAX_PREDICATES 16
/* Characters of a pattern, without stars: states are the bits of a number. */
#define WIRE_MAX_PATTERN 63
/*
 * Bytes of a text, with a NUL at the end; the rest is ignored. The kernel's own filters copy as
 * much.
 */
#define WIRE_FILTER_TEXT_BYTES 1024

/* The compared value. */
enum wire_predicate_kind {
	WIRE_PREDICATE_NUMBER,   /* of the record */
	WIRE_PREDICATE_CPU,      /* the number of the running CPU */
	WIRE_PREDICATE_TID,      /* of the thread that runs */
	WIRE_PREDICATE_TYPE,     /* the number of the tracepoint */
	WIRE_PREDICATE_ARRAY,    /* text in the record, of `size` bytes at most */
	WIRE_PREDICATE_DATA_LOC, /* text whose offset and length are in 4 bytes of the record */
	WIRE_PREDICATE_REL_LOC,  /* the same, relative to the end of these 4 bytes */
	WIRE_PREDICATE_KERNEL_POINTER, /* text that the record has the address of */
	WIRE_PREDICATE_USER_POINTER,   /* the same, in the program's memory */
	WIRE_PREDICATE_COMM,           /* the name of the thread that runs */
};

/* Results of a comparison; an operator is the set of those for which it holds. */
#define WIRE_IS_LESS     1
#define WIRE_IS_EQUAL    2
#define WIRE_IS_GREATER  4
#define WIRE_SHARES_BITS 8

/* Targets after the last predicate: the filter is decided. */
#define WIRE_FILTER_FAILS  254
#define WIRE_FILTER_PASSES 255

struct wire_predicate {
	wire_u64 value;    /* of a number, extended to 64 bits as the field is */
	wire_u16 offset;   /* in the record */
	wire_u16 size;     /* bytes of the field */
	wire_u8 kind;      /* enum wire_predicate_kind */
	wire_u8 is_signed; /* the number */
	wire_u8 holds_for; /* the operator: WIRE_IS_LESS…; text is WIRE_IS_EQUAL or WIRE_IS_GREATER */
	wire_u8 when_true;  /* index of the predicate to go on with, or WIRE_FILTER_… */
	wire_u8 when_false; /* likewise */
	wire_u8 reserved[7];
};
_Static_assert(sizeof(struct wire_predicate) == 24,
	       "struct wire_predicate is part of the wire format");

struct wire_pattern {
	/* For each character of the text, bit n: it matches the pattern's nth character, from 1. */
	wire_u64 accepts[256];
	/* Bit n: a star follows the nth character; bit 0: the pattern starts with one. */
	wire_u64 stars;
	wire_u32 length; /* characters */
	wire_u32 reserved;
};
_Static_assert(sizeof(struct wire_pattern) == 2064,
	       "struct wire_pattern is part of the wire format");

/* A filter is an array of these, and starts with the first. */
struct wire_filter_part {
	struct wire_predicate predicate;
	struct wire_pattern pattern; /* of text */
};
_Static_assert(sizeof(struct wire_filter_part) == 2088,
	       "struct wire_filter_part is part of the wire format");

#ifdef FILTER_INLINE

/* A hit: the address of its record. */
struct filter_hit {
	wire_u64 record;
};

/* NULL: there are fewer. */
FILTER_INLINE const struct wire_filter_part *filter_get_part(wire_u32 index);
/*
 * Up to 8 bytes of the kernel's memory into the lowest ones of *ret. Returns 0, or -1 if
 * unreadable.
 */
FILTER_INLINE int filter_read(const struct filter_hit *hit, wire_u64 address, wire_u32 num_bytes,
			      wire_u64 *ret);
FILTER_INLINE wire_u32 filter_get_cpu(void);
FILTER_INLINE wire_u32 filter_get_tid(void);
/*
 * Copy a text for filter_match_text(): up to its NUL, or num_bytes of it, with the last byte set to
 * NUL. num_bytes is 1 to WIRE_FILTER_TEXT_BYTES. Returns 0, or -1 if unreadable.
 */
FILTER_INLINE int filter_copy_text(const struct filter_hit *hit, wire_u64 address,
				   wire_u32 num_bytes, int is_of_user);
FILTER_INLINE int filter_copy_comm(void);
/* Whether the whole copied text matches the pattern of this index. */
FILTER_INLINE int filter_match_text(wire_u32 index);

/* The states after a character of the text, which is not NUL. */
FILTER_INLINE wire_u64 filter_step(const struct wire_pattern *pattern, wire_u64 states,
				   wire_u8 character)
{
	return (states << 1 & pattern->accepts[character]) | (states & pattern->stars);
}

FILTER_INLINE int filter_is_match(const struct wire_pattern *pattern, wire_u64 states)
{
	return states >> (pattern->length & 63) & 1;
}

/* Extend a number of num_bytes bytes to 64 bits. */
FILTER_INLINE wire_u64 filter_extend(wire_u64 value, wire_u32 num_bytes, int is_signed)
{
	wire_u32 num_unused = (64 - num_bytes * 8) & 63;

	value <<= num_unused;
	if (!is_signed)
		return value >> num_unused;
	return (wire_u64)((long long)value >> num_unused);
}

FILTER_INLINE wire_u32 filter_compare(wire_u64 value, wire_u64 other, int is_signed)
{
	/* With the sign bit inverted, signed numbers compare like unsigned ones. */
	wire_u64 turned = is_signed ? 1ull << 63 : 0;
	wire_u32 shared = value & other ? WIRE_SHARES_BITS : 0;

	if (value == other)
		return shared | WIRE_IS_EQUAL;
	return shared | ((value ^ turned) < (other ^ turned) ? WIRE_IS_LESS : WIRE_IS_GREATER);
}

/* Returns 0, or -1 if there is no readable text. */
FILTER_INLINE int filter_fetch_text(const struct filter_hit *hit,
				    const struct wire_predicate *predicate)
{
	wire_u64 field = hit->record + predicate->offset;
	wire_u32 num_bytes = WIRE_FILTER_TEXT_BYTES - 1;
	wire_u32 kind = predicate->kind;
	wire_u64 value = 0;

	if (kind == WIRE_PREDICATE_COMM)
		return filter_copy_comm();
	if (kind == WIRE_PREDICATE_ARRAY) {
		value = field;
		num_bytes = predicate->size;
	} else if (kind == WIRE_PREDICATE_KERNEL_POINTER || kind == WIRE_PREDICATE_USER_POINTER) {
		if (filter_read(hit, field, 8, &value))
			return -1;
	} else {
		if (filter_read(hit, field, 4, &value))
			return -1;
		num_bytes = (wire_u32)value >> 16;
		value = (value & 0xffff) +
			(kind == WIRE_PREDICATE_REL_LOC ? field + 4 : hit->record);
	}
	if (num_bytes > WIRE_FILTER_TEXT_BYTES - 1)
		num_bytes = WIRE_FILTER_TEXT_BYTES - 1;
	return filter_copy_text(hit, value, num_bytes + 1, kind == WIRE_PREDICATE_USER_POINTER);
}

/*
 * Whether a predicate holds. Unreadable values never match, whatever the operator, as in the
 * kernel.
 */
FILTER_INLINE int filter_holds(const struct filter_hit *hit, const struct wire_predicate *predicate,
			       wire_u32 index)
{
	wire_u64 value = 0;

	if (predicate->kind >= WIRE_PREDICATE_ARRAY) {
		if (filter_fetch_text(hit, predicate))
			return 0;
		return (predicate->holds_for &
			(filter_match_text(index) ? WIRE_IS_EQUAL : WIRE_IS_GREATER)) != 0;
	}
	if (predicate->kind == WIRE_PREDICATE_CPU)
		value = filter_get_cpu();
	else if (predicate->kind == WIRE_PREDICATE_TID)
		value = filter_get_tid();
	else if (predicate->kind == WIRE_PREDICATE_TYPE)
		value = predicate->offset;
	else if (filter_read(hit, hit->record + predicate->offset, predicate->size, &value))
		return 0;
	value = filter_extend(value, predicate->size, predicate->is_signed);
	return (predicate->holds_for &
		filter_compare(value, predicate->value, predicate->is_signed)) != 0;
}

/* Whether a hit matches the filter. */
FILTER_INLINE int filter_passes(const struct filter_hit *hit)
{
	wire_u32 next = 0;

	for (wire_u32 i = 0; i < WIRE_MAX_PREDICATES; i++) {
		const struct wire_filter_part *part;

		if (i != next)
			continue;
		part = filter_get_part(i);
		if (!part)
			break;
		next = filter_holds(hit, &part->predicate, i) ? part->predicate.when_true
							      : part->predicate.when_false;
	}
	return next == WIRE_FILTER_PASSES;
}

#endif

#endif
