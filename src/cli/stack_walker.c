#include "cli/stack_walker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "objfile/objfile.h"
#include "unwind/replay.h"
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

/* What the walk of one stack asks for. */
struct walker_replay {
	struct stack_walker *walker;
	const struct import_stack *stack;
	int err;
};

static const struct import_mapping *find_mapping(const struct import_stack *stack, uint64_t pc)
{
	size_t place = count_front(stack->mappings, stack->num_mappings, item, item->end <= pc);

	return place < stack->num_mappings && pc >= stack->mappings[place].start
		       ? &stack->mappings[place]
		       : NULL;
}

static bool find_code(void *context, uint64_t pc, struct replay_code *ret)
{
	struct walker_replay *replay = context;
	const struct import_mapping *mapping = find_mapping(replay->stack, pc);
	struct code *code;

	if (!mapping)
		return false;
	ret->mapping = (struct unwind_mapping){.start = mapping->start, .end = mapping->end};
	if (mapping->module == IMPORT_NO_MODULE) {
		ret->mapping.flags = UNWIND_MAPPING_HAS_NO_CFI;
		return true;
	}
	replay->err = get_code(replay->walker, mapping->module, &code);
	if (replay->err)
		return false;
	ret->mapping.flags = code->flags;
	if (!code->objfile)
		return true;
	ret->objfile = code->objfile;
	ret->table = code->table;
	return !objfile_get_bias(code->objfile, mapping->start, mapping->file_offset,
				 (uint64_t *)&ret->mapping.bias);
}

static bool find_rule(void *context _unused_, const struct replay_code *code, uint64_t elf_address,
		      struct unwind_rule *ret)
{
	return !unwind_table_find(code->table, elf_address, ret);
}

int stack_walker_walk(struct stack_walker *walker, const struct import_stack *stack, uint64_t *pcs,
		      size_t max_pcs, size_t *ret_num)
{
	uint64_t walked[WIRE_MAX_FRAMES];
	struct walker_replay replay = {.walker = walker, .stack = stack};
	struct replay_source source = {
		.find_code = find_code,
		.find_rule = find_rule,
		.context = &replay,
	};
	struct replay_stack copy = {
		.registers = stack->registers,
		.stack = {stack->registers.sp, stack->bytes, stack->size},
	};
	uint32_t num_frames;
	enum walk_end end = replay_walk(&copy, &source, walked, &num_frames);
	size_t count = num_frames < max_pcs ? num_frames : max_pcs;

	if (replay.err)
		return replay.err;
	memcpy(pcs, walked, count * sizeof(*pcs));
	*ret_num = count;
	return end == WALK_COMPLETE;
}
