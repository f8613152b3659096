/*
 * From an address to its inlined calls, in three steps, each read when it is first needed:
 *
 *	all units    address ranges of the compilation units         read once
 *	one unit     address ranges of its functions                 read once per unit
 *	one function blocks and inlined calls that hold the address  walked for every address
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

/* Entries and ranges visited for one address; the largest real functions have some 10^5. */
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

struct inlines {
	struct objfile *objfile;
	Dwarf *dwarf;
	ARRAY(struct unit) units;
	uint32_t last_unit;   /* the one that was read last */
	size_t num_kept;      /* lines and functions of units */
	struct range_map map; /* values: index in units */
	size_t num_ranges;    /* of all maps */
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
	range_map_release(&inlines->map);
	free(inlines);
}

/* The search for one address in the tree of a function. */
struct inline_walk {
	uint64_t elf_address;
	unsigned int num_steps;
	Dwarf_Die calls[SOURCE_FRAMES_MAX - 1]; /* inlined, outermost first */
	size_t num_calls;
};

enum containment { HAS_NO_RANGE, HAS_ADDRESS, HAS_OTHER_ADDRESSES };

static enum containment look_into(struct inline_walk *walk, Dwarf_Die *die)
{
	enum containment result = HAS_NO_RANGE;
	Dwarf_Addr base;
	Dwarf_Addr start;
	Dwarf_Addr end;
	ptrdiff_t position = 0;

	while ((position = dwarf_ranges(die, position, &base, &start, &end)) > 0) {
		if (walk->elf_address >= start && walk->elf_address < end)
			return HAS_ADDRESS;
		result = HAS_OTHER_ADDRESSES;
		if (walk->num_steps++ > STEPS_MAX)
			break;
	}
	return result;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Collect the inlined calls below `scope` that contain the address. Returns whether any does. */
static bool walk_down(struct inline_walk *walk, Dwarf_Die *scope, unsigned int depth)
{
	Dwarf_Off last = dwarf_dieoffset(scope);
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(scope, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		enum containment containment = HAS_OTHER_ADDRESSES;

		if (dwarf_dieoffset(&child) <= last || walk->num_steps++ > STEPS_MAX)
			return false;
		last = dwarf_dieoffset(&child);
		if (tag == DW_TAG_inlined_subroutine || is_block(tag))
			containment = look_into(walk, &child);
		if (tag == DW_TAG_inlined_subroutine && containment == HAS_ADDRESS) {
			if (walk->num_calls == ARRAY_LENGTH(walk->calls))
				return true;
			walk->calls[walk->num_calls++] = child;
			(void)walk_down(walk, &child, depth + 1); /* found at least this one */
			return true;
		}
		if (is_block(tag) && containment != HAS_OTHER_ADDRESSES &&
		    walk_down(walk, &child, depth + 1))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
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

static void get_call_line(struct unit *unit, Dwarf_Die *call, struct source_frame *ret)
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

uint32_t inlines_get_unit(const struct inlines *inlines, uint64_t elf_address)
{
	const struct range *range = range_map_find(&inlines->map, elf_address);

	return range ? range->value : INLINES_NO_UNIT;
}

int inlines_find(struct inlines *inlines, uint64_t elf_address, struct source_frames *ret)
{
	const struct range *range = range_map_find(&inlines->map, elf_address);
	struct inline_walk walk = {.elf_address = elf_address};
	Dwarf_Die *function = NULL;
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
		function = &unit->functions.items[range->value];
		(void)walk_down(&walk, function, 0); /* finding no inlined call is fine */
	}
	ret->is_split = unit->is_split;
	ret->length = walk.num_calls + 1;
	memset(ret->items, 0, ret->length * sizeof(ret->items[0]));
	get_line(inlines, unit, elf_address, &ret->items[0]);
	for (size_t i = 0; i < walk.num_calls; i++) {
		Dwarf_Die *call = &walk.calls[walk.num_calls - 1 - i];

		ret->items[i].name = get_name(call);
		get_call_line(unit, call, &ret->items[i + 1]);
	}
	if (function)
		ret->items[walk.num_calls].name = get_name(function);
	return 0;
}
