/*
 * A small packed profile (native.h), part by part, so that tests can break one: 6 samples of the
 * thread t-7/8 in the stack a;b, 1 of them after 4 ms and 4 after 8 ms.
 */
#ifndef PACKED_PROFILE_H
#define PACKED_PROFILE_H

#include <stddef.h>

#include "base/text.h"
#include "formats/native.h"

enum packed_part {
	PACKED_HEAD,
	PACKED_NAMES,
	PACKED_METRICS,
	PACKED_SOURCES,
	PACKED_SAMPLINGS,
	PACKED_TALLIES,
	PACKED_CLOCKS,
	PACKED_PROCESSES,
	PACKED_THREADS,
	PACKED_FRAMES,
	PACKED_CALLEES,
	PACKED_STACKS,
	PACKED_SAMPLES,
	NUM_PACKED_PARTS,
};

struct packed_bytes {
	const char *data;
	size_t size;
};

#define PACKED(literal) ((struct packed_bytes){literal, sizeof(literal) - 1})
/* A column of one number: 4,000,000 and 1,000,000 ns. */
#define COLUMN_4_MS "\1\x80\x92\xf4\1"
#define COLUMN_1_MS "\1\xc0\x84\x3d"

/* The profile with one part replaced; the caller releases the text. */
static inline struct text packed_profile_with(enum packed_part part, struct packed_bytes bytes)
{
	const struct packed_bytes parts[NUM_PACKED_PARTS] = {
		[PACKED_HEAD] = PACKED(NATIVE_HEAD "\n"),
		[PACKED_NAMES] = PACKED("\5\1\1\5\7\1\0abcountsamplest"),
		[PACKED_METRICS] = PACKED("\1\4\1\3\1\1\1\1"),
		[PACKED_SOURCES] = PACKED("\0\0"),
		[PACKED_SAMPLINGS] = PACKED("\0\0\0\0\0\0\0"),
		[PACKED_TALLIES] = PACKED("\0\0\0"),
		[PACKED_CLOCKS] = PACKED("\1\0" COLUMN_4_MS "\0"),
		[PACKED_PROCESSES] = PACKED("\1\7\1\5"),
		[PACKED_THREADS] = PACKED("\1\10\0\1\5\0"),
		[PACKED_FRAMES] = PACKED("\2\1\1\0\0\0\0\0"),
		[PACKED_CALLEES] = PACKED("\2\1\0\3\1\0\1"),
		[PACKED_STACKS] = PACKED("\2\0\0\1\1\0\0\0\0\0\0\0\1\1\0\0\0\0\0\0\0"),
		[PACKED_SAMPLES] = PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\0\1\4\1\2\1\1\2\1\4"),
	};
	struct text text = {0};

	for (size_t i = 0; i < NUM_PACKED_PARTS; i++) {
		const struct packed_bytes *own = i == part ? &bytes : &parts[i];

		text_append(&text, own->data, own->size);
	}
	return text;
}

#endif
