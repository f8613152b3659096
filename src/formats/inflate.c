/*
 * A decoder of DEFLATE (RFC 1951) and of its two wrappers, zlib (RFC 1950) and gzip (RFC 1952): the
 * viewer's core has no zlib to read compressed profiles.
 *
 * The stream is a sequence of blocks, each stored or Huffman-coded. Bits are taken from the low end
 * of every byte, but a Huffman code is stored from its highest bit on. So the decoding table, which
 * is indexed by the next TABLE_BITS bits of the input, is filled at the reversed codes. Codes of up
 * to TABLE_BITS bits, which are nearly all, take one look-up there; a longer one is decoded bit by
 * bit, as the codes are canonical: those of one length are consecutive numbers, and follow on from
 * those of the length before.
 *
 * The output is its own window: a match may reach back over the whole output, which is no less than
 * the format allows.
 */
#include "formats/inflate.h"

#include <errno.h>

#include "base/array.h"

#define MAX_CODE_BITS  15
#define TABLE_BITS     10
#define NUM_LITERALS   288 /* bytes, the end of a block, lengths */
#define MAX_LITERALS   286 /* literals with codes in a block, at most */
#define NUM_DISTANCES  30
#define NUM_LENGTHS    19 /* of codes for lengths of codes */
#define END_OF_BLOCK   256
#define FIRST_LENGTH   257
#define NO_SYMBOL      UINT16_MAX
#define DAMAGED        (-EBADMSG)
#define ADLER_MODULUS  65521
#define SHORTEST_MATCH 3
#define MAX_MATCH      258

struct inflate_code {
	/*
	 * Indexed by the next TABLE_BITS bits: the symbol times 16, plus the code's length; 0:
	 * none.
	 */
	uint16_t table[1 << TABLE_BITS];
	uint16_t counts[MAX_CODE_BITS + 1]; /* codes by length */
	uint16_t symbols[NUM_LITERALS];     /* by length, then by number */
};

struct inflater {
	struct bytes *compressed;
	uint64_t bits; /* taken from the input, not used yet */
	unsigned int num_bits;
	size_t limit;
	struct text *output;
	struct inflate_code literals;
	struct inflate_code distances;
};

/* ---- bits --------------------------------------------------------------------------------- */

/* Fill in all available bits; at least 32, except at the end of the input. */
static inline void fill(struct inflater *inflater)
{
	struct bytes *compressed = inflater->compressed;

	while (inflater->num_bits <= 56 && compressed->offset < compressed->size) {
		inflater->bits |= (uint64_t)compressed->data[compressed->offset++]
				  << inflater->num_bits;
		inflater->num_bits += 8;
	}
}

/* At most 32 bits. False at the end of the input. */
static inline bool take_bits(struct inflater *inflater, unsigned int count, uint32_t *ret)
{
	if (inflater->num_bits < count)
		fill(inflater);
	if (inflater->num_bits < count)
		return false;
	*ret = (uint32_t)(inflater->bits & ((1ull << count) - 1));
	inflater->bits >>= count;
	inflater->num_bits -= count;
	return true;
}

/* Up to the next byte; bytes that were taken ahead go back. */
static void align(struct inflater *inflater)
{
	inflater->compressed->offset -= inflater->num_bits / 8;
	inflater->bits = 0;
	inflater->num_bits = 0;
}

/* ---- codes -------------------------------------------------------------------------------- */

/* Codes are written from their highest bit on, into bits that are taken from the lowest on. */
static uint32_t reverse(uint32_t number, unsigned int num_bits)
{
	uint32_t turned = 0;

	for (; num_bits; num_bits--, number >>= 1)
		turned = turned << 1 | (number & 1);
	return turned;
}

/*
 * Whether the number of codes is valid: never too many, and too few only for no code or, maybe,
 * one.
 */
static bool is_code(const struct inflate_code *code, unsigned int num_symbols, bool may_be_one)
{
	int free_codes = 1;

	for (unsigned int length = 1; length <= MAX_CODE_BITS; length++) {
		free_codes = free_codes * 2 - code->counts[length];
		if (free_codes < 0)
			return false;
	}
	return !free_codes || num_symbols == 0 ||
	       (may_be_one && num_symbols == 1 && code->counts[1] == 1);
}

/* lengths  of the code of every symbol, in bits; 0: it has none */
static bool make_code(struct inflate_code *code, const uint8_t *lengths, size_t count,
		      bool may_be_one)
{
	uint16_t places[MAX_CODE_BITS + 2] = {0};
	uint32_t next[MAX_CODE_BITS + 2] = {0};

	memset(code->table, 0, sizeof(code->table));
	memset(code->counts, 0, sizeof(code->counts));
	for (size_t i = 0; i < count; i++)
		code->counts[lengths[i]]++;
	code->counts[0] = 0;
	for (unsigned int length = 1; length <= MAX_CODE_BITS; length++) {
		places[length + 1] = (uint16_t)(places[length] + code->counts[length]);
		next[length + 1] = (next[length] + code->counts[length]) << 1;
	}
	if (!is_code(code, places[MAX_CODE_BITS + 1], may_be_one))
		return false;
	for (size_t i = 0; i < count; i++) {
		unsigned int length = lengths[i];
		uint32_t first;

		if (!length)
			continue;
		code->symbols[places[length]++] = (uint16_t)i;
		first = reverse(next[length]++, length);
		for (uint32_t at = first; length <= TABLE_BITS && at < 1u << TABLE_BITS;
		     at += 1u << length)
			code->table[at] = (uint16_t)(i << 4 | length);
	}
	return true;
}

/* A code of more than TABLE_BITS bits, or none. */
static uint16_t take_long_symbol(struct inflater *inflater, const struct inflate_code *code)
{
	int number = 0; /* the digits so far */
	int first = 0;  /* number of the first code of this length */
	int place = 0;  /* of its symbol */

	for (unsigned int length = 1; length <= MAX_CODE_BITS && length <= inflater->num_bits;
	     length++) {
		int count = code->counts[length];

		number |= (int)(inflater->bits >> (length - 1) & 1);
		if (number - first < count) {
			inflater->bits >>= length;
			inflater->num_bits -= length;
			return code->symbols[place + number - first];
		}
		place += count;
		first = (first + count) << 1;
		number <<= 1;
	}
	return NO_SYMBOL;
}

static inline uint16_t take_symbol(struct inflater *inflater, const struct inflate_code *code)
{
	uint16_t entry;

	if (inflater->num_bits < MAX_CODE_BITS)
		fill(inflater);
	entry = code->table[inflater->bits & ((1u << TABLE_BITS) - 1)];
	if (!entry || (entry & 15u) > inflater->num_bits)
		return take_long_symbol(inflater, code);
	inflater->bits >>= entry & 15;
	inflater->num_bits -= entry & 15;
	return entry >> 4;
}

/* ---- output ------------------------------------------------------------------------------- */

/* Room for one more byte or match, so that writing them needs no check. */
static int make_room(struct inflater *inflater, size_t size)
{
	struct text *output = inflater->output;

	if (size > inflater->limit - output->length)
		return -EFBIG;
	if (output->length + size >= output->capacity &&
	    array_reserve_bytes(&output->data, &output->capacity, output->length + size + 1, 1))
		return -ENOMEM;
	return 0;
}

/* Copies byte by byte: a distance that is shorter than the length repeats the output. */
static int copy_match(struct inflater *inflater, size_t distance, size_t length)
{
	struct text *output = inflater->output;
	int err;

	if (distance > output->length)
		return DAMAGED;
	err = make_room(inflater, length);
	if (err)
		return err;
	for (char *to = output->data + output->length, *end = to + length; to < end; to++)
		*to = to[-(ptrdiff_t)distance]; /* may have just been written */
	output->length += length;
	return 0;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* step  symbol after FIRST_LENGTH. 3 to 10, then four of every size, each twice as far apart. */
static bool take_length(struct inflater *inflater, unsigned int step, uint32_t *ret)
{
	unsigned int num_extra = step < 8 ? 0 : (step - 4) / 4;
	uint32_t extra;

	if (step == MAX_LITERALS - 1 - FIRST_LENGTH) {
		*ret = MAX_MATCH;
		return true;
	}
	if (step >= MAX_LITERALS - FIRST_LENGTH || !take_bits(inflater, num_extra, &extra))
		return false;
	*ret = SHORTEST_MATCH + (step < 8 ? step : (4 + (step & 3)) << num_extra) + extra;
	return true;
}

/* 1 to 4, then two of every size. */
static bool take_distance(struct inflater *inflater, uint32_t *ret)
{
	unsigned int step = take_symbol(inflater, &inflater->distances);
	unsigned int num_extra = step < 4 ? 0 : (step - 2) / 2;
	uint32_t extra;

	if (step >= NUM_DISTANCES || !take_bits(inflater, num_extra, &extra))
		return false;
	*ret = 1 + (step < 4 ? step : (2 + (step & 1)) << num_extra) + extra;
	return true;
}

static int take_match(struct inflater *inflater, unsigned int step)
{
	uint32_t length;
	uint32_t distance;

	if (!take_length(inflater, step, &length) || !take_distance(inflater, &distance))
		return DAMAGED;
	return copy_match(inflater, distance, length);
}

static int take_coded(struct inflater *inflater)
{
	for (;;) {
		unsigned int symbol = take_symbol(inflater, &inflater->literals);
		int err;

		if (symbol < END_OF_BLOCK) {
			err = make_room(inflater, 1);
			if (err)
				return err;
			inflater->output->data[inflater->output->length++] = (char)symbol;
		} else if (symbol == END_OF_BLOCK) {
			return 0;
		} else {
			err = take_match(inflater, symbol - FIRST_LENGTH);
			if (err)
				return err;
		}
	}
}

static int take_stored(struct inflater *inflater)
{
	uint16_t size;
	uint16_t complement;
	const void *data;
	int err;

	align(inflater);
	size = bytes_u16(inflater->compressed);
	complement = bytes_u16(inflater->compressed);
	if (inflater->compressed->failed || (size ^ complement) != UINT16_MAX)
		return DAMAGED;
	data = bytes_take(inflater->compressed, size);
	err = data ? make_room(inflater, size) : DAMAGED;
	if (err)
		return err;
	if (size)
		memcpy(inflater->output->data + inflater->output->length, data, size);
	inflater->output->length += size;
	return 0;
}

/* RFC 1951, section 3.2.6. */
static bool make_fixed_codes(struct inflater *inflater)
{
	uint8_t lengths[NUM_LITERALS];

	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 112);
	memset(lengths + 256, 7, 24);
	memset(lengths + 280, 8, 8);
	if (!make_code(&inflater->literals, lengths, NUM_LITERALS, true))
		return false;
	memset(lengths, 5, 32);
	return make_code(&inflater->distances, lengths, 32, true);
}

/* Lengths of codes, themselves in a code, with repetitions. */
static bool take_lengths(struct inflater *inflater, uint8_t *lengths, size_t count)
{
	size_t done = 0;

	while (done < count) {
		uint16_t symbol = take_symbol(inflater, &inflater->distances);
		uint8_t value = 0;
		uint32_t more = 0;
		uint32_t times = 1;

		if (symbol < 16) {
			value = (uint8_t)symbol;
		} else if (symbol == 16) {
			if (!done || !take_bits(inflater, 2, &more))
				return false;
			value = lengths[done - 1];
			times = 3 + more;
		} else {
			if (symbol > 18 || !take_bits(inflater, symbol == 17 ? 3 : 7, &more))
				return false;
			times = (symbol == 17 ? 3 : 11) + more;
		}
		if (times > count - done)
			return false;
		memset(lengths + done, value, times);
		done += times;
	}
	return true;
}

/*
 * RFC 1951, section 3.2.7: the lengths of both codes, as one list. Its own code is made in the
 * place of that of the distances, which is not needed before.
 */
static bool take_codes(struct inflater *inflater)
{
	static const uint8_t order[NUM_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						   11, 4,  12, 3, 13, 2, 14, 1, 15};
	uint8_t lengths[NUM_LITERALS + 32] = {0};
	uint32_t num_literals;
	uint32_t num_distances;
	uint32_t num_lengths;

	if (!take_bits(inflater, 5, &num_literals) || !take_bits(inflater, 5, &num_distances) ||
	    !take_bits(inflater, 4, &num_lengths))
		return false;
	num_literals += 257;
	num_distances += 1;
	if (num_literals > MAX_LITERALS || num_distances > NUM_DISTANCES)
		return false;
	for (size_t i = 0; i < num_lengths + 4; i++) {
		uint32_t length;

		if (!take_bits(inflater, 3, &length))
			return false;
		lengths[order[i]] = (uint8_t)length;
	}
	if (!make_code(&inflater->distances, lengths, NUM_LENGTHS, false))
		return false;
	memset(lengths, 0, sizeof(lengths));
	return take_lengths(inflater, lengths, num_literals + num_distances) &&
	       lengths[END_OF_BLOCK] &&
	       make_code(&inflater->literals, lengths, num_literals, true) &&
	       make_code(&inflater->distances, lengths + num_literals, num_distances, true);
}

static int take_blocks(struct inflater *inflater)
{
	uint32_t is_last = 0;
	int err;

	while (!is_last) {
		uint32_t kind;

		if (!take_bits(inflater, 1, &is_last) || !take_bits(inflater, 2, &kind))
			return DAMAGED;
		if (kind == 0)
			err = take_stored(inflater);
		else if (kind == 1)
			err = make_fixed_codes(inflater) ? take_coded(inflater) : DAMAGED;
		else
			err = kind == 2 && take_codes(inflater) ? take_coded(inflater) : DAMAGED;
		if (err)
			return err;
	}
	align(inflater); /* the wrapper's sum follows on a byte of its own */
	return 0;
}

/* ---- wrappers ----------------------------------------------------------------------------- */

/* CRC-32, of the reflected polynomial (RFC 1952, section 8). */
static uint32_t sum_gzip(const struct text *text)
{
	uint32_t table[256];
	uint32_t sum = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < text->length; i++)
		sum = table[(sum ^ (uint8_t)text->data[i]) & 255] ^ sum >> 8;
	return ~sum;
}

/* Adler-32 (RFC 1950, section 9). */
static uint32_t sum_zlib(const struct text *text)
{
	uint32_t low = 1;
	uint32_t high = 0;

	for (size_t i = 0; i < text->length; i++) {
		low = (low + (uint8_t)text->data[i]) % ADLER_MODULUS;
		high = (high + low) % ADLER_MODULUS;
	}
	return high << 16 | low;
}

/* No preset dictionary, a window that can be. */
static bool skip_zlib_header(struct bytes *compressed)
{
	uint8_t method = bytes_u8(compressed);
	uint8_t flags = bytes_u8(compressed);

	return !compressed->failed && (method & 15) == 8 && method >> 4 <= 7 && !(flags & 32) &&
	       (method << 8 | flags) % 31 == 0;
}

static bool skip_gzip_header(struct bytes *compressed)
{
	enum { HAS_SUM = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16, RESERVED = 224 };
	uint16_t magic = bytes_u16(compressed);
	uint8_t method = bytes_u8(compressed);
	uint8_t flags = bytes_u8(compressed);

	bytes_skip(compressed, 6); /* time, level, system */
	if (compressed->failed || magic != 0x8b1f || method != 8 || flags & RESERVED)
		return false;
	if (flags & HAS_EXTRA)
		bytes_skip(compressed, bytes_u16(compressed));
	if (flags & HAS_NAME)
		(void)bytes_string(compressed); /* a failure stays in compressed */
	if (flags & HAS_COMMENT)
		(void)bytes_string(compressed); /* the same */
	if (flags & HAS_SUM)
		bytes_skip(compressed, 2);
	return !compressed->failed;
}

static bool skip_header(struct bytes *compressed, enum inflate_wrapper wrapper)
{
	switch (wrapper) {
	case INFLATE_RAW:
		return true;
	case INFLATE_ZLIB:
		return skip_zlib_header(compressed);
	case INFLATE_GZIP:
		return skip_gzip_header(compressed);
	}
	return false;
}

static bool check_sum(struct bytes *compressed, enum inflate_wrapper wrapper,
		      const struct text *text)
{
	uint32_t sum;

	if (wrapper == INFLATE_RAW)
		return true;
	sum = bytes_u32(compressed);
	if (wrapper == INFLATE_ZLIB)
		return !compressed->failed && __builtin_bswap32(sum) == sum_zlib(text);
	return bytes_u32(compressed) == (uint32_t)text->length && !compressed->failed &&
	       sum == sum_gzip(text);
}

int inflate_decompress(struct bytes *compressed, enum inflate_wrapper wrapper, size_t limit,
		       struct text *ret)
{
	/* Its tables are large for a small stack. */
	_cleanup_free_ struct inflater *inflater = calloc(1, sizeof(*inflater));
	bool is_started = skip_header(compressed, wrapper);
	int err;

	text_truncate(ret, 0);
	text_append_string(ret, ""); /* an empty output is a string, too */
	if (!inflater || ret->failed)
		return -ENOMEM;
	if (!is_started)
		return DAMAGED;
	*inflater = (struct inflater){.compressed = compressed, .limit = limit, .output = ret};
	err = take_blocks(inflater);
	if (err)
		return err;
	ret->data[ret->length] = '\0';
	return check_sum(compressed, wrapper, ret) ? 0 : DAMAGED;
}
