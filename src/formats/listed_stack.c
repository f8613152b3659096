#include "formats/listed_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"

/* Kernel addresses have so many digits and start with these. */
#define ADDRESS_DIGITS       16
#define KERNEL_ADDRESS_START "ffff"
/* Shorter hexadecimal words may be names. */
#define MIN_ADDRESS_DIGITS 8

/* A frame, taken apart. */
struct listed_frame {
	struct slice name;
	struct slice module; /* may be empty */
	struct slice file;   /* the same */
	uint32_t line;
	bool is_inlined;
	bool is_kernel; /* by its address or module */
};

void listed_stack_release(struct listed_stack *stack)
{
	array_release(&stack->frames);
	array_release(&stack->ends);
}

void listed_stack_clear(struct listed_stack *stack)
{
	stack->frames.length = 0;
	stack->ends.length = 0;
	stack->has_kernel_first = false;
}

int listed_stack_add_frame(struct listed_stack *stack, struct slice line)
{
	struct slice *added = array_add(&stack->frames);

	if (!added)
		return -ENOMEM;
	*added = slice_trim(line);
	return 0;
}

int listed_stack_end_part(struct listed_stack *stack)
{
	size_t start = stack->ends.length ? stack->ends.items[stack->ends.length - 1] : 0;
	size_t *added;

	if (stack->frames.length == start)
		return 0;
	added = array_add(&stack->ends);
	if (!added)
		return -ENOMEM;
	*added = stack->frames.length;
	return 0;
}

static size_t count_hex_digits(struct slice slice)
{
	size_t count = 0;

	while (count < slice.length && is_hex_digit(slice.start[count]))
		count++;
	return count;
}

static bool is_kernel_address(struct slice digits)
{
	return digits.length == ADDRESS_DIGITS && slice_starts_with(digits, KERNEL_ADDRESS_START);
}

/* Take off the address before the name. */
static void take_address(struct listed_frame *frame)
{
	struct slice name = frame->name;
	bool has_prefix = slice_starts_with(name, "0x");
	struct slice digits = has_prefix ? (struct slice){name.start + 2, name.length - 2} : name;
	size_t length = count_hex_digits(digits);

	if (length < MIN_ADDRESS_DIGITS)
		return;
	frame->is_kernel = is_kernel_address((struct slice){digits.start, length});
	name = slice_trim((struct slice){digits.start + length, digits.length - length});
	/* Without a name there is only the address, perhaps before its module. */
	if (name.length && is_blank_char(digits.start[length]) && !strchr("([", name.start[0]))
		frame->name = name;
}

/* "+123" or "+0x7b" at the end: the length before it; 0: no offset. */
static size_t find_offset(struct slice name)
{
	size_t start = name.length;
	bool is_decimal = true;

	for (; start > 0 && is_hex_digit(name.start[start - 1]); start--)
		is_decimal &= name.start[start - 1] <= '9';
	if (start == name.length)
		return 0;
	if (start > 2 && name.start[start - 1] == 'x' && name.start[start - 2] == '0')
		start -= 2;
	else if (!is_decimal)
		return 0;
	return start > 1 && name.start[start - 1] == '+' ? start - 1 : 0;
}

static bool has_blank(struct slice text)
{
	for (size_t i = 0; i < text.length; i++)
		if (is_blank_char(text.start[i]))
			return true;
	return false;
}

/*
 * Brackets behind a name contain a module or belong to a C++ name: "run(std::function<void (int)>)",
 * "foo(int) [clone .isra.0]". A module is a path, a name in square brackets, or follows an offset.
 */
static bool is_module(struct slice name, struct slice module, char open)
{
	if (!module.length)
		return false;
	if (find_offset(name))
		return true;
	if (open == '[')
		return !has_blank(module);
	return module.start[0] == '/' || module.start[0] == '[' || slice_equals(module, "inlined");
}

/* Take off " (/usr/bin/x)", " [ext4]" or " (inlined)". */
static void take_module(struct listed_frame *frame)
{
	struct slice name = frame->name;
	char close = name.length ? name.start[name.length - 1] : '\0';
	char open = close == ')' ? '(' : close == ']' ? '[' : '\0';
	struct slice module = {0};
	size_t depth = 0;

	for (size_t i = name.length; open && i-- > 1;) {
		depth += name.start[i] == close;
		if (name.start[i] != open || --depth)
			continue;
		module = (struct slice){name.start + i + 1, name.length - i - 2};
		name = slice_trim((struct slice){name.start, i});
		break;
	}
	if (!module.start || name.start + name.length == module.start - 1 ||
	    !is_module(name, module, open))
		return;
	frame->name = name;
	frame->is_inlined |= slice_equals(module, "inlined");
	frame->is_kernel |= slice_starts_with(module, "[kernel");
	if (!slice_equals(module, "inlined") && !slice_equals(module, "[unknown]"))
		frame->module = module;
}

/* Take off "@/src/a.c:30" behind an offset, as newer bpftrace prints it. */
static void take_place(struct listed_frame *frame)
{
	struct slice name = frame->name;
	uint64_t line;

	for (size_t i = name.length; i-- > 1;) {
		struct slice place = {name.start + i + 1, name.length - i - 1};
		size_t colon = place.length;

		if (name.start[i] != '@' || !find_offset((struct slice){name.start, i}))
			continue;
		while (colon > 0 && place.start[colon - 1] != ':')
			colon--;
		if (colon < 2 || !parse_u64(place.start + colon, place.length - colon, &line) ||
		    line > UINT32_MAX)
			return;
		frame->file = (struct slice){place.start, colon - 1};
		frame->line = (uint32_t)line;
		frame->name.length = i;
		return;
	}
}

static struct listed_frame parse_frame(struct slice line)
{
	static const char inlined[] = "[inlined] ";
	struct listed_frame frame = {.name = line};
	size_t offset;

	take_address(&frame);
	if (slice_starts_with(frame.name, inlined)) {
		frame.is_inlined = true;
		frame.name = (struct slice){frame.name.start + strlen(inlined),
					    frame.name.length - strlen(inlined)};
	}
	take_module(&frame);
	take_place(&frame);
	offset = find_offset(frame.name);
	if (offset)
		frame.name.length = offset;
	return frame;
}

/*
 * Functions that programs enter the kernel by, or that its own threads start in: by prefix, or
 * whole.
 */
static bool is_kernel_entry(struct slice name)
{
	static const char *const starts[] = {
		"entry_SYSCALL", "entry_SYSENTER", "entry_INT80",       "do_syscall_64",
		"ret_from_fork", "asm_exc_",       "asm_sysvec_",       "asm_common_interrupt",
		"start_kernel",  "x86_64_start_",  "secondary_startup", "common_startup_64",
		"el0t_64_",      "el0_svc",        "el1h_64_",          "system_call_fastpath",
	};
	static const char *const names[] = {
		"page_fault",       "async_page_fault",
		"common_interrupt", "apic_timer_interrupt",
		"ret_from_intr",    "call_function_single_interrupt",
		"el0_sync",         "reschedule_interrupt",
		"el0_irq",          "general_protection",
		"el1_irq",          "el1_sync",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(starts); i++)
		if (slice_starts_with(name, starts[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (slice_equals(name, names[i]))
			return true;
	return false;
}

/* Functions that threads of programs start in. */
static bool is_user_root(struct slice name)
{
	static const char *const names[] = {"_start",
					    "main",
					    "start_thread",
					    "__clone3",
					    "clone3",
					    "__clone",
					    "clone",
					    "thread_start",
					    "__libc_start_main",
					    "runtime.goexit",
					    "__libc_start_call_main"};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (slice_equals(name, names[i]))
			return true;
	return false;
}

static size_t get_start(const struct listed_stack *stack, size_t part)
{
	return part ? stack->ends.items[part - 1] : 0;
}

/* The first frame of the program in a part: kernel frames are before it, up to the outermost entry. */
static size_t find_kernel_end(const struct listed_stack *stack, size_t part)
{
	size_t start = get_start(stack, part);
	size_t end = stack->ends.items[part];

	if (part == 0 && stack->has_kernel_first)
		return end;
	for (; end > start; end--) {
		struct listed_frame frame = parse_frame(stack->frames.items[end - 1]);

		if (frame.is_kernel || is_kernel_entry(frame.name))
			break;
	}
	return end;
}

static bool starts_in_program(const struct listed_stack *stack, size_t part)
{
	return is_user_root(parse_frame(stack->frames.items[stack->ends.items[part] - 1]).name);
}

/*
 * The end of the kernel frames of each part. Both of two parts may lack an entry into the kernel,
 * because it was cut off. Then the one that starts where programs start is the program's, and the
 * other the kernel's.
 */
static void find_kernel_ends(const struct listed_stack *stack, size_t *ends)
{
	bool has_kernel = false;

	for (size_t i = 0; i < stack->ends.length; i++) {
		ends[i] = find_kernel_end(stack, i);
		has_kernel |= ends[i] > get_start(stack, i);
	}
	if (has_kernel || stack->ends.length != 2)
		return;
	for (size_t i = 0; i < 2; i++)
		if (starts_in_program(stack, !i) && !starts_in_program(stack, i))
			ends[i] = stack->ends.items[i];
}

static int add_string(struct profile *profile, struct slice text, uint32_t *ret)
{
	return string_table_add(profile_get_strings(profile), text.length ? text.start : "",
				text.length, ret);
}

static int add_frame(struct profile *profile, struct slice line, bool is_kernel, uint32_t *stack)
{
	struct listed_frame listed = parse_frame(line);
	struct frame frame = {.kind = is_kernel ? FRAME_KERNEL : FRAME_USER,
			      .line = listed.line,
			      .is_inlined = listed.is_inlined};
	int err;

	if (!listed.module.length && is_kernel)
		listed.module = (struct slice){KERNEL_MODULE, strlen(KERNEL_MODULE)};
	err = profile_add_frame_name(profile, listed.name.start, listed.name.length, &frame.name);
	if (err)
		return err;
	frame.full_name = frame.name;
	err = add_string(profile, listed.module, &frame.module);
	if (err)
		return err;
	err = add_string(profile, listed.file, &frame.file);
	if (err)
		return err;
	return profile_extend_stack(profile, &frame, stack);
}

/* From the outermost frame to the innermost. */
static int add_part(const struct listed_stack *stack, size_t part, size_t kernel_end,
		    struct profile *profile, uint32_t *ret)
{
	size_t start = get_start(stack, part);

	for (size_t i = stack->ends.items[part]; i-- > start;) {
		int err = add_frame(profile, stack->frames.items[i], i < kernel_end, ret);

		if (err)
			return err;
	}
	return 0;
}

int listed_stack_add(struct listed_stack *stack, struct profile *profile, uint32_t *ret)
{
	_cleanup_free_ size_t *kernel_ends = NULL;
	int err = listed_stack_end_part(stack);

	*ret = STACK_EMPTY;
	if (err)
		return err;
	kernel_ends = calloc(stack->ends.length + 1, sizeof(*kernel_ends));
	if (!kernel_ends)
		return -ENOMEM;
	find_kernel_ends(stack, kernel_ends);
	/* Callers first: parts of the program, then those that end in the kernel. */
	for (int wanted = 0; wanted < 2; wanted++)
		for (size_t i = stack->ends.length; i-- > 0;) {
			if ((kernel_ends[i] > get_start(stack, i)) != wanted)
				continue;
			err = add_part(stack, i, kernel_ends[i], profile, ret);
			if (err)
				return err;
		}
	return 0;
}
