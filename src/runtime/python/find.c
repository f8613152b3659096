/* CPython in the symbols of a file, and in its description of itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "objfile/architecture.h"
#include "objfile/elf_symbols.h"
#include "objfile/instruction_flow.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"
#include "runtime/python/layouts.h"

#define OFFSETS_COOKIE 0x7970677562656478ull /* "xdebugpy" */
/* PyTypeObject.tp_basicsize: behind the head of an object of variable size and the type's name. */
#define TYPE_BASIC_SIZE 32
/* Release level in PY_VERSION_HEX: candidates and releases have their version's final layout. */
#define LEVEL_CANDIDATE 0xc

/* Symbols that identify a file. */
enum marker {
	MARKER_RUNTIME,
	MARKER_EVAL,
	MARKER_CODE_TYPE,
	MARKER_VERSION, /* from 3.11 on: PY_VERSION_HEX */
	/* Functions that a version was the first to have. */
	MARKER_3_8,
	MARKER_3_9,
	MARKER_3_10,
	/* Versions before 3.7, which have no _PyRuntime: */
	MARKER_OLD_EVAL,
	MARKER_2, /* no version 3 has it */
	MARKER_2_7,
	MARKER_3_2,
	MARKER_3_3,
	MARKER_3_4,
	MARKER_3_5,
	NUM_MARKERS,
};

static const char *const marker_names[NUM_MARKERS] = {
	[MARKER_RUNTIME] = "_PyRuntime",
	[MARKER_EVAL] = "_PyEval_EvalFrameDefault",
	[MARKER_CODE_TYPE] = "PyCode_Type",
	[MARKER_VERSION] = "Py_Version",
	[MARKER_3_8] = "PyCode_NewWithPosOnlyArgs",
	[MARKER_3_9] = "PyFrame_GetBack",
	[MARKER_3_10] = "Py_Is",
	[MARKER_OLD_EVAL] = "PyEval_EvalFrameEx",
	[MARKER_2] = "PyString_FromString",
	[MARKER_2_7] = "PyCapsule_New",
	[MARKER_3_2] = "PyErr_NewExceptionWithDoc",
	[MARKER_3_3] = "PyUnicode_AsUTF8",
	[MARKER_3_4] = "PyType_GetSlot",
	[MARKER_3_5] = "PyCoro_New",
};

/* Compilers number these where a file has several of one name. */
#define COLD_PART "_PyEval_EvalFrameDefault.cold"
/* More bytes than any compiler makes of the function. */
#define MAX_EVAL_BYTES (1u << 20)
/* Candidates for its parts, one after the other. */
#define MAX_LOOKED_INTO 64

struct marker_set {
	bool is_there[NUM_MARKERS];
	uint64_t address[NUM_MARKERS];
};

/*
 * If a part has several symbols, the first counts; parts beyond the array's bound stay native code
 * of the interpreter.
 */
static void add_cold_part(uint64_t start, uint64_t bytes, struct runtime_build *build)
{
	for (unsigned int i = 0; i < build->num_eval_parts; i++)
		if (build->eval_parts[i].start == start)
			return;
	if (!bytes || build->num_eval_parts == EVALUATION_MAX_PARTS)
		return;
	build->eval_parts[build->num_eval_parts++] =
		(struct evaluation_part){.start = start, .end = start + bytes};
}

/* Code that is looked through. */
struct code_part {
	uint8_t *bytes;
	size_t size;
	size_t offset;  /* of the next instruction */
	uint64_t start; /* ELF address */
};

static void code_part_release(struct code_part *part)
{
	free(part->bytes);
}

/* Returns false where it is too long or not there. It is to be released in any case. */
static bool read_code(const struct objfile *objfile, uint64_t start, uint64_t end,
		      struct code_part *ret)
{
	*ret = (struct code_part){.start = start, .size = (size_t)(end - start)};
	if (end - start > MAX_EVAL_BYTES)
		return false;
	ret->bytes = malloc(ret->size + 1);
	return ret->bytes && !objfile_read_code(objfile, start, ret->bytes, ret->size);
}

/*
 * The target of the next direct jump or branch. Returns false at the end, and at an unknown
 * instruction.
 */
static bool find_next_jump(const struct architecture *architecture, struct code_part *part,
			   uint64_t *ret)
{
	struct instruction_flow instruction;

	while (part->offset < part->size &&
	       architecture_decode(architecture, part->bytes + part->offset,
				   part->size - part->offset, &instruction)) {
		part->offset += instruction.length;
		if (!instruction.is_direct || instruction.kind == INSTRUCTION_CALL)
			continue;
		*ret = part->start + part->offset + (uint64_t)(int64_t)instruction.distance;
		return true;
	}
	return false;
}

static bool jumps_into(const struct objfile *objfile, const struct code_bounds *bounds,
		       const struct evaluation_part *eval)
{
	_cleanup_(code_part_release) struct code_part part;
	uint64_t target;

	if (!read_code(objfile, bounds->start, bounds->end, &part))
		return false;
	while (find_next_jump(objfile_get_architecture(objfile), &part, &target))
		if (target > eval->start && target < eval->end)
			return true;
	return false;
}

/*
 * A file without local symbols has no symbols of these parts. A part may be most of the function:
 * GCC 16 has put all instructions of Debian's 3.14 there. Call-frame information describes parts as
 * separate functions. But the function jumps into the middle of a part, and the part jumps back.
 * Other functions are jumped to at their start. The entries of a linkage table are described as one
 * function, but none jumps back. If a part is not found, stacks with it are not spliced.
 */
static void find_cold_parts(struct objfile *objfile, struct runtime_build *build)
{
	const struct evaluation_part eval = build->eval_parts[0];
	_cleanup_(code_part_release) struct code_part part;
	uint64_t other = 0; /* start of the one searched last */
	unsigned int num_looked_into = 0;
	struct frame_info *frames;
	uint64_t target;

	if (!read_code(objfile, eval.start, eval.end, &part) ||
	    objfile_get_frame_info(objfile, &frames))
		return;
	while (num_looked_into < MAX_LOOKED_INTO &&
	       find_next_jump(objfile_get_architecture(objfile), &part, &target)) {
		struct code_bounds bounds;

		if ((target >= eval.start && target < eval.end) ||
		    frame_info_find_bounds(frames, target, &bounds) || bounds.start == target ||
		    bounds.start == other)
			continue;
		other = bounds.start;
		num_looked_into++;
		if (jumps_into(objfile, &bounds, &eval))
			add_cold_part(bounds.start, bounds.end - bounds.start, build);
	}
}

/* State of a pass over the symbols of a file. */
struct python_pass {
	struct objfile *objfile;
	struct marker_set markers;
	struct runtime_build *build;
};

static void take_symbol(struct python_pass *pass, const char *name, const GElf_Sym *symbol)
{
	struct marker_set *markers = &pass->markers;

	for (unsigned int i = 0; i < NUM_MARKERS; i++) {
		if (markers->is_there[i] || !string_equals(name, marker_names[i]))
			continue;
		if ((i == MARKER_EVAL || i == MARKER_OLD_EVAL) &&
		    !objfile_is_code(pass->objfile, symbol->st_value))
			return;
		markers->is_there[i] = true;
		markers->address[i] = symbol->st_value;
		if (i == MARKER_RUNTIME)
			pass->build->state_bytes = symbol->st_size;
		if (i == MARKER_EVAL)
			pass->build->eval_parts[0] = (struct evaluation_part){
				.start = symbol->st_value,
				.end = symbol->st_value + symbol->st_size,
			};
		return;
	}
}

static int visit_symbol(void *context, const char *name, const GElf_Sym *symbol)
{
	struct python_pass *pass = context;

	/* Large C++ programs have a million others. */
	if ((!string_starts_with(name, "_Py") && !string_starts_with(name, "Py")) ||
	    symbol->st_size > UINT64_MAX - symbol->st_value)
		return 0;
	if (!string_starts_with(name, COLD_PART))
		take_symbol(pass, name, symbol);
	else if (objfile_is_code(pass->objfile, symbol->st_value))
		add_cold_part(symbol->st_value, symbol->st_size, pass->build);
	return 0;
}

static void search_elf(struct python_pass *pass, Elf *elf)
{
	(void)!objfile_for_each_symbol(elf, visit_symbol, pass);
}

static unsigned int find_minor_by_functions(const struct marker_set *markers)
{
	if (markers->is_there[MARKER_3_10])
		return 10;
	if (markers->is_there[MARKER_3_9])
		return 9;
	if (markers->is_there[MARKER_3_8])
		return 8;
	return 7; /* the first to have _PyRuntime */
}

/* Minor version, before 3.7. */
static unsigned int find_old_minor(const struct marker_set *markers, unsigned int major)
{
	static const enum marker newest[] = {MARKER_EVAL, MARKER_3_5, MARKER_3_4, MARKER_3_3,
					     MARKER_3_2};
	const unsigned int first = 6; /* minor version with the first of these */

	if (major == 2)
		return markers->is_there[MARKER_2_7] ? 7 : 6;
	for (unsigned int i = 0; i < ARRAY_LENGTH(newest); i++)
		if (markers->is_there[newest[i]])
			return first - i;
	return first - ARRAY_LENGTH(newest);
}

/* Python before 3.7: only the version is known. */
static int describe_old(const struct marker_set *markers, struct runtime_build *build)
{
	if (!markers->is_there[MARKER_OLD_EVAL] || !markers->is_there[MARKER_CODE_TYPE])
		return -ENOENT;
	*build = (struct runtime_build){
		.runtime = build->runtime,
		.support = SUPPORT_UNKNOWN_VERSION,
		.major = markers->is_there[MARKER_2] ? 2 : 3,
	};
	build->minor = find_old_minor(markers, build->major);
	return 0;
}

static enum runtime_support read_offsets(const struct objfile *objfile, struct runtime_build *build)
{
	uint64_t words[PYTHON_MAX_OFFSET_WORDS] = {0};
	int err;

	/*
	 * Tables of older versions are shorter; the bytes behind them belong to _PyRuntime as well.
	 */
	if (file_data_read(objfile, build->state, words, sizeof(words)) ||
	    words[0] != OFFSETS_COOKIE)
		return SUPPORT_UNKNOWN_BUILD;
	if (words[2])
		return SUPPORT_FREE_THREADED;
	if ((words[1] >> 4 & 0xf) < LEVEL_CANDIDATE)
		return SUPPORT_UNKNOWN_VERSION;
	err = python_layout_read(build->minor, words, ARRAY_LENGTH(words), &build->layout.python);
	if (err == -ENOENT)
		return SUPPORT_UNKNOWN_VERSION;
	return err ? SUPPORT_UNKNOWN_BUILD : SUPPORT_KNOWN;
}

static enum runtime_support look_up_layout(const struct objfile *objfile,
					   const struct marker_set *markers,
					   struct runtime_build *build)
{
	struct wire_python_layout layout;
	uint64_t expected_bytes;
	uint64_t bytes;

	if (python_layout_get(build->minor, &layout, &expected_bytes))
		return SUPPORT_UNKNOWN_VERSION;
	if (!markers->is_there[MARKER_CODE_TYPE] ||
	    file_data_read(objfile, markers->address[MARKER_CODE_TYPE] + TYPE_BASIC_SIZE, &bytes,
			   sizeof(bytes)) ||
	    bytes != expected_bytes)
		return SUPPORT_UNKNOWN_BUILD;
	build->layout.python = layout;
	return SUPPORT_KNOWN;
}

int python_find(struct objfile *objfile, struct runtime_build *build)
{
	struct python_pass pass = {.objfile = objfile, .build = build};
	struct marker_set *markers = &pass.markers;
	Elf *elfs[OBJFILE_MAX_SYMBOL_FILES];
	uint64_t version = 0;
	size_t num_elfs;

	build->num_eval_parts = 1;
	search_elf(&pass, objfile_get_elf(objfile));
	if (!markers->is_there[MARKER_RUNTIME])
		return describe_old(markers, build);
	if (!markers->is_there[MARKER_EVAL])
		return -ENOENT;
	/* Debug files are searched only if there is something to be found. */
	num_elfs = objfile_get_symbol_files(objfile, elfs);
	for (size_t i = 0; i < num_elfs; i++)
		if (elfs[i] != objfile_get_elf(objfile))
			search_elf(&pass, elfs[i]);
	if (file_has_known_code(objfile))
		find_cold_parts(objfile, build);

	build->major = 3;
	build->state = markers->address[MARKER_RUNTIME];
	build->support = SUPPORT_UNKNOWN_BUILD;
	build->minor = find_minor_by_functions(markers);
	if (!file_is_64_bit_little_endian(objfile))
		return 0;
	if (markers->is_there[MARKER_VERSION] &&
	    !file_data_read(objfile, markers->address[MARKER_VERSION], &version, sizeof(version)))
		build->minor = version >> 16 & 0xff;
	build->support = build->minor >= PYTHON_FIRST_WITH_OFFSETS
				 ? read_offsets(objfile, build)
				 : look_up_layout(objfile, markers, build);
	return 0;
}
