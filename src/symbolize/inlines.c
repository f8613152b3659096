/*
 * From an address to its inlined calls, in three steps, each read when it is first needed:
 *
 *	all units    address ranges of the compilation units         read once
 *	one unit     address ranges of its functions                 read once per unit
 *	one function blocks and inlined calls around addresses       read once per function
 *
 * libdw keeps all that it reads of a unit; its lines take many times their size in the file. So all
 * but the address ranges of units is dropped now and then. Addresses are asked for unit by unit, so
 * each is read once.
 *
 * An entry for an inlined call has the name of the callee, but DW_AT_call_line is a line of the
 * caller, so names and lines are shifted by one frame:
 *
 *	frame 0   name of the innermost inlined call    line from the line table
 *	frame 1   name of the call around it            call line of frame 0's entry
 *	…
 *	last      name of the function                  call line of the outermost inlined call
 */
#include "symbolize/inlines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "objfile/range_map.h"

/* Entries nest tens deep in real programs. */
#define DEPTH_MAX 256

/* Many entries may share one long list of ranges: 16 million are 400 MB. */
#define RANGES_MAX (16u << 20)

/* Entries and ranges read of one function; the largest real ones have some 10^5. */
#define STEPS_MAX (1u << 20)

/* Lines and functions that are kept before another unit is read: some 3 MB. */
#define MAX_KEPT (1u << 16)
/* The size of a unit in libdw, in lines, even if nothing is read but its address ranges. */
#define UNIT_LINES 32

struct unit {
	Dwarf_Off offset;
	Dwarf_Die die; /* of the whole unit */
	bool is_split; /* its functions are in a .dwo file */
	bool is_open;  /* die is read; lines and functions may be */
	bool are_lines_read;
	bool are_functions_read;
	ARRAY(Dwarf_Die) functions;
	struct range_map map; /* values: index in functions */
};

struct scope_range {
	uint64_t start;
	uint64_t end;
};

/* A block or an inlined call. */
struct scope {
	Dwarf_Die die;
	bool is_call;
	bool are_children_read;
	uint32_t first_range; /* in scope_ranges */
	uint32_t num_ranges;
	uint32_t first_child; /* in scopes */
	uint32_t num_children;
	/* Once they are asked for: */
	bool is_read;
	const char *name;          /* of the callee */
	struct source_frame place; /* of the call: file and line */
};

struct inlines {
	struct objfile *objfile;
	Dwarf *dwarf;
	ARRAY(struct unit) units;
	uint32_t last_unit; /* the one that was read last */
	size_t num_kept;    /* lines and functions of units */
	/* Scope 0 is the function walked last. Addresses are mostly in order. */
	ARRAY(struct scope) scopes;
	ARRAY(struct scope_range) scope_ranges;
	uint32_t scopes_unit;
	uint32_t scopes_function;
	unsigned int num_steps; /* entries and ranges of it that were read */
	struct range_map map;   /* values: index in units */
	size_t num_ranges;      /* of all maps */
};

static int add_ranges(struct inlines *inlines, struct range_map *map, Dwarf_Die *die,
		      uint32_t value)
{
	Dwarf_Addr base;
	Dwarf_Addr start;
	Dwarf_Addr end;
	ptrdiff_t position = 0;

	while ((position = dwarf_ranges(die, position, &base, &start, &end)) > 0) {
		int err;

		if (inlines->num_ranges++ > RANGES_MAX)
			break;
		/* Functions that the linker dropped have address 0, or -1 or -2 (lld). */
		if (!objfile_is_code(inlines->objfile, start))
			continue;
		err = range_map_add(map, start, end, value);
		if (err)
			return err;
	}
	return 0;
}

static int add_function(struct inlines *inlines, struct unit *unit, Dwarf_Die *die)
{
	uint32_t index = (uint32_t)unit->functions.length;
	size_t before = unit->map.ranges.length;
	Dwarf_Die *function;
	int err = add_ranges(inlines, &unit->map, die, index);

	if (err || unit->map.ranges.length == before)
		return err;
	function = array_add(&unit->functions);
	if (!function)
		return -ENOMEM;
	*function = *die;
	return 0;
}

/* Whether an entry may have functions among its children. */
static bool is_container(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram: /* GNU C's nested functions, classes inside of functions */
		return !dwarf_hasattr(die, DW_AT_declaration);
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

/*
 * Read the functions among the children of an entry. *last is the offset of the last visited entry:
 * offsets only grow, so a forged link back ends the walk.
 */
static int read_children(struct inlines *inlines, struct unit *unit, Dwarf_Die *parent,
			 Dwarf_Off *last, unsigned int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		Dwarf_Off offset = dwarf_dieoffset(&child);
		int err;

		if (offset <= *last)
			break;
		*last = offset;
		if (dwarf_tag(&child) == DW_TAG_subprogram) {
			err = add_function(inlines, unit, &child);
			if (err)
				return err;
		}
		if (is_container(&child)) {
			err = read_children(inlines, unit, &child, last, depth + 1);
			if (err)
				return err;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return 0;
}

static int read_functions(struct inlines *inlines, struct unit *unit)
{
	Dwarf_Off last = dwarf_dieoffset(&unit->die);
	int err;

	if (unit->are_functions_read)
		return 0;
	unit->are_functions_read = true;
	err = read_children(inlines, unit, &unit->die, &last, 0);
	inlines->num_kept += unit->functions.length;
	return err ? err : range_map_finish(&unit->map);
}

static void close_unit(struct unit *unit)
{
	array_release(&unit->functions);
	range_map_release(&unit->map);
	unit->is_open = unit->are_lines_read = unit->are_functions_read = false;
}

static int add_unit(struct inlines *inlines, const Dwarf_Die *die, bool is_split)
{
	uint32_t index = (uint32_t)inlines->units.length;
	size_t before = inlines->map.ranges.length;
	struct unit *unit = array_add(&inlines->units);
	int err;

	if (!unit)
		return -ENOMEM;
	unit->die = *die;
	unit->offset = dwarf_dieoffset(&unit->die);
	unit->is_open = true;
	unit->is_split = is_split;
	err = add_ranges(inlines, &inlines->map, &unit->die, index);
	if (err || inlines->map.ranges.length > before)
		return err;
	/* A unit without address ranges: take those of its functions. */
	err = read_functions(inlines, unit);
	if (err)
		return err;
	array_for_each (&unit->map.ranges, range) {
		err = range_map_add(&inlines->map, range->start, range->end, index);
		if (err)
			return err;
	}
	close_unit(unit);
	return 0;
}

static int read_units(struct inlines *inlines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	/*
	 * The last argument stays NULL: otherwise libdw would open the .dwo files that the unit
	 * names, wherever they may be.
	 */
	while (dwarf_get_units(inlines->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		int err;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		err = add_unit(inlines, &die, type == DW_UT_skeleton);
		if (err)
			return err;
		inlines->num_kept += UNIT_LINES;
	}
	return range_map_finish(&inlines->map);
}

int inlines_new(struct objfile *objfile, Dwarf *dwarf, struct inlines **ret)
{
	struct inlines *inlines = calloc(1, sizeof(*inlines));
	int err;

	if (!inlines)
		return -ENOMEM;
	inlines->objfile = objfile;
	inlines->dwarf = dwarf;
	err = read_units(inlines);
	if (err) {
		inlines_free(inlines);
		return err;
	}
	*ret = inlines;
	return 0;
}

void inlines_free(struct inlines *inlines)
{
	if (!inlines)
		return;
	array_for_each (&inlines->units, unit)
		close_unit(unit);
	array_release(&inlines->units);
	array_release(&inlines->scopes);
	array_release(&inlines->scope_ranges);
	range_map_release(&inlines->map);
	free(inlines);
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static void forget_scopes(struct inlines *inlines)
{
	inlines->scopes.length = inlines->scope_ranges.length = 0;
	inlines->num_steps = 0;
}

/* Add the ranges of the last scope. */
static int read_scope_ranges(struct inlines *inlines)
{
	struct scope *scope = &inlines->scopes.items[inlines->scopes.length - 1];
	Dwarf_Addr base;
	Dwarf_Addr start;
	Dwarf_Addr end;
	ptrdiff_t position = 0;

	scope->first_range = (uint32_t)inlines->scope_ranges.length;
	while ((position = dwarf_ranges(&scope->die, position, &base, &start, &end)) > 0) {
		struct scope_range *range = array_add(&inlines->scope_ranges);

		if (!range)
			return -ENOMEM;
		*range = (struct scope_range){start, end};
		scope->num_ranges++;
		if (inlines->num_steps++ > STEPS_MAX)
			break;
	}
	return 0;
}

/* Add the blocks and inlined calls that are in a scope. */
static int read_scopes(struct inlines *inlines, uint32_t number)
{
	Dwarf_Die die = inlines->scopes.items[number].die;
	uint32_t first = (uint32_t)inlines->scopes.length;
	Dwarf_Off last = dwarf_dieoffset(&die);
	Dwarf_Die child;
	int err = 0;

	inlines->scopes.items[number].are_children_read = true;
	inlines->scopes.items[number].first_child = first;
	if (dwarf_child(&die, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);
		struct scope *scope;

		if (dwarf_dieoffset(&child) <= last || inlines->num_steps++ > STEPS_MAX)
			break;
		last = dwarf_dieoffset(&child);
		if (tag != DW_TAG_inlined_subroutine && !is_block(tag))
			continue;
		scope = array_add(&inlines->scopes);
		if (!scope)
			return -ENOMEM;
		*scope = (struct scope){.die = child, .is_call = tag == DW_TAG_inlined_subroutine};
		err = read_scope_ranges(inlines);
	} while (!err && dwarf_siblingof(&child, &child) == 0);
	inlines->scopes.items[number].num_children = (uint32_t)inlines->scopes.length - first;
	return err;
}

static bool scope_contains(const struct inlines *inlines, const struct scope *scope,
			   uint64_t elf_address)
{
	for (uint32_t i = 0; i < scope->num_ranges; i++) {
		const struct scope_range *range =
			&inlines->scope_ranges.items[scope->first_range + i];

		if (elf_address >= range->start && elf_address < range->end)
			return true;
	}
	return false;
}

/* The inlined calls that contain an address: numbers of scopes. */
struct call_chain {
	uint64_t elf_address;
	uint32_t calls[SOURCE_FRAMES_MAX - 1]; /* outermost first */
	size_t num_calls;
};

/*
 * Collect the inlined calls below a scope that contain the address. A block without ranges may have
 * them. Returns 0, -ENOENT (no call contains it) or -ENOMEM.
 */
static int walk_down(struct inlines *inlines, uint32_t number, unsigned int depth,
		     struct call_chain *chain)
{
	uint32_t first;
	uint32_t count;
	int err = 0;

	if (depth > DEPTH_MAX)
		return -ENOENT;
	if (!inlines->scopes.items[number].are_children_read)
		err = read_scopes(inlines, number);
	if (err)
		return err;
	first = inlines->scopes.items[number].first_child;
	count = inlines->scopes.items[number].num_children;
	for (uint32_t i = first; i < first + count; i++) {
		const struct scope *scope = &inlines->scopes.items[i];

		if (!scope_contains(inlines, scope, chain->elf_address) &&
		    (scope->is_call || scope->num_ranges))
			continue;
		if (scope->is_call) {
			if (chain->num_calls == ARRAY_LENGTH(chain->calls))
				return 0;
			chain->calls[chain->num_calls++] = i;
			err = walk_down(inlines, i, depth + 1, chain);
			return err == -ENOENT ? 0 : err; /* at least this one was found */
		}
		err = walk_down(inlines, i, depth + 1, chain);
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

/* Find the inlined calls of a function. */
static int find_calls(struct inlines *inlines, uint32_t unit, uint32_t function,
		      struct call_chain *chain)
{
	struct scope *scope;
	int err;

	if (!inlines->scopes.length || inlines->scopes_unit != unit ||
	    inlines->scopes_function != function) {
		forget_scopes(inlines);
		scope = array_add(&inlines->scopes);
		if (!scope)
			return -ENOMEM;
		scope->die = inlines->units.items[unit].functions.items[function];
		inlines->scopes_unit = unit;
		inlines->scopes_function = function;
	}
	err = walk_down(inlines, 0, 0, chain);
	return err == -ENOENT ? 0 : err; /* no inlined call is fine */
}

static const char *get_name(Dwarf_Die *die)
{
	static const unsigned int attributes[] = {
		DW_AT_linkage_name,
		DW_AT_MIPS_linkage_name, /* before DWARF 4 */
		DW_AT_name,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(attributes); i++) {
		Dwarf_Attribute attribute;
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, attributes[i], &attribute));

		if (name && *name)
			return name;
	}
	return NULL;
}

/* Forget all units but their address ranges. */
static int drop_units(struct inlines *inlines)
{
	array_for_each (&inlines->units, unit)
		close_unit(unit);
	forget_scopes(inlines);
	inlines->num_kept = 0;
	return objfile_drop_dwarf(inlines->objfile, &inlines->dwarf);
}

/* Returns 0, -ENOENT (it cannot be read) or -ENOMEM. */
static int open_unit(struct inlines *inlines, uint32_t number)
{
	struct unit *unit = &inlines->units.items[number];
	int err;

	if (number != inlines->last_unit && inlines->num_kept > MAX_KEPT) {
		err = drop_units(inlines);
		if (err)
			return err;
	}
	inlines->last_unit = number;
	if (!unit->is_open && !dwarf_offdie(inlines->dwarf, unit->offset, &unit->die))
		return -ENOENT;
	unit->is_open = true;
	return read_functions(inlines, unit);
}

/* libdw calls a file without a name "???". */
static const char *known_file(const char *file)
{
	return file && strcmp(file, "???") != 0 ? file : NULL;
}

static void count_lines(struct inlines *inlines, struct unit *unit)
{
	Dwarf_Lines *lines;
	size_t count;

	if (!unit->are_lines_read && !dwarf_getsrclines(&unit->die, &lines, &count))
		inlines->num_kept += count;
	unit->are_lines_read = true;
}

static void get_line(struct inlines *inlines, struct unit *unit, uint64_t elf_address,
		     struct source_frame *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, elf_address);
	int number;

	count_lines(inlines, unit);
	if (!line)
		return;
	ret->file = known_file(dwarf_linesrc(line, NULL, NULL));
	if (ret->file && dwarf_lineno(line, &number) == 0 && number > 0)
		ret->line = (uint32_t)number;
}

static void read_call_line(struct unit *unit, Dwarf_Die *call, struct source_frame *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file;
	Dwarf_Word line;
	Dwarf_Files *files;
	size_t num_files;

	if (dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &attribute), &file) ||
	    dwarf_getsrcfiles(&unit->die, &files, &num_files) || file >= num_files)
		return;
	ret->file = known_file(dwarf_filesrc(files, file, NULL, NULL));
	if (ret->file && !dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &attribute), &line) &&
	    line <= UINT32_MAX)
		ret->line = (uint32_t)line;
}

/* Name of the callee, and place of the call. */
static void read_call(struct unit *unit, struct scope *scope)
{
	if (scope->is_read)
		return;
	scope->name = get_name(&scope->die);
	read_call_line(unit, &scope->die, &scope->place);
	scope->is_read = true;
}

uint32_t inlines_get_unit(const struct inlines *inlines, uint64_t elf_address)
{
	const struct range *range = range_map_find(&inlines->map, elf_address);

	return range ? range->value : INLINES_NO_UNIT;
}

int inlines_find(struct inlines *inlines, uint64_t elf_address, struct source_frames *ret)
{
	const struct range *range = range_map_find(&inlines->map, elf_address);
	struct call_chain chain = {.elf_address = elf_address};
	struct unit *unit;
	int err;

	if (!range)
		return -ENOENT;
	unit = &inlines->units.items[range->value];
	err = open_unit(inlines, range->value);
	if (err)
		return err;
	range = range_map_find(&unit->map, elf_address);
	if (range) {
		err = find_calls(inlines, (uint32_t)(unit - inlines->units.items), range->value,
				 &chain);
		if (err)
			return err;
	}
	ret->is_split = unit->is_split;
	ret->length = chain.num_calls + 1;
	memset(ret->items, 0, ret->length * sizeof(ret->items[0]));
	get_line(inlines, unit, elf_address, &ret->items[0]);
	for (size_t i = 0; i < chain.num_calls; i++) {
		struct scope *call = &inlines->scopes.items[chain.calls[chain.num_calls - 1 - i]];

		read_call(unit, call);
		ret->items[i].name = call->name;
		ret->items[i + 1].file = call->place.file;
		ret->items[i + 1].line = call->place.line;
	}
	if (range) {
		struct scope *function = &inlines->scopes.items[0];

		if (!function->is_read)
			function->name = get_name(&function->die);
		function->is_read = true;
		ret->items[chain.num_calls].name = function->name;
	}
	return 0;
}
