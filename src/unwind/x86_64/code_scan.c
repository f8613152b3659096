#include "unwind/x86_64/code_scan.h"

#include <gelf.h>

#include "unwind/x86_64/code_frames.h"

/* Sections of hostile files may overlap as often as they like. */
#define MAX_SEARCHED_BYTES (64u << 20)

struct run {
	const struct code_scan *scan;
	Elf *elf;
	const struct frame_reader *reader;
	uint64_t num_bytes; /* searched so far */
};

static int look(struct run *run, const Elf_Data *code, uint64_t address)
{
	if (!code || !code->d_buf || code->d_size > MAX_SEARCHED_BYTES - run->num_bytes)
		return 0;
	run->num_bytes += code->d_size;
	return run->scan->look(run->scan->context, code->d_buf, code->d_size, address);
}

static int look_at_gap(struct run *run, const GElf_Shdr *section, uint64_t start, uint64_t end)
{
	if (start >= end || end - start <= PADDING_UNREAD_BYTES ||
	    end - start > CODE_RULES_MAX_BYTES)
		return 0;
	return look(run,
		    elf_getdata_rawchunk(run->elf,
					 (int64_t)(section->sh_offset + (start - section->sh_addr)),
					 end - start, ELF_T_BYTE),
		    start);
}

static int look_at_gaps(struct run *run, const GElf_Shdr *section)
{
	uint64_t start = section->sh_addr;
	uint64_t end = section->sh_addr + section->sh_size;
	size_t first = array_count_front(&run->reader->functions, function,
					 function->start + function->size <= start);

	for (size_t i = first; i < run->reader->functions.length; i++) {
		const struct frame_function *function = &run->reader->functions.items[i];
		int err;

		if (function->start >= end)
			break;
		err = look_at_gap(run, section, start, function->start);
		if (err)
			return err;
		start = function->start + function->size;
	}
	return look_at_gap(run, section, start, end);
}

int code_scan_run(const struct code_scan *scan, Elf *elf, const struct frame_reader *reader,
		  uint64_t max_bytes)
{
	struct run run = {.scan = scan, .elf = elf, .reader = reader};

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr section;
		uint64_t end;
		int err;

		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_PROGBITS ||
		    !(section.sh_flags & SHF_EXECINSTR) || !(section.sh_flags & SHF_ALLOC) ||
		    __builtin_add_overflow(section.sh_addr, section.sh_size, &end))
			continue;
		err = section.sh_size <= max_bytes
			      ? look(&run, elf_rawdata(scn, NULL), section.sh_addr)
			      : look_at_gaps(&run, &section);
		if (err)
			return err;
	}
	return 0;
}
