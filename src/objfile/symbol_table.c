#include "objfile/symbol_table.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "objfile/elf_symbols.h"
#include "objfile/go_table.h"
#include "objfile/plt.h"
#include "objfile/range_map.h"

/* After every symbol. */
#define RANK_OF_GO_TABLE 8
#define RANK_OF_STUB     9

/*
 * The names of a hostile file may all be ends of one string of megabytes, and comparing them whole
 * would take minutes.
 */
#define COMPARED_BYTES 1024

struct symbol_candidate {
	uint64_t start;
	uint64_t end; /* equal to start: size unknown */
	uint64_t section_end;
	const char *name;
	uint8_t rank; /* lower is better: by type, then by binding */
	bool is_ifunc;
};

struct symbol_table {
	ARRAY(struct symbol_candidate) candidates;
	ARRAY(char *) stub_names;
	struct range_map map; /* values: index in candidates */
};

static size_t count_underscores(const char *name)
{
	size_t count = 0;

	while (count < COMPARED_BYTES && name[count] == '_')
		count++;
	return count;
}

int symbol_names_compare(const char *a, const char *b)
{
	size_t underscores_a = count_underscores(a);
	size_t underscores_b = count_underscores(b);
	size_t length_a;
	size_t length_b;

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	length_a = strnlen(a, COMPARED_BYTES);
	length_b = strnlen(b, COMPARED_BYTES);
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	return strncmp(a, b, COMPARED_BYTES);
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
 * Labels in assembly have no type, and may well be functions. Mapping symbols of ARM and RISC-V
 * ("$x", "$d.1") and local labels (".L1", ".annobin_…") are not.
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

/* Add a symbol if it is in a section of code. */
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

/* A table that takes the symbols of an ELF file, and the sections of code in it. */
struct table_pass {
	struct symbol_table *table;
	struct range_map sections;
};

static void table_pass_release(struct table_pass *pass)
{
	range_map_release(&pass->sections);
}

static int visit_symbol(void *context, const char *name, const GElf_Sym *symbol)
{
	const struct table_pass *pass = context;
	unsigned char type = GELF_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (!is_function_name(name, type))
		return 0;
	return add_candidate(pass->table, &pass->sections,
			     (struct symbol_candidate){
				     .start = symbol->st_value,
				     .end = symbol->st_value + symbol->st_size,
				     .name = name,
				     .rank = rank_symbol(symbol),
				     .is_ifunc = type == STT_GNU_IFUNC,
			     });
}

/* Go's pclntab has names even in stripped programs. */
static int add_go_table(struct symbol_table *table, const struct range_map *sections, Elf *elf)
{
	struct go_table functions;
	int err;

	if (!go_table_find(elf, &functions))
		return 0;
	for (uint32_t i = 0; i < functions.num_functions; i++) {
		struct go_function function;

		if (go_table_read(&functions, i, &function) && function.name[0]) {
			err = add_candidate(table, sections,
					    (struct symbol_candidate){
						    .start = function.start,
						    .end = function.end,
						    .name = function.name,
						    .rank = RANK_OF_GO_TABLE,
					    });
			if (err)
				return err;
		}
	}
	return 0;
}

static int add_elf(struct symbol_table *table, Elf *elf)
{
	_cleanup_(table_pass_release) struct table_pass pass = {.table = table};
	int err = map_code_sections(elf, &pass.sections);

	if (err)
		return err;
	err = objfile_for_each_symbol(elf, visit_symbol, &pass);
	return err ? err : add_go_table(table, &pass.sections, elf);
}

static int compare_candidates(const void *left, const void *right)
{
	const struct symbol_candidate *a = left;
	const struct symbol_candidate *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

/*
 * The best of the names of a range is first. Only that one is shown: the others are not sorted, as
 * comparing names takes long.
 */
static void sort_candidates(struct symbol_table *table)
{
	struct symbol_candidate *items = table->candidates.items;
	size_t best = 0;

	if (table->candidates.length)
		qsort(items, table->candidates.length, sizeof(*items), compare_candidates);
	for (size_t i = 1; i < table->candidates.length; i++) {
		struct symbol_candidate other = items[i];

		if (compare_candidates(&items[best], &other)) {
			best = i;
		} else if (symbol_names_compare(other.name, items[best].name) < 0) {
			items[i] = items[best];
			items[best] = other;
		}
	}
}

/* The function whose implementation is chosen by code at this address; NULL: unknown. */
static const char *find_ifunc(const struct symbol_table *table, uint64_t resolver,
			      size_t num_sorted)
{
	const struct symbol_candidate *items = table->candidates.items;
	size_t i = count_front(items, num_sorted, candidate, candidate->start < resolver);

	for (; i < num_sorted && items[i].start == resolver; i++)
		if (items[i].is_ifunc)
			return items[i].name;
	return NULL;
}

/* "abs@plt", or "*ABS*+0x9f550@plt" as binutils has it. NULL when out of memory. */
static char *make_stub_name(const char *symbol, uint64_t resolver)
{
	char *name;
	int length = symbol ? asprintf(&name, "%s@plt", symbol)
			    : asprintf(&name, "*ABS*+0x%" PRIx64 "@plt", resolver);

	return length < 0 ? NULL : name;
}

/* Symbols must be there and sorted: ifuncs take their names from them. */
static int add_stubs(struct symbol_table *table, Elf *elf)
{
	_cleanup_(range_map_release) struct range_map sections = {0};
	_cleanup_(plt_release) struct plt plt = {0};
	size_t num_sorted = table->candidates.length;
	int err = plt_read(elf, &plt);

	if (err || !plt.stubs.length)
		return err;
	err = map_code_sections(elf, &sections);
	if (err)
		return err;
	array_for_each (&plt.stubs, stub) {
		const char *symbol = stub->symbol;
		char **name = array_add(&table->stub_names);

		if (!name)
			return -ENOMEM;
		if (!symbol)
			symbol = find_ifunc(table, stub->resolver, num_sorted);
		*name = make_stub_name(symbol, stub->resolver);
		if (!*name)
			return -ENOMEM;
		err = add_candidate(table, &sections,
				    (struct symbol_candidate){
					    .start = stub->start,
					    .end = stub->end,
					    .name = *name,
					    .rank = RANK_OF_STUB,
				    });
		if (err)
			return err;
	}
	return 0;
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
	_cleanup_(range_map_release) struct range_map gaps = {0};
	uint64_t next_label = UINT64_MAX;
	int err;

	for (size_t i = table->candidates.length; i-- > 0;) {
		const struct symbol_candidate *label = &table->candidates.items[i];
		const struct range *next;
		uint64_t end = label->section_end;

		if (label->end != label->start || range_map_find(&table->map, label->start))
			continue;
		/* The first of several labels in one place is the best. */
		if (i > 0 && table->candidates.items[i - 1].start == label->start &&
		    table->candidates.items[i - 1].end == label->start)
			continue;
		next = range_map_find_next(&table->map, label->start);
		if (next && next->start < end)
			end = next->start;
		if (next_label < end)
			end = next_label;
		err = range_map_add(&gaps, label->start, end, (uint32_t)i);
		if (err)
			return err;
		next_label = label->start;
	}
	array_for_each (&gaps.ranges, gap) {
		err = range_map_add(&table->map, gap->start, gap->end, gap->value);
		if (err)
			return err;
	}
	return range_map_finish(&table->map);
}

static void symbol_table_freep(struct symbol_table **table)
{
	symbol_table_free(*table);
}

int symbol_table_new(Elf *const elfs[], size_t num_elfs, struct symbol_table **ret)
{
	_cleanup_(symbol_table_freep) struct symbol_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < num_elfs; i++) {
		err = add_elf(table, elfs[i]);
		if (err)
			return err;
	}
	sort_candidates(table);
	err = num_elfs ? add_stubs(table, elfs[0]) : 0;
	if (err)
		return err;
	sort_candidates(table);
	err = map_sized(table);
	if (err)
		return err;
	err = map_unsized(table);
	if (err)
		return err;
	*ret = return_ptr(table);
	return 0;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	array_for_each (&table->stub_names, name)
		free(*name);
	array_release(&table->stub_names);
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
		.end = range->end,
		.is_size_known = candidate->end != candidate->start,
	};
	return 0;
}
