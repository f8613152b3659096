#include "objfile/usdt.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"
/* Node has a hundred probes, with notes of a hundred bytes each. */
#define NOTES_MAX_BYTES (16u << 20)
#define NOTE_ALIGNMENT  4

/* ---- notes -------------------------------------------------------------------------------- */

static void skip_padding(struct bytes *bytes)
{
	size_t padding = -bytes->offset & (NOTE_ALIGNMENT - 1);

	bytes_skip(bytes, padding < bytes_left(bytes) ? padding : bytes_left(bytes));
}

static bool read_description(struct bytes description, struct usdt_note *ret)
{
	ret->location = bytes_u64(&description);
	ret->base = bytes_u64(&description);
	ret->semaphore = bytes_u64(&description);
	ret->provider = bytes_string(&description);
	ret->name = bytes_string(&description);
	ret->arguments = bytes_string(&description);
	return !description.failed;
}

int usdt_read_notes(const void *notes, size_t size,
		    int (*handle)(const struct usdt_note *note, void *context), void *context)
{
	struct bytes bytes = bytes_of(notes, size);

	while (bytes_left(&bytes) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_size = bytes_u32(&bytes);
		uint32_t description_size = bytes_u32(&bytes);
		uint32_t type = bytes_u32(&bytes);
		const void *name = bytes_take(&bytes, name_size);
		const void *description;
		struct usdt_note note;
		int err;

		skip_padding(&bytes);
		description = bytes_take(&bytes, description_size);
		if (!description)
			return -EINVAL;
		skip_padding(&bytes);
		if (type != NOTE_TYPE || name_size != sizeof(NOTE_NAME) ||
		    memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) != 0 ||
		    !read_description(bytes_of(description, description_size), &note))
			continue;
		err = handle(&note, context);
		if (err)
			return err;
	}
	return 0;
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* The names of a register by its position in struct pt_regs: 64-bit, then 32, 16 and 8 bits. */
struct register_names {
	uint8_t number;
	const char *names[4];
};

static const struct register_names x86_registers[] = {
	{0, {"r15", "r15d", "r15w", "r15b"}}, {1, {"r14", "r14d", "r14w", "r14b"}},
	{2, {"r13", "r13d", "r13w", "r13b"}}, {3, {"r12", "r12d", "r12w", "r12b"}},
	{4, {"rbp", "ebp", "bp", "bpl"}},     {5, {"rbx", "ebx", "bx", "bl"}},
	{6, {"r11", "r11d", "r11w", "r11b"}}, {7, {"r10", "r10d", "r10w", "r10b"}},
	{8, {"r9", "r9d", "r9w", "r9b"}},     {9, {"r8", "r8d", "r8w", "r8b"}},
	{10, {"rax", "eax", "ax", "al"}},     {11, {"rcx", "ecx", "cx", "cl"}},
	{12, {"rdx", "edx", "dx", "dl"}},     {13, {"rsi", "esi", "si", "sil"}},
	{14, {"rdi", "edi", "di", "dil"}},    {19, {"rsp", "esp", "sp", "spl"}},
};

static const uint8_t x86_arguments[] = {14, 13, 12, 11, 9, 8};
#define X86_RESULT        10
#define ARM_NUM_ARGUMENTS 8
#define ARM_SP            31

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* "rdi", "x0", "sp": the text up to length. */
static bool find_register(const char *text, size_t length, uint16_t machine, uint8_t *ret)
{
	if (machine == EM_X86_64) {
		for (size_t i = 0; i < ARRAY_LENGTH(x86_registers); i++)
			for (size_t j = 0; j < ARRAY_LENGTH(x86_registers[i].names); j++)
				if (is_word(text, length, x86_registers[i].names[j])) {
					*ret = x86_registers[i].number;
					return true;
				}
		return false;
	}
	if (is_word(text, length, "sp")) {
		*ret = ARM_SP;
		return true;
	}
	for (uint8_t i = 0; i < ARM_SP; i++) {
		char name[8];

		snprintf(name, sizeof(name), "x%u", i);
		if (is_word(text, length, name) ||
		    (length && text[0] == 'w' && is_word(text + 1, length - 1, name + 1))) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* A number, which may have a sign, up to the end. */
static bool read_number(const char *text, const char *end, int64_t *ret)
{
	char digits[24];
	char *stop;
	size_t length = (size_t)(end - text);

	if (!length || length >= sizeof(digits) || !strchr("-+0123456789", text[0]))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	errno = 0;
	*ret = strtoll(digits, &stop, 0);
	return !*stop && !errno;
}

/* "16(%rsp)", "(%rax,%rcx,8)", "%edi", "$5" */
static bool read_x86_operand(const char *text, const char *end, struct probe_argument *ret)
{
	const char *open = memchr(text, '(', (size_t)(end - text));
	const char *comma;
	const char *second;
	int64_t scale = 1;

	if (*text == '$') {
		ret->source = ARGUMENT_CONSTANT;
		return read_number(text + 1, end, &ret->displacement);
	}
	if (*text == '%') {
		ret->source = ARGUMENT_REGISTER;
		return find_register(text + 1, (size_t)(end - text - 1), EM_X86_64, &ret->base);
	}
	ret->source = ARGUMENT_MEMORY;
	if (!open || end[-1] != ')' || open[1] != '%' ||
	    (open > text && !read_number(text, open, &ret->displacement)))
		return false;
	end--;
	comma = memchr(open, ',', (size_t)(end - open));
	if (!find_register(open + 2, (size_t)((comma ? comma : end) - open - 2), EM_X86_64,
			   &ret->base))
		return false;
	if (!comma)
		return true;
	if (comma[1] != '%')
		return false;
	second = memchr(comma + 1, ',', (size_t)(end - comma - 1));
	if (!find_register(comma + 2, (size_t)((second ? second : end) - comma - 2), EM_X86_64,
			   &ret->index) ||
	    (second && !read_number(second + 1, end, &scale)))
		return false;
	ret->scale = (uint8_t)scale;
	return scale == 1 || scale == 2 || scale == 4 || scale == 8;
}

/* "[sp, 16]", "[x0]", "w3", "5" */
static bool read_arm_operand(const char *text, const char *end, struct probe_argument *ret)
{
	const char *comma = memchr(text, ',', (size_t)(end - text));

	if (*text == '[' && end[-1] == ']') {
		ret->source = ARGUMENT_MEMORY;
		end--;
		return find_register(text + 1, (size_t)((comma ? comma : end) - text - 1),
				     EM_AARCH64, &ret->base) &&
		       (!comma ||
			read_number(comma + 1 + strspn(comma + 1, " "), end, &ret->displacement));
	}
	ret->source = ARGUMENT_REGISTER;
	if (find_register(text, (size_t)(end - text), EM_AARCH64, &ret->base))
		return true;
	ret->source = ARGUMENT_CONSTANT;
	return read_number(text, end, &ret->displacement);
}

/* The end of the first argument: a blank, except in brackets. */
static const char *find_end(const char *text)
{
	bool is_inside = false;

	for (; *text && (is_inside || *text != ' '); text++) {
		if (*text == '[')
			is_inside = true;
		else if (*text == ']')
			is_inside = false;
	}
	return text;
}

int usdt_read_argument(const char *arguments, unsigned int number, uint16_t machine,
		       struct probe_argument *ret)
{
	struct probe_argument argument = {.index = ARGUMENT_NO_REGISTER};
	const char *text = arguments + strspn(arguments, " ");
	const char *end = find_end(text);

	while (--number && *text) {
		text = end + strspn(end, " ");
		end = find_end(text);
	}
	if (!*text)
		return -ENOENT;
	argument.is_signed = *text == '-';
	text += argument.is_signed;
	/* Those of floating-point numbers have an f there. */
	if (!*text || !strchr("1248", *text) || text[1] != '@' || text + 2 == end)
		return -ENOTSUP;
	argument.bytes = (uint8_t)(*text - '0');
	text += 2;
	if (machine == EM_X86_64    ? !read_x86_operand(text, end, &argument)
	    : machine == EM_AARCH64 ? !read_arm_operand(text, end, &argument)
				    : true)
		return -ENOTSUP;
	*ret = argument;
	return 0;
}

int function_argument_get(unsigned int number, uint16_t machine, struct probe_argument *ret)
{
	struct probe_argument argument = {
		.source = ARGUMENT_REGISTER, .bytes = 8, .index = ARGUMENT_NO_REGISTER};

	if (machine == EM_X86_64 && number <= ARRAY_LENGTH(x86_arguments))
		argument.base = number ? x86_arguments[number - 1] : X86_RESULT;
	else if (machine == EM_AARCH64 && number <= ARM_NUM_ARGUMENTS)
		argument.base = (uint8_t)(number ? number - 1 : 0);
	else
		return -ENOENT;
	/* A failed function returns a negative value. */
	argument.is_signed = !number;
	*ret = argument;
	return 0;
}

/* ---- points ------------------------------------------------------------------------------- */

void probe_point_list_release(struct probe_point_list *list)
{
	array_release(&list->points);
}

int probe_point_list_add(struct probe_point_list *list, const struct probe_point *point)
{
	struct probe_point *added;

	array_for_each (&list->points, other)
		if (other->file_offset == point->file_offset)
			return 0;
	if (list->points.length == PROBE_MAX_POINTS)
		return -E2BIG;
	added = array_add(&list->points);
	if (!added)
		return -ENOMEM;
	*added = *point;
	return 0;
}

struct usdt_search {
	const struct objfile *objfile;
	const char *provider;
	const char *name;
	unsigned int argument;
	uint16_t machine;
	uint64_t base; /* actual address of .stapsdt.base; 0: missing */
	struct probe_point_list *ret;
	struct near_names *near;
};

static void compare_with(struct near_names *near, const struct usdt_note *note)
{
	char name[NEAR_NAMES_MAX_BYTES];
	int length = snprintf(name, sizeof(name), "%s:%s", note->provider, note->name);

	if (length > 0 && (size_t)length < sizeof(name))
		near_names_compare(near, name);
}

/* File offset of a byte in a loaded segment. */
static bool find_file_offset(const struct objfile *objfile, uint64_t elf_address, bool is_code,
			     uint64_t *ret)
{
	array_for_each (&objfile_get_layout(objfile)->segments, segment) {
		uint64_t offset = elf_address - segment->elf_address;

		if (elf_address < segment->elf_address || offset >= segment->file_size ||
		    (is_code && !segment->is_executable))
			continue;
		*ret = segment->file_offset + offset;
		return true;
	}
	return false;
}

static int add_note(const struct usdt_note *note, void *context)
{
	struct usdt_search *search = context;
	struct probe_point point = {0};
	/* Notes are not changed when a file is moved to another address (prelink). */
	uint64_t moved = search->base && note->base ? search->base - note->base : 0;
	int err;

	if (!string_equals(note->provider, search->provider) ||
	    !string_equals(note->name, search->name)) {
		if (search->near)
			compare_with(search->near, note);
		return 0;
	}
	if (!find_file_offset(search->objfile, note->location + moved, true, &point.file_offset) ||
	    (note->semaphore && !find_file_offset(search->objfile, note->semaphore + moved, false,
						  &point.semaphore_offset)))
		return -EINVAL;
	if (search->argument) {
		err = usdt_read_argument(note->arguments, search->argument, search->machine,
					 &point.argument);
		if (err)
			return err == -ENOENT ? -EDOM : err;
	}
	return probe_point_list_add(search->ret, &point);
}

int usdt_find(struct objfile *objfile, const char *provider, const char *name,
	      unsigned int argument, struct probe_point_list *ret, struct near_names *near)
{
	struct usdt_search search = {.objfile = objfile,
				     .provider = provider,
				     .name = name,
				     .argument = argument,
				     .ret = ret,
				     .near = near};
	Elf *elf = objfile_get_elf(objfile);
	size_t num_before = ret->points.length;
	GElf_Ehdr file;
	GElf_Shdr header;
	Elf_Data *data;
	Elf_Scn *notes;
	int err;

	if (!gelf_getehdr(elf, &file) || file.e_ident[EI_CLASS] != ELFCLASS64)
		return -EINVAL;
	search.machine = file.e_machine;
	if (elf_section_find(elf, ".stapsdt.base", &header))
		search.base = header.sh_addr;
	notes = elf_section_find(elf, ".note.stapsdt", &header);
	if (!notes)
		return -ENOENT;
	if (header.sh_size > NOTES_MAX_BYTES || header.sh_offset > INT64_MAX)
		return -EINVAL;
	data = elf_getdata_rawchunk(elf, (int64_t)header.sh_offset, header.sh_size, ELF_T_BYTE);
	if (!data)
		return -EINVAL;
	err = usdt_read_notes(data->d_buf, data->d_size, add_note, &search);
	if (err)
		return err;
	return ret->points.length > num_before ? 0 : -ENOENT;
}
