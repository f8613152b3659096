/*
 * A table is built in one pass over the functions in order of address. Each function's instructions
 * are executed, and the rows appended to the table, unless the rule stays the same. A row belongs
 * to a page of code (UNWIND_PAGE_SHIFT) and has its address within it in 16 bits. The rule that is
 * in force at the start of a page is repeated there, so that a lookup never leaves its page:
 *
 *	pages   [0]────────────┐   [1]: none   [2]─┐
 *	rows    0:none 1a40:r7 1a41:r8 …           0:r8 0310:none
 *
 * Functions come from .eh_frame, .debug_frame and Go's pclntab; where they overlap, the first of
 * these wins. Some code is described wrongly or not at all, and is recognized by its instructions
 * instead: glibc's swapcontext, __start_context and the return of clone(), the new thread's part of
 * other clone() functions, the start of Boost's contexts, Go's stack switches, and the code that
 * signal handlers return to. The entry point of a program is outermost.
 *
 * Limits: 64-bit files of an architecture with has_unwind_tables. A function too far from the first one gets no page; a state that
 * rules cannot express becomes UNWIND_CFA_UNSUPPORTED. Both are counted in the statistics.
 */
#include "unwind/unwind_table.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "objfile/architecture.h"
#include "objfile/instruction_flow.h"
#include "unwind/code_ranges.h"
#include "unwind/frame_program.h"
#include "unwind/frame_reader.h"
#include "unwind/frame_sort.h"
#include "unwind/go_frames.h"
#include "unwind/rule_dictionary.h"
#include "unwind/x86_64/clone_child.h"
#include "unwind/x86_64/clone_return.h"
#include "unwind/x86_64/code_frames.h"
#include "unwind/x86_64/context_start.h"
#include "unwind/x86_64/go_runtime.h"
#include "unwind/x86_64/signal_return.h"
#include "unwind/x86_64/swapcontext.h"

#define PAGE_BYTES (1u << UNWIND_PAGE_SHIFT)
/* The length of start-up code at an entry point, generously. */
#define ENTRY_BYTES 64
/* In frame_function.cie: the function is the entry point, without call-frame information. */
#define CIE_OF_ENTRY UINT32_MAX
/* Likewise: signal handlers return to it, and nothing describes it. */
#define CIE_OF_SIGNAL_RETURN (UINT32_MAX - 3)
/* The function is the new thread's part of a clone() function without call-frame information. */
#define CIE_OF_CLONE_CHILD (UINT32_MAX - 4)
/* Larger sections are searched only between functions. */
#define SEARCH_MAX_BYTES            (1u << 20)
#define SEARCH_OF_LIBRARY_MAX_BYTES (16u << 20) /* with a C library in it */

struct unwind_table_builder {
	const struct objfile *objfile; /* borrowed */
	struct code_ranges code;
	struct frame_reader reader;
	struct go_runtime go;
	struct go_frames go_frames;
	struct code_frames code_frames;
	struct signal_returns signal_returns;
	struct clone_children clone_children;
	ARRAY(struct frame_state) initial; /* of the reader's common parts */
	struct frame_rows function_rows;
	struct rule_dictionary dictionary;
	ARRAY(struct unwind_page) pages;
	ARRAY(struct unwind_row) rows;
	uint64_t first_page;
	uint16_t last_rule; /* of the last row */
	struct unwind_table *table;
};

static void table_builder_release(struct unwind_table_builder *builder)
{
	code_ranges_release(&builder->code);
	frame_reader_release(&builder->reader);
	code_frames_release(&builder->code_frames);
	signal_returns_release(&builder->signal_returns);
	clone_children_release(&builder->clone_children);
	array_release(&builder->initial);
	frame_rows_release(&builder->function_rows);
	rule_dictionary_release(&builder->dictionary);
	array_release(&builder->pages);
	array_release(&builder->rows);
	unwind_table_free(builder->table);
}

static int read_sections(struct unwind_table_builder *builder, Elf *elf)
{
	struct unwind_statistics *statistics = &builder->table->statistics;
	struct frame_section section;
	int err;

	if (frame_section_find_eh_frame(elf, &section) == 0) {
		statistics->input_bytes += section.size;
		err = frame_reader_add_section(&builder->reader, &section);
		if (err)
			return err;
	}
	if (frame_section_find_debug_frame(elf, &section) == 0) {
		statistics->input_bytes += section.size;
		err = frame_reader_add_section(&builder->reader, &section);
		if (err)
			return err;
	}
	err = go_frames_add(elf, &builder->reader, &builder->go, &builder->go_frames);
	if (err)
		return err;
	statistics->input_bytes += builder->go_frames.table.size;
	statistics->num_malformed = builder->reader.num_malformed;
	return 0;
}

/*
 * Size of the entry code, up to other code that it calls: musl's second part of the start-up code.
 */
static uint32_t measure_entry(const struct unwind_table_builder *builder)
{
	uint8_t code[ENTRY_BYTES];
	const struct architecture *architecture = objfile_get_architecture(builder->objfile);
	struct instruction_flow instruction;
	uint32_t size = ENTRY_BYTES;

	if (objfile_read_code(builder->objfile, builder->code.entry, code, sizeof(code)))
		return size;
	for (uint32_t offset = 0; offset < size; offset += instruction.length) {
		int64_t target;

		if (!architecture_decode(architecture, code + offset, sizeof(code) - offset,
					 &instruction))
			break;
		target = (int64_t)offset + instruction.length + instruction.distance;
		if (instruction.kind == INSTRUCTION_CALL && instruction.distance &&
		    target > offset && target < size)
			size = (uint32_t)target;
	}
	return size;
}

static int add_entry_point(struct unwind_table_builder *builder)
{
	struct frame_function *function;

	if (!builder->code.entry)
		return 0;
	function = array_add(&builder->reader.functions);
	if (!function)
		return -ENOMEM;
	function->start = builder->code.entry;
	function->size = measure_entry(builder);
	function->cie = CIE_OF_ENTRY;
	return 0;
}

static int start_programs(struct unwind_table_builder *builder)
{
	int err = array_reserve(&builder->initial, builder->reader.cies.length);

	if (err)
		return err;
	array_for_each (&builder->reader.cies, cie) {
		struct frame_state *initial = &builder->initial.items[builder->initial.length++];

		if (cie->is_usable)
			frame_program_start(&builder->reader, cie, initial);
	}
	return 0;
}

static uint64_t get_end(const struct frame_function *function)
{
	return function->start + function->size;
}

/* Drop functions outside of executable segments, and truncate those that extend beyond one. */
static void clip_to_code(struct unwind_table_builder *builder)
{
	struct frame_function *end = builder->reader.functions.items;
	const struct range *segment = NULL;

	array_for_each (&builder->reader.functions, function) {
		if (!segment || function->start < segment->start || function->start >= segment->end)
			segment = range_map_find(&builder->code.segments, function->start);
		if (!segment) {
			builder->table->statistics.num_outside++;
			continue;
		}
		if (get_end(function) > segment->end)
			function->size = (uint32_t)(segment->end - function->start);
		*end++ = *function;
	}
	if (end)
		builder->reader.functions.length = (size_t)(end - builder->reader.functions.items);
}

/* The rank of a function's source: smaller is better. */
static unsigned int get_rank(const struct unwind_table_builder *builder,
			     const struct frame_function *function)
{
	if (function->cie == CIE_OF_CLONE_CHILD)
		return FRAME_READER_SECTIONS_MAX + 4;
	if (function->cie == FRAME_CIE_OF_CODE)
		return FRAME_READER_SECTIONS_MAX + 3;
	if (function->cie == CIE_OF_SIGNAL_RETURN)
		return FRAME_READER_SECTIONS_MAX + 2;
	if (function->cie == CIE_OF_ENTRY)
		return FRAME_READER_SECTIONS_MAX + 1;
	if (function->cie == FRAME_CIE_OF_GO)
		return FRAME_READER_SECTIONS_MAX;
	return builder->reader.cies.items[function->cie].section;
}

/*
 * Make the sorted functions disjoint. If several have the same start, the first wins: .eh_frame
 * precedes .debug_frame, then Go's table, then the entry point.
 */
static void trim_functions(struct unwind_table_builder *builder)
{
	struct frame_function *last = NULL;
	size_t length = 0;

	array_for_each (&builder->reader.functions, function) {
		if (last && function->start < get_end(last)) {
			if (function->start == last->start ||
			    get_rank(builder, function) > get_rank(builder, last))
				continue;
			last->size = (uint32_t)(function->start - last->start);
		}
		last = &builder->reader.functions.items[length++];
		*last = *function;
	}
	builder->reader.functions.length = length;
}

/*
 * Whether a described function holds it. The end of the entry point is unknown, so it ends there.
 */
static bool is_in_function(struct unwind_table_builder *builder, size_t num_described,
			   const struct signal_return *found)
{
	struct frame_function *functions = builder->reader.functions.items;
	size_t next =
		count_front(functions, num_described, function, function->start <= found->start);
	struct frame_function *before = next ? &functions[next - 1] : NULL;

	if (!before || get_end(before) <= found->start)
		return false;
	if (before->cie != CIE_OF_ENTRY || before->start == found->start)
		return true;
	before->size = (uint32_t)(found->start - before->start);
	return false;
}

/* Put the functions in order, within the code and disjoint. */
static int sort_functions(struct unwind_table_builder *builder)
{
	int err;

	clip_to_code(builder);
	err = frame_sort(builder->reader.functions.items, builder->reader.functions.length);
	if (err)
		return err;
	trim_functions(builder);
	return 0;
}

static uint64_t get_search_limit(const struct unwind_table_builder *builder)
{
	return builder->code.may_have_c_library ? SEARCH_OF_LIBRARY_MAX_BYTES : SEARCH_MAX_BYTES;
}

/* Between functions they become functions; inside a function they replace its rows. */
static int add_signal_returns(struct unwind_table_builder *builder, Elf *elf)
{
	size_t num_described = builder->reader.functions.length;
	int err = signal_returns_find(elf, &builder->reader, get_search_limit(builder),
				      &builder->signal_returns);

	if (err)
		return err;
	array_for_each (&builder->signal_returns.items, found) {
		struct frame_function *function;

		if (is_in_function(builder, num_described, found))
			continue;
		function = array_add(&builder->reader.functions);
		if (!function)
			return -ENOMEM;
		function->start = found->start;
		/* Within the system call a thread's pc is at the byte after it. */
		function->size = found->size + 1;
		function->cie = CIE_OF_SIGNAL_RETURN;
	}
	if (builder->reader.functions.length == num_described)
		return 0;
	return sort_functions(builder);
}

/* Add code without other information, from its instructions. */
static int add_code(struct unwind_table_builder *builder, Elf *elf)
{
	size_t num_described = builder->reader.functions.length;
	int err = code_frames_add(elf, &builder->reader, &builder->code_frames);

	if (err || builder->reader.functions.length == num_described)
		return err;
	clip_to_code(builder);
	return frame_sort(builder->reader.functions.items, builder->reader.functions.length);
}

/* The functions are sorted. */
static bool is_described(const struct unwind_table_builder *builder, size_t num_described,
			 uint64_t address)
{
	const struct frame_function *functions = builder->reader.functions.items;
	size_t next = count_front(functions, num_described, function, function->start <= address);

	return next && get_end(&functions[next - 1]) > address;
}

/* New threads' parts in code without rows become functions. mend_clone_children() does the others. */
static int add_clone_children(struct unwind_table_builder *builder)
{
	size_t num_described = builder->reader.functions.length;

	array_for_each (&builder->clone_children.items, child) {
		struct frame_function *function;

		if (is_described(builder, num_described, child->start))
			continue;
		function = array_add(&builder->reader.functions);
		if (!function)
			return -ENOMEM;
		function->start = child->start;
		function->size = (uint32_t)(child->end - child->start);
		function->cie = CIE_OF_CLONE_CHILD;
	}
	if (builder->reader.functions.length == num_described)
		return 0;
	return sort_functions(builder);
}

/* Drop functions too far from the first one to have a page. */
static void limit_pages(struct unwind_table_builder *builder)
{
	size_t length = builder->reader.functions.length;
	uint64_t last_page;

	if (!length)
		return;
	builder->first_page = builder->reader.functions.items[0].start >> UNWIND_PAGE_SHIFT;
	last_page = builder->first_page + UNWIND_TABLE_MAX_PAGES - 1;
	while (length && (get_end(&builder->reader.functions.items[length - 1]) - 1) >>
				 UNWIND_PAGE_SHIFT > last_page) {
		builder->table->statistics.num_outside++;
		length--;
	}
	builder->reader.functions.length = length;
}

static inline int append_row(struct unwind_table_builder *builder, uint16_t pc_low, uint16_t rule)
{
	struct unwind_page *page = &builder->pages.items[builder->pages.length - 1];
	struct unwind_row *row = array_add(&builder->rows);

	if (!row)
		return -ENOMEM;
	row->pc_low = pc_low;
	row->rule = rule;
	page->num_rows++;
	return 0;
}

/* Append pages up to this one; a page that starts within a function gets the rule at its start. */
static int open_page(struct unwind_table_builder *builder, uint64_t page, bool is_at_start)
{
	while (builder->pages.length <= page) {
		struct unwind_page *added = array_add(&builder->pages);
		bool is_last = builder->pages.length > page;
		int err;

		if (!added)
			return -ENOMEM;
		added->first_row = (wire_u32)builder->rows.length;
		if (is_last ? is_at_start : builder->last_rule == RULE_NONE)
			continue;
		err = append_row(builder, 0, builder->last_rule);
		if (err)
			return err;
	}
	return 0;
}

static int add_first_row(struct unwind_table_builder *builder, uint64_t page, uint16_t pc_low,
			 uint16_t rule)
{
	/* An end at the start of a page needs no row, but the pages before it do. */
	bool is_needed = rule != RULE_NONE || pc_low != 0;
	int err = is_needed ? open_page(builder, page, pc_low == 0)
			    : open_page(builder, page - 1, false);

	if (err)
		return err;
	builder->last_rule = rule;
	return is_needed ? append_row(builder, pc_low, rule) : 0;
}

/* Append a row: the rule is in force from this address on. */
static inline int add_row(struct unwind_table_builder *builder, uint64_t elf_address, uint16_t rule)
{
	uint64_t page = (elf_address >> UNWIND_PAGE_SHIFT) - builder->first_page;
	uint16_t pc_low = elf_address & (PAGE_BYTES - 1);

	if (rule == builder->last_rule)
		return 0;
	if (page >= builder->pages.length)
		return add_first_row(builder, page, pc_low, rule);
	builder->last_rule = rule;
	return append_row(builder, pc_low, rule);
}

static int note_unsupported(struct unwind_table_builder *builder,
			    const struct frame_function *function, uint64_t num_rows)
{
	struct unwind_unsupported *unsupported = array_add(&builder->table->unsupported);

	if (!unsupported)
		return -ENOMEM;
	unsupported->elf_address = function->start;
	unsupported->num_rows = num_rows;
	builder->table->statistics.num_unsupported_rows += num_rows;
	return 0;
}

/* UNWIND_CFA_STOP or UNWIND_CFA_SIGNAL. */
static int add_special_row(struct unwind_table_builder *builder, uint64_t elf_address,
			   uint8_t cfa_op, int starts_at_next)
{
	const struct unwind_rule special = {.cfa_op = cfa_op, .cfa_offset = starts_at_next};
	uint16_t rule;
	int err = rule_dictionary_add(&builder->dictionary, &special, &rule);

	return err ? err : add_row(builder, elf_address, rule);
}

/* Whether a function never touches its stack, according to its entry. */
static bool has_no_frame(const struct unwind_table_builder *builder)
{
	const struct frame_row *row = builder->function_rows.rows.items;

	return builder->function_rows.rows.length == 1 && row->rule.cfa_op == UNWIND_CFA_SP &&
	       row->rule.cfa_offset == 8;
}

/*
 * A frame that follows no call is looked up at the byte before, which must belong to no other
 * function.
 */
static int add_row_of_byte_before(struct unwind_table_builder *builder,
				  const struct frame_function *function, uint64_t last_end,
				  uint8_t cfa_op)
{
	/* The table starts with the page of the first function. */
	bool is_free = last_end ? function->start > last_end : function->start % PAGE_BYTES != 0;

	return is_free ? add_special_row(builder, function->start - 1, cfa_op, 1) : 0;
}

static int add_uncalled_rows(struct unwind_table_builder *builder,
			     const struct frame_function *function, uint64_t last_end,
			     uint8_t cfa_op)
{
	int err = add_row_of_byte_before(builder, function, last_end, cfa_op);

	return err ? err : add_special_row(builder, function->start, cfa_op, 0);
}

/*
 * Code after the system call of clone(): in the creating thread the return address is still on top
 * of its stack. The code after that runs in the new thread, and is outermost.
 */
static int add_clone_return(struct unwind_table_builder *builder,
			    const struct frame_function *function, uint64_t last_end)
{
	const struct unwind_rule behind_call = {.cfa_op = UNWIND_CFA_CLONE, .cfa_offset = 8};
	const struct frame_row *first = builder->function_rows.rows.items;
	uint16_t rule;
	int err;

	if (!builder->function_rows.rows.length || first->rule.cfa_op != UNWIND_CFA_STOP ||
	    !clone_return_is_at(builder->objfile, last_end, function->start))
		return 0;
	err = rule_dictionary_add(&builder->dictionary, &behind_call, &rule);
	return err ? err : add_row(builder, last_end, rule);
}

/* In a function's rows: from start up to end another rule holds. */
static int override_rows(struct frame_rows *rows, const struct frame_function *function,
			 uint64_t start, uint64_t end, const struct unwind_rule *rule)
{
	bool has_rest = end < get_end(function);
	struct unwind_rule rest;
	size_t first = 0;
	size_t next;

	if (!rows->rows.length || array_reserve(&rows->rows, rows->rows.length + 2))
		return rows->rows.length ? -ENOMEM : 0;
	while (first < rows->rows.length && rows->rows.items[first].elf_address < start)
		first++;
	for (next = first; next < rows->rows.length; next++)
		if (rows->rows.items[next].elf_address > end)
			break;
	rest = rows->rows.items[next ? next - 1 : 0].rule;
	memmove(&rows->rows.items[first + 1 + has_rest], &rows->rows.items[next],
		(rows->rows.length - next) * sizeof(*rows->rows.items));
	rows->rows.length = first + 1 + has_rest + rows->rows.length - next;
	rows->rows.items[first] = (struct frame_row){start, *rule};
	if (has_rest)
		rows->rows.items[first + 1] = (struct frame_row){end, rest};
	return 0;
}

/* Add the rows that swapcontext's entry lacks. */
static int mend_swapcontext(struct unwind_table_builder *builder,
			    const struct frame_function *function)
{
	const struct unwind_rule in_context = {.cfa_op = UNWIND_CFA_CONTEXT};
	uint64_t start;
	uint64_t end;

	if (!swapcontext_find(builder->objfile, function->start, function->size, &start, &end))
		return 0;
	return override_rows(&builder->function_rows, function, start, end, &in_context);
}

/* Signal handlers return to code inside of the function, or directly after it. */
static int mend_signal_returns(struct unwind_table_builder *builder,
			       const struct frame_function *function)
{
	const struct unwind_rule at_byte_before = {.cfa_op = UNWIND_CFA_SIGNAL, .cfa_offset = 1};
	const struct unwind_rule in_return = {.cfa_op = UNWIND_CFA_SIGNAL};
	size_t next = array_count_front(&builder->signal_returns.items, item,
					item->start < function->start);

	for (; next < builder->signal_returns.items.length; next++) {
		const struct signal_return *found = &builder->signal_returns.items.items[next];
		uint64_t end = found->start + found->size + 1; /* as below */
		int err = 0;

		if (end > get_end(function))
			end = get_end(function);
		if (found->start > get_end(function))
			break;
		if (found->start > function->start &&
		    !signal_return_follows_call(builder->objfile, found->start))
			err = override_rows(&builder->function_rows, function, found->start - 1,
					    found->start, &at_byte_before);
		if (!err && found->start < end)
			err = override_rows(&builder->function_rows, function, found->start, end,
					    &in_return);
		if (err)
			return err;
	}
	return 0;
}

static uint64_t limit(uint64_t address, uint64_t end)
{
	return address < end ? address : end;
}

/* The rule of the function's rows at an address, if it is by the stack pointer, else NULL. */
static const struct unwind_rule *find_rule_by_sp(const struct frame_rows *rows, uint64_t address)
{
	size_t next = array_count_front(&rows->rows, row, row->elf_address <= address);
	const struct unwind_rule *rule = next ? &rows->rows.items[next - 1].rule : NULL;

	return rule && rule->cfa_op == UNWIND_CFA_SP && rule->ra_op == UNWIND_RA_AT_CFA ? rule
											: NULL;
}

/*
 * The new thread's part is outermost. Both threads execute the code between the system call and the
 * branch, and rax tells them apart.
 */
static int mend_clone_child(struct unwind_table_builder *builder,
			    const struct frame_function *function, const struct clone_child *child)
{
	const struct unwind_rule outermost = {.cfa_op = UNWIND_CFA_STOP};
	struct frame_rows *rows = &builder->function_rows;
	const struct unwind_rule *rule = NULL;
	uint64_t end = get_end(function);
	int err = 0;

	if (child->call_end >= function->start && child->call_end < end)
		rule = find_rule_by_sp(rows, child->call_end);
	if (rule) {
		struct unwind_rule behind_call = *rule;

		behind_call.cfa_op = UNWIND_CFA_CLONE;
		err = override_rows(rows, function, child->call_end, limit(child->test_end, end),
				    &behind_call);
	}
	if (err || child->start < function->start || child->start >= end)
		return err;
	return override_rows(rows, function, child->start, limit(child->end, end), &outermost);
}

/* A file has a few of them at most. */
static int mend_clone_children(struct unwind_table_builder *builder,
			       const struct frame_function *function)
{
	array_for_each (&builder->clone_children.items, child) {
		int err = mend_clone_child(builder, function, child);

		if (err)
			return err;
	}
	return 0;
}

/*
 * The rule of a function of Go's runtime that calls C: its frame pointer is kept, and points into
 * its own frame, on the stack that it has left.
 */
static struct unwind_rule make_rule_by_frame(const struct unwind_table_builder *builder,
					     const struct frame_function *function,
					     uint64_t switch_start)
{
	const struct unwind_rule *there; /* where the frame pointer is set */
	struct unwind_rule rule = {.cfa_op = UNWIND_CFA_FP_ELSEWHERE,
				   .fp_op = UNWIND_REGISTER_UNDEFINED};
	uint64_t set;
	int bytes;

	if (!go_runtime_find_frame(builder->objfile, function->start, switch_start, &set, &bytes))
		return (struct unwind_rule){.cfa_op = UNWIND_CFA_UNSUPPORTED};
	there = find_rule_by_sp(&builder->function_rows, set);
	if (!there || there->cfa_offset <= bytes)
		return (struct unwind_rule){.cfa_op = UNWIND_CFA_UNSUPPORTED};
	rule.cfa_offset = there->cfa_offset - bytes;
	if (rule.cfa_offset == 2 * GO_RUNTIME_FP_BYTES) {
		rule.fp_op = UNWIND_REGISTER_AT_CFA;
		rule.fp_offset = -2 * GO_RUNTIME_FP_BYTES;
	}
	return rule;
}

/* The rule of one that keeps its stack pointer in a register. */
static struct unwind_rule make_rule_by_copy(const struct unwind_table_builder *builder,
					    const struct frame_function *function,
					    uint64_t switch_start)
{
	const struct unwind_rule *there = NULL; /* where it is copied */
	uint64_t copied;
	int number;

	if (go_runtime_find_copy(builder->objfile, function->start, switch_start, &copied, &number))
		there = find_rule_by_sp(&builder->function_rows, copied);
	if (!there || there->cfa_offset > UNWIND_COPY_BYTES_MAX)
		return (struct unwind_rule){.cfa_op = UNWIND_CFA_UNSUPPORTED};
	return (struct unwind_rule){
		.cfa_op = UNWIND_CFA_COPY_ELSEWHERE,
		.cfa_offset = UNWIND_COPY(number, there->cfa_offset),
	};
}

/* The rule of one that calls Go: its stack pointer is in the goroutine's description. */
static struct unwind_rule make_rule_of_current(const struct unwind_table_builder *builder,
					       uint64_t switch_start, enum go_role role)
{
	const struct unwind_rule *before =
		find_rule_by_sp(&builder->function_rows, switch_start - 1);
	struct go_current current;

	if (!before || !go_runtime_find_current(&builder->go, builder->objfile, &current))
		return (struct unwind_rule){.cfa_op = UNWIND_CFA_UNSUPPORTED};
	return (struct unwind_rule){
		.cfa_op = UNWIND_CFA_SCHEDULED,
		.cfa_offset = role == GO_GROWTH ? 0 : before->cfa_offset,
		.fp_offset = current.offset,
		.bx_offset = current.tls_offset,
	};
}

/* The rule of one that calls Go on the stack of a goroutine, where the real return address is. */
static struct unwind_rule make_rule_of_callback(const struct unwind_table_builder *builder,
						uint64_t switch_start)
{
	bool has_fp = go_runtime_pushes_fp(&builder->go, builder->objfile);
	struct unwind_rule rule = {.cfa_op = UNWIND_CFA_UNSUPPORTED};

	array_for_each (&builder->function_rows.rows, row) {
		if (row->elf_address > switch_start)
			continue;
		rule = row->rule;
		rule.cfa_offset += GO_RUNTIME_PUSHED_BYTES;
		rule.cfa_offset += has_fp ? GO_RUNTIME_FP_BYTES : 0;
	}
	return rule;
}

static struct unwind_rule make_rule_of_switch(const struct unwind_table_builder *builder,
					      const struct frame_function *function,
					      uint64_t switch_start, enum go_role role)
{
	switch (role) {
	case GO_SCHEDULER:
		return (struct unwind_rule){.cfa_op = UNWIND_CFA_STOP};
	case GO_SWITCH:
	case GO_CALL:
		return make_rule_by_frame(builder, function, switch_start);
	case GO_SCHEDULED:
	case GO_GROWTH:
		return make_rule_of_current(builder, switch_start, role);
	case GO_CALLBACK:
		return make_rule_of_callback(builder, switch_start);
	case GO_COPY:
		return make_rule_by_copy(builder, function, switch_start);
	case GO_LOST:
	case GO_ORDINARY:
	case GO_OUTERMOST:
	case GO_SIGNAL_RETURN:
		break;
	}
	return (struct unwind_rule){.cfa_op = UNWIND_CFA_UNSUPPORTED};
}

/*
 * The address after a function's last return, where a branch out of its frame leads: there the rows
 * have the frame again. 0: not found.
 */
static uint64_t find_part_after_return(const struct frame_rows *rows, uint64_t start)
{
	int last_bytes = 0;

	array_for_each (&rows->rows, row) {
		if (row->elf_address > start && last_bytes == GO_RUNTIME_RETURN_BYTES &&
		    row->rule.cfa_op == UNWIND_CFA_SP && row->rule.cfa_offset > last_bytes)
			return row->elf_address;
		last_bytes = row->rule.cfa_op == UNWIND_CFA_SP ? row->rule.cfa_offset : 0;
	}
	return 0;
}

/*
 * Another part of a function that calls C, behind the first one: it exchanges the stack pointer
 * itself, or the first one has branched to it.
 */
static int mend_second_part(struct unwind_table_builder *builder,
			    const struct frame_function *function, uint64_t first_end,
			    const struct unwind_rule *rule)
{
	uint64_t end = get_end(function);
	uint64_t start;

	if (!go_runtime_find_switch(builder->objfile, first_end, end - first_end, &start, &end))
		start = find_part_after_return(&builder->function_rows, first_end);
	return start && start < end
		       ? override_rows(&builder->function_rows, function, start, end, rule)
		       : 0;
}

/* Add the missing rules of Go's runtime while it is on another stack than its caller's. */
static int mend_go_switch(struct unwind_table_builder *builder,
			  const struct frame_function *function, enum go_role role)
{
	struct unwind_rule in_goroutine = {.cfa_op = UNWIND_CFA_GOROUTINE};
	struct unwind_rule rule;
	uint64_t start;
	uint64_t end;
	int err;

	if (!go_runtime_find_switch(builder->objfile, function->start, function->size, &start,
				    &end))
		return 0;
	rule = make_rule_of_switch(builder, function, start, role);
	if (go_runtime_pushes_fp(&builder->go, builder->objfile)) {
		in_goroutine.fp_op = UNWIND_REGISTER_AT_CFA;
		in_goroutine.fp_offset = -2 * GO_RUNTIME_FP_BYTES;
	}
	err = override_rows(&builder->function_rows, function, start, end, &rule);
	if (!err && (role == GO_SWITCH || role == GO_CALL) && end < get_end(function))
		err = mend_second_part(builder, function, end, &rule);
	if (err || role != GO_CALL ||
	    !go_runtime_find_goroutine(builder->objfile, start, end, &start,
				       &in_goroutine.cfa_offset))
		return err;
	return override_rows(&builder->function_rows, function, start, end, &in_goroutine);
}

static bool starts_with_signal_return(const struct unwind_table_builder *builder,
				      const struct frame_function *function)
{
	size_t next = array_count_front(&builder->signal_returns.items, item,
					item->start < function->start);

	return next < builder->signal_returns.items.length &&
	       builder->signal_returns.items.items[next].start == function->start;
}

/* Replace the rows by the function's. */
static int read_rows(struct unwind_table_builder *builder, struct frame_function *function)
{
	if (function->cie == FRAME_CIE_OF_CODE)
		return code_frames_run(&builder->code_frames, function, &builder->function_rows);
	if (function->cie == FRAME_CIE_OF_GO)
		return go_frames_run(&builder->go_frames, function, &builder->function_rows);
	return frame_program_run(&builder->reader, function, &builder->initial.items[function->cie],
				 get_end(function), &builder->function_rows);
}

static int add_function_rows(struct unwind_table_builder *builder, struct frame_function *function,
			     uint64_t last_end)
{
	enum go_role role = go_runtime_get_role(&builder->go, function->start);
	uint64_t num_unsupported = 0;
	int err = read_rows(builder, function);

	if (err)
		return err;
	switch (role) {
	case GO_ORDINARY:
		break;
	case GO_OUTERMOST:
		return add_special_row(builder, function->start, UNWIND_CFA_STOP, 0);
	case GO_SCHEDULER:
	case GO_SWITCH:
	case GO_SCHEDULED:
	case GO_GROWTH:
	case GO_COPY:
	case GO_LOST:
	case GO_CALL:
	case GO_CALLBACK:
		err = mend_go_switch(builder, function, role);
		if (err)
			return err;
		break;
	case GO_SIGNAL_RETURN:
		return add_uncalled_rows(builder, function, last_end, UNWIND_CFA_SIGNAL);
	}
	if (function->cie == FRAME_CIE_OF_CODE &&
	    fcontext_end_is_at(builder->objfile, function->start))
		return add_uncalled_rows(builder, function, last_end, UNWIND_CFA_STOP);
	/* There are many such functions, and the code of each must be read. */
	if (builder->code.may_have_c_library && has_no_frame(builder)) {
		if (context_start_is_at(builder->objfile, function->start, function->size))
			return add_uncalled_rows(builder, function, last_end, UNWIND_CFA_STOP);
		err = mend_swapcontext(builder, function);
		if (err)
			return err;
	}
	if (builder->code.may_have_c_library) {
		err = add_clone_return(builder, function, last_end);
		if (err)
			return err;
	}
	err = mend_signal_returns(builder, function);
	if (err)
		return err;
	err = mend_clone_children(builder, function);
	if (err)
		return err;
	if (starts_with_signal_return(builder, function)) {
		err = add_row_of_byte_before(builder, function, last_end, UNWIND_CFA_SIGNAL);
		if (err)
			return err;
	}
	array_for_each (&builder->function_rows.rows, row) {
		uint16_t rule;

		err = rule_dictionary_add(&builder->dictionary, &row->rule, &rule);
		if (err)
			return err;
		err = add_row(builder, row->elf_address, rule);
		if (err)
			return err;
		num_unsupported += rule == RULE_UNSUPPORTED;
	}
	return num_unsupported ? note_unsupported(builder, function, num_unsupported) : 0;
}

/*
 * Whether the gap between two functions keeps the rule before it: it is not code, or, after a
 * function found by following code, it is an unreached part of that.
 */
static bool keeps_rule(struct unwind_table_builder *builder, const struct frame_function *before,
		       uint64_t end)
{
	uint8_t code[PADDING_MAX_BYTES];
	uint64_t start = get_end(before);
	uint64_t size = end - start;

	/* The last byte may be the lookup byte of another one. */
	if (before->cie == CIE_OF_SIGNAL_RETURN)
		return size <= 1;
	if (before->cie == CIE_OF_CLONE_CHILD)
		return end <= start; /* the creating thread's part may follow */
	if (end <= start || size <= PADDING_UNREAD_BYTES)
		return true;
	if (before->cie == FRAME_CIE_OF_CODE)
		return size <= PADDING_MAX_BYTES;
	return size <= sizeof(code) && !objfile_read_code(builder->objfile, start, code, size) &&
	       code_is_padding(code, size);
}

static int add_functions(struct unwind_table_builder *builder)
{
	struct unwind_statistics *statistics = &builder->table->statistics;
	const struct frame_function *before = NULL;
	uint64_t last_end = 0; /* of the function before */
	int err;

	array_for_each (&builder->reader.functions, function) {
		if (before && !keeps_rule(builder, before, function->start)) {
			err = add_row(builder, last_end, RULE_NONE);
			if (err)
				return err;
		}
		if (function->cie == CIE_OF_ENTRY || function->cie == CIE_OF_CLONE_CHILD) {
			err = add_special_row(builder, function->start, UNWIND_CFA_STOP, 0);
		} else if (function->cie == CIE_OF_SIGNAL_RETURN) {
			err = add_uncalled_rows(builder, function, last_end, UNWIND_CFA_SIGNAL);
		} else {
			err = add_function_rows(builder, function, last_end);
			statistics->num_functions += function->cie != FRAME_CIE_OF_CODE;
			statistics->covered_bytes += function->size;
		}
		if (err)
			return err;
		before = function;
		last_end = get_end(function);
	}
	return last_end ? add_row(builder, last_end, RULE_NONE) : 0;
}

/* Give back the room for growth. */
static void *shrink(void *items, size_t size)
{
	void *smaller = realloc(items, size ? size : 1);

	return smaller ? smaller : items;
}

/* Hand the arrays over. */
static int finish(struct unwind_table_builder *builder)
{
	struct unwind_table *table = builder->table;

	if (builder->rows.length > UINT32_MAX)
		return -ENOMEM;
	table->first_page = builder->first_page;
	table->num_pages = (uint32_t)builder->pages.length;
	table->num_rows = (uint32_t)builder->rows.length;
	table->num_rules = (uint32_t)builder->dictionary.rules.length;
	table->pages =
		shrink(return_ptr(builder->pages.items), table->num_pages * sizeof(*table->pages));
	table->rows =
		shrink(return_ptr(builder->rows.items), table->num_rows * sizeof(*table->rows));
	table->rules = shrink(return_ptr(builder->dictionary.rules.items),
			      table->num_rules * sizeof(*table->rules));
	table->statistics.num_lost_registers = builder->function_rows.num_lost_registers;
	table->statistics.num_spilled_rows = builder->dictionary.num_spilled;
	table->statistics.text_bytes = builder->code.text_bytes;
	return 0;
}

static int build(struct unwind_table_builder *builder, Elf *elf)
{
	int err = code_ranges_init(&builder->code, elf);

	if (err)
		return err;
	err = rule_dictionary_init(&builder->dictionary);
	if (err)
		return err;
	err = read_sections(builder, elf);
	if (err)
		return err;
	err = add_entry_point(builder);
	if (err)
		return err;
	err = start_programs(builder);
	if (err)
		return err;
	err = sort_functions(builder);
	if (err)
		return err;
	err = add_signal_returns(builder, elf);
	if (err)
		return err;
	err = clone_children_find(elf, &builder->reader, get_search_limit(builder),
				  &builder->clone_children);
	if (err)
		return err;
	err = add_code(builder, elf);
	if (err)
		return err;
	err = add_clone_children(builder);
	if (err)
		return err;
	limit_pages(builder);
	err = add_functions(builder);
	return err ? err : finish(builder);
}

int unwind_table_new(struct objfile *objfile, struct unwind_table **ret, struct error *error)
{
	_cleanup_(table_builder_release) struct unwind_table_builder builder = {0};
	uint64_t start_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	const struct architecture *architecture = NULL;
	Elf *elf = objfile_get_elf(objfile);
	GElf_Ehdr header;
	int err;

	if (gelf_getehdr(elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64)
		architecture = architecture_find(header.e_machine);
	if (!architecture || !architecture->has_unwind_tables)
		return error_set(error, -ENOTSUP, "%s: not a 64-bit %s file",
				 objfile_get_path(objfile), architecture_here()->name);
	builder.objfile = objfile;
	builder.table = calloc(1, sizeof(*builder.table));
	err = builder.table ? build(&builder, elf) : -ENOMEM;
	if (err)
		return error_set(error, err, "%s: out of memory", objfile_get_path(objfile));
	builder.table->statistics.build_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	*ret = return_ptr(builder.table);
	return 0;
}

void unwind_table_free(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->pages);
	free(table->rows);
	free(table->rules);
	array_release(&table->unsupported);
	free(table);
}

int unwind_table_find(const struct unwind_table *table, uint64_t elf_address,
		      struct unwind_rule *ret)
{
	uint64_t index = (elf_address >> UNWIND_PAGE_SHIFT) - table->first_page;
	uint16_t pc_low = elf_address & (PAGE_BYTES - 1);
	const struct unwind_row *rows;
	uint32_t low = 0;
	uint32_t high;

	if (index >= table->num_pages || !table->pages[index].num_rows)
		return -ENOENT;
	rows = &table->rows[table->pages[index].first_row];
	high = table->pages[index].num_rows;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (rows[middle].pc_low <= pc_low)
			low = middle;
		else
			high = middle;
	}
	if (rows[low].rule == RULE_NONE)
		return -ENOENT;
	*ret = table->rules[rows[low].rule];
	return 0;
}

static bool is_rule_valid(const struct unwind_rule *rule)
{
	return rule->cfa_op <= UNWIND_CFA_UNSUPPORTED && rule->fp_op <= UNWIND_REGISTER_UNDEFINED &&
	       rule->bx_op <= UNWIND_REGISTER_UNDEFINED && rule->ra_op <= UNWIND_RA_IN_CX;
}

/* Whether the page's rows, by page->num_rows, are inside the table. */
static bool are_rows_valid(const struct unwind_table *table, const struct unwind_page *page)
{
	const struct unwind_row *rows = &table->rows[page->first_row];

	if (page->num_rows && rows[0].pc_low != 0)
		return false;
	for (uint32_t i = 0; i < page->num_rows; i++)
		if (rows[i].rule >= table->num_rules ||
		    (i > 0 && rows[i].pc_low <= rows[i - 1].pc_low))
			return false;
	return true;
}

bool unwind_table_is_valid(const struct unwind_table *table)
{
	static const struct unwind_rule none;
	uint32_t num_rows = 0; /* of the pages so far */

	if (!table->num_rules || table->num_rules > RULE_DICTIONARY_MAX ||
	    table->num_pages > UNWIND_TABLE_MAX_PAGES ||
	    table->first_page > (UINT64_MAX >> UNWIND_PAGE_SHIFT) - table->num_pages ||
	    memcmp(&table->rules[RULE_NONE], &none, sizeof(none)) != 0)
		return false;
	for (uint32_t i = 0; i < table->num_rules; i++)
		if (!is_rule_valid(&table->rules[i]))
			return false;
	for (uint32_t i = 0; i < table->num_pages; i++) {
		const struct unwind_page *page = &table->pages[i];

		if (page->first_row != num_rows || page->num_rows > table->num_rows - num_rows ||
		    !are_rows_valid(table, page))
			return false;
		num_rows += page->num_rows;
	}
	return num_rows == table->num_rows;
}
