/*
 * Source: V8, src/deoptimizer/translation-opcode.h and frame-translation-builder.cc; src/codegen/source-position-table.cc,
 * maglev-safepoint-table.h and source-position.h.
 *
 * A translation is a list of operations: an opcode, and operands of variable length. The first
 * operation contains the number of frames. Each frame, from the outermost one on, has an operation
 * with its function, followed by its values. Since V8 11, an operation may represent a run of
 * operations at the same places of an earlier translation.
 *
 * A source position is a pair of numbers, stored as differences to the pair before: an offset,
 * whose sign is a flag, and a position, with the number of the inlining.
 */
#include "runtime/v8/optimized_code.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "objfile/architecture.h"
#include "objfile/instruction_flow.h"

/* Limit of operations of one translation. */
#define MAX_OPERATIONS (1u << 16)

enum operation_kind {
	OPERATION_VALUE,
	OPERATION_START,
	OPERATION_FUNCTION, /* a frame of a function of JavaScript */
	OPERATION_FRAME,    /* of something else */
	OPERATION_MATCH,    /* a run of operations of an earlier translation */
};

/* Indexed by opcode. */
struct operation {
	uint8_t num_operands;
	uint8_t kind;
};

struct form {
	const struct operation *operations;
	uint32_t num_operations;
	bool refers_back; /* a start contains the distance to an earlier translation */
};

/* Values with one operand, or with none. */
#define VALUE                      \
	{                          \
		1, OPERATION_VALUE \
	}
#define CONSTANT                   \
	{                          \
		0, OPERATION_VALUE \
	}

static const struct operation plain[] = {
	{2, OPERATION_FRAME}, /* ARGUMENTS_ADAPTOR_FRAME */
	VALUE,                /* ARGUMENTS_ELEMENTS */
	CONSTANT,             /* ARGUMENTS_LENGTH */
	{3, OPERATION_START}, /* BEGIN */
	VALUE,
	VALUE,                /* BOOL_REGISTER, BOOL_STACK_SLOT */
	{3, OPERATION_FRAME}, /* BUILTIN_CONTINUATION_FRAME */
	VALUE,                /* CAPTURED_OBJECT */
	{3, OPERATION_FRAME}, /* CONSTRUCT_STUB_FRAME */
	VALUE,
	VALUE, /* DOUBLE_REGISTER, DOUBLE_STACK_SLOT */
	VALUE, /* DUPLICATED_OBJECT */
	VALUE,
	VALUE, /* FLOAT_REGISTER, FLOAT_STACK_SLOT */
	VALUE,
	VALUE, /* INT32_REGISTER, INT32_STACK_SLOT */
	VALUE,
	VALUE,                   /* INT64_REGISTER, INT64_STACK_SLOT */
	{5, OPERATION_FUNCTION}, /* INTERPRETED_FRAME */
	{3, OPERATION_FRAME},    /* JAVA_SCRIPT_BUILTIN_CONTINUATION_FRAME */
	{3, OPERATION_FRAME},    /* JAVA_SCRIPT_BUILTIN_CONTINUATION_WITH_CATCH_FRAME */
	{4, OPERATION_FRAME},    /* JS_TO_WASM_BUILTIN_CONTINUATION_FRAME */
	VALUE,
	VALUE,
	VALUE, /* LITERAL, REGISTER, STACK_SLOT */
	VALUE,
	VALUE,                /* UINT32_REGISTER, UINT32_STACK_SLOT */
	{2, OPERATION_VALUE}, /* UPDATE_FEEDBACK */
};

static const struct operation shared[] = {
	VALUE,                /* ARGUMENTS_ELEMENTS */
	CONSTANT,             /* ARGUMENTS_LENGTH */
	{3, OPERATION_START}, /* BEGIN_WITHOUT_FEEDBACK */
	{3, OPERATION_START}, /* BEGIN_WITH_FEEDBACK */
	VALUE,
	VALUE,                /* BOOL_REGISTER, BOOL_STACK_SLOT */
	{3, OPERATION_FRAME}, /* BUILTIN_CONTINUATION_FRAME */
	VALUE,                /* CAPTURED_OBJECT */
	{3, OPERATION_FRAME}, /* CONSTRUCT_STUB_FRAME */
	VALUE,
	VALUE, /* DOUBLE_REGISTER, DOUBLE_STACK_SLOT */
	VALUE, /* DUPLICATED_OBJECT */
	VALUE,
	VALUE,                /* FLOAT_REGISTER, FLOAT_STACK_SLOT */
	{2, OPERATION_FRAME}, /* INLINED_EXTRA_ARGUMENTS */
	VALUE,
	VALUE, /* INT32_REGISTER, INT32_STACK_SLOT */
	VALUE,
	VALUE, /* INT64_REGISTER, INT64_STACK_SLOT */
	VALUE,
	VALUE, /* SIGNED_BIGINT64_REGISTER, SIGNED_BIGINT64_STACK_SLOT */
	VALUE,
	VALUE,                   /* UNSIGNED_BIGINT64_REGISTER, UNSIGNED_BIGINT64_STACK_SLOT */
	{5, OPERATION_FUNCTION}, /* INTERPRETED_FRAME_WITH_RETURN */
	{3, OPERATION_FUNCTION}, /* INTERPRETED_FRAME_WITHOUT_RETURN */
	{3, OPERATION_FRAME},    /* JAVA_SCRIPT_BUILTIN_CONTINUATION_FRAME */
	{3, OPERATION_FRAME},    /* JAVA_SCRIPT_BUILTIN_CONTINUATION_WITH_CATCH_FRAME */
	{4, OPERATION_FRAME},    /* JS_TO_WASM_BUILTIN_CONTINUATION_FRAME */
	CONSTANT,                /* OPTIMIZED_OUT */
	VALUE,
	VALUE,
	VALUE, /* LITERAL, REGISTER, STACK_SLOT */
	VALUE,
	VALUE,                /* UINT32_REGISTER, UINT32_STACK_SLOT */
	{2, OPERATION_VALUE}, /* UPDATE_FEEDBACK */
	{1, OPERATION_MATCH}, /* MATCH_PREVIOUS_TRANSLATION */
};

static const struct operation frames_first[] = {
	{5, OPERATION_FUNCTION}, /* INTERPRETED_FRAME_WITH_RETURN */
	{3, OPERATION_FUNCTION}, /* INTERPRETED_FRAME_WITHOUT_RETURN */
	{3, OPERATION_FRAME},    /* JAVA_SCRIPT_BUILTIN_CONTINUATION_FRAME */
	{3, OPERATION_FRAME},    /* JAVA_SCRIPT_BUILTIN_CONTINUATION_WITH_CATCH_FRAME */
	{2, OPERATION_FRAME},    /* CONSTRUCT_CREATE_STUB_FRAME */
	{1, OPERATION_FRAME},    /* CONSTRUCT_INVOKE_STUB_FRAME */
	{3, OPERATION_FRAME},    /* BUILTIN_CONTINUATION_FRAME */
	{4, OPERATION_FRAME},    /* JS_TO_WASM_BUILTIN_CONTINUATION_FRAME */
	{3, OPERATION_FRAME},    /* WASM_INLINED_INTO_JS_FRAME */
	{2, OPERATION_FRAME},    /* INLINED_EXTRA_ARGUMENTS */
	VALUE,                   /* ARGUMENTS_ELEMENTS */
	CONSTANT,                /* ARGUMENTS_LENGTH */
	{3, OPERATION_START},    /* BEGIN_WITHOUT_FEEDBACK */
	{3, OPERATION_START},    /* BEGIN_WITH_FEEDBACK */
	VALUE,
	VALUE, /* BOOL_REGISTER, BOOL_STACK_SLOT */
	VALUE, /* CAPTURED_OBJECT */
	VALUE,
	VALUE, /* DOUBLE_REGISTER, DOUBLE_STACK_SLOT */
	VALUE,
	VALUE, /* HOLEY_DOUBLE_REGISTER, HOLEY_DOUBLE_STACK_SLOT */
	VALUE, /* DUPLICATED_OBJECT */
	VALUE,
	VALUE, /* FLOAT_REGISTER, FLOAT_STACK_SLOT */
	VALUE,
	VALUE, /* INT32_REGISTER, INT32_STACK_SLOT */
	VALUE,
	VALUE, /* INT64_REGISTER, INT64_STACK_SLOT */
	VALUE,
	VALUE, /* SIGNED_BIGINT64_REGISTER, SIGNED_BIGINT64_STACK_SLOT */
	VALUE,
	VALUE,    /* UNSIGNED_BIGINT64_REGISTER, UNSIGNED_BIGINT64_STACK_SLOT */
	CONSTANT, /* OPTIMIZED_OUT */
	VALUE,
	VALUE,
	VALUE, /* LITERAL, REGISTER, TAGGED_STACK_SLOT */
	VALUE,
	VALUE,                /* UINT32_REGISTER, UINT32_STACK_SLOT */
	{2, OPERATION_VALUE}, /* UPDATE_FEEDBACK */
	{1, OPERATION_MATCH}, /* MATCH_PREVIOUS_TRANSLATION */
};

static const struct operation with_bytecode[] = {
	{6, OPERATION_FUNCTION}, /* INTERPRETED_FRAME_WITH_RETURN */
	{4, OPERATION_FUNCTION}, /* INTERPRETED_FRAME_WITHOUT_RETURN */
	{3, OPERATION_FRAME},    /* JAVASCRIPT_BUILTIN_CONTINUATION_FRAME */
	{3, OPERATION_FRAME},    /* JAVASCRIPT_BUILTIN_CONTINUATION_WITH_CATCH_FRAME */
	{2, OPERATION_FRAME},    /* CONSTRUCT_CREATE_STUB_FRAME */
	{1, OPERATION_FRAME},    /* CONSTRUCT_INVOKE_STUB_FRAME */
	{3, OPERATION_FRAME},    /* BUILTIN_CONTINUATION_FRAME */
	{4, OPERATION_FRAME},    /* JS_TO_WASM_BUILTIN_CONTINUATION_FRAME */
	{3, OPERATION_FRAME},    /* WASM_INLINED_INTO_JS_FRAME */
	{3, OPERATION_FRAME},    /* LIFTOFF_FRAME */
	{2, OPERATION_FRAME},    /* INLINED_EXTRA_ARGUMENTS */
	VALUE,                   /* ARGUMENTS_ELEMENTS */
	CONSTANT,
	CONSTANT,             /* ARGUMENTS_LENGTH, REST_LENGTH */
	{3, OPERATION_START}, /* BEGIN_WITHOUT_FEEDBACK */
	{3, OPERATION_START}, /* BEGIN_WITH_FEEDBACK */
	VALUE,
	VALUE,    /* BOOL_REGISTER, BOOL_STACK_SLOT */
	VALUE,    /* CAPTURED_OBJECT */
	CONSTANT, /* STRING_CONCAT */
	VALUE,
	VALUE, /* DOUBLE_REGISTER, DOUBLE_STACK_SLOT */
	VALUE, /* SIMD128_STACK_SLOT */
	VALUE,
	VALUE, /* HOLEY_DOUBLE_REGISTER, HOLEY_DOUBLE_STACK_SLOT */
	VALUE, /* SIMD128_REGISTER */
	VALUE, /* DUPLICATED_OBJECT */
	VALUE,
	VALUE, /* FLOAT_REGISTER, FLOAT_STACK_SLOT */
	VALUE,
	VALUE, /* INT32_REGISTER, INT32_STACK_SLOT */
	VALUE,
	VALUE, /* INT64_REGISTER, INT64_STACK_SLOT */
	VALUE,
	VALUE, /* SIGNED_BIGINT64_REGISTER, SIGNED_BIGINT64_STACK_SLOT */
	VALUE,
	VALUE,    /* UNSIGNED_BIGINT64_REGISTER, UNSIGNED_BIGINT64_STACK_SLOT */
	CONSTANT, /* OPTIMIZED_OUT */
	VALUE,
	VALUE,
	VALUE, /* LITERAL, REGISTER, TAGGED_STACK_SLOT */
	VALUE,
	VALUE,                /* UINT32_REGISTER, UINT32_STACK_SLOT */
	{2, OPERATION_VALUE}, /* UPDATE_FEEDBACK */
	{1, OPERATION_MATCH}, /* MATCH_PREVIOUS_TRANSLATION */
};

static const struct form forms[] = {
	[V8_TRANSLATIONS_PLAIN] = {plain, ARRAY_LENGTH(plain), false},
	[V8_TRANSLATIONS_SHARED] = {shared, ARRAY_LENGTH(shared), true},
	[V8_TRANSLATIONS_FRAMES_FIRST] = {frames_first, ARRAY_LENGTH(frames_first), true},
	[V8_TRANSLATIONS_BYTECODE] = {with_bytecode, ARRAY_LENGTH(with_bytecode), true},
};

/* A place in bytes. has_failed: a number is not all there */
struct reader {
	const struct v8_byte_array *array;
	size_t at;
	bool has_failed;
};

static uint8_t read_byte(struct reader *reader)
{
	if (reader->has_failed || reader->at >= reader->array->size) {
		reader->has_failed = true;
		return 0;
	}
	return reader->array->bytes[reader->at++];
}

/* Groups of seven bits, the lowest first, all but the last one with the highest bit set. */
static uint64_t read_unsigned(struct reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = read_byte(reader);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	reader->has_failed = true;
	return 0;
}

/* The sign is the lowest bit. */
static int64_t read_signed(struct reader *reader)
{
	uint64_t bits = read_unsigned(reader);
	int64_t value = (int64_t)(bits >> 1);

	return bits & 1 ? -value : value;
}

/* A translation, and the earlier one that it refers to. */
struct translation {
	const struct form *form;
	struct reader own;
	struct reader basis;
	uint64_t num_matching; /* operations left of the run */
	uint64_t num_skipped;  /* own operations since the last run */
	bool has_basis;
};

static const struct operation *read_opcode(struct translation *translation, struct reader *reader)
{
	const struct form *form = translation->form;
	uint64_t opcode = form->refers_back ? read_byte(reader) : read_unsigned(reader) >> 1;

	if (reader->has_failed || opcode >= form->num_operations) {
		reader->has_failed = true;
		return NULL;
	}
	return &form->operations[opcode];
}

/* The next operation of the basis. */
static const struct operation *read_basis_opcode(struct translation *translation)
{
	const struct operation *operation = read_opcode(translation, &translation->basis);

	/* It refers to no other one. */
	if (!operation || operation->kind == OPERATION_MATCH)
		return NULL;
	return operation;
}

static void skip_operands(struct reader *reader, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		(void)read_unsigned(reader);
}

/* Skip the operations of the basis that own operations replace. */
static bool catch_up(struct translation *translation)
{
	for (; translation->num_skipped; translation->num_skipped--) {
		const struct operation *operation = read_basis_opcode(translation);

		if (!operation)
			return false;
		skip_operands(&translation->basis, operation->num_operands);
	}
	return !translation->basis.has_failed;
}

/* The next operation, and the reader of its operands. Returns NULL at the end. */
static const struct operation *read_operation(struct translation *translation,
					      struct reader **ret_reader)
{
	const struct form *form = translation->form;
	struct reader *own = &translation->own;

	*ret_reader = &translation->basis;
	if (translation->num_matching) {
		translation->num_matching--;
		return read_basis_opcode(translation);
	}
	*ret_reader = own;
	if (form->refers_back && own->at < own->array->size &&
	    own->array->bytes[own->at] >= form->num_operations) {
		translation->num_matching = read_byte(own) - form->num_operations;
	} else {
		const struct operation *operation = read_opcode(translation, own);

		if (!operation || operation->kind != OPERATION_MATCH) {
			translation->num_skipped++;
			return operation;
		}
		translation->num_matching = read_unsigned(own);
	}
	if (own->has_failed || !translation->has_basis || !translation->num_matching ||
	    !catch_up(translation))
		return NULL;
	translation->num_matching--;
	*ret_reader = &translation->basis;
	return read_basis_opcode(translation);
}

static bool is_start(struct translation *translation, struct reader reader)
{
	const struct operation *operation = read_opcode(translation, &reader);

	return operation && operation->kind == OPERATION_START;
}

/* Read the start, with the number of frames. Returns whether it is one. */
static bool read_start(struct translation *translation, uint64_t *ret_frames)
{
	struct reader *own = &translation->own;
	size_t start = own->at;
	const struct operation *operation = read_opcode(translation, own);
	uint64_t distance;
	int64_t num_frames;

	if (!operation || operation->kind != OPERATION_START)
		return false;
	if (translation->form->refers_back) {
		distance = read_unsigned(own);
		if (distance > start)
			return false;
		translation->has_basis = distance;
		translation->basis = (struct reader){.array = own->array, .at = start - distance};
		if (distance && !is_start(translation, translation->basis))
			return false;
	}
	num_frames = read_signed(own);
	skip_operands(own, operation->num_operands - 1 - (uint32_t)translation->form->refers_back);
	if (own->has_failed || num_frames <= 0)
		return false;
	*ret_frames = (uint64_t)num_frames;
	translation->num_skipped = 1; /* the start of the basis */
	return true;
}

int v8_translation_read(enum v8_translations form, const struct v8_byte_array *translations,
			uint32_t index, uint32_t *ret, uint32_t limit, uint32_t *ret_num)
{
	struct translation translation = {.form = &forms[form],
					  .own = {.array = translations, .at = index}};
	uint64_t num_frames;
	uint32_t num = 0;

	if (index >= translations->size || !read_start(&translation, &num_frames))
		return -EBADMSG;
	for (uint32_t i = 0; num_frames && i < MAX_OPERATIONS; i++) {
		struct reader *reader;
		const struct operation *operation = read_operation(&translation, &reader);
		int64_t literal;

		if (!operation || operation->kind == OPERATION_START)
			return -EBADMSG;
		num_frames -=
			operation->kind == OPERATION_FUNCTION || operation->kind == OPERATION_FRAME;
		if (operation->kind != OPERATION_FUNCTION) {
			skip_operands(reader, operation->num_operands);
		} else {
			(void)read_signed(reader); /* offset of the bytecode */
			literal = read_signed(reader);
			skip_operands(reader, operation->num_operands - 2u);
			if (literal < 0 || literal > UINT32_MAX || num >= limit)
				return -EBADMSG;
			ret[num++] = (uint32_t)literal;
		}
		if (reader->has_failed)
			return -EBADMSG;
	}
	if (num_frames)
		return -EBADMSG;
	*ret_num = num;
	return 0;
}

/* The form of entries. The last words of the head are the number of entries, their form, and a number of slots. */
#define SAFEPOINT_HAS_DEOPT(word)      ((word)&1)
#define SAFEPOINT_REGISTER_BYTES(word) ((word) >> 1 & 7)
#define SAFEPOINT_PC_BYTES(word)       ((word) >> 4 & 7)
#define SAFEPOINT_DEOPT_BYTES(word)    ((word) >> 7 & 7)

static uint64_t read_number(struct reader *reader, uint32_t num_bytes)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < num_bytes; i++)
		value |= (uint64_t)read_byte(reader) << 8 * i;
	return value;
}

int v8_maglev_safepoint_find(const struct v8_byte_array *table, uint32_t head, uint32_t pc,
			     uint32_t *ret)
{
	struct reader reader = {.array = table, .at = head};
	uint32_t words[3];

	if (head < sizeof(words) || table->size < head)
		return -ENOENT;
	memcpy(words, table->bytes + head - sizeof(words), sizeof(words));
	if (!SAFEPOINT_HAS_DEOPT(words[1]))
		return -ENOENT;
	for (uint32_t i = 0; i < words[0]; i++) {
		uint64_t entry_pc = read_number(&reader, SAFEPOINT_PC_BYTES(words[1]));
		/* Stored plus 1; 0: the entry has none. */
		uint64_t deopt = read_number(&reader, SAFEPOINT_DEOPT_BYTES(words[1]));

		/* Skip the exit and the registers. */
		(void)read_number(&reader, SAFEPOINT_PC_BYTES(words[1]));
		(void)read_number(&reader, 1 + SAFEPOINT_REGISTER_BYTES(words[1]));
		if (reader.has_failed)
			return -ENOENT;
		if (deopt && entry_pc == pc) {
			*ret = (uint32_t)(deopt - 1);
			return 0;
		}
	}
	return -ENOENT;
}

/* The inlining follows a flag and 30 bits of the character. It is stored plus 1. */
#define POSITION_GET_INLINING(position) ((int32_t)((position) >> 31 & 0xffff) - 1)

/* An entry of the table. */
struct position {
	int64_t offset;
	uint64_t position;
};

/* The entry before the first one. */
#define POSITION_START ((struct position){.offset = -1})

/* The lowest bit is the sign. If it is set, the others are the complement. */
static uint64_t read_difference(struct reader *reader)
{
	uint64_t bits = read_unsigned(reader);

	return bits >> 1 ^ (0 - (bits & 1));
}

/* Read the next entry. Returns 1, 0 at the end, or -EBADMSG. */
static int read_position(struct reader *reader, struct position *position)
{
	int64_t difference;

	if (reader->at >= reader->array->size)
		return 0;
	difference = (int64_t)read_difference(reader);
	if (difference < 0)
		difference = -(difference + 1); /* not the start of a statement */
	position->position += read_difference(reader);
	if (reader->has_failed || difference > UINT32_MAX)
		return -EBADMSG;
	position->offset += difference;
	if (position->offset > UINT32_MAX)
		return -EBADMSG;
	return 1;
}

int v8_positions_find(const struct v8_byte_array *positions, uint32_t offset, uint32_t *ret_start,
		      int32_t *ret_inlining)
{
	struct reader reader = {.array = positions};
	struct position position = POSITION_START;
	struct position before = POSITION_START;
	int more;

	while ((more = read_position(&reader, &position)) > 0) {
		if (position.offset > offset)
			break;
		before = position;
	}
	if (more < 0)
		return more;
	if (before.offset < 0)
		return -ENOENT;
	*ret_start = (uint32_t)before.offset;
	*ret_inlining = POSITION_GET_INLINING(before.position);
	return 0;
}

bool v8_positions_are_detailed(const struct v8_byte_array *positions,
			       const struct v8_byte_array *instructions)
{
	const struct architecture *architecture = architecture_here();
	struct reader reader = {.array = positions};
	struct position position = POSITION_START;

	if (!architecture->is_comparison)
		return false;
	while (read_position(&reader, &position) > 0)
		if (position.offset >= 0 && (uint64_t)position.offset < instructions->size &&
		    architecture->is_comparison(instructions->bytes + position.offset,
						instructions->size - (size_t)position.offset))
			return true;
	return false;
}

/* Whether execution reaches the next instruction. */
static bool goes_on(const struct instruction_flow *instruction)
{
	switch (instruction->kind) {
	case INSTRUCTION_PLAIN:
	case INSTRUCTION_CALL:
	case INSTRUCTION_BRANCH:
		return true;
	case INSTRUCTION_PADDING:
		return !instruction->is_trap;
	case INSTRUCTION_SHORT_JUMP:
	case INSTRUCTION_JUMP:
	case INSTRUCTION_RETURN:
	case INSTRUCTION_END:
		break;
	}
	return false;
}

/* The start of the block that contains the byte before `end`; `start`, if no jump is between. Returns false if it cannot be decoded. */
static bool find_block(const struct v8_byte_array *code, uint32_t start, uint32_t end,
		       uint32_t *ret)
{
	struct instruction_flow instruction;

	*ret = start;
	for (uint32_t at = start; at < end; at += instruction.length) {
		if (at >= code->size ||
		    !architecture_decode(architecture_here(), code->bytes + at, code->size - at,
					 &instruction) ||
		    at + instruction.length > end)
			return false;
		if (!goes_on(&instruction))
			*ret = at + instruction.length;
	}
	return true;
}

static bool is_jump(const struct instruction_flow *instruction)
{
	return instruction->kind == INSTRUCTION_BRANCH ||
	       instruction->kind == INSTRUCTION_SHORT_JUMP || instruction->kind == INSTRUCTION_JUMP;
}

int v8_code_find_source(const struct v8_byte_array *code, uint32_t start, uint32_t end,
			uint32_t *ret)
{
	struct instruction_flow instruction;
	uint32_t num_sources = 0;
	uint32_t block;

	if (!find_block(code, start, end, &block))
		return -ENOENT;
	*ret = end;
	if (block == start)
		return 0;
	for (uint32_t at = 0; at < code->size; at += instruction.length) {
		int64_t target;

		if (!architecture_decode(architecture_here(), code->bytes + at, code->size - at,
					 &instruction))
			return -ENOENT;
		if (!is_jump(&instruction))
			continue;
		/* A jump through a table may lead anywhere. */
		if (!instruction.is_direct)
			return -ENOENT;
		target = (int64_t)at + instruction.length + instruction.distance;
		if (target < block || (target > block && target >= end))
			continue;
		if (target > block || (at >= block && at < end) || num_sources++)
			return -ENOENT;
		*ret = at;
	}
	return num_sources ? 0 : -ENOENT;
}

struct inlining {
	uint64_t position; /* of the call */
	int32_t function;
	uint32_t padding;
};

int v8_inlining_get(const struct v8_byte_array *inlinings, int32_t inlining, uint32_t *ret_literal,
		    int32_t *ret_outer)
{
	struct inlining found;
	int32_t outer;

	if (inlining < 0 || (size_t)inlining >= inlinings->size / sizeof(found))
		return -EBADMSG;
	memcpy(&found, inlinings->bytes + (size_t)inlining * sizeof(found), sizeof(found));
	outer = POSITION_GET_INLINING(found.position);
	/* The outer inlining is older. */
	if (found.function < -1 || outer >= inlining)
		return -EBADMSG;
	*ret_literal = found.function < 0 ? V8_OWN_FUNCTION : (uint32_t)found.function;
	*ret_outer = outer;
	return 0;
}
