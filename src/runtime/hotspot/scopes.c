/*
 * An nmethod has PcDescs, sorted by their place in the code. Each refers to a scope: a method, its
 * bytecode, and the scope it was inlined into, if any. Scopes are a sequence of numbers; a
 * reference is the scope's distance from the start. A scope precedes those that were inlined into
 * it.
 *
 *     PcDescs        -1: none | 12: 5 | 40: 9 | … | INT_MAX: none      the first and the last one limit the others
 *     scopes         offset 5: sender 0 (none), method 1, bytecode 3 + 1, …
 *                    offset 9: sender 5, method 2, bytecode 0 + 1, …
 *     methods        1: address of the one that was compiled, 2: of one that is inlined, …
 *
 * The layout does not give the lengths of the scopes and of the array of methods: they end at the
 * last reference.
 */
#include "runtime/hotspot_scopes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "runtime/hotspot/code_path.h"
#include "runtime/hotspot/memory.h"
#include "runtime/hotspot/unsigned5.h"

/* Maximum size of the part of a scope that is read: three numbers. */
#define SCOPE_BYTES (3 * UNSIGNED5_MAX_BYTES)

struct hotspot_scopes {
	uint64_t code;
	unsigned int major; /* of the JDK's version */
	struct pc_desc *pc_descs;
	size_t num_pc_descs;
	uint8_t *bytes; /* of scopes */
	size_t num_bytes;
	uint64_t *methods; /* their addresses; from the first one on, which has the number 1 */
	size_t num_methods;
	uint8_t *instructions; /* the code's, or as much of it as is read */
	size_t num_instruction_bytes;
};

/* As it is written. */
struct scope_desc {
	uint32_t sender;   /* 0: none */
	uint32_t method;   /* its number */
	uint32_t bytecode; /* and 1 */
};

void hotspot_scopes_free(struct hotspot_scopes *scopes)
{
	if (!scopes)
		return;
	free(scopes->pc_descs);
	free(scopes->bytes);
	free(scopes->methods);
	free(scopes->instructions);
	free(scopes);
}

size_t hotspot_scopes_get_size(const struct hotspot_scopes *scopes)
{
	return sizeof(*scopes) + scopes->num_pc_descs * sizeof(*scopes->pc_descs) +
	       scopes->num_bytes + scopes->num_methods * sizeof(*scopes->methods) +
	       scopes->num_instruction_bytes;
}

static int decode(const struct hotspot_scopes *scopes, size_t offset, struct scope_desc *ret)
{
	struct bytes bytes = bytes_of(scopes->bytes, scopes->num_bytes);

	bytes_skip(&bytes, offset);
	ret->sender = unsigned5_read(&bytes, scopes->major);
	ret->method = unsigned5_read(&bytes, scopes->major);
	ret->bytecode = unsigned5_read(&bytes, scopes->major);
	/* As senders are written before, this ends. */
	if (bytes.failed || ret->sender >= offset || !ret->method ||
	    ret->method > HOTSPOT_SCOPES_MAX_METHODS)
		return -EBADMSG;
	return 0;
}

/* The parts of an nmethod, as far as the layout gives them. */
struct scope_parts {
	uint64_t code;
	uint64_t code_end;
	uint64_t pc_descs;
	uint64_t pc_descs_end;
	uint64_t scopes;
	uint64_t methods;
};

static int find_code(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
		     uint64_t blob, struct scope_parts *ret)
{
	const uint64_t base = layout->wire.blob_code_is_offset ? blob : 0;
	const size_t size = layout->wire.blob_code_is_offset ? 4 : 8;
	uint64_t code, end;
	int err = hotspot_read_number(memory, blob + layout->wire.blob_code, size, &code);

	if (err)
		return err;
	err = hotspot_read_number(memory, blob + layout->wire.blob_code_end, size, &end);
	if (err)
		return err;
	ret->code = base + code;
	ret->code_end = base + end;
	return 0;
}

static int find_scopes(const struct hotspot_scopes_layout *layout,
		       const struct hotspot_memory *memory, uint64_t blob, struct scope_parts *ret)
{
	bool is_in_blob = layout->immutable_data == WIRE_HOTSPOT_NONE;
	uint64_t base = blob;
	uint64_t start, end, scopes;
	int err = 0;

	if (!is_in_blob)
		err = hotspot_read_number(memory, blob + layout->immutable_data, 8, &base);
	if (err)
		return err;
	err = hotspot_read_number(memory, blob + layout->scopes_pcs, 4, &start);
	if (err)
		return err;
	err = hotspot_read_number(memory, blob + layout->scopes_pcs_end, 4, &end);
	if (err)
		return err;
	err = hotspot_read_number(memory, blob + layout->scopes_data, layout->scopes_data_size,
				  &scopes);
	if (err)
		return err;
	ret->pc_descs = base + start;
	ret->pc_descs_end = base + end;
	ret->scopes = layout->scopes_data_size == 8 ? scopes : base + scopes;
	return 0;
}

static int find_methods(const struct hotspot_scopes_layout *layout,
			const struct hotspot_memory *memory, uint64_t blob, uint64_t *ret)
{
	uint64_t base = 0;
	uint64_t offset;
	int err = 0;

	if (layout->mutable_data != WIRE_HOTSPOT_NONE) {
		err = hotspot_read_number(memory, blob + layout->mutable_data, 8, &base);
		if (err)
			return err;
		err = hotspot_read_number(memory, blob + layout->relocation_bytes, 4, &offset);
		if (err)
			return err;
		*ret = base + offset;
		return 0;
	}
	if (layout->blob_data != WIRE_HOTSPOT_NONE)
		err = hotspot_read_number(memory, blob + layout->blob_data, 4, &base);
	if (err)
		return err;
	err = hotspot_read_number(memory, blob + layout->metadata, layout->metadata_size, &offset);
	if (err)
		return err;
	*ret = blob + base + offset;
	return 0;
}

static int read_pc_descs(const struct hotspot_scopes_layout *layout,
			 const struct hotspot_memory *memory, const struct scope_parts *parts,
			 struct hotspot_scopes *scopes)
{
	uint64_t num_bytes = parts->pc_descs_end - parts->pc_descs;
	size_t num_read;
	uint8_t *bytes;
	int err;

	if (parts->pc_descs_end < parts->pc_descs || num_bytes % layout->pc_desc_bytes ||
	    num_bytes / layout->pc_desc_bytes > HOTSPOT_SCOPES_MAX_PC_DESCS)
		return -EBADMSG;
	/* Code that calls a native method has none. */
	if (!num_bytes)
		return 0;
	bytes = malloc(num_bytes);
	scopes->num_pc_descs = num_bytes / layout->pc_desc_bytes;
	scopes->pc_descs = calloc(scopes->num_pc_descs, sizeof(*scopes->pc_descs));
	err = bytes && scopes->pc_descs ? hotspot_read_some(memory, parts->pc_descs, bytes,
							    num_bytes, num_bytes, &num_read)
					: -ENOMEM;
	for (size_t i = 0; !err && i < scopes->num_pc_descs; i++) {
		const uint8_t *desc = bytes + i * layout->pc_desc_bytes;

		memcpy(&scopes->pc_descs[i].pc, desc + layout->pc_desc_pc, sizeof(int32_t));
		memcpy(&scopes->pc_descs[i].scope, desc + layout->pc_desc_scope, sizeof(int32_t));
	}
	free(bytes);
	return err;
}

static int read_scopes(const struct hotspot_memory *memory, const struct scope_parts *parts,
		       struct hotspot_scopes *scopes)
{
	int32_t last = 0;

	for (size_t i = 0; i < scopes->num_pc_descs; i++)
		if (scopes->pc_descs[i].scope > last)
			last = scopes->pc_descs[i].scope;
	if (!last)
		return 0;
	if ((uint32_t)last > HOTSPOT_SCOPES_MAX_BYTES - SCOPE_BYTES)
		return -EBADMSG;
	scopes->bytes = malloc((size_t)last + SCOPE_BYTES);
	if (!scopes->bytes)
		return -ENOMEM;
	/* The last one may be shorter, and followed by nothing. */
	return hotspot_read_some(memory, parts->scopes, scopes->bytes, (size_t)last + 3,
				 (size_t)last + SCOPE_BYTES, &scopes->num_bytes);
}

/* The highest number of a method. Each scope is looked at once, however many refer to it. */
static int count_methods(const struct hotspot_scopes *scopes, size_t *ret)
{
	uint8_t *is_seen = calloc(scopes->num_bytes + 1, 1);
	size_t num_methods = 0;
	int err = is_seen ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < scopes->num_pc_descs; i++) {
		int32_t scope = scopes->pc_descs[i].scope;
		size_t offset = scope > 0 ? (size_t)scope : 0;

		while (offset && !is_seen[offset]) {
			struct scope_desc desc;

			err = decode(scopes, offset, &desc);
			if (err)
				break;
			is_seen[offset] = 1;
			if (desc.method > num_methods)
				num_methods = desc.method;
			offset = desc.sender;
		}
	}
	free(is_seen);
	*ret = num_methods;
	return err;
}

static int read_methods(const struct hotspot_memory *memory, const struct scope_parts *parts,
			struct hotspot_scopes *scopes)
{
	size_t num_read;
	size_t size;
	int err = count_methods(scopes, &scopes->num_methods);

	if (err || !scopes->num_methods)
		return err;
	size = scopes->num_methods * sizeof(*scopes->methods);
	scopes->methods = malloc(size);
	if (!scopes->methods)
		return -ENOMEM;
	return hotspot_read_some(memory, parts->methods, scopes->methods, size, size, &num_read);
}

/* Instructions are useless without descriptions. */
static int read_instructions(const struct hotspot_memory *memory, const struct scope_parts *parts,
			     struct hotspot_scopes *scopes)
{
	uint64_t size = parts->code_end - parts->code;

	if (parts->code_end < parts->code)
		return -EBADMSG;
	if (!size || !scopes->num_methods)
		return 0;
	size = size < HOTSPOT_SCOPES_MAX_CODE_BYTES ? size : HOTSPOT_SCOPES_MAX_CODE_BYTES;
	scopes->instructions = malloc(size);
	if (!scopes->instructions)
		return -ENOMEM;
	return hotspot_read_some(memory, parts->code, scopes->instructions, size, size,
				 &scopes->num_instruction_bytes);
}

/* Memory of code is reused: it is the same code as long as it has the same number. */
static int check_compile_id(const struct hotspot_layout *layout,
			    const struct hotspot_memory *memory, uint64_t blob, uint32_t compile_id)
{
	uint64_t there;
	int err = hotspot_read_number(memory, blob + layout->wire.nmethod_compile_id, 4, &there);

	if (err)
		return err;
	return there == compile_id ? 0 : -ESTALE;
}

static int read_parts(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
		      uint64_t blob, struct hotspot_scopes *scopes)
{
	struct scope_parts parts;
	int err = find_code(layout, memory, blob, &parts);

	if (err)
		return err;
	err = find_scopes(&layout->scopes, memory, blob, &parts);
	if (err)
		return err;
	err = find_methods(&layout->scopes, memory, blob, &parts.methods);
	if (err)
		return err;
	scopes->code = parts.code;
	err = read_pc_descs(&layout->scopes, memory, &parts, scopes);
	if (err)
		return err;
	err = read_scopes(memory, &parts, scopes);
	if (err)
		return err;
	err = read_methods(memory, &parts, scopes);
	if (err)
		return err;
	return read_instructions(memory, &parts, scopes);
}

int hotspot_scopes_read(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
			uint64_t blob, uint32_t compile_id, struct hotspot_scopes **ret)
{
	_cleanup_(hotspot_scopes_freep) struct hotspot_scopes *scopes = NULL;
	int changed;
	int err;

	if (!layout->scopes.pc_desc_bytes)
		return -ENOTSUP;
	err = check_compile_id(layout, memory, blob, compile_id);
	if (err)
		return err;
	scopes = calloc(1, sizeof(*scopes));
	if (!scopes)
		return -ENOMEM;
	scopes->major = layout->wire.major;
	err = read_parts(layout, memory, blob, scopes);
	/* Data that makes no sense, like data that does, may be from two nmethods. */
	changed = check_compile_id(layout, memory, blob, compile_id);
	if (changed)
		return changed;
	if (err)
		return err;
	*ret = return_ptr(scopes);
	return 0;
}

static int decode_chain(const struct hotspot_scopes *scopes, int32_t scope,
			struct hotspot_scope_chain *ret)
{
	size_t offset = scope > 0 ? (size_t)scope : 0;

	ret->num_scopes = 0;
	ret->may_lack_inlined = false;
	while (offset) {
		struct scope_desc desc;
		int err = decode(scopes, offset, &desc);

		if (err)
			return err;
		if (ret->num_scopes == HOTSPOT_SCOPES_MAX_DEPTH ||
		    desc.method > scopes->num_methods)
			return -EBADMSG;
		/*
		 * A method that was just entered, before its first bytecode, gets 0: the JVM treats
		 * it as the first bytecode, too.
		 */
		ret->scopes[ret->num_scopes++] = (struct hotspot_scope){
			.method = scopes->methods[desc.method - 1],
			.bytecode = desc.bytecode > WIRE_HOTSPOT_NO_BYTECODE
					    ? WIRE_HOTSPOT_NO_BYTECODE
					    : desc.bytecode - !!desc.bytecode,
		};
		offset = desc.sender;
	}
	return 0;
}

/*
 * How many of the outermost levels are the same: all but the last one also in the position of the
 * call.
 */
static size_t count_common(const struct hotspot_scope_chain *a, const struct hotspot_scope_chain *b)
{
	size_t num_common = 0;

	while (num_common < a->num_scopes && num_common < b->num_scopes) {
		const struct hotspot_scope *in_a = &a->scopes[a->num_scopes - 1 - num_common];
		const struct hotspot_scope *in_b = &b->scopes[b->num_scopes - 1 - num_common];

		if (in_a->method != in_b->method)
			break;
		num_common++;
		if (in_a->bytecode != in_b->bytecode)
			break;
	}
	return num_common;
}

static void keep_outermost(struct hotspot_scope_chain *chain, size_t num_scopes)
{
	memmove(chain->scopes, &chain->scopes[chain->num_scopes - num_scopes],
		num_scopes * sizeof(*chain->scopes));
	chain->num_scopes = num_scopes;
}

/* Number of levels at the end of a path that are also at the targets of its branches. */
static int count_common_of_branches(const struct hotspot_scopes *scopes,
				    const struct described_code *code, const struct code_path *path,
				    const struct hotspot_scope_chain *chain, size_t *ret)
{
	size_t num_common = chain->num_scopes;

	for (size_t i = 0; i < path->num_branches && num_common; i++) {
		struct hotspot_scope_chain other;
		struct code_path branch;
		size_t num_of_both;
		int err;

		if (code_path_find(code, path->branches[i], &branch)) {
			num_common = 0;
			break;
		}
		err = decode_chain(scopes, branch.end->scope, &other);
		if (err)
			return err;
		num_of_both = count_common(chain, &other);
		num_common = num_of_both < num_common ? num_of_both : num_common;
	}
	*ret = num_common;
	return 0;
}

/*
 * The methods at an instruction: those of the place that it leads to, as far as they have started
 * there.
 */
static int find_at_instruction(const struct hotspot_scopes *scopes,
			       const struct described_code *code, int32_t offset,
			       struct hotspot_scope_chain *ret)
{
	size_t behind = described_code_find_behind(code, offset);
	struct hotspot_scope_chain before = {0};
	struct code_path path;
	bool is_known = !code_path_find(code, offset, &path);
	size_t num_sure;
	size_t num_common = 0;
	int err;

	if (!is_known && behind == code->num_pc_descs)
		return -ENOENT;
	err = decode_chain(scopes, is_known ? path.end->scope : code->pc_descs[behind].scope, ret);
	if (err)
		return err;
	err = decode_chain(scopes, behind ? code->pc_descs[behind - 1].scope : 0, &before);
	if (err)
		return err;
	/* Scopes that are also before it are there, too; the outermost one is everywhere. */
	num_sure = before.num_scopes ? count_common(ret, &before) : ret->num_scopes > 0;
	if (is_known && num_sure < ret->num_scopes)
		err = count_common_of_branches(scopes, code, &path, ret, &num_common);
	if (err)
		return err;
	num_sure = num_sure > num_common ? num_sure : num_common;
	if (!num_sure)
		return -ENOENT;
	ret->may_lack_inlined = num_sure < ret->num_scopes;
	keep_outermost(ret, num_sure);
	return 0;
}

static int find_chain(const struct hotspot_scopes *scopes, uint64_t pc, bool is_call,
		      struct hotspot_scope_chain *ret)
{
	const struct described_code code = {.bytes = scopes->instructions,
					    .num_bytes = scopes->num_instruction_bytes,
					    .pc_descs = scopes->pc_descs,
					    .num_pc_descs = scopes->num_pc_descs};
	const struct pc_desc *desc;
	int32_t offset;

	if (pc < scopes->code || pc - scopes->code >= INT32_MAX)
		return -ENOENT;
	offset = (int32_t)(pc - scopes->code);
	desc = is_call ? described_code_find_at(&code, offset) : NULL;
	if (desc)
		return decode_chain(scopes, desc->scope, ret);
	/* After a call without description, execution continues behind it. */
	return find_at_instruction(scopes, &code, offset, ret);
}

int hotspot_scopes_find(const struct hotspot_scopes *scopes, uint64_t pc, bool is_call,
			struct hotspot_scope_chain *ret)
{
	int err = find_chain(scopes, pc, is_call, ret);

	if (err) {
		ret->num_scopes = 0;
		/* The code of a native method describes no method. */
		ret->may_lack_inlined = scopes->num_methods;
	}
	return err;
}
