/* Both forms of the mov end alike, and so does the search: with the operand and the system call. */
#include "unwind/x86_64/signal_return.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/x86_64/code_frames.h"

/* Sections of hostile files may overlap as often as they like. */
#define MAX_SEARCHED_BYTES (64u << 20)

struct signal_search {
	Elf *elf;
	const struct frame_reader *reader;
	struct signal_returns *returns;
	uint64_t num_bytes; /* searched so far */
};

static const uint8_t operand_syscall[] = {0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
static const uint8_t mov_rax[] = {0x48, 0xc7, 0xc0};
static const uint8_t mov_eax[] = {0xb8};
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

void signal_returns_release(struct signal_returns *returns)
{
	array_release(&returns->items);
}

/* Whether the code ends with these bytes at the offset. */
static bool ends_with(const uint8_t *code, size_t offset, const uint8_t *bytes, size_t size)
{
	return offset >= size && memcmp(code + offset - size, bytes, size) == 0;
}

/* Bytes of the mov before its operand; 0: not a mov to rax. A REX prefix selects another register. */
static size_t measure_mov(const uint8_t *code, size_t operand)
{
	if (ends_with(code, operand, mov_rax, sizeof(mov_rax)))
		return sizeof(mov_rax);
	if (!ends_with(code, operand, mov_eax, sizeof(mov_eax)))
		return 0;
	return operand >= 2 && (code[operand - 2] & 0xf0) == 0x40 ? 0 : sizeof(mov_eax);
}

bool signal_return_find(const uint8_t *code, size_t size, size_t offset, size_t *ret_start,
			size_t *ret_size)
{
	const uint8_t *found;

	while (offset < size && (found = memmem(code + offset, size - offset, operand_syscall,
						sizeof(operand_syscall)))) {
		size_t operand = (size_t)(found - code);
		size_t start = operand - measure_mov(code, operand);

		offset = operand + sizeof(operand_syscall);
		if (start == operand)
			continue;
		if (ends_with(code, start, endbr64, sizeof(endbr64)))
			start -= sizeof(endbr64);
		*ret_start = start;
		*ret_size = offset - start;
		return true;
	}
	return false;
}

static int search(struct signal_search *search, const Elf_Data *code, uint64_t address)
{
	size_t offset = 0;
	size_t length;

	if (!code || !code->d_buf || code->d_size > MAX_SEARCHED_BYTES - search->num_bytes)
		return 0;
	search->num_bytes += code->d_size;
	while (signal_return_find(code->d_buf, code->d_size, offset, &offset, &length)) {
		struct signal_return *added = array_add(&search->returns->items);

		if (!added)
			return -ENOMEM;
		*added = (struct signal_return){address + offset, (uint32_t)length};
		offset += length;
	}
	return 0;
}

static int search_gap(struct signal_search *in, const GElf_Shdr *section, uint64_t start,
		      uint64_t end)
{
	if (start >= end || end - start <= PADDING_UNREAD_BYTES ||
	    end - start > CODE_RULES_MAX_BYTES)
		return 0;
	return search(in,
		      elf_getdata_rawchunk(
			      in->elf, (int64_t)(section->sh_offset + (start - section->sh_addr)),
			      end - start, ELF_T_BYTE),
		      start);
}

static int search_gaps(struct signal_search *in, const GElf_Shdr *section)
{
	uint64_t start = section->sh_addr;
	uint64_t end = section->sh_addr + section->sh_size;
	size_t first = array_count_front(&in->reader->functions, function,
					 function->start + function->size <= start);

	for (size_t i = first; i < in->reader->functions.length; i++) {
		const struct frame_function *function = &in->reader->functions.items[i];
		int err;

		if (function->start >= end)
			break;
		err = search_gap(in, section, start, function->start);
		if (err)
			return err;
		start = function->start + function->size;
	}
	return search_gap(in, section, start, end);
}

static int compare(const void *a, const void *b)
{
	const struct signal_return *x = a;
	const struct signal_return *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void sort(struct signal_returns *returns)
{
	const struct signal_return *last = NULL;
	size_t length = 0;

	if (!returns->items.length)
		return;
	qsort(returns->items.items, returns->items.length, sizeof(*returns->items.items), compare);
	array_for_each (&returns->items, item) {
		if (last && item->start < last->start + last->size)
			continue;
		returns->items.items[length] = *item;
		last = &returns->items.items[length++];
	}
	returns->items.length = length;
}

int signal_returns_find(Elf *elf, const struct frame_reader *reader, uint64_t max_bytes,
			struct signal_returns *ret)
{
	struct signal_search in = {.elf = elf, .reader = reader, .returns = ret};

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr section;
		uint64_t end;
		int err;

		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_PROGBITS ||
		    !(section.sh_flags & SHF_EXECINSTR) || !(section.sh_flags & SHF_ALLOC) ||
		    __builtin_add_overflow(section.sh_addr, section.sh_size, &end))
			continue;
		err = section.sh_size <= max_bytes
			      ? search(&in, elf_rawdata(scn, NULL), section.sh_addr)
			      : search_gaps(&in, &section);
		if (err)
			return err;
	}
	sort(ret);
	return 0;
}

/* Whether it is an indirect call (FF /2) of exactly this size: the ModRM byte determines it. */
static bool is_indirect_call(const uint8_t *code, size_t size)
{
	uint8_t mode = code[1] >> 6;
	uint8_t base = code[1] & 7;
	bool has_sib = base == 4 && mode != 3;
	size_t needed = 2 + has_sib;

	if (code[0] != 0xff || (code[1] & 0x38) != 0x10)
		return false;
	if (has_sib && size > 2)
		base = code[2] & 7;
	if (mode == 1)
		needed += 1;
	else if (mode == 2 || (mode == 0 && base == 5))
		needed += 4;
	return needed == size;
}

bool signal_return_follows_call(const struct objfile *objfile, uint64_t elf_address)
{
	uint8_t code[7]; /* the longest of them */

	if (objfile_read_code(objfile, elf_address - sizeof(code), code, sizeof(code)))
		return true; /* when in doubt */
	for (size_t size = 2; size <= sizeof(code); size++)
		if (is_indirect_call(code + sizeof(code) - size, size))
			return true;
	return code[2] == 0xe8;
}
