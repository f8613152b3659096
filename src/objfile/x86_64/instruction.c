/*
 * An instruction is: prefixes, an opcode of one of several maps, a ModRM byte with its SIB byte and
 * displacement, an immediate operand. The map is chosen by escape bytes (0F, 0F 38, 0F 3A), or by a
 * field of a VEX, EVEX or XOP prefix. Whether there is a ModRM byte, and how long the immediate is,
 * depends on the opcode alone, except in the two groups F6 and F7.
 */
#include "objfile/x86_64/instruction.h"

#include "base/bytes.h"

struct decoder {
	struct bytes bytes;
	bool has_operand_prefix; /* 66: 16-bit operands */
	bool has_address_prefix; /* 67 */
	bool has_repeat_prefix;  /* F2, F3 */
	bool is_wide;            /* REX.W */
	bool is_vex;             /* or EVEX, or XOP */
	uint8_t rex;
	enum instruction_map map;
	uint8_t opcode;
	uint8_t modrm; /* 0: none */
	uint8_t sib;   /* likewise */
	int32_t displacement;
};

static bool is_legacy_prefix(struct decoder *decoder, uint8_t byte)
{
	switch (byte) {
	case 0x66:
		decoder->has_operand_prefix = true;
		return true;
	case 0x67:
		decoder->has_address_prefix = true;
		return true;
	case 0xf2:
	case 0xf3:
		decoder->has_repeat_prefix = true;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0xf0:
		return true;
	default:
		return false;
	}
}

/* pop has the same first byte, but no such map in the second one. */
static bool is_xop(const struct bytes *bytes)
{
	return bytes_left(bytes) && (bytes->data[bytes->offset] & 0x1f) >= INSTRUCTION_MAP_XOP_8;
}

/* The prefixes and the opcode. */
static bool read_opcode(struct decoder *decoder)
{
	struct bytes *bytes = &decoder->bytes;
	uint8_t byte = bytes_u8(bytes);

	while (!bytes->failed && is_legacy_prefix(decoder, byte))
		byte = bytes_u8(bytes);
	if ((byte & 0xf0) == 0x40) {
		decoder->rex = byte;
		decoder->is_wide = byte & 8;
		byte = bytes_u8(bytes);
	}
	switch (byte) {
	case 0xc5: /* VEX of two bytes */
		decoder->is_vex = true;
		decoder->map = INSTRUCTION_MAP_0F;
		bytes_skip(bytes, 1);
		byte = bytes_u8(bytes);
		break;
	case 0xc4: /* VEX of three bytes */
		decoder->is_vex = true;
		decoder->map = bytes_u8(bytes) & 0x1f;
		bytes_skip(bytes, 1);
		byte = bytes_u8(bytes);
		if (decoder->map < INSTRUCTION_MAP_0F || decoder->map > INSTRUCTION_MAP_0F3A)
			return false;
		break;
	case 0x62: /* EVEX */
		decoder->is_vex = true;
		decoder->map = bytes_u8(bytes) & 7;
		bytes_skip(bytes, 2);
		byte = bytes_u8(bytes);
		if (decoder->map == INSTRUCTION_MAP_ONE_BYTE || decoder->map == 4 ||
		    decoder->map == 7)
			return false;
		break;
	case 0x8f:
		if (!is_xop(bytes))
			break;
		decoder->is_vex = true;
		decoder->map = bytes_u8(bytes) & 0x1f;
		bytes_skip(bytes, 1);
		byte = bytes_u8(bytes);
		if (decoder->map > INSTRUCTION_MAP_XOP_A)
			return false;
		break;
	case 0x0f:
		decoder->map = INSTRUCTION_MAP_0F;
		byte = bytes_u8(bytes);
		if (byte != 0x38 && byte != 0x3a)
			break;
		decoder->map = byte == 0x38 ? INSTRUCTION_MAP_0F38 : INSTRUCTION_MAP_0F3A;
		byte = bytes_u8(bytes);
		break;
	default:
		break;
	}
	decoder->opcode = byte;
	return !bytes->failed;
}

/* Opcodes of 32-bit code that 64-bit code does not have, and some that are not decoded here. */
static bool is_unknown(const struct decoder *decoder)
{
	uint8_t opcode = decoder->opcode;

	if (decoder->map == INSTRUCTION_MAP_0F && !decoder->is_vex)
		return opcode == 0x04 || opcode == 0x0a || opcode == 0x0c || opcode == 0x0f ||
		       (opcode >= 0x24 && opcode <= 0x27) || opcode == 0x36 ||
		       (opcode >= 0x39 && opcode <= 0x3f);
	if (decoder->map != INSTRUCTION_MAP_ONE_BYTE)
		return false;
	if (opcode < 0x40)
		return (opcode & 7) >= 6;
	switch (opcode) {
	case 0x60:
	case 0x61:
	case 0x82:
	case 0x9a:
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
		return true;
	default:
		return false;
	}
}

static bool has_modrm(const struct decoder *decoder)
{
	uint8_t opcode = decoder->opcode;

	if (decoder->map == INSTRUCTION_MAP_0F && decoder->is_vex)
		return opcode != 0x77; /* vzeroupper */
	if (decoder->map == INSTRUCTION_MAP_0F)
		return !((opcode >= 0x05 && opcode <= 0x0b) || opcode == 0x0e ||
			 (opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 ||
			 (opcode & 0xf0) == 0x80 || (opcode >= 0xa0 && opcode <= 0xa2) ||
			 (opcode >= 0xa8 && opcode <= 0xaa) || (opcode & 0xf8) == 0xc8);
	if (decoder->map != INSTRUCTION_MAP_ONE_BYTE)
		return true;
	if (opcode < 0x40)
		return (opcode & 7) < 4;
	return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode & 0xf0) == 0x80 ||
	       opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
	       (opcode & 0xfc) == 0xd0 || (opcode & 0xf8) == 0xd8 || opcode == 0xf6 ||
	       opcode == 0xf7 || opcode >= 0xfe;
}

static void read_modrm(struct decoder *decoder)
{
	struct bytes *bytes = &decoder->bytes;
	uint8_t modrm = bytes_u8(bytes);
	uint8_t mode = modrm >> 6;
	uint8_t base = modrm & 7;

	decoder->modrm = modrm;
	if (mode == 3)
		return;
	if (base == 4) {
		decoder->sib = bytes_u8(bytes);
		base = decoder->sib & 7;
	}
	if (mode == 1)
		decoder->displacement = (int8_t)bytes_u8(bytes);
	else if (mode == 2 || base == 5)
		decoder->displacement = (int32_t)bytes_u32(bytes);
}

/* How long the immediate operand of a one-byte opcode is. */
static size_t count_immediate_bytes(const struct decoder *decoder)
{
	size_t operand = decoder->has_operand_prefix && !decoder->is_wide ? 2 : 4;
	uint8_t opcode = decoder->opcode;
	bool is_test = (decoder->modrm >> 3 & 7) < 2;

	if (opcode < 0x40)
		return (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? operand : 0;
	if ((opcode & 0xf0) == 0x70 || (opcode & 0xf8) == 0xb0 || (opcode & 0xf8) == 0xe0)
		return 1;
	if ((opcode & 0xf8) == 0xb8)
		return decoder->is_wide ? 8 : operand;
	switch (opcode) {
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7:
		return operand;
	case 0x6a:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xeb:
		return 1;
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa3:
		return decoder->has_address_prefix ? 4 : 8;
	case 0xc2:
	case 0xca:
		return 2;
	case 0xc8:
		return 3;
	case 0xe8:
	case 0xe9:
		return 4;
	case 0xf6:
		return is_test ? 1 : 0;
	case 0xf7:
		return is_test ? operand : 0;
	default:
		return 0;
	}
}

/* The same, of any map. */
static size_t count_map_immediate_bytes(const struct decoder *decoder)
{
	uint8_t opcode = decoder->opcode;

	switch (decoder->map) {
	case INSTRUCTION_MAP_ONE_BYTE:
		return count_immediate_bytes(decoder);
	case INSTRUCTION_MAP_0F3A:
	case INSTRUCTION_MAP_XOP_8:
		return 1;
	case INSTRUCTION_MAP_XOP_A:
		return 4;
	case INSTRUCTION_MAP_0F38:
	case INSTRUCTION_MAP_EVEX_5:
	case INSTRUCTION_MAP_EVEX_6:
	case INSTRUCTION_MAP_XOP_9:
		return 0;
	case INSTRUCTION_MAP_0F:
		break;
	}
	if (!decoder->is_vex && (opcode & 0xf0) == 0x80)
		return 4;
	if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
	    (opcode >= 0xc4 && opcode <= 0xc6))
		return 1;
	return !decoder->is_vex && (opcode == 0xa4 || opcode == 0xac || opcode == 0xba) ? 1 : 0;
}

static enum instruction_kind find_kind(const struct decoder *decoder)
{
	uint8_t opcode = decoder->opcode;

	if (decoder->is_vex)
		return INSTRUCTION_PLAIN;
	if (decoder->map == INSTRUCTION_MAP_0F) {
		if (opcode == 0x0b)
			return INSTRUCTION_END;
		if (opcode == 0x1f)
			return INSTRUCTION_PADDING;
		return (opcode & 0xf0) == 0x80 ? INSTRUCTION_BRANCH : INSTRUCTION_PLAIN;
	}
	if (decoder->map != INSTRUCTION_MAP_ONE_BYTE)
		return INSTRUCTION_PLAIN;
	if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0)
		return INSTRUCTION_BRANCH;
	switch (opcode) {
	case 0x90:
		/* With F3 it is pause, with REX.B xchg. */
		return decoder->has_repeat_prefix || (decoder->rex & 1) ? INSTRUCTION_PLAIN
									: INSTRUCTION_PADDING;
	case 0xcc:
		return INSTRUCTION_PADDING;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
		return INSTRUCTION_RETURN;
	case 0xcf:
	case 0xf4:
		return INSTRUCTION_END;
	case 0xe8:
		return INSTRUCTION_CALL;
	case 0xe9:
		return INSTRUCTION_JUMP;
	case 0xeb:
		return INSTRUCTION_SHORT_JUMP;
	case 0xff:
		switch (decoder->modrm >> 3 & 7) {
		case 2:
		case 3:
			return INSTRUCTION_CALL;
		case 4:
		case 5:
			return INSTRUCTION_JUMP;
		default:
			return INSTRUCTION_PLAIN;
		}
	default:
		return INSTRUCTION_PLAIN;
	}
}

bool instruction_decode(const uint8_t *bytes, size_t size, struct instruction *ret)
{
	struct decoder decoder = {
		.bytes = bytes_of(bytes,
				  size < INSTRUCTION_MAX_BYTES ? size : INSTRUCTION_MAX_BYTES),
	};
	enum instruction_kind kind;
	size_t immediate_bytes;
	int32_t immediate = 0;
	bool is_direct;

	if (!read_opcode(&decoder) || is_unknown(&decoder))
		return false;
	if (has_modrm(&decoder))
		read_modrm(&decoder);
	immediate_bytes = count_map_immediate_bytes(&decoder);
	if (immediate_bytes == 1)
		immediate = (int8_t)bytes_u8(&decoder.bytes);
	else if (immediate_bytes == 4)
		immediate = (int32_t)bytes_u32(&decoder.bytes);
	else
		bytes_skip(&decoder.bytes, immediate_bytes);
	if (decoder.bytes.failed)
		return false;
	kind = find_kind(&decoder);
	/* An indirect call or jump has no immediate operand, but a ModRM byte. */
	is_direct = kind == INSTRUCTION_BRANCH || kind == INSTRUCTION_SHORT_JUMP ||
		    ((kind == INSTRUCTION_CALL || kind == INSTRUCTION_JUMP) && immediate_bytes);
	*ret = (struct instruction){
		.kind = kind,
		.length = (uint8_t)decoder.bytes.offset,
		.is_direct = is_direct,
		.distance = is_direct ? immediate : 0,
		.map = decoder.map,
		.is_vex = decoder.is_vex,
		.has_operand_prefix = decoder.has_operand_prefix,
		.has_repeat_prefix = decoder.has_repeat_prefix,
		.rex = decoder.rex,
		.opcode = decoder.opcode,
		.modrm = decoder.modrm,
		.sib = decoder.sib,
		.displacement = decoder.displacement,
		.immediate = immediate,
	};
	return true;
}
