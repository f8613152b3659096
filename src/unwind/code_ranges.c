#include "unwind/code_ranges.h"

#include <gelf.h>

#include "base/bytes.h"

/* The kind of file by .dynamic. */
struct dynamic_facts {
	bool is_position_independent_program;
	bool needs_libraries;
	bool is_kernel_object; /* the vdso */
	bool is_c_library;
};

static int add_segments(struct code_ranges *ranges, Elf *elf)
{
	size_t num_segments;

	if (elf_getphdrnum(elf, &num_segments))
		return 0;
	for (size_t i = 0; i < num_segments; i++) {
		GElf_Phdr segment;
		uint64_t end;
		int err;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X) ||
		    __builtin_add_overflow(segment.p_vaddr, segment.p_memsz, &end))
			continue;
		err = range_map_add(&ranges->segments, segment.p_vaddr, end, 0);
		if (err)
			return err;
	}
	return range_map_finish(&ranges->segments);
}

static uint64_t count_text_bytes(const struct code_ranges *ranges, Elf *elf)
{
	uint64_t of_sections = 0;
	uint64_t of_segments = 0;

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && (header.sh_flags & SHF_EXECINSTR) &&
		    (header.sh_flags & SHF_ALLOC))
			of_sections += header.sh_size;
	}
	array_for_each (&ranges->segments.ranges, segment)
		of_segments += segment->end - segment->start;
	return of_sections && of_sections < of_segments ? of_sections : of_segments;
}

/* The bytes of the file that are loaded at the address; NULL if there are fewer. */
static const void *read_address(Elf *elf, size_t num_segments, uint64_t address, size_t size)
{
	for (size_t i = 0; i < num_segments; i++) {
		GElf_Phdr segment;
		uint64_t skipped;
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		skipped = address - segment.p_vaddr;
		if (size > segment.p_filesz - skipped)
			return NULL;
		data = elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + skipped), size,
					    ELF_T_BYTE);
		return data ? data->d_buf : NULL;
	}
	return NULL;
}

/* Whether the file's DT_SONAME, at the given address, starts with this string. */
static bool is_named(Elf *elf, size_t num_segments, uint64_t address, const char *start)
{
	size_t length = strlen(start);
	const char *name = read_address(elf, num_segments, address, length);

	return name && memcmp(name, start, length) == 0;
}

static struct dynamic_facts read_dynamic(Elf *elf, size_t num_segments, const GElf_Phdr *segment)
{
	struct dynamic_facts facts = {0};
	uint64_t strings = 0;
	uint64_t name = UINT64_MAX;
	Elf_Data *data = segment->p_filesz > 1u << 20
				 ? NULL
				 : elf_getdata_rawchunk(elf, (int64_t)segment->p_offset,
							segment->p_filesz, ELF_T_BYTE);

	if (!data || !data->d_buf)
		return facts;
	struct bytes bytes = bytes_of(data->d_buf, data->d_size);

	while (bytes_left(&bytes) >= sizeof(Elf64_Dyn)) {
		int64_t tag = (int64_t)bytes_u64(&bytes);
		uint64_t value = bytes_u64(&bytes);

		if (tag == DT_NULL)
			break;
		if (tag == DT_NEEDED)
			facts.needs_libraries = true;
		else if (tag == DT_FLAGS_1)
			facts.is_position_independent_program = value & DF_1_PIE;
		else if (tag == DT_STRTAB)
			strings = value;
		else if (tag == DT_SONAME)
			name = value;
	}
	if (name < UINT32_MAX && strings < UINT64_MAX - name) {
		facts.is_kernel_object = is_named(elf, num_segments, strings + name, "linux-vdso");
		facts.is_c_library = is_named(elf, num_segments, strings + name, "libc.so.");
	}
	return facts;
}

/* All false in a file that is not linked dynamically. */
static struct dynamic_facts find_dynamic(Elf *elf, size_t num_segments)
{
	for (size_t i = 0; i < num_segments; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_DYNAMIC)
			return read_dynamic(elf, num_segments, &segment);
	}
	return (struct dynamic_facts){0};
}

static bool has_segment(Elf *elf, size_t num_segments, uint32_t type)
{
	for (size_t i = 0; i < num_segments; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == type)
			return true;
	}
	return false;
}

/*
 * Whether the entry point is an outermost frame. In programs and in ld.so it is; in libraries of old
 * linkers it is just the start of the text, and that of the vdso means nothing.
 */
static bool is_entry_outermost(Elf *elf, size_t num_segments, const GElf_Ehdr *header,
			       const struct dynamic_facts *facts)
{
	if (header->e_type == ET_EXEC)
		return true;
	if (header->e_type != ET_DYN)
		return false;
	if (has_segment(elf, num_segments, PT_INTERP))
		return true;
	return has_segment(elf, num_segments, PT_DYNAMIC) &&
	       (facts->is_position_independent_program ||
		(!facts->needs_libraries && !facts->is_kernel_object));
}

int code_ranges_init(struct code_ranges *ranges, Elf *elf)
{
	struct dynamic_facts facts;
	size_t num_segments = 0;
	GElf_Ehdr header;
	int err;

	*ranges = (struct code_ranges){0};
	err = add_segments(ranges, elf);
	if (err)
		return err;
	(void)elf_getphdrnum(elf, &num_segments); /* unreadable: none */
	facts = find_dynamic(elf, num_segments);
	ranges->text_bytes = count_text_bytes(ranges, elf);
	ranges->may_have_c_library = facts.is_c_library || !facts.needs_libraries;
	if (gelf_getehdr(elf, &header) && header.e_entry &&
	    range_map_find(&ranges->segments, header.e_entry) &&
	    is_entry_outermost(elf, num_segments, &header, &facts))
		ranges->entry = header.e_entry;
	return 0;
}

void code_ranges_release(struct code_ranges *ranges)
{
	range_map_release(&ranges->segments);
}
