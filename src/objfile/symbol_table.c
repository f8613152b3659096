#include "objfile/symbol_table.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "objfile/go_table.h"
#include "objfile/range_map.h"

/* After every symbol. */
#define RANK_OF_GO_TABLE 8

struct symbol_candidate {
	uint64_t start;
	uint64_t end; /* equal to start: size unknown */
	uint64_t section_end;
	const char *name;
	uint8_t rank; /* the lower the better: by type, then by binding */
};

struct symbol_table {
	ARRAY(struct symbol_candidate) candidates;
	struct range_map map; /* values: index in candidates */
};

static size_t count_underscores(const char *name)
{
	return strspn(name, "_");
}

int symbol_names_compare(const char *a, const char *b)
{
	size_t underscores_a = count_underscores(a);
	size_t underscores_b = count_underscores(b);
	size_t length_a;
	size_t length_b;

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	length_a = strlen(a);
	length_b = strlen(b);
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	return strcmp(a, b);
}

/* Executable sections; the values mean nothing. */
static int map_code_sections(Elf *elf, struct range_map *ret)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr section;
		uint64_t end;

		if (!gelf_getshdr(scn, &section) || !(section.sh_flags & SHF_EXECINSTR) ||
		    !(section.sh_flags & SHF_ALLOC))
			continue;
		if (__builtin_add_overflow(section.sh_addr, section.sh_size, &end))
			continue;
		if (range_map_add(ret, section.sh_addr, end, 0))
			return -ENOMEM;
	}
	return range_map_finish(ret);
}

/*
 * Assembly labels have no type. Mapping symbols of ARM and RISC-V ("$x", "$d.1") and labels that
 * the assembler keeps to itself (".L1", ".annobin_…") name no function.
 */
static bool is_function_name(const char *name, unsigned char type)
{
	if (name[0] == '\0')
		return false;
	return type != STT_NOTYPE || (name[0] != '$' && name[0] != '.');
}

static uint8_t rank_symbol(const GElf_Sym *symbol)
{
	uint8_t rank = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 4 : 0;

	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return rank;
	case STB_WEAK:
		return rank + 1;
	default:
		return rank + 2;
	}
}

/* The names of a symbol section. Only strings that end inside it are handed out. */
struct string_section {
	const char *data;
	size_t size; /* up to and with the last NUL */
};

static struct string_section open_strings(Elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	const char *last;

	if (!data || !data->d_buf)
		return (struct string_section){0};
	last = memrchr(data->d_buf, '\0', data->d_size);
	return (struct string_section){
		.data = data->d_buf,
		.size = last ? (size_t)(last - (const char *)data->d_buf) + 1 : 0,
	};
}

/* Where it lies in code. */
static int add_candidate(struct symbol_table *table, const struct range_map *sections,
			 struct symbol_candidate candidate)
{
	const struct range *section = range_map_find(sections, candidate.start);
	struct symbol_candidate *new;

	if (!section)
		return 0;
	new = array_add(&table->candidates);
	if (!new)
		return -ENOMEM;
	*new = candidate;
	new->section_end = section->end;
	if (new->end < new->start || new->end > section->end)
		new->end = section->end;
	return 0;
}

static int add_symbol(struct symbol_table *table, const struct range_map *sections,
		      struct string_section strings, const GElf_Sym *symbol)
{
	unsigned char type = GELF_ST_TYPE(symbol->st_info);
	const char *name = strings.data + symbol->st_name;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    symbol->st_name >= strings.size)
		return 0;
	if (!is_function_name(name, type))
		return 0;
	return add_candidate(table, sections,
			     (struct symbol_candidate){
				     .start = symbol->st_value,
				     .end = symbol->st_value + symbol->st_size,
				     .name = name,
				     .rank = rank_symbol(symbol),
			     });
}

static int add_symbol_section(struct symbol_table *table, const struct range_map *sections,
			      Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	struct string_section strings = open_strings(elf, header->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym symbol;
	int err = 0;

	if (!data || !strings.size)
		return 0;
	for (int i = 0; !err && gelf_getsym(data, i, &symbol); i++)
		err = add_symbol(table, sections, strings, &symbol);
	return err;
}

/* The names of Go's own table stay when the symbols are stripped. */
static int add_go_table(struct symbol_table *table, const struct range_map *sections, Elf *elf)
{
	struct go_table functions;
	int err = 0;

	if (!go_table_find(elf, &functions))
		return 0;
	for (uint32_t i = 0; !err && i < functions.num_functions; i++) {
		struct go_function function;

		if (go_table_read(&functions, i, &function) && function.name[0])
			err = add_candidate(table, sections,
					    (struct symbol_candidate){
						    .start = function.start,
						    .end = function.end,
						    .name = function.name,
						    .rank = RANK_OF_GO_TABLE,
					    });
	}
	return err;
}

static int add_elf(struct symbol_table *table, Elf *elf)
{
	struct range_map sections = {0};
	int err = map_code_sections(elf, &sections);

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn && !err; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			err = add_symbol_section(table, &sections, elf, scn, &header);
	}
	if (!err)
		err = add_go_table(table, &sections, elf);
	range_map_release(&sections);
	return err;
}

/* The better of two names for one start comes first. */
static int compare_candidates(const void *left, const void *right)
{
	const struct symbol_candidate *a = left;
	const struct symbol_candidate *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return symbol_names_compare(a->name, b->name);
}

static int map_sized(struct symbol_table *table)
{
	int err;

	for (size_t i = 0; i < table->candidates.length; i++) {
		const struct symbol_candidate *candidate = &table->candidates.items[i];

		err = range_map_add(&table->map, candidate->start, candidate->end, (uint32_t)i);
		if (err)
			return err;
	}
	return range_map_finish(&table->map);
}

/*
 * Symbols without size fill the gaps between the sized ones. A label inside a sized function is
 * part of the function.
 */
static int map_unsized(struct symbol_table *table)
{
	struct range_map gaps = {0};
	uint64_t next_label = UINT64_MAX;
	int err = 0;

	for (size_t i = table->candidates.length; i-- > 0 && !err;) {
		const struct symbol_candidate *label = &table->candidates.items[i];
		const struct range *next;
		uint64_t end = label->section_end;

		if (label->end != label->start || range_map_find(&table->map, label->start))
			continue;
		/* Of several labels in one place the first is the best. */
		if (i > 0 && table->candidates.items[i - 1].start == label->start &&
		    table->candidates.items[i - 1].end == label->start)
			continue;
		next = range_map_find_next(&table->map, label->start);
		if (next && next->start < end)
			end = next->start;
		if (next_label < end)
			end = next_label;
		err = range_map_add(&gaps, label->start, end, (uint32_t)i);
		next_label = label->start;
	}
	array_for_each (&gaps.ranges, gap) {
		if (!err)
			err = range_map_add(&table->map, gap->start, gap->end, gap->value);
	}
	range_map_release(&gaps);
	return err ? err : range_map_finish(&table->map);
}

int symbol_table_new(Elf *const elfs[], size_t num_elfs, struct symbol_table **ret)
{
	struct symbol_table *table = calloc(1, sizeof(*table));
	int err = table ? 0 : -ENOMEM;

	for (size_t i = 0; i < num_elfs && !err; i++)
		err = add_elf(table, elfs[i]);
	if (!err && table->candidates.length)
		qsort(table->candidates.items, table->candidates.length,
		      sizeof(*table->candidates.items), compare_candidates);
	if (!err)
		err = map_sized(table);
	if (!err)
		err = map_unsized(table);
	if (err) {
		symbol_table_free(table);
		return err;
	}
	*ret = table;
	return 0;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	array_release(&table->candidates);
	range_map_release(&table->map);
	free(table);
}

int symbol_table_find(const struct symbol_table *table, uint64_t elf_address, struct symbol *ret)
{
	const struct range *range = range_map_find(&table->map, elf_address);
	const struct symbol_candidate *candidate;

	if (!range)
		return -ENOENT;
	candidate = &table->candidates.items[range->value];
	*ret = (struct symbol){
		.name = candidate->name,
		.start = candidate->start,
		.is_size_known = candidate->end != candidate->start,
	};
	return 0;
}
