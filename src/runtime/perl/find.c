/*
 * Perl in the symbols of a file. It exports its version, the sizes of its interpreter's state and
 * of the state's first part, and the build options that extensions must share. All must be as in
 * the builds from which the offsets were read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"
#include "runtime/x86_64/perl_code.h"

#define MAX_OPTIONS 1024 /* bytes */

enum perl_marker {
	MARKER_EVALUATION,
	MARKER_REVISION,
	MARKER_VERSION,
	MARKER_SIZE,
	MARKER_FIRST_SIZE,
	MARKER_OPTIONS,
	/* Those with threads have these two. */
	MARKER_INTERPRETER,
	MARKER_KEY,
	NUM_MARKERS,
};

static const char *const marker_names[NUM_MARKERS] = {
	[MARKER_EVALUATION] = "Perl_runops_standard",
	[MARKER_REVISION] = "PL_revision",
	[MARKER_VERSION] = "PL_version",
	[MARKER_SIZE] = "PL_interp_size",
	[MARKER_FIRST_SIZE] = "PL_interp_size_5_18_0",
	[MARKER_OPTIONS] = "PL_bincompat_options",
	[MARKER_INTERPRETER] = "PL_curinterp",
	[MARKER_KEY] = "PL_thr_key",
};

/*
 * Source: intrpvar.h and hv.h of each version, whose layout its releases keep, as extensions are compiled for it; by the headers that Debian
 * and Ubuntu have for each.
 */
static const struct known_version {
	unsigned int minor;
	uint16_t size;
	uint16_t first_size;
	uint16_t operation_runner; /* of the interpreter: the function that runs operations */
	struct wire_perl_layout layout;
} known_versions[] = {
	{32, 3792, 2912, 2304, {.statement = 224, .stack = 240, .phase = 2532, .hash_names = 0}},
	{34, 3760, 2880, 2288, {.statement = 208, .stack = 224, .phase = 2512, .hash_names = 0}},
	{36, 3768, 2880, 2288, {.statement = 208, .stack = 224, .phase = 2512, .hash_names = 32}},
	{38, 3896, 2752, 2072, {.statement = 208, .stack = 224, .phase = 2336, .hash_names = 32}},
	{40, 3768, 2624, 2072, {.statement = 208, .stack = 224, .phase = 2216, .hash_names = 32}},
};

/* A number that is a constant in the file; 0: it has none. */
static unsigned int read_number(const struct objfile *objfile, const struct file_symbol *markers,
				enum perl_marker marker, size_t size)
{
	uint16_t number = 0;

	if (!markers[marker].is_there ||
	    file_data_read(objfile, markers[marker].address, &number, size))
		return 0;
	return number;
}

static bool has_option(const char *options, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *found = strstr(options, wanted); found;
	     found = strstr(found + length, wanted))
		if (found[length] == ' ' || found[length] == '\0')
			return true;
	return false;
}

/*
 * Whether the build options are those of the known offsets: an interpreter for each thread, and
 * numbers of the same sizes.
 */
static bool has_known_options(const struct objfile *objfile, const struct file_symbol *markers)
{
	char options[MAX_OPTIONS] = "";
	uint64_t size = markers[MARKER_OPTIONS].size;

	if (!markers[MARKER_OPTIONS].is_there || size >= sizeof(options) ||
	    file_data_read(objfile, markers[MARKER_OPTIONS].address, options, size))
		return false;
	return has_option(options, " MULTIPLICITY") && has_option(options, " USE_ITHREADS") &&
	       has_option(options, " USE_64_BIT_INT") && !has_option(options, " USE_LONG_DOUBLE") &&
	       !has_option(options, " USE_QUADMATH") && !has_option(options, " PERL_RC_STACK");
}

static const struct known_version *find_version(unsigned int minor)
{
	for (size_t i = 0; i < ARRAY_LENGTH(known_versions); i++)
		if (known_versions[i].minor == minor)
			return &known_versions[i];
	return NULL;
}

/* The bounds of a function that starts at an address and calls the one that runs operations. */
static bool find_caller(struct objfile *objfile, const struct code_section *code, uint64_t address,
			uint16_t runner, struct code_bounds *ret)
{
	struct frame_info *frame_info;

	if (address - code->address >= code->size || objfile_get_frame_info(objfile, &frame_info) ||
	    frame_info_find_bounds(frame_info, address, ret))
		return false;
	return ret->start == address && ret->end > address &&
	       ret->end - code->address <= code->size &&
	       perl_code_calls(code->bytes + (address - code->address), ret->end - address, runner);
}

/*
 * S_docatch(), which has no symbol: operations that evaluate pass themselves to it, to be called
 * again where an exception will be caught.
 *
 * If it is not found, stacks with it are not spliced.
 */
static void find_docatch(struct objfile *objfile, const struct code_section *code, uint16_t runner,
			 struct runtime_build *build)
{
	uint64_t at = 0;
	uint64_t callee;

	while (perl_code_find_handover(code, &at, &callee)) {
		struct code_bounds bounds;

		if (!find_caller(objfile, code, callee, runner, &bounds))
			continue;
		build->eval_parts[build->num_eval_parts++] = (struct evaluation_part){
			.start = bounds.start, .end = bounds.end, .goes_on = 1};
		return;
	}
}

static void add_docatch(struct objfile *objfile, uint16_t runner, struct runtime_build *build)
{
	struct code_section code;
	Elf_Scn *scn = NULL;

	while (build->num_eval_parts < 2 &&
	       file_data_get_next_code(objfile_get_elf(objfile), &scn, &code))
		find_docatch(objfile, &code, runner, build);
}

static enum runtime_support find_layout(struct objfile *objfile, const struct file_symbol *markers,
					struct runtime_build *build)
{
	const struct known_version *known = find_version(build->minor);

	if (!file_has_known_code(objfile))
		return SUPPORT_UNKNOWN_BUILD;
	if (build->major != 5 || !known)
		return SUPPORT_UNKNOWN_VERSION;
	if (!markers[MARKER_INTERPRETER].is_there || !markers[MARKER_KEY].is_there ||
	    read_number(objfile, markers, MARKER_SIZE, 2) != known->size ||
	    read_number(objfile, markers, MARKER_FIRST_SIZE, 2) != known->first_size ||
	    !has_known_options(objfile, markers))
		return SUPPORT_UNKNOWN_BUILD;
	build->state = markers[MARKER_INTERPRETER].address;
	build->layout.perl = known->layout;
	build->layout.perl.key = markers[MARKER_KEY].address - markers[MARKER_INTERPRETER].address;
	add_docatch(objfile, known->operation_runner, build);
	return SUPPORT_KNOWN;
}

int perl_find(struct objfile *objfile, struct runtime_build *build)
{
	struct file_symbol markers[NUM_MARKERS];
	const struct file_symbol *evaluation = &markers[MARKER_EVALUATION];

	file_find_symbols(objfile, marker_names, NUM_MARKERS, markers);
	if (!objfile_is_code(objfile, evaluation->address) || !evaluation->size ||
	    evaluation->size > UINT64_MAX - evaluation->address ||
	    !markers[MARKER_VERSION].is_there)
		return -ENOENT;
	build->num_eval_parts = 1;
	build->eval_parts[0] = (struct evaluation_part){
		.start = evaluation->address, .end = evaluation->address + evaluation->size};
	build->major = read_number(objfile, markers, MARKER_REVISION, 1);
	build->minor = read_number(objfile, markers, MARKER_VERSION, 1);
	build->support = find_layout(objfile, markers, build);
	return 0;
}
