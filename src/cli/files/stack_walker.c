/*
 * Stacks that were copied while recording are unwound by the same code as in the kernel
 * (unwind/walk.h), with the files that are found here. A stack is unwound in the mappings of its
 * own time, which the importer knows.
 *
 * A wrong table is worse than none. So a file that is not certainly the recorded one counts as
 * missing: unwinding ends there, and the stack counts as truncated.
 */
#include "cli/files/stack_walker.h"

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
struct walked_code {
	bool was_sought;
	struct objfile *objfile;    /* NULL: cannot be read, or no ELF */
	struct unwind_table *table; /* NULL: no call-frame information */
	uint32_t flags;             /* enum unwind_mapping_flag */
};

struct stack_walker {
	const struct file_table *files;
	int (*find_file)(void *context, uint32_t module);
	void *context;
	ARRAY(struct walked_code) codes; /* by module */
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

static int read_table(const struct mapped_file *file, struct walked_code *code, struct error *error)
{
	int err = objfile_open(file->fd, file->path, NULL, &code->objfile, NULL);

	return err ? err : unwind_table_new(code->objfile, &code->table, error);
}

/*
 * A file without call-frame information is unwound by frame pointers; a missing file is not
 * unwound.
 */
static int open_code(const struct stack_walker *walker, uint32_t module, struct walked_code *code)
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
	err = read_table(file, code, &error);
	if (err == -ENOMEM)
		return err;
	if (err && error.message[0])
		log_debug("%s, skipping", error.message);
	code->flags = UNWIND_MAPPING_HAS_NO_CFI;
	if (code->table && unwind_table_has_rows(code->table))
		code->flags |= UNWIND_MAPPING_HAS_TABLE;
	return 0;
}

static int get_code(struct stack_walker *walker, uint32_t module, struct walked_code **ret)
{
	struct walked_code *code;

	while (walker->codes.length <= module)
		if (!array_add(&walker->codes))
			return -ENOMEM;
	code = &walker->codes.items[module];
	*ret = code;
	return code->was_sought ? 0 : open_code(walker, module, code);
}

/* State of unwinding one stack. */
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

/*
 * The file at the pc, or NULL if it cannot be read, and its mapping. False: nothing is mapped
 * there, or memory has run out, which sets replay->err.
 */
static bool find_mapped(struct walker_replay *replay, uint64_t pc,
			const struct walked_code **ret_code, struct unwind_mapping *ret)
{
	const struct import_mapping *mapping = find_mapping(replay->stack, pc);
	struct walked_code *code;

	*ret_code = NULL;
	if (!mapping)
		return false;
	*ret = (struct unwind_mapping){.start = mapping->start, .end = mapping->end};
	/*
	 * Code in memory without a file has no call-frame information; at best it has frame
	 * pointers.
	 */
	if (mapping->module == IMPORT_NO_MODULE) {
		ret->flags = UNWIND_MAPPING_HAS_NO_CFI;
		return true;
	}
	replay->err = get_code(replay->walker, mapping->module, &code);
	if (replay->err)
		return false;
	ret->flags = code->flags;
	if (!code->objfile)
		return true;
	*ret_code = code;
	return !objfile_get_bias(
		code->objfile,
		&(struct objfile_mapping){mapping->start, mapping->end, mapping->file_offset},
		(uint64_t *)&ret->bias);
}

/* False ends unwinding. */
static bool find_code(void *context, uint64_t pc, struct replay_code *ret)
{
	const struct walked_code *code;
	bool is_found = find_mapped(context, pc, &code, &ret->mapping);

	if (code) {
		ret->layout = objfile_get_layout(code->objfile);
		ret->fd = objfile_get_fd(code->objfile);
		ret->table = code->table;
	}
	return is_found;
}

static bool find_rule(void *context _unused_, const struct replay_code *code, uint64_t elf_address,
		      struct unwind_rule *ret)
{
	return !unwind_table_find(code->table, elf_address, ret);
}

/*
 * Whether a step by frame pointer has skipped a frame, from the call before the return address; see
 * objfile_prove_call(). Files were opened while unwinding.
 */
static int is_frame_skipped(struct walker_replay *replay, uint64_t callee_pc,
			    uint64_t return_address, bool *ret)
{
	const struct walked_code *code; /* until the next file is opened */
	struct objfile *caller;
	struct unwind_mapping mapping;
	uint64_t callee_address = OBJFILE_ELSEWHERE;
	enum call_proof proof;
	int err;

	/* A call is impossible without code at its address. */
	*ret = !find_mapping(replay->stack, return_address - 1);
	if (!find_mapped(replay, return_address - 1, &code, &mapping) || !code)
		return replay->err;
	caller = code->objfile;
	return_address -= mapping.bias;
	if (find_mapped(replay, callee_pc, &code, &mapping) && code && code->objfile == caller)
		callee_address = callee_pc - mapping.bias;
	err = objfile_prove_call(caller, return_address, callee_address, &proof);
	*ret = !err && proof == CALL_DISPROVEN;
	return err ? err : replay->err;
}

/* Cut the stack at the first frame whose caller was skipped, and remove the marks of the steps. */
static int check_fp_steps(struct walker_replay *replay, uint64_t *pcs, uint32_t *num_frames,
			  enum walk_end *end)
{
	for (uint32_t i = 0; i < *num_frames; i++) {
		bool is_by_fp = pcs[i] & WIRE_PC_FP_STEP;
		bool is_skipped;
		int err;

		pcs[i] &= ~(WIRE_PC_FP_STEP | WIRE_PC_ENTRY_STEP);
		if (!is_by_fp || i + 1 == *num_frames)
			continue;
		err = is_frame_skipped(replay,
				       (pcs[i] & ~WIRE_PC_EXACT) - !(pcs[i] & WIRE_PC_EXACT),
				       pcs[i + 1] & ~WIRE_PC_MARKS, &is_skipped);
		if (err)
			return err;
		if (!is_skipped)
			continue;
		*num_frames = i + 1;
		*end = WALK_SKIPPED_FRAME;
	}
	return 0;
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
	uint64_t outermost_sp;
	enum walk_end end = replay_walk(&copy, &source, walked, &num_frames, &outermost_sp);
	size_t count;
	int err = replay.err ? replay.err : check_fp_steps(&replay, walked, &num_frames, &end);

	if (err)
		return err;
	count = num_frames < max_pcs ? num_frames : max_pcs;
	memcpy(pcs, walked, count * sizeof(*pcs));
	*ret_num = count;
	return end == WALK_COMPLETE;
}
