/*
 * The page has to hold binary data as text that HTML and JavaScript leave alone: bytes below 128,
 * without '<', '&' and a few more. This leaves 123 digits. A number of variable length is in base
 * 61, and a digit that is not the last one is 61 larger; fixed ones take 6 bits a digit; the
 * Huffman code takes 27 bits in four digits (123^4 is more than 2^27).
 */
#include "formats/async_profiler/unpack.h"

#include <errno.h>
#include <stdlib.h>

#define NUMBER_BASE   61
#define WORD_BASE     123
#define DIGITS_A_WORD 4
#define BITS_A_WORD   27

bool async_profiler_packed_take_digit(struct async_profiler_packed *packed, uint32_t *ret)
{
	/* Bytes that HTML would not keep as they are; those from 123 on are written instead. */
	static const uint8_t replaced[] = {'>', '<', '&', '\r', '\0'};
	uint8_t byte;

	if (packed->next >= packed->end)
		return false;
	byte = *packed->next++;
	if (byte > WORD_BASE - 1 + sizeof(replaced))
		return false;
	*ret = byte < WORD_BASE ? byte : replaced[byte - WORD_BASE];
	return true;
}

bool async_profiler_packed_take_number(struct async_profiler_packed *packed, uint32_t *ret)
{
	uint64_t number = 0;
	uint64_t place = 1;
	uint32_t digit;

	do {
		if (place > UINT32_MAX || !async_profiler_packed_take_digit(packed, &digit))
			return false;
		number += digit % NUMBER_BASE * place;
		place *= NUMBER_BASE;
	} while (digit >= NUMBER_BASE);
	if (number > UINT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

bool async_profiler_packed_take_bits(struct async_profiler_packed *packed, unsigned int digits,
				     uint32_t *ret)
{
	uint32_t number = 0;
	uint32_t digit;

	for (unsigned int i = 0; i < digits; i++) {
		if (!async_profiler_packed_take_digit(packed, &digit) || digit > 63)
			return false;
		number |= digit << (6 * i);
	}
	*ret = number;
	return true;
}

/* The table is a list of value and length of the code, by length, as a canonical code allows. */
int async_profiler_code_init(struct async_profiler_code *code, struct async_profiler_packed *packed)
{
	uint32_t num_values;
	uint32_t max_bits;
	uint32_t bits;
	uint32_t least_bits = 0;
	uint32_t *value;

	if (!async_profiler_packed_take_number(packed, &num_values) ||
	    !async_profiler_packed_take_number(packed, &max_bits) || !num_values ||
	    max_bits > ASYNC_PROFILER_MAX_CODE_BITS)
		return -EINVAL;
	for (uint32_t i = 0; i < num_values; i++) {
		value = array_add(&code->values);
		if (!value)
			return -ENOMEM;
		if (!async_profiler_packed_take_number(packed, value) ||
		    !async_profiler_packed_take_number(packed, &bits) || bits < least_bits ||
		    bits > max_bits || (!bits && num_values > 1))
			return -EINVAL;
		code->num_values[bits]++;
		least_bits = bits;
	}
	code->words = *packed;
	return 0;
}

bool async_profiler_code_is_constant(const struct async_profiler_code *code)
{
	return code->num_values[0] > 0;
}

void async_profiler_code_release(struct async_profiler_code *code)
{
	array_release(&code->values);
}

static bool take_bit(struct async_profiler_code *code, uint32_t *ret)
{
	uint32_t digit;
	uint64_t word = 0;

	if (!code->num_bits) {
		for (unsigned int i = 0; i < DIGITS_A_WORD; i++) {
			if (!async_profiler_packed_take_digit(&code->words, &digit))
				return false;
			word = word * WORD_BASE + digit;
		}
		code->bits = (uint32_t)word;
		code->num_bits = BITS_A_WORD;
	}
	*ret = code->bits & 1;
	code->bits >>= 1;
	code->num_bits--;
	return true;
}

/*
 * Canonical Huffman decoding: codes of one length are consecutive numbers, and the first code of the
 * next length is the one after the last, with a zero behind. So counts by length are enough.
 */
bool async_profiler_code_take(struct async_profiler_code *code, uint32_t *ret)
{
	uint64_t first = 0;  /* code of this length */
	uint64_t number = 0; /* the bits so far */
	uint64_t shorter = 0;
	uint32_t bit;

	if (async_profiler_code_is_constant(code)) {
		*ret = code->values.items[0];
		return true;
	}
	for (unsigned int length = 1; length <= ASYNC_PROFILER_MAX_CODE_BITS; length++) {
		uint32_t count = code->num_values[length];

		if (!take_bit(code, &bit))
			return false;
		number |= bit;
		if (number - first < count) {
			*ret = code->values.items[shorter + number - first];
			return true;
		}
		first = (first + count) << 1;
		number <<= 1;
		shorter += count;
	}
	return false;
}
