/*
 * Perl in the symbols of a file. It exports its version, the size of its interpreter's state and of the first part of that, and with which
 * options it was built of those that extensions have to have been compiled with, too: all of these must be as they are where the offsets
 * were read.
 */
#include "runtime/perl/find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/file_data.h"

#define EVALUATION_NAME "Perl_runops_standard" /* with its end */
#define MAX_OPTIONS     1024                   /* bytes */

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
	[MARKER_EVALUATION] = EVALUATION_NAME,
	[MARKER_REVISION] = "PL_revision",
	[MARKER_VERSION] = "PL_version",
	[MARKER_SIZE] = "PL_interp_size",
	[MARKER_FIRST_SIZE] = "PL_interp_size_5_18_0",
	[MARKER_OPTIONS] = "PL_bincompat_options",
	[MARKER_INTERPRETER] = "PL_curinterp",
	[MARKER_KEY] = "PL_thr_key",
};

struct perl_markers {
	uint64_t addresses[NUM_MARKERS]; /* 0: it is not there */
	uint64_t sizes[NUM_MARKERS];
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

static void take_symbol(const char *name, const GElf_Sym *symbol, struct perl_markers *markers)
{
	for (size_t i = 0; i < NUM_MARKERS; i++) {
		if (!string_equals(name, marker_names[i]))
			continue;
		markers->addresses[i] = symbol->st_value;
		markers->sizes[i] = symbol->st_size;
	}
}

static void search_symbols(struct objfile *objfile, struct perl_markers *markers)
{
	Elf *elf = objfile_get_elf(objfile);

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Sym symbol;

		if (!gelf_getshdr(scn, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name;

			if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS)
				continue;
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (name && name[0] == 'P')
				take_symbol(name, &symbol, markers);
		}
	}
}

/* A number that is a constant in the file; 0: it has none. */
static unsigned int read_number(const struct objfile *objfile, const struct perl_markers *markers,
				enum perl_marker marker, size_t size)
{
	uint16_t number = 0;

	if (!markers->addresses[marker] ||
	    file_data_read(objfile, markers->addresses[marker], &number, size))
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

/* Threads have an interpreter each, and numbers are no larger than where the offsets were read. */
static bool has_known_options(const struct objfile *objfile, const struct perl_markers *markers)
{
	char options[MAX_OPTIONS] = "";
	uint64_t size = markers->sizes[MARKER_OPTIONS];

	if (!markers->addresses[MARKER_OPTIONS] || size >= sizeof(options) ||
	    file_data_read(objfile, markers->addresses[MARKER_OPTIONS], options, size))
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

static int32_t get_displacement(const uint8_t *bytes)
{
	int32_t displacement;

	memcpy(&displacement, bytes, sizeof(displacement));
	return displacement;
}

/* Whether code calls the function that runs operations, which the interpreter has at an offset. */
static bool calls_runner(const uint8_t *code, size_t size, uint16_t runner)
{
	for (size_t i = 0; i + 7 <= size; i++) {
		/* call *runner(%register), where r12 has a byte more */
		size_t more = code[i + 1] == 0x94;

		if (code[i] == 0xff && (code[i + 1] & 0xf8) == 0x90 &&
		    get_displacement(code + i + 2 + more) == runner)
			return true;
	}
	return false;
}

/* The bounds of a function that begins at an address and calls the one that runs operations. */
static bool find_caller(struct objfile *objfile, const struct code_section *code, uint64_t address,
			uint16_t runner, struct code_bounds *ret)
{
	struct frame_info *frame_info;

	if (address - code->address >= code->size || objfile_get_frame_info(objfile, &frame_info) ||
	    frame_info_find_bounds(frame_info, address, ret))
		return false;
	return ret->start == address && ret->end > address &&
	       ret->end - code->address <= code->size &&
	       calls_runner(code->bytes + (address - code->address), ret->end - address, runner);
}

#define LEA_BYTES     7
#define CALL_BYTES    5
#define MAX_FUNCTION  0x4000 /* bytes from the begin of a function on that is looked for */
#define MAX_BETWEEN   12     /* bytes between a lea and the call */
#define IS_CALL(byte) ((byte) == 0xe8 || (byte) == 0xe9) /* or a jump in the place of one */

/* What is called by a function that hands over itself, as its second argument; 0: none. at: of the instruction that may be its lea. */
static uint64_t find_handover(const struct code_section *code, uint64_t at)
{
	int64_t displacement = get_displacement(code->bytes + at + 3);

	/* It begins before the lea. */
	if (displacement > -LEA_BYTES || displacement < -MAX_FUNCTION)
		return 0;
	for (uint64_t i = at + LEA_BYTES;
	     i < at + LEA_BYTES + MAX_BETWEEN && i + CALL_BYTES <= code->size; i++)
		if (IS_CALL(code->bytes[i]))
			return code->address + i + CALL_BYTES +
			       (uint64_t)(int64_t)get_displacement(code->bytes + i + 1);
	return 0;
}

/*
 * S_docatch(), which has no symbol: operations that evaluate hand themselves over to it, to be called again where an exception will be caught.
 *
 * Where it is not found, stacks in which it is are not put together.
 */
static void find_docatch(struct objfile *objfile, const struct code_section *code, uint16_t runner,
			 struct script_build *build)
{
	static const uint8_t lea_rsi[] = {0x48, 0x8d, 0x35};
	uint64_t at = 0;

	while (code->size - at >= LEA_BYTES) {
		const uint8_t *found = memmem(code->bytes + at, code->size - at - (LEA_BYTES - 3),
					      lea_rsi, sizeof(lea_rsi));
		struct code_bounds bounds;
		uint64_t callee;

		if (!found)
			return;
		at = (uint64_t)(found - code->bytes);
		callee = find_handover(code, at);
		at += sizeof(lea_rsi);
		if (!callee || !find_caller(objfile, code, callee, runner, &bounds))
			continue;
		build->eval_parts[build->num_eval_parts++] = (struct evaluation_part){
			.start = bounds.start, .end = bounds.end, .goes_on = 1};
		return;
	}
}

static void add_docatch(struct objfile *objfile, uint16_t runner, struct script_build *build)
{
	struct code_section code;
	Elf_Scn *scn = NULL;

	while (build->num_eval_parts < 2 &&
	       file_data_get_next_code(objfile_get_elf(objfile), &scn, &code))
		find_docatch(objfile, &code, runner, build);
}

static enum script_support find_layout(struct objfile *objfile, const struct perl_markers *markers,
				       struct script_build *build)
{
	const struct known_version *known = find_version(build->minor);

	if (!file_is_x86_64(objfile))
		return SCRIPT_UNKNOWN_BUILD;
	if (build->major != 5 || !known)
		return SCRIPT_UNKNOWN_VERSION;
	if (!markers->addresses[MARKER_INTERPRETER] || !markers->addresses[MARKER_KEY] ||
	    read_number(objfile, markers, MARKER_SIZE, 2) != known->size ||
	    read_number(objfile, markers, MARKER_FIRST_SIZE, 2) != known->first_size ||
	    !has_known_options(objfile, markers))
		return SCRIPT_UNKNOWN_BUILD;
	build->state = markers->addresses[MARKER_INTERPRETER];
	build->layout.runtime = WIRE_RUNTIME_PERL;
	build->layout.perl = known->layout;
	build->layout.perl.key =
		markers->addresses[MARKER_KEY] - markers->addresses[MARKER_INTERPRETER];
	add_docatch(objfile, known->operation_runner, build);
	return SCRIPT_KNOWN;
}

int perl_find(struct objfile *objfile, struct script_build *ret)
{
	struct script_build found = {.runtime = WIRE_RUNTIME_PERL, .num_eval_parts = 1};
	struct perl_markers markers = {0};
	uint64_t evaluation;
	uint64_t size;

	if (!file_has_symbol_name(objfile_get_elf(objfile), EVALUATION_NAME,
				  sizeof(EVALUATION_NAME)))
		return -ENOENT;
	search_symbols(objfile, &markers);
	evaluation = markers.addresses[MARKER_EVALUATION];
	size = markers.sizes[MARKER_EVALUATION];
	if (!objfile_is_code(objfile, evaluation) || !size || size > UINT64_MAX - evaluation ||
	    !markers.addresses[MARKER_VERSION])
		return -ENOENT;
	found.eval_parts[0] =
		(struct evaluation_part){.start = evaluation, .end = evaluation + size};
	found.major = read_number(objfile, &markers, MARKER_REVISION, 1);
	found.minor = read_number(objfile, &markers, MARKER_VERSION, 1);
	found.support = find_layout(objfile, &markers, &found);
	*ret = found;
	return 0;
}
