#include "objfile/allocator.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "unit.h"
#include "elf_writer.h"
#include "go_table_writer.h"
#include "unwind/frame_writer.h"
/* clang-format on */

#define TEXT_ADDRESS 0x1000

struct wanted_symbol {
	const char *name; /* NULL: the end */
	uint64_t offset;  /* in the text */
	uint64_t size;
	unsigned char type;
	uint16_t section; /* 0: it is somewhere else */
};

static uint16_t file_type;    /* 0: ET_DYN */
static struct text *go_table; /* NULL: it has no Go code */
static bool has_stubs;        /* of malloc and std::get_new_handler() */
/* Of code with call-frame information: start and size, from the text on; up to size 0. */
static const uint64_t (*frames)[2];

#define FRAMES_ADDRESS 0x5000

/* At 0x2000 and 0x2010; their words are at 0x3000 and 0x3008. */
static void add_stubs(struct elf_writer *writer)
{
	static const char names[] = "\0malloc\0_ZSt15get_new_handlerv";
	static const Elf64_Sym symbols[] = {
		{0},
		{.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
		{.st_name = 8, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
	};
	static const Elf64_Rela relocations[] = {
		{0x3000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
		{0x3008, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0},
	};
	/* jmp *0x3000, jmp *0x3008 */
	static const uint8_t code[32] = {
		0xff, 0x25, 0xfa, 0x0f, [16] = 0xff, [17] = 0x25, [18] = 0xf2, [19] = 0x0f};
	uint16_t strings = elf_writer_add(writer, (struct elf_section){.name = ".dynstr",
								       .type = SHT_STRTAB,
								       .data = names,
								       .size = sizeof(names)});
	uint16_t dynsym =
		elf_writer_add(writer, (struct elf_section){.name = ".dynsym",
							    .type = SHT_DYNSYM,
							    .data = symbols,
							    .size = sizeof(symbols),
							    .link = strings,
							    .entry_size = sizeof(Elf64_Sym)});

	elf_writer_add(writer, (struct elf_section){.name = ".rela.plt",
						    .type = SHT_RELA,
						    .flags = SHF_ALLOC,
						    .data = relocations,
						    .size = sizeof(relocations),
						    .link = dynsym,
						    .entry_size = sizeof(Elf64_Rela)});
	elf_writer_add(writer, (struct elf_section){.name = ".plt.sec",
						    .type = SHT_PROGBITS,
						    .flags = SHF_ALLOC | SHF_EXECINSTR,
						    .address = 0x2000,
						    .data = code,
						    .size = sizeof(code),
						    .entry_size = 16});
}

/* The allocator of a file with these symbols. Returns what allocator_find() does. */
static int find(const struct wanted_symbol *symbols, struct allocator *ret, uint64_t *ret_text)
{
	struct frame_writer frame_writer = {.elf_address = FRAMES_ADDRESS};
	struct elf_writer writer = {.type = file_type};
	struct objfile *objfile;
	struct text bytes = {0};
	struct text names = {0};
	uint8_t text[0x1000] = {
		/* push %rbx; jmp *%rax, as by a pointer of dlsym() */
		[0x600] = 0x53,
		[0x601] = 0xff,
		[0x602] = 0xe0,
		/* jmp to a stub that is jmp *0x1234(%rip) */
		[0x700] = 0xe9,
		[0x701] = 0xfb,
		[0x702] = 0x01,
		[0x900] = 0xff,
		[0x901] = 0x25,
		[0x902] = 0x34,
		[0x903] = 0x12,
		/* call *%rax; ret */
		[0x680] = 0xff,
		[0x681] = 0xd0,
		[0x682] = 0xc3,
		[0x683] = 0xff,
		[0x684] = 0xe0,
		/* call to the stubs of malloc and std::get_new_handler() */
		[0x740] = 0xe8,
		[0x741] = 0xbb,
		[0x742] = 0x08,
		[0x745] = 0xe8,
		[0x746] = 0xc6,
		[0x747] = 0x08,
		/* call to the stub of malloc, and to 0x1b00 */
		[0x760] = 0xe8,
		[0x761] = 0x9b,
		[0x762] = 0x08,
		[0x765] = 0xe8,
		[0x766] = 0x96,
		[0x767] = 0x03,
		/* jmp within the function; ret */
		[0x780] = 0xeb,
		[0x781] = 0x00,
		[0x782] = 0xc3,
		/* jne 0x1c00, jmp 0x1c05, where it jumps on to 0x1c40, and that back */
		[0x7c0] = 0x0f,
		[0x7c1] = 0x85,
		[0x7c2] = 0x3a,
		[0x7c3] = 0x04,
		[0x7c6] = 0xe9,
		[0x7c7] = 0x3a,
		[0x7c8] = 0x04,
		[0xc00] = 0x90,
		[0xc01] = 0x90,
		[0xc02] = 0x90,
		[0xc03] = 0x90,
		[0xc04] = 0x90,
		[0xc05] = 0xe9,
		[0xc06] = 0x36,
		[0xc40] = 0xe9,
		[0xc41] = 0xbb,
		[0xc42] = 0xff,
		[0xc43] = 0xff,
		[0xc44] = 0xff,
		/* test %rdi,%rdi; je: as free() of glibc starts */
		[0xa00] = 0x48,
		[0xa01] = 0x85,
		[0xa02] = 0xff,
		[0xa03] = 0x0f,
		[0xa04] = 0x84,
		/* and without a jump behind it */
		[0xb00] = 0x48,
		[0xb01] = 0x85,
		[0xb02] = 0xff,
		[0xb03] = 0x50,
	};
	Elf64_Sym symbol = {0};
	int err;
	int fd;

	text_append(&bytes, &symbol, sizeof(symbol));
	text_append_char(&names, '\0');
	for (; symbols->name; symbols++) {
		symbol = (Elf64_Sym){
			.st_name = (uint32_t)names.length,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, symbols->type),
			.st_shndx = symbols->section,
			.st_value = TEXT_ADDRESS + symbols->offset,
			.st_size = symbols->size,
		};
		text_append(&bytes, &symbol, sizeof(symbol));
		text_append(&names, symbols->name, strlen(symbols->name) + 1);
	}
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = text,
						     .size = sizeof(text)});
	if (has_stubs)
		add_stubs(&writer);
	if (frames) {
		frame_writer_add_cie(&frame_writer, &usual_cie);
		for (size_t i = 0; frames[i][1]; i++)
			frame_writer_add_function(&frame_writer, TEXT_ADDRESS + frames[i][0],
						  frames[i][1], NO_CODE);
		elf_writer_add(&writer, (struct elf_section){.name = ".eh_frame",
							     .type = SHT_PROGBITS,
							     .flags = SHF_ALLOC,
							     .address = FRAMES_ADDRESS,
							     .data = frame_writer.bytes.data,
							     .size = frame_writer.bytes.length});
	}
	if (go_table)
		elf_writer_add(&writer, (struct elf_section){.name = ".gopclntab",
							     .type = SHT_PROGBITS,
							     .data = go_table->data,
							     .size = go_table->length});
	elf_writer_add_symbols(&writer, bytes.data, bytes.length, names.data, names.length);
	fd = elf_writer_open(&writer);
	assert_int_equal(objfile_open(fd, "/test", NULL, &objfile, NULL), 0);
	close(fd);
	*ret_text = writer.offsets[0];
	err = allocator_find(objfile, EM_X86_64, ret);
	objfile_unref(objfile);
	text_release(&bytes);
	text_release(&names);
	text_release(&frame_writer.bytes);
	return err;
}

static struct probe_argument get_argument(unsigned int number)
{
	struct probe_argument argument;

	assert_int_equal(function_argument_get(number, EM_X86_64, &argument), 0);
	return argument;
}

static void functions_are_in_order_with_the_argument_that_is_their_size(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"posix_memalign@@GLIBC_2.2.5", 0x300, 0x10, STT_FUNC, 1},
		{"malloc", 0x100, 0x40, STT_FUNC, 1},
		{"__libc_malloc", 0x100, 0x40, STT_FUNC, 1},
		{"memalign", 0x200, 0x20, STT_FUNC, 1},
		{"aligned_alloc", 0x200, 0x20, STT_FUNC, 1},
		{"free", 0x80, 0x10, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	static const uint64_t offsets[] = {0x80, 0x100, 0x200, 0x300};
	static const unsigned int arguments[] = {0, 1, 2, 3}; /* 0: it has none, as it frees */
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct allocator_function *function = &found.functions.items[i];

		assert_int_equal(function->point.file_offset, text + offsets[i]);
		if (!arguments[i]) {
			assert_int_equal(function->point.argument.source, ARGUMENT_NONE);
			continue;
		}
		assert_int_equal(function->point.argument.source, ARGUMENT_REGISTER);
		assert_int_equal(function->point.argument.base, get_argument(arguments[i]).base);
	}
	assert_int_equal(found.functions.items[1].bytes, 0x40);
	allocator_release(&found);
}

static void what_is_freed_is_an_argument_and_what_is_allocated_is_returned_or_put_there(
	_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc", 0x100, 0x40, STT_FUNC, 1},  {"free", 0x200, 0x40, STT_FUNC, 1},
		{"realloc", 0x300, 0x40, STT_FUNC, 1}, {"posix_memalign", 0x400, 0x40, STT_FUNC, 1},
		{"_ZdaPvm", 0x500, 0x40, STT_FUNC, 1}, {NULL, 0, 0, 0, 0},
	};
	static const unsigned int freed[] = {0, 1, 1, 0, 1};
	static const unsigned int pointers[] = {0, 0, 0, 1, 0};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct allocator_function *function = &found.functions.items[i];

		assert_int_equal(function->free_register,
				 freed[i] ? get_argument(freed[i]).base : ARGUMENT_NO_REGISTER);
		assert_int_equal(function->pointer_register,
				 pointers[i] ? get_argument(pointers[i]).base
					     : ARGUMENT_NO_REGISTER);
	}
	allocator_release(&found);
}

static void where_a_function_frees_it_is_probed_at_what_the_kernel_emulates(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc", 0x100, 0x40, STT_FUNC, 1},
		{"free", 0xa00, 0x40, STT_FUNC, 1},
		{"cfree", 0xb00, 0x40, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 3);
	assert_int_equal(found.functions.items[1].point.file_offset, text + 0xa03);
	assert_int_equal(found.functions.items[2].point.file_offset, text + 0xb00);
	allocator_release(&found);
}

static void only_what_goes_on_in_another_function_may_jump_there(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc", 0x100, 0x40, STT_FUNC, 1},  {"calloc", 0x200, 0x40, STT_FUNC, 1},
		{"realloc", 0x300, 0x40, STT_FUNC, 1}, {"aligned_alloc", 0x400, 0x40, STT_FUNC, 1},
		{"_Znam", 0x500, 0x40, STT_FUNC, 1},   {NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 5);
	assert_int_equal(found.functions.items[0].jump_register, ARGUMENT_NO_REGISTER);
	assert_int_equal(found.functions.items[1].jump_register, ARGUMENT_NO_REGISTER);
	for (size_t i = 2; i < 5; i++)
		assert_int_equal(found.functions.items[i].jump_register, get_argument(1).base);
	assert_true(found.functions.items[2].jump_limit == 0);
	assert_true(found.functions.items[3].jump_limit == 16);
	assert_true(found.functions.items[4].jump_limit == UINT64_MAX);
	allocator_release(&found);
}

static void calloc_is_asked_for_a_product(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc", 0x100, 0x40, STT_FUNC, 1},
		{"calloc", 0x200, 0x40, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 2);
	assert_int_equal(found.functions.items[1].point.argument.source, ARGUMENT_PRODUCT);
	assert_int_equal(found.functions.items[1].point.argument.base, get_argument(1).base);
	assert_int_equal(found.functions.items[1].point.argument.index, get_argument(2).base);
	allocator_release(&found);
}

static void builds_with_a_prefix_and_operator_new_are_known(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"_rjem_malloc", 0x100, 0x40, STT_FUNC, 1}, {"mi_zalloc", 0x200, 0x40, STT_FUNC, 1},
		{"_Znwm", 0x300, 0x40, STT_FUNC, 1},        {"zalloc", 0x400, 0x40, STT_FUNC, 1},
		{"my_malloc", 0x500, 0x40, STT_FUNC, 1},    {NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 3);
	assert_int_equal(found.functions.items[2].point.file_offset, text + 0x300);
	allocator_release(&found);
}

static void functions_of_mimalloc_jump_to_each_other(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc", 0x100, 0x40, STT_FUNC, 1},
		{"posix_memalign", 0x200, 0x40, STT_FUNC, 1},
		{"mi_posix_memalign", 0x300, 0x40, STT_FUNC, 1},
		{"aligned_alloc", 0x400, 0x40, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 4);
	assert_int_equal(found.functions.items[0].jump_register, ARGUMENT_NO_REGISTER);
	for (size_t i = 1; i < 4; i++) {
		assert_int_not_equal(found.functions.items[i].jump_register, ARGUMENT_NO_REGISTER);
		assert_true(found.functions.items[i].jump_limit == UINT64_MAX);
	}
	allocator_release(&found);
}

/* One with the code of a helper, and one with a part that is set apart. */
static void a_jump_to_other_code_of_the_file_leads_out(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc", 0x700, 0x5, STT_FUNC, 1},
		{"calloc", 0xa00, 0x10, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 2);
	assert_true(found.functions.items[0].jumps_out);
	assert_false(found.functions.items[1].jumps_out);
	assert_int_equal(found.functions.items[0].jump_register, ARGUMENT_NO_REGISTER);
	allocator_release(&found);
}

/* And helpers of helpers. */
static void helpers_that_a_function_jumps_to_are_found(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc", 0x7c0, 0x10, STT_FUNC, 1},
		{"calloc", 0x700, 0x5, STT_FUNC, 1},
		{"realloc", 0x680, 0x3, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	static const uint64_t some[][2] = {{0xc00, 0x40}, {0xc40, 0x20}, {0x900, 6}, {0, 0}};
	static const uint64_t other[][2] = {{0xc00, 0x40}, {0, 0}};
	const struct allocator_function *functions;
	struct allocator found;
	uint64_t text;

	frames = some;
	assert_int_equal(find(symbols, &found, &text), 0);
	functions = found.functions.items;
	assert_int_equal(found.functions.length, 3);
	assert_false(functions[0].jumps_out);
	assert_false(functions[0].has_other_helpers);
	assert_int_equal(functions[0].helpers[0].bytes, 0);
	/* It jumps through a pointer. */
	assert_true(functions[1].jumps_out);
	assert_true(functions[1].has_other_helpers);
	assert_int_equal(functions[1].helpers[0].file_offset, text + 0x900);
	assert_int_equal(functions[1].helpers[0].bytes, 6);
	assert_true(functions[2].jumps_out);
	assert_false(functions[2].has_other_helpers);
	assert_int_equal(functions[2].helpers[0].file_offset, text + 0xc00);
	assert_int_equal(functions[2].helpers[0].bytes, 0x40);
	assert_int_equal(functions[2].helpers[1].file_offset, text + 0xc40);
	assert_int_equal(functions[2].helpers[1].bytes, 0x20);
	assert_int_equal(functions[2].helpers[2].bytes, 0);
	allocator_release(&found);
	/* One has unknown bounds. */
	frames = other;
	assert_int_equal(find(symbols, &found, &text), 0);
	assert_true(found.functions.items[2].has_other_helpers);
	assert_int_equal(found.functions.items[2].helpers[1].bytes, 0);
	allocator_release(&found);
	frames = NULL;
}

/* As in glibc before 2.34. */
static void hooks_of_glibc_are_found(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"malloc@@GLIBC_2.2.5", 0x100, 0x40, STT_FUNC, 1},
		{"realloc", 0x200, 0x40, STT_FUNC, 1},
		{"je_malloc", 0x300, 0x40, STT_FUNC, 1},
		{"__malloc_hook@GLIBC_2.2.5", 0x900, 8, STT_OBJECT, 1},
		{"__realloc_hook", 0x908, 8, STT_OBJECT, 0},
		{"__malloc_hooks", 0x910, 8, STT_OBJECT, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 3);
	assert_int_equal(found.functions.items[0].hook_address, TEXT_ADDRESS + 0x900);
	assert_int_equal(found.functions.items[1].hook_address, 0);
	assert_int_equal(found.functions.items[2].hook_address, 0);
	allocator_release(&found);
}

/* Whatever its name is. */
static void a_jump_to_another_function_is_found(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {
		{"valloc", 0x700, 0x5, STT_FUNC, 1},
		{"malloc", 0x900, 0x10, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 2);
	assert_false(found.functions.items[0].jumps_out);
	assert_int_equal(found.functions.items[0].jump_register, get_argument(1).base);
	assert_true(found.functions.items[0].jump_limit == UINT64_MAX);
	allocator_release(&found);
}

static void a_wrapper_may_jump_to_another_file(_unused_ void **state)
{
	struct wanted_symbol symbols[] = {
		{"malloc", 0x600, 0x10, STT_FUNC, 1},
		{"calloc", 0x680, 0x3, STT_FUNC, 1},
		{"realloc", 0x700, 0x10, STT_FUNC, 1},
		{"memalign", 0x780, 0x3, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
		{NULL, 0, 0, 0, 0},
	};
	static const bool jumps_out[] = {true, false, true, false};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(found.functions.items[i].jumps_out, jumps_out[i]);
	allocator_release(&found);
	/* Older versions of glibc jump to a hook. */
	symbols[4] = (struct wanted_symbol){"__libc_malloc", 0x600, 0x10, STT_FUNC, 1};
	assert_int_equal(find(symbols, &found, &text), 0);
	for (size_t i = 0; i < 4; i++)
		assert_false(found.functions.items[i].jumps_out);
	allocator_release(&found);
}

static void a_program_without_libraries_and_malloc_is_known_as_such(_unused_ void **state)
{
	static const struct wanted_symbol symbols[] = {{"main", 0x100, 0x40, STT_FUNC, 1},
						       {NULL, 0, 0, 0, 0}};
	struct allocator found;
	uint64_t text;

	file_type = ET_EXEC;
	assert_int_equal(find(symbols, &found, &text), -ENODATA);
	file_type = 0;
	assert_int_equal(find(symbols, &found, &text), -ENOENT);
}

/* Go has an allocator of its own, whatever else a program uses. */
static void go_code_has_an_unknown_allocator(_unused_ void **state)
{
	static const struct wanted_symbol main_only[] = {{"main", 0x100, 0x40, STT_FUNC, 1},
							 {NULL, 0, 0, 0, 0}};
	static const struct wanted_symbol with_malloc[] = {{"malloc", 0x100, 0x40, STT_FUNC, 1},
							   {NULL, 0, 0, 0, 0}};
	struct go_table_writer go = {.version = GO_1_20,
				     .text_start = TEXT_ADDRESS,
				     .header_text_start = TEXT_ADDRESS,
				     .end = TEXT_ADDRESS + 0x100};
	struct text bytes;
	struct allocator found;
	uint64_t text;

	go_table_writer_add(&go, "main.main", TEXT_ADDRESS, NULL, 0);
	bytes = go_table_writer_write(&go);
	go_table = &bytes;
	assert_int_equal(find(main_only, &found, &text), -ENODATA);
	assert_int_equal(find(with_malloc, &found, &text), 0);
	assert_true(found.has_unknown);
	allocator_release(&found);
	go_table = NULL;
	assert_int_equal(find(with_malloc, &found, &text), 0);
	assert_false(found.has_unknown);
	allocator_release(&found);
	text_release(&bytes);
}

static void a_file_without_malloc_of_its_own_is_no_allocator(_unused_ void **state)
{
	static const struct wanted_symbol imports[] = {
		{"malloc", 0, 0, STT_FUNC, 0},
		{"calloc", 0x300, 0x40, STT_FUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(imports, &found, &text), -ENOENT);
}

/* Where it is chosen when the program starts. */
static void a_malloc_that_cannot_be_probed_is_known_as_such(_unused_ void **state)
{
	static const struct wanted_symbol chosen[] = {
		{"malloc", 0x100, 0x40, STT_GNU_IFUNC, 1},
		{NULL, 0, 0, 0, 0},
	};
	struct allocator found;
	uint64_t text;

	assert_int_equal(find(chosen, &found, &text), -ENODATA);
}

static void a_program_has_operators_of_its_own(_unused_ void **state)
{
	/* With and without a C++ library linked in, from malloc and from other memory. */
	static const struct wanted_symbol own[][5] = {
		{{"_Znwm", 0x300, 0x40, STT_FUNC, 1}, {"_ZdlPv", 0x400, 0x40, STT_FUNC, 1}},
		{{"_Znam", 0x740, 0xa, STT_FUNC, 1}, {"_ZdlPv", 0x400, 0x40, STT_FUNC, 1}},
		{{"_Znwm", 0x300, 0x40, STT_FUNC, 1},
		 {"_ZdlPv", 0x400, 0x40, STT_FUNC, 1},
		 {"__cxa_allocate_exception", 0x500, 0x40, STT_FUNC, 1}},
		{{"_Znwm", 0x740, 5, STT_FUNC, 1},
		 {"_ZdlPv", 0x400, 0x40, STT_FUNC, 1},
		 {"__cxa_allocate_exception", 0x500, 0x40, STT_FUNC, 1}},
	};
	struct allocator found;
	uint64_t text;

	has_stubs = true;
	for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
		assert_int_equal(find(own[i], &found, &text), 0);
		assert_int_equal(found.functions.length, 2);
		assert_false(found.has_unknown);
		assert_int_equal(found.functions.items[i == 1 || i == 3].point.argument.source,
				 ARGUMENT_REGISTER);
		allocator_release(&found);
	}
	has_stubs = false;
	file_type = ET_EXEC;
	assert_int_equal(find(own[0], &found, &text), 0);
	assert_true(found.has_unknown);
	allocator_release(&found);
	file_type = 0;
}

/* They call malloc, which has probes. */
static void operators_of_a_cpp_library_are_left_to_malloc(_unused_ void **state)
{
	static const struct wanted_symbol libraries[][5] = {
		{{"_Znwm@@GLIBCXX_3.4", 0x740, 0xa, STT_FUNC, 1},
		 {"_Znam", 0x300, 5, STT_FUNC, 1},
		 {"__cxa_allocate_exception@@CXXABI_1.3", 0x500, 0x40, STT_FUNC, 1}},
		{{"_Znwm", 0x760, 0xa, STT_FUNC, 1},
		 {"_ZSt15get_new_handlerv", 0xb00, 8, STT_FUNC, 1},
		 {"__cxa_allocate_exception", 0x500, 0x40, STT_FUNC, 1}},
	};
	struct allocator found;
	uint64_t text;

	has_stubs = true;
	for (size_t i = 0; i < ARRAY_LENGTH(libraries); i++)
		assert_int_equal(find(libraries[i], &found, &text), -ENOENT);
	has_stubs = false;
}

static void no_more_functions_are_probed_than_are_bearable(_unused_ void **state)
{
	struct wanted_symbol symbols[ALLOCATOR_MAX_FUNCTIONS + 2] = {{0}};
	struct allocator found;
	uint64_t text;

	for (size_t i = 0; i <= ALLOCATOR_MAX_FUNCTIONS; i++)
		symbols[i] = (struct wanted_symbol){"malloc", 0x100 + i * 8, 8, STT_FUNC, 1};
	assert_int_equal(find(symbols, &found, &text), -E2BIG);
	symbols[ALLOCATOR_MAX_FUNCTIONS].name = NULL;
	assert_int_equal(find(symbols, &found, &text), 0);
	assert_int_equal(found.functions.length, ALLOCATOR_MAX_FUNCTIONS);
	allocator_release(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_in_order_with_the_argument_that_is_their_size),
		cmocka_unit_test(
			what_is_freed_is_an_argument_and_what_is_allocated_is_returned_or_put_there),
		cmocka_unit_test(where_a_function_frees_it_is_probed_at_what_the_kernel_emulates),
		cmocka_unit_test(only_what_goes_on_in_another_function_may_jump_there),
		cmocka_unit_test(calloc_is_asked_for_a_product),
		cmocka_unit_test(builds_with_a_prefix_and_operator_new_are_known),
		cmocka_unit_test(functions_of_mimalloc_jump_to_each_other),
		cmocka_unit_test(a_wrapper_may_jump_to_another_file),
		cmocka_unit_test(a_jump_to_other_code_of_the_file_leads_out),
		cmocka_unit_test(a_jump_to_another_function_is_found),
		cmocka_unit_test(helpers_that_a_function_jumps_to_are_found),
		cmocka_unit_test(hooks_of_glibc_are_found),
		cmocka_unit_test(a_program_without_libraries_and_malloc_is_known_as_such),
		cmocka_unit_test(go_code_has_an_unknown_allocator),
		cmocka_unit_test(a_file_without_malloc_of_its_own_is_no_allocator),
		cmocka_unit_test(a_malloc_that_cannot_be_probed_is_known_as_such),
		cmocka_unit_test(a_program_has_operators_of_its_own),
		cmocka_unit_test(operators_of_a_cpp_library_are_left_to_malloc),
		cmocka_unit_test(no_more_functions_are_probed_than_are_bearable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
