/* Both forms of the mov end alike, and so does the search: with the operand and the system call. */
#include "unwind/x86_64/signal_return.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/x86_64/code_scan.h"

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

static int look(void *context, const uint8_t *code, size_t size, uint64_t address)
{
	struct signal_returns *returns = context;
	size_t offset = 0;
	size_t length;

	while (signal_return_find(code, size, offset, &offset, &length)) {
		struct signal_return *added = array_add(&returns->items);

		if (!added)
			return -ENOMEM;
		*added = (struct signal_return){address + offset, (uint32_t)length};
		offset += length;
	}
	return 0;
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
	const struct code_scan scan = {look, ret};
	int err = code_scan_run(&scan, elf, reader, max_bytes);

	if (!err)
		sort(ret);
	return err;
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
