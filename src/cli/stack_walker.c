#include "cli/stack_walker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "objfile/objfile.h"
#include "unwind/unwind_table.h"

_Static_assert(IMPORT_PC_EXACT == WIRE_PC_EXACT, "the walk marks addresses as importers do");

/* A file of the table. */
struct code {
	bool was_sought;
	struct objfile *objfile;    /* NULL: cannot be read, or no ELF */
	struct unwind_table *table; /* NULL: it has no call-frame information */
	uint32_t flags;             /* enum unwind_mapping_flag */
};

struct stack_walker {
	const struct file_table *files;
	int (*find_file)(void *context, uint32_t module);
	void *context;
	ARRAY(struct code) codes; /* by module */
};

struct stack_walker *stack_walker_new(const struct file_table *files,
				      int (*find_file)(void *context, uint32_t module),
				      void *context)
{
	struct stack_walker *walker = calloc(1, sizeof(*walker));

	if (walker)
		*walker = (struct stack_walker){
			.files = files,
			.find_file = find_file,
			.context = context,
		};
	return walker;
}

void stack_walker_free(struct stack_walker *walker)
{
	if (!walker)
		return;
	array_for_each (&walker->codes, code) {
		unwind_table_free(code->table);
		objfile_unref(code->objfile);
	}
	array_release(&walker->codes);
	free(walker);
}

/* Without call-frame information the frame pointer may be followed; without the file, nothing. */
static int open_code(const struct stack_walker *walker, uint32_t module, struct code *code)
{
	const struct mapped_file *file;
	struct error error = {0};
	int err = walker->find_file(walker->context, module);

	if (err)
		return err;
	code->was_sought = true;
	file = file_table_get(walker->files, module);
	if (file->fd < 0)
		return 0;
	err = objfile_open(file->fd, file->path, NULL, &code->objfile, NULL);
	if (!err)
		err = unwind_table_new(code->objfile, &code->table, &error);
	if (err == -ENOMEM)
		return err;
	if (err && error.message[0])
		log_debug("%s, skipping", error.message);
	code->flags = UNWIND_MAPPING_HAS_NO_CFI;
	if (code->table && unwind_table_has_call_frame_info(code->table))
		code->flags |= UNWIND_MAPPING_HAS_TABLE;
	return 0;
}

static int get_code(struct stack_walker *walker, uint32_t module, struct code **ret)
{
	struct code *code;

	while (walker->codes.length <= module)
		if (!array_add(&walker->codes))
			return -ENOMEM;
	code = &walker->codes.items[module];
	*ret = code;
	return code->was_sought ? 0 : open_code(walker, module, code);
}

/* The walk itself, over the bytes of the copy. */
#define WALK_INLINE static inline
#include "unwind/walk.h"

struct replay {
	struct walk walk; /* first: what the walk hands to its callbacks */
	struct stack_walker *walker;
	const struct import_stack *stack;
	const struct unwind_table *table; /* of walk.mapping */
	struct unwind_rule rule;          /* found last */
	int err;
};

static const struct import_mapping *find_mapping(const struct import_stack *stack, uint64_t pc)
{
	size_t place = count_front(stack->mappings, stack->num_mappings, item, item->end <= pc);

	return place < stack->num_mappings && pc >= stack->mappings[place].start
		       ? &stack->mappings[place]
		       : NULL;
}

/* 8 bytes of code, from its file. Returns 0 or -1. */
static int read_code(struct replay *replay, wire_u64 address, wire_u64 *ret)
{
	const struct import_mapping *mapping = find_mapping(replay->stack, address);
	struct code *code;
	uint64_t bias;

	if (!mapping || mapping->module == IMPORT_NO_MODULE)
		return -1;
	replay->err = get_code(replay->walker, mapping->module, &code);
	if (replay->err || !code->objfile ||
	    objfile_get_bias(code->objfile, mapping->start, mapping->file_offset, &bias))
		return -1;
	return objfile_read_code(code->objfile, address - bias, ret, sizeof(*ret)) ? -1 : 0;
}

/* Of memory, the copy has the stack only. */
static inline int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	struct replay *replay = (struct replay *)walk;
	const struct import_stack *stack = replay->stack;
	uint64_t offset = address - stack->registers.sp;

	if (address < stack->registers.sp || stack->size < sizeof(*ret) ||
	    offset > stack->size - sizeof(*ret))
		return read_code(replay, address, ret);
	memcpy(ret, stack->bytes + offset, sizeof(*ret));
	return 0;
}

static inline int walk_find_mapping(struct walk *walk, wire_u64 pc)
{
	struct replay *replay = (struct replay *)walk;
	const struct import_mapping *mapping = find_mapping(replay->stack, pc);
	struct code *code;

	if (!mapping)
		return 0;
	walk->mapping = (struct unwind_mapping){.start = mapping->start, .end = mapping->end};
	replay->table = NULL;
	if (mapping->module == IMPORT_NO_MODULE) {
		walk->mapping.flags = UNWIND_MAPPING_HAS_NO_CFI;
		return 1;
	}
	replay->err = get_code(replay->walker, mapping->module, &code);
	if (replay->err)
		return 0;
	walk->mapping.flags = code->flags;
	if (!code->objfile)
		return 1;
	replay->table = code->table;
	return !objfile_get_bias(code->objfile, mapping->start, mapping->file_offset,
				 (uint64_t *)&walk->mapping.bias);
}

static inline const struct unwind_rule *walk_find_rule(struct walk *walk, wire_u64 elf_address)
{
	struct replay *replay = (struct replay *)walk;

	return unwind_table_find(replay->table, elf_address, &replay->rule) ? NULL : &replay->rule;
}

int stack_walker_walk(struct stack_walker *walker, const struct import_stack *stack, uint64_t *pcs,
		      size_t max_pcs, size_t *ret_num)
{
	wire_u64 walked[WIRE_MAX_FRAMES];
	struct replay replay = {
		.walker = walker,
		.stack = stack,
	};
	size_t count;

	walk_begin(&replay.walk, &stack->registers);
	while (!walk_step(&replay.walk, walked))
		;
	if (replay.err)
		return replay.err;
	count = replay.walk.num_frames < max_pcs ? replay.walk.num_frames : max_pcs;
	memcpy(pcs, walked, count * sizeof(*pcs));
	*ret_num = count;
	return replay.walk.end == WALK_COMPLETE;
}
