/*
 * In most files there is only padding between the functions that .eh_frame covers, which a quick
 * check shows. In the others, functions start at the targets of symbols, calls and pointers.
 * Symbols, and calls from followed code, are certain; the rest are guesses, which the code has to
 * confirm.
 */
#include "unwind/x86_64/code_frames.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/bytes.h"
#include "objfile/range_map.h"
#include "objfile/x86_64/instruction.h"
#include "unwind/x86_64/context_start.h"

/* Maximum number of symbols and relocations of a file that are examined. */
#define MAX_ITEMS (1u << 20)
/* Rounds of calls from gap to gap; targets found later remain guesses. */
#define MAX_ROUNDS 6
/* Bytes read at the entry point, up to its first call. */
#define ENTRY_BYTES 64
/*
 * The rest of the code is searched for references to gaps of at least so many bytes in total,
 * unless it is larger than REFERENCES_MAX_BYTES.
 */
#define REFERENCED_MIN_BYTES 4096
/* Only so many bytes of a name are searched for the suffixes of compilers. */
#define NAME_BYTES_MAX       4096
#define REFERENCES_MAX_BYTES (4u << 20)
/*
 * Code larger than CODE_RULES_MAX_BYTES is followed in separate pieces of this size, up to a total
 * limit: x265 has 12 MiB of assembly, whose functions can only be told apart by their alignment.
 */
#define PIECE_BYTES      (256u << 10)
#define PIECES_MAX_BYTES (16u << 20)
#define PIECE_ALIGNMENT  16

/* Code that no function covers, and that is followed in pieces. */
struct large_gap {
	uint64_t start; /* ELF address */
	uint64_t size;
	uint64_t file_offset;
};

struct gap_search {
	Elf *elf;
	ARRAY(struct large_gap) large;
	uint64_t large_bytes;  /* of all these */
	struct range_map gaps; /* by ELF address; value: index in `rules` */
	uint64_t num_bytes;    /* of code, in all */
	ARRAY(struct code_rules *) rules;
};

static void gap_search_release(struct gap_search *search)
{
	array_for_each (&search->rules, rules)
		code_rules_free(*rules);
	array_release(&search->rules);
	array_release(&search->large);
	range_map_release(&search->gaps);
}

void code_frames_release(struct code_frames *frames)
{
	code_stretches_release(&frames->stretches);
}

bool code_is_padding(const uint8_t *code, size_t size)
{
	struct instruction instruction;

	while (size) {
		size_t length = 1;

		if (*code) {
			if (!instruction_decode(code, size, &instruction) ||
			    instruction.kind != INSTRUCTION_PADDING)
				return false;
			length = instruction.length;
		}
		code += length;
		size -= length;
	}
	return true;
}

/* Nothing calls them, and the code that takes their address may be unknown. */
static int add_fcontext_ends(struct code_rules *rules, const uint8_t *code, size_t size,
			     uint64_t address)
{
	size_t offset = 0;

	while ((offset = fcontext_find_end(code, size, offset)) < size) {
		int err = code_rules_add_start(rules, address + offset, CODE_START_KNOWN);

		if (err)
			return err;
	}
	return 0;
}

static int add_large_gap(struct gap_search *search, const struct large_gap *gap)
{
	struct large_gap *added;

	/* Sections of hostile files may overlap as often as they like. */
	if (gap->size > PIECES_MAX_BYTES - search->large_bytes)
		return 0;
	search->large_bytes += gap->size;
	added = array_add(&search->large);
	if (!added)
		return -ENOMEM;
	*added = *gap;
	return 0;
}

static int add_gap(struct gap_search *search, const GElf_Shdr *section, uint64_t start,
		   uint64_t end)
{
	uint64_t size = end - start;
	struct code_rules **added;
	Elf_Data *code;
	int err;

	if (start >= end || size <= PADDING_UNREAD_BYTES)
		return 0;
	if (size > CODE_RULES_MAX_BYTES - search->num_bytes)
		return add_large_gap(
			search,
			&(struct large_gap){start, size,
					    section->sh_offset + (start - section->sh_addr)});
	code = elf_getdata_rawchunk(search->elf,
				    (int64_t)(section->sh_offset + (start - section->sh_addr)),
				    size, ELF_T_BYTE);
	if (!code || !code->d_buf || code_is_padding(code->d_buf, size))
		return 0;
	search->num_bytes += size;
	err = range_map_add(&search->gaps, start, end, (uint32_t)search->rules.length);
	if (err)
		return err;
	added = array_add(&search->rules);
	if (!added)
		return -ENOMEM;
	*added = code_rules_new(code->d_buf, size, start);
	return *added ? add_fcontext_ends(*added, code->d_buf, size, start) : -ENOMEM;
}

/* Add the gaps that functions leave in a section of code. */
static int add_gaps_of(struct gap_search *search, const struct frame_reader *reader,
		       const GElf_Shdr *section)
{
	uint64_t start = section->sh_addr;
	uint64_t end = section->sh_addr + section->sh_size;
	size_t first = array_count_front(&reader->functions, function,
					 function->start + function->size <= start);

	for (size_t i = first; i < reader->functions.length; i++) {
		const struct frame_function *function = &reader->functions.items[i];
		int err;

		if (function->start >= end)
			break;
		err = add_gap(search, section, start, function->start);
		if (err)
			return err;
		start = function->start + function->size;
	}
	return add_gap(search, section, start, end);
}

/* Stubs are described, or continue as if they were not there. */
static bool is_code(Elf *elf, const GElf_Shdr *section, size_t names)
{
	const char *name;
	uint64_t end;

	if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR) ||
	    !(section->sh_flags & SHF_ALLOC) ||
	    __builtin_add_overflow(section->sh_addr, section->sh_size, &end))
		return false;
	name = elf_strptr(elf, names, section->sh_name);
	return !name || strncmp(name, ".plt", strlen(".plt")) != 0;
}

static int add_gaps(struct gap_search *search, const struct frame_reader *reader)
{
	Elf *elf = search->elf;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr section;
		int err;

		if (!gelf_getshdr(scn, &section) || !is_code(elf, &section, names))
			continue;
		err = add_gaps_of(search, reader, &section);
		if (err)
			return err;
	}
	return range_map_finish(&search->gaps);
}

static int add_start(struct gap_search *search, uint64_t address, enum code_start_kind kind)
{
	const struct range *gap = range_map_find(&search->gaps, address);

	return gap ? code_rules_add_start(search->rules.items[gap->value], address, kind) : 0;
}

/*
 * Whether it is a part of a function that GCC has moved elsewhere, which starts with the frame set
 * up. A hostile file has names of megabytes, for each of many symbols.
 */
static bool is_cold_part(const char *name)
{
	return memmem(name, strnlen(name, NAME_BYTES_MAX), ".cold", strlen(".cold"));
}

static int add_symbols(struct gap_search *search, Elf_Scn *scn, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	uint64_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym symbol;

	for (uint64_t i = 0; data && i < count && i < MAX_ITEMS; i++) {
		unsigned int type;
		const char *name;
		int err;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
			continue;
		type = GELF_ST_TYPE(symbol.st_info);
		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		name = elf_strptr(search->elf, header->sh_link, symbol.st_name);
		if (name && is_cold_part(name))
			continue;
		/* Without a type it may be a label in a function. */
		err = add_start(search, symbol.st_value,
				type == STT_NOTYPE ? CODE_START_GUESSED : CODE_START_KNOWN);
		if (err)
			return err;
	}
	return 0;
}

/* Pointers that are only known when the file is loaded, such as those in tables of functions. */
static int add_relocations(struct gap_search *search, Elf_Scn *scn, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	uint64_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Rela relocation;

	for (uint64_t i = 0; data && i < count && i < MAX_ITEMS; i++) {
		int err;

		if (!gelf_getrela(data, (int)i, &relocation) ||
		    (GELF_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE &&
		     GELF_R_TYPE(relocation.r_info) != R_X86_64_IRELATIVE))
			continue;
		err = add_start(search, (uint64_t)relocation.r_addend, CODE_START_GUESSED);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Add the targets of anything in the code that looks like a call, or like taking a function's
 * address. Reading all of it is not worth it for the few functions of start-up code that every file
 * has.
 */
static int add_references(struct gap_search *search, Elf_Scn *scn, const GElf_Shdr *header)
{
	bool is_worth_it = search->num_bytes >= REFERENCED_MIN_BYTES &&
			   header->sh_size <= REFERENCES_MAX_BYTES;
	Elf_Data *data = is_worth_it ? elf_rawdata(scn, NULL) : NULL;
	const uint8_t *code = data ? data->d_buf : NULL;

	for (size_t i = 0; code && i + 6 <= data->d_size; i++) {
		bool is_call = code[i] == 0xe8;
		size_t skipped = is_call ? 1 : 2;
		int32_t distance;
		int err;

		if (!is_call && (code[i] != 0x8d || (code[i + 1] & 0xc7) != 0x05))
			continue;
		memcpy(&distance, code + i + skipped, sizeof(distance));
		err = add_start(search,
				header->sh_addr + i + skipped + 4 + (uint64_t)(int64_t)distance,
				CODE_START_GUESSED);
		if (err)
			return err;
	}
	return 0;
}

/* Add the calls of the entry point. It has no caller itself, so its own code cannot be followed. */
static int add_calls_of_entry(struct gap_search *search, const GElf_Shdr *header, uint64_t entry)
{
	uint64_t skipped = entry - header->sh_addr;
	struct instruction instruction;
	size_t offset = 0;
	Elf_Data *data;

	if (skipped >= header->sh_size || header->sh_size - skipped < ENTRY_BYTES)
		return 0;
	data = elf_getdata_rawchunk(search->elf, (int64_t)(header->sh_offset + skipped),
				    ENTRY_BYTES, ELF_T_BYTE);
	while (data && data->d_buf && offset < data->d_size) {
		if (!instruction_decode((const uint8_t *)data->d_buf + offset,
					data->d_size - offset, &instruction))
			return 0;
		offset += instruction.length;
		if (instruction.kind == INSTRUCTION_CALL && instruction.is_direct)
			return add_start(search,
					 entry + offset + (uint64_t)(int64_t)instruction.distance,
					 CODE_START_KNOWN);
		if (instruction.kind != INSTRUCTION_PLAIN &&
		    instruction.kind != INSTRUCTION_PADDING)
			return 0;
	}
	return 0;
}

static int add_starts(struct gap_search *search)
{
	GElf_Ehdr file;
	Elf *elf = search->elf;
	int err = 0;

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn && !err; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			err = add_symbols(search, scn, &header);
		else if (header.sh_type == SHT_RELA)
			err = add_relocations(search, scn, &header);
		else if (header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR))
			err = add_references(search, scn, &header);
		if (!err && header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR) &&
		    gelf_getehdr(elf, &file))
			err = add_calls_of_entry(search, &header, file.e_entry);
	}
	return err;
}

static int add_exits(struct gap_search *search, const struct code_rules *rules)
{
	size_t num_exits;
	const struct code_exit *exits = code_rules_get_exits(rules, &num_exits);

	for (size_t i = 0; i < num_exits; i++) {
		int err = add_start(search, exits[i].address, exits[i].kind);

		if (err)
			return err;
	}
	return 0;
}

/* Follow the gaps, repeatedly: a call from one gap is the start of a function in another. */
static int follow_gaps(struct gap_search *search)
{
	bool is_done = false;

	for (unsigned int round = 0; !is_done && round < MAX_ROUNDS; round++) {
		is_done = true;
		array_for_each (&search->rules, rules) {
			int err;

			if (!code_rules_must_follow(*rules))
				continue;
			is_done = false;
			err = code_rules_follow(*rules);
			if (!err)
				err = add_exits(search, *rules);
			if (err)
				return err;
		}
	}
	return 0;
}

static int add_functions(struct frame_reader *reader, const struct code_frames *frames)
{
	for (size_t i = 0; i < frames->stretches.items.length; i++) {
		const struct code_stretch *stretch = &frames->stretches.items.items[i];
		struct frame_function *function = array_add(&reader->functions);

		if (!function)
			return -ENOMEM;
		*function = (struct frame_function){
			.start = stretch->start,
			.size = (uint32_t)(stretch->end - stretch->start),
			.cie = FRAME_CIE_OF_CODE,
			.program_offset = (uint32_t)i,
		};
	}
	return 0;
}

/*
 * The size of a piece that cuts no function in two: it ends after a return or padding, before an
 * aligned address.
 */
static size_t measure_piece(const uint8_t *code, size_t size, uint64_t address)
{
	if (size <= PIECE_BYTES)
		return size;
	for (size_t end = PIECE_BYTES; end > PIECE_BYTES / 2; end--) {
		uint8_t last = code[end - 1];

		if ((address + end) % PIECE_ALIGNMENT == 0 &&
		    (last == 0xc3 || last == 0x90 || last == 0xcc || last == 0))
			return end;
	}
	return PIECE_BYTES;
}

/*
 * Find the next piece: a function cut by the end of this one has no rules, so the next starts after
 * the last code with rules. At least half of each piece is finished.
 */
static size_t find_next_piece(const struct code_frames *frames, size_t first_stretch,
			      uint64_t start, size_t size, bool is_last)
{
	const struct code_stretch *last =
		frames->stretches.items.length > first_stretch
			? &frames->stretches.items.items[frames->stretches.items.length - 1]
			: NULL;

	return is_last || !last || last->end - start < size / 2 ? size : last->end - start;
}

static int follow_large_gap(struct code_rules *rules, const uint8_t *code, size_t size,
			    uint64_t address, struct code_frames *ret)
{
	size_t offset = 0;

	while (offset < size) {
		size_t piece = measure_piece(code + offset, size - offset, address + offset);
		size_t first_stretch = ret->stretches.items.length;
		int err;

		code_rules_move(rules, code + offset, piece, address + offset);
		err = code_rules_follow(rules);
		if (err)
			return err;
		err = code_rules_get(rules, &ret->stretches);
		if (err)
			return err;
		offset += find_next_piece(ret, first_stretch, address + offset, piece,
					  offset + piece == size);
	}
	return 0;
}

static int follow_large_gaps(struct gap_search *search, struct code_frames *ret)
{
	_cleanup_(code_rules_freep) struct code_rules *rules = NULL;

	array_for_each (&search->large, gap) {
		Elf_Data *code = elf_getdata_rawchunk(search->elf, (int64_t)gap->file_offset,
						      gap->size, ELF_T_BYTE);
		int err;

		if (!code || !code->d_buf)
			continue;
		if (!rules)
			rules = code_rules_new(code->d_buf, PIECE_BYTES, gap->start);
		if (!rules)
			return -ENOMEM;
		err = follow_large_gap(rules, code->d_buf, code->d_size, gap->start, ret);
		if (err)
			return err;
	}
	return 0;
}

int code_frames_add(Elf *elf, struct frame_reader *reader, struct code_frames *ret)
{
	_cleanup_(gap_search_release) struct gap_search search = {.elf = elf};
	int err = add_gaps(&search, reader);

	if (err || (!search.rules.length && !search.large.length))
		return err;
	err = add_starts(&search);
	if (err)
		return err;
	err = follow_gaps(&search);
	if (err)
		return err;
	array_for_each (&search.rules, rules) {
		err = code_rules_get(*rules, &ret->stretches);
		if (err)
			return err;
	}
	err = follow_large_gaps(&search, ret);
	return err ? err : add_functions(reader, ret);
}

int code_frames_run(const struct code_frames *frames, const struct frame_function *function,
		    struct frame_rows *rows)
{
	const struct code_stretch *stretch =
		&frames->stretches.items.items[function->program_offset];
	int err = array_reserve(&rows->rows, stretch->num_rows);

	if (err)
		return err;
	memcpy(rows->rows.items, &frames->stretches.rows.items[stretch->first_row],
	       stretch->num_rows * sizeof(*rows->rows.items));
	rows->rows.length = stretch->num_rows;
	return 0;
}
