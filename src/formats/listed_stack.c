#include "formats/listed_stack.h"

#include <errno.h>
#include <string.h>

#include "formats/reader.h"

/* Kernel addresses have as many digits, and begin with these. */
#define ADDRESS_DIGITS       16
#define KERNEL_ADDRESS_START "ffff"
/* Shorter hexadecimal words may be names. */
#define MIN_ADDRESS_DIGITS 8

/* A frame, taken apart. */
struct listed_frame {
	struct slice name;
	struct slice module; /* may be empty */
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

/* Without the address before the name. */
static struct slice strip_address(struct slice frame)
{
	size_t digits;

	if (slice_starts_with(frame, "0x"))
		return frame;
	digits = count_hex_digits(frame);
	if (digits < MIN_ADDRESS_DIGITS || digits == frame.length ||
	    !is_blank_char(frame.start[digits]))
		return frame;
	return slice_trim((struct slice){frame.start + digits, frame.length - digits});
}

/* " (/usr/bin/x)" or " [ext4]" behind the name becomes the module. */
static void split_module(struct listed_frame *frame)
{
	struct slice name = frame->name;
	char close = name.length ? name.start[name.length - 1] : '\0';
	char open = close == ')' ? '(' : close == ']' ? '[' : '\0';

	if (!open)
		return;
	for (size_t i = name.length - 1; i-- > 1;) {
		if (name.start[i] != open || name.start[i - 1] != ' ')
			continue;
		frame->module = (struct slice){name.start + i + 1, name.length - i - 2};
		frame->name = slice_trim((struct slice){name.start, i - 1});
		return;
	}
}

/* Without "+123" or "+0x7b" at the end. */
static struct slice strip_offset(struct slice name)
{
	size_t start = name.length;

	while (start > 0 && is_hex_digit(name.start[start - 1]))
		start--;
	if (start == name.length)
		return name;
	if (start > 2 && name.start[start - 1] == 'x' && name.start[start - 2] == '0')
		start -= 2;
	if (start < 2 || name.start[start - 1] != '+')
		return name;
	name.length = start - 1;
	return name;
}

static struct listed_frame parse_frame(struct slice line)
{
	struct listed_frame frame = {.name = strip_address(line)};

	split_module(&frame);
	frame.name = strip_offset(frame.name);
	return frame;
}

/* Code of the kernel that programs enter, or where its own threads start. */
static bool is_kernel_entry(struct slice name)
{
	static const char *const entries[] = {
		"entry_SYSCALL",     "entry_INT80",       "do_syscall_64", "system_call_fastpath",
		"ret_from_fork",     "asm_exc_",          "asm_sysvec_",   "asm_common_interrupt",
		"secondary_startup", "common_startup_64", "start_kernel",  "x86_64_start_",
		"el0t_64_",          "el0_svc",           "el0_irq",       "el1h_64_",
	};

	if (slice_starts_with(name, "0x"))
		return count_hex_digits((struct slice){name.start + 2, name.length - 2}) ==
			       ADDRESS_DIGITS &&
		       !memcmp(name.start + 2, KERNEL_ADDRESS_START, strlen(KERNEL_ADDRESS_START));
	for (size_t i = 0; i < ARRAY_LENGTH(entries); i++)
		if (slice_starts_with(name, entries[i]))
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

	while (end > start && !is_kernel_entry(parse_frame(stack->frames.items[end - 1]).name))
		end--;
	return end;
}

static bool has_kernel_frames(const struct listed_stack *stack, size_t part)
{
	return find_kernel_end(stack, part) > get_start(stack, part);
}

static int add_frame(struct profile *profile, struct slice line, bool is_kernel, uint32_t *stack)
{
	struct listed_frame listed = parse_frame(line);
	struct frame frame = {.kind = is_kernel ? FRAME_KERNEL : FRAME_USER};
	struct slice module = listed.module;
	uint32_t location;
	int err;

	if (!module.length && is_kernel)
		module = (struct slice){KERNEL_MODULE, strlen(KERNEL_MODULE)};
	err = profile_add_frame_name(profile, listed.name.start, listed.name.length, &frame.name);
	if (err)
		return err;
	frame.full_name = frame.name;
	err = string_table_add(profile_get_strings(profile), module.length ? module.start : "",
			       module.length, &frame.module);
	if (err)
		return err;
	err = profile_add_frame_location(profile, &frame, &location);
	return err ? err : profile_add_stack(profile, *stack, location, stack);
}

/* From the outermost frame to the innermost. */
static int add_part(const struct listed_stack *stack, size_t part, struct profile *profile,
		    uint32_t *ret)
{
	size_t kernel_end = find_kernel_end(stack, part);
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
	int err = listed_stack_end_part(stack);

	*ret = STACK_EMPTY;
	if (err)
		return err;
	/* Callers first: parts of the program, then those that end in the kernel. */
	for (int wanted = 0; wanted < 2; wanted++)
		for (size_t i = stack->ends.length; i-- > 0;) {
			if (has_kernel_frames(stack, i) != wanted)
				continue;
			err = add_part(stack, i, profile, ret);
			if (err)
				return err;
		}
	return 0;
}
