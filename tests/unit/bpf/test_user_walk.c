/* The walk of user stacks in the kernel: search in its maps, reads of memory, copies of stacks. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "hotspot_stack.h"
#include "user_walk.h"
#undef const
/* clang-format on */

#define SP            0x7f0000000100
#define STACK         0x7f0000000000 /* a page */
#define TEXT          0x400000
#define FIRST_MAPPING 5
#define FIRST_PAGE    7
#define BASE_PAGE     3
#define TRAMPOLINE    0x7fffffffe000

static struct task_struct task;
static struct mm_struct memory;
static struct xol_area probed;
static struct uprobe_task probes;
static struct scratch *scratch;
static struct unwind_mapping *mappings;
static struct unwind_page *pages;
static struct unwind_shard *shards[2];
static struct user_registers registers;

static int set_up(void **state _unused_)
{
	uint32_t zero = 0;

	fake_kernel_reset();
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(hotspot_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_PER_CPU(raw_budget);
	FAKE_ARRAY(raw_samples, 1);
	FAKE_ARRAY(unwind_pages, 1);
	FAKE_ARRAY(unwind_mappings, 1);
	FAKE_HASH(unwind_processes, 2);
	/* The value of a map of maps is a map. */
	fake_map_make(&unwind_shards, sizeof(uint32_t), 8, ARRAY_LENGTH(shards), 1, 0);
	for (uint32_t i = 0; i < ARRAY_LENGTH(shards); i++) {
		void *inner = bpf_map_lookup_elem(&unwind_shards, &i);

		fake_map_make(inner, sizeof(uint32_t), sizeof(struct unwind_shard), 1, 1, 0);
		shards[i] = bpf_map_lookup_elem(inner, &zero);
	}
	mappings =
		((struct unwind_mappings *)bpf_map_lookup_elem(&unwind_mappings, &zero))->mappings;
	pages = ((struct unwind_pages *)bpf_map_lookup_elem(&unwind_pages, &zero))->pages;
	scratch = get_scratch();
	scratch->window_start = WINDOW_NONE;
	scratch->trampoline = NO_TRAMPOLINE;
	probed = (struct xol_area){0};
	probes = (struct uprobe_task){0};
	memory = (struct mm_struct){.uprobes_state = {&probed}};
	task = (struct task_struct){.pid = 7, .tgid = 6, .mm = &memory, .utask = &probes};
	fake_kernel.task = &task;
	scratch->mm = &memory;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

/* Number of the mapping that holds pc, from 1; 0: none. */
static uint32_t find_mapping(uint32_t num_mappings, uint64_t pc)
{
	struct walk *walk = &scratch->walk;

	walk->first_mapping = FIRST_MAPPING;
	walk->num_mappings = num_mappings;
	return walk_find_mapping(walk, pc) ? walk->mapping.flags : 0;
}

static void each_mapping_is_found(void **state _unused_)
{
	for (uint32_t num = 0; num < 20; num++) {
		memset(mappings, 0, 64 * sizeof(*mappings));
		for (uint32_t i = 0; i < num; i++)
			mappings[FIRST_MAPPING + i] =
				(struct unwind_mapping){.start = TEXT + 0x2000 * (uint64_t)i,
							.end = TEXT + 0x2000 * (uint64_t)i + 0x1000,
							.flags = i + 1};
		/* Another process's. */
		mappings[FIRST_MAPPING + num] =
			(struct unwind_mapping){.start = TEXT, .end = TEXT + 0x100000, .flags = 99};
		assert_int_equal(find_mapping(num, TEXT - 1), 0);
		for (uint32_t i = 0; i < num; i++) {
			uint64_t start = TEXT + 0x2000 * (uint64_t)i;

			assert_int_equal(find_mapping(num, start), i + 1);
			assert_int_equal(find_mapping(num, start + 0xfff), i + 1);
			assert_int_equal(find_mapping(num, start + 0x1000), 0);
			assert_int_equal(find_mapping(num, start + 0x1fff), 0);
		}
	}
}

/* The rule's number; 0: none. From now on it is known. */
static int find_rule(uint64_t elf_address)
{
	const struct unwind_rule *rule = walk_find_rule(&scratch->walk, elf_address);

	assert_ptr_equal(walk_find_known_rule(&scratch->walk, elf_address), rule);
	assert_ptr_equal(walk_find_rule(&scratch->walk, elf_address), rule);
	return rule ? rule->cfa_offset : 0;
}

/* One page with so many rows, a rule for each 16 bytes. Rules of earlier ones are not known any more. */
static void make_rows(uint32_t shard, uint32_t first_row, uint32_t num_rows)
{
	memset(scratch->known_rules, 0, sizeof(scratch->known_rules));
	pages[FIRST_PAGE] = (struct unwind_page){.first_row = shard * UNWIND_SHARD_ROWS + first_row,
						 .num_rows = num_rows};
	for (uint32_t i = 0; i < num_rows; i++) {
		shards[shard]->rows[first_row + i] = (struct unwind_row){
			.pc_low = (uint16_t)(16 * i), .rule = (uint16_t)(i + 1)};
		shards[shard]->rules[i + 1].cfa_offset = (int)i + 1;
	}
	scratch->walk.mapping = (struct unwind_mapping){
		.first_page = FIRST_PAGE, .num_pages = 1, .base_page = BASE_PAGE};
}

static void each_row_is_found(void **state _unused_)
{
	const uint64_t base = (uint64_t)BASE_PAGE << UNWIND_PAGE_SHIFT;

	for (uint32_t num = 1; num < 40; num++) {
		make_rows(num % 2, 100 * num, num);
		for (uint32_t i = 0; i < num; i++) {
			assert_int_equal(find_rule(base + 16 * (uint64_t)i), i + 1);
			assert_int_equal(find_rule(base + 16 * (uint64_t)i + 15), i + 1);
		}
		assert_int_equal(find_rule(base + 0xffff), num);
		assert_int_equal(find_rule(base - 1), 0);
		assert_int_equal(find_rule(base + 0x10000), 0);
	}
	make_rows(0, 0, 0);
	assert_int_equal(find_rule(base), 0);
	/* A page can be full. */
	make_rows(1, 0, 1);
	pages[FIRST_PAGE].num_rows = UNWIND_SHARD_ROWS;
	for (uint32_t i = 0; i < UNWIND_SHARD_ROWS; i++)
		shards[1]->rows[i] =
			(struct unwind_row){.pc_low = (uint16_t)i,
					    .rule = (uint16_t)(i % (UNWIND_SHARD_RULES - 1) + 1)};
	for (uint32_t i = 1; i < UNWIND_SHARD_RULES; i++)
		shards[1]->rules[i].cfa_offset = (int)i;
	for (uint32_t i = 0; i < UNWIND_SHARD_ROWS; i += 13)
		assert_int_equal(find_rule(base + i), i % (UNWIND_SHARD_RULES - 1) + 1);
}

/* Rules of two pages in the same place, and at the same address in two pages. */
static void a_known_rule_is_that_of_its_address(void **state _unused_)
{
	const uint64_t base = (uint64_t)BASE_PAGE << UNWIND_PAGE_SHIFT;

	make_rows(0, 0, 100);
	pages[FIRST_PAGE + 1] = (struct unwind_page){.first_row = 50, .num_rows = 50};
	scratch->walk.mapping.num_pages = 2;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 1600; i++)
			assert_int_equal(find_rule(base + i), i / 16 + 1);
		for (uint32_t i = 800; i < 1600; i++)
			assert_int_equal(find_rule(base + 0x10000 + i), i / 16 + 1);
		assert_null(walk_find_known_rule(&scratch->walk, base + 0x20000));
	}
	/* What is known is not looked for. */
	assert_int_equal(find_rule(base + 5), 1);
	shards[0]->rules[1].cfa_offset = 1000;
	assert_int_equal(find_rule(base + 5), 1);
	assert_null(walk_find_known_rule(&scratch->walk, base + 0x2000));
}

/* A table of one page with one rule. */
static void make_table(uint32_t page, uint32_t row, int cfa_offset)
{
	pages[page] = (struct unwind_page){.first_row = row, .num_rows = 1};
	shards[0]->rows[row] = (struct unwind_row){.rule = (uint16_t)(row + 1)};
	shards[0]->rules[row + 1] =
		(struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = cfa_offset};
}

/* Tables of other files are before and after that of a mapping, and their rules are known. */
static void a_mapping_has_no_rules_of_its_neighbours(void **state _unused_)
{
	const uint64_t base = (uint64_t)BASE_PAGE << UNWIND_PAGE_SHIFT;
	const uint64_t end = base + (1 << UNWIND_PAGE_SHIFT);

	for (uint32_t i = 0; i < 3; i++) {
		make_table(FIRST_PAGE - 1 + i, i, 8 * ((int)i + 1));
		scratch->walk.mapping = (struct unwind_mapping){
			.first_page = FIRST_PAGE - 1 + i, .num_pages = 1, .base_page = BASE_PAGE};
		assert_int_equal(find_rule(base), 8 * (i + 1));
		assert_int_equal(find_rule(end - 1), 8 * (i + 1));
	}
	scratch->walk.mapping.first_page = FIRST_PAGE;
	assert_int_equal(find_rule(base), 16);
	assert_int_equal(find_rule(end - 1), 16);
	assert_int_equal(find_rule(base - 1), 0);
	assert_int_equal(find_rule(base - (1 << UNWIND_PAGE_SHIFT)), 0);
	assert_int_equal(find_rule(end), 0);
	assert_int_equal(find_rule(end + (1 << UNWIND_PAGE_SHIFT) - 1), 0);
	assert_int_equal(find_rule(base + (1ull << 32)), 0);
	assert_int_equal(find_rule(base - (1ull << 32)), 0);
}

/* No rule is known at first, and a place without a rule has key 0. */
static void a_mapping_without_pages_has_no_rule(void **state _unused_)
{
	const uint64_t addresses[] = {0, 1, 0xffff, 0x10000, UINT64_MAX, UINT64_MAX - 0xffff};

	scratch->walk.mapping = (struct unwind_mapping){0};
	for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++)
		assert_int_equal(find_rule(addresses[i]), 0);
	/* User space gives page 0 to no table, so the first table has no key 0. */
	make_table(1, 0, 8);
	scratch->walk.mapping = (struct unwind_mapping){.first_page = 1, .num_pages = 1};
	assert_null(walk_find_known_rule(&scratch->walk, 0));
	assert_int_equal(find_rule(0), 8);
	for (size_t i = 3; i < ARRAY_LENGTH(addresses); i++)
		assert_int_equal(find_rule(addresses[i]), 0);
}

static uint64_t stack[WIRE_RAW_PAGE_BYTES / 8];

/* A program of one mapping, whose functions have a frame of two words; the outermost one has none. */
static void make_program(void)
{
	struct unwind_process process = {
		.first_mapping = FIRST_MAPPING, .num_mappings = 1, .generation = 3, .version = 9};
	uint32_t pid = 6;

	mappings[FIRST_MAPPING] = (struct unwind_mapping){.start = TEXT,
							  .end = TEXT + 0x1000,
							  .bias = TEXT,
							  .first_page = FIRST_PAGE,
							  .num_pages = 1,
							  .flags = UNWIND_MAPPING_HAS_TABLE};
	pages[FIRST_PAGE] = (struct unwind_page){.first_row = 0, .num_rows = 2};
	shards[0]->rows[0] = (struct unwind_row){.pc_low = 0, .rule = 1};
	shards[0]->rows[1] = (struct unwind_row){.pc_low = 0x800, .rule = 2};
	shards[0]->rules[1] = (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 16};
	shards[0]->rules[2] = (struct unwind_rule){.cfa_op = UNWIND_CFA_STOP};
	assert_int_equal(fake_map_update(fake_map_find(&unwind_processes), &pid, &process), 0);
	scratch->sample.pid = 6;
	scratch->sample.generation = 3;
	registers = (struct user_registers){.ip = TEXT + 0x100, .sp = SP, .cs = USER_CODE};
	scratch->registers = registers;
	memset(stack, 0, sizeof(stack));
	fake_memory_add(STACK, stack, sizeof(stack));
	stack[(SP - STACK) / 8 + 1] = TEXT + 0x210;
	stack[(SP - STACK) / 8 + 3] = TEXT + 0x900;
}

static void a_stack_is_walked_to_its_outermost_frame(void **state _unused_)
{
	make_program();
	assert_int_equal(walk_user_stack(), 3);
	assert_int_equal(scratch->sample.walk_end, WALK_COMPLETE);
	assert_true(scratch->stack.pcs[0] == ((TEXT + 0x100) | WIRE_PC_EXACT));
	assert_int_equal(scratch->stack.pcs[1], TEXT + 0x210);
	assert_int_equal(scratch->stack.pcs[2], TEXT + 0x900);
	assert_int_equal(scratch->sample.outermost_sp, SP + 32);
	assert_int_equal(scratch->sample.mappings_version, 9);
}

static void the_mappings_belong_to_one_program(void **state _unused_)
{
	uint32_t pid = 6;
	struct unwind_process *process;

	make_program();
	scratch->sample.generation = 4; /* after an exec */
	assert_int_equal(walk_user_stack(), 1);
	assert_int_equal(scratch->sample.walk_end, WALK_NO_PROCESS);
	process = bpf_map_lookup_elem(&unwind_processes, &pid);
	process->generation = WIRE_GENERATION_UNKNOWN;
	assert_int_equal(walk_user_stack(), 3);
	scratch->registers.ip = TEXT + 0x1000;
	assert_int_equal(walk_user_stack(), 1);
	assert_int_equal(scratch->sample.walk_end, WALK_NO_MAPPING);
}

static void a_walk_has_a_limit_of_frames(void **state _unused_)
{
	static uint64_t deep[2 * WIRE_MAX_FRAMES + 64];

	make_program();
	for (size_t i = 1; i < ARRAY_LENGTH(deep); i += 2)
		deep[i] = TEXT + 0x210;
	fake_memory_add(0x10000, deep, sizeof(deep));
	scratch->registers.sp = 0x10000;
	assert_int_equal(walk_user_stack(), WIRE_MAX_FRAMES);
	assert_int_equal(scratch->sample.walk_end, WALK_TOO_DEEP);
	/* Just as many frames fit. */
	deep[2 * WIRE_MAX_FRAMES - 3] = TEXT + 0x900;
	assert_int_equal(walk_user_stack(), WIRE_MAX_FRAMES);
	assert_int_equal(scratch->sample.walk_end, WALK_COMPLETE);
}

/* Walk from the same registers as before. */
static void walk_again(uint32_t num_frames, enum walk_end end)
{
	scratch->registers = registers;
	assert_int_equal(walk_user_stack(), num_frames);
	assert_int_equal(scratch->sample.walk_end, end);
}

/* The rule for the outermost frame is no plain one. The others are known from the second walk on. */
static void known_rules_give_the_same_stack(void **state _unused_)
{
	const uint64_t fp = SP + 0x200;

	make_program();
	shards[0]->rows[1] = (struct unwind_row){.pc_low = 0x300, .rule = 3};
	shards[0]->rows[2] = (struct unwind_row){.pc_low = 0x400, .rule = 4};
	shards[0]->rows[3] = (struct unwind_row){.pc_low = 0x800, .rule = 2};
	pages[FIRST_PAGE].num_rows = 4;
	shards[0]->rules[3] = (struct unwind_rule){.cfa_op = UNWIND_CFA_FP,
						   .cfa_offset = 16,
						   .fp_op = UNWIND_REGISTER_AT_CFA,
						   .fp_offset = -16};
	shards[0]->rules[4] = (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
						   .cfa_offset = 24,
						   .fp_op = UNWIND_REGISTER_AT_CFA,
						   .fp_offset = -24};
	registers.bp = fp;
	stack[(SP - STACK) / 8 + 1] = TEXT + 0x310; /* by fp */
	stack[(fp - STACK) / 8] = fp + 0x100;
	stack[(fp - STACK) / 8 + 1] = TEXT + 0x410; /* saves another fp */
	stack[(fp - STACK) / 8 + 2] = fp + 0x180;
	stack[(fp - STACK) / 8 + 4] = TEXT + 0x220;
	stack[(fp - STACK) / 8 + 6] = TEXT + 0x320; /* by the saved one */
	stack[(fp - STACK) / 8 + 0x30] = 0;
	stack[(fp - STACK) / 8 + 0x31] = TEXT + 0x900;
	for (int i = 0; i < 3; i++) {
		memset(scratch->stack.pcs, 0, sizeof(scratch->stack.pcs));
		walk_again(6, WALK_COMPLETE);
		assert_true(scratch->stack.pcs[0] == ((TEXT + 0x100) | WIRE_PC_EXACT));
		assert_int_equal(scratch->stack.pcs[1], TEXT + 0x310);
		assert_int_equal(scratch->stack.pcs[2], TEXT + 0x410);
		assert_int_equal(scratch->stack.pcs[3], TEXT + 0x220);
		assert_int_equal(scratch->stack.pcs[4], TEXT + 0x320);
		assert_int_equal(scratch->stack.pcs[5], TEXT + 0x900);
		assert_int_equal(scratch->sample.outermost_sp, fp + 0x190);
	}
	/* The words on the stack are read each time. */
	stack[(fp - STACK) / 8 + 2] = fp + 0x190;
	stack[(fp - STACK) / 8 + 0x33] = TEXT + 0x910;
	walk_again(6, WALK_COMPLETE);
	assert_int_equal(scratch->stack.pcs[5], TEXT + 0x910);
	stack[(SP - STACK) / 8 + 1] = TEXT + 0x920;
	walk_again(2, WALK_COMPLETE);
	assert_int_equal(scratch->stack.pcs[1], TEXT + 0x920);
}

/* Some at once: the first step finds the mapping and the rule. */
static void plain_steps_are_taken_some_at_once(void **state _unused_)
{
	make_program();
	for (size_t i = (SP - STACK) / 8 + 1; i < ARRAY_LENGTH(stack); i += 2)
		stack[i] = TEXT + 0x210;
	walk_start(&scratch->walk, &(struct wire_registers){.pc = TEXT + 0x100, .sp = SP});
	scratch->walk.first_mapping = FIRST_MAPPING;
	scratch->walk.num_mappings = 1;
	assert_int_equal(take_plain_steps(), 1);
	assert_int_equal(scratch->walk.num_frames, 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(walk_one_step(0), 0);
		assert_int_equal(scratch->walk.num_frames, i + 1);
	}
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(take_plain_steps(), 0);
		assert_int_equal(scratch->walk.num_frames, 2 + i * PLAIN_STEPS_AT_ONCE);
	}
}

/* Words of a stack of so many frames; a window that starts at any of them can be read. */
#define DEEP_WORDS(num_frames) (2 * (num_frames) + WINDOW_WORDS)

/* A stack of just so many frames, whose pcs all differ. */
static void make_deep_stack(uint64_t *deep, uint32_t num_frames)
{
	for (uint32_t i = 1; i < num_frames; i++)
		deep[2 * i - 1] = TEXT + (i + 1 < num_frames ? 0x100 + i : 0x900);
	fake_memory_add(0x10000, deep, DEEP_WORDS(num_frames) * sizeof(*deep));
	registers.sp = 0x10000;
}

/* At first every step looks for its rule, then most are plain. None is plain where fp is saved at fp. */
static void a_stack_is_truncated_by_its_depth_alone(void **state _unused_)
{
	static uint64_t deep[DEEP_WORDS(WIRE_MAX_FRAMES + 3)];

	for (uint32_t num = WIRE_MAX_FRAMES - 20; num <= WIRE_MAX_FRAMES + 3; num++)
		for (uint8_t fp_op = 0; fp_op <= UNWIND_REGISTER_AT_FP; fp_op++) {
			const bool is_whole = num <= WIRE_MAX_FRAMES;

			set_up(NULL);
			make_program();
			shards[0]->rules[1].fp_op = fp_op;
			make_deep_stack(deep, num);
			for (int i = 0; i < 3; i++) {
				walk_again(is_whole ? num : WIRE_MAX_FRAMES,
					   is_whole ? WALK_COMPLETE : WALK_TOO_DEEP);
				for (uint32_t j = 1; j + 1 < num && j < WIRE_MAX_FRAMES; j++)
					assert_int_equal(scratch->stack.pcs[j], TEXT + 0x100 + j);
			}
		}
}

/* Two programs with code at the same addresses, walked in turns: the frames of one have another size. */
static void known_rules_are_those_of_the_program(void **state _unused_)
{
	struct unwind_process other = {
		.first_mapping = FIRST_MAPPING + 1, .num_mappings = 1, .generation = 3};
	uint32_t pid = 8;

	make_program();
	mappings[FIRST_MAPPING + 1] = mappings[FIRST_MAPPING];
	mappings[FIRST_MAPPING + 1].first_page = FIRST_PAGE + 1;
	pages[FIRST_PAGE + 1] = (struct unwind_page){.first_row = 2, .num_rows = 2};
	shards[0]->rows[2] = (struct unwind_row){.pc_low = 0, .rule = 3};
	shards[0]->rows[3] = (struct unwind_row){.pc_low = 0x800, .rule = 2};
	shards[0]->rules[3] = (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 24};
	assert_int_equal(fake_map_update(fake_map_find(&unwind_processes), &pid, &other), 0);
	stack[(SP - STACK) / 8 + 2] = TEXT + 0x310;
	stack[(SP - STACK) / 8 + 5] = TEXT + 0xa00;
	for (int i = 0; i < 3; i++) {
		scratch->sample.pid = 6;
		walk_again(3, WALK_COMPLETE);
		assert_int_equal(scratch->stack.pcs[1], TEXT + 0x210);
		assert_int_equal(scratch->stack.pcs[2], TEXT + 0x900);
		scratch->sample.pid = 8;
		walk_again(3, WALK_COMPLETE);
		assert_int_equal(scratch->stack.pcs[1], TEXT + 0x310);
		assert_int_equal(scratch->stack.pcs[2], TEXT + 0xa00);
		/* The next one is not published. */
		scratch->sample.pid = 9;
		walk_again(1, WALK_NO_PROCESS);
	}
	/* The other program has nothing mapped there any more, or generated code, or HotSpot's. */
	mappings[FIRST_MAPPING + 1].end = TEXT + 0x300;
	scratch->sample.pid = 8;
	walk_again(2, WALK_NO_MAPPING);
	mappings[FIRST_MAPPING + 1].end = TEXT + 0x1000;
	mappings[FIRST_MAPPING + 1].flags = UNWIND_MAPPING_HAS_NO_CFI;
	walk_again(1, WALK_FP_CHAIN);
	mappings[FIRST_MAPPING + 1].flags = 0;
	walk_again(1, WALK_NO_TABLE);
	mappings[FIRST_MAPPING + 1].flags = UNWIND_MAPPING_HAS_TABLE | UNWIND_MAPPING_HAS_HOTSPOT;
	scratch->registers = registers;
	assert_int_equal(walk_user_stack(), 1);
}

/* The file's code reaches below and beyond the pages that have a table; those of others are known. */
static void a_walk_ends_beyond_the_pages_of_its_file(void **state _unused_)
{
	make_program();
	for (uint32_t i = 0; i < 3; i++)
		make_table(FIRST_PAGE - 1 + i, i, 16);
	mappings[FIRST_MAPPING].end = TEXT + 0x30000;
	mappings[FIRST_MAPPING].base_page = 0;
	mappings[FIRST_MAPPING].first_page = FIRST_PAGE - 1;
	mappings[FIRST_MAPPING].num_pages = 3;
	stack[(SP - STACK) / 8 + 1] = TEXT + 0x10210;
	stack[(SP - STACK) / 8 + 3] = TEXT + 0x20310;
	stack[(SP - STACK) / 8 + 5] = 0;
	walk_again(3, WALK_COMPLETE); /* a return address of 0 */
	mappings[FIRST_MAPPING].base_page = 1;
	mappings[FIRST_MAPPING].first_page = FIRST_PAGE;
	mappings[FIRST_MAPPING].num_pages = 1;
	registers.ip = TEXT + 0x10100;
	walk_again(3, WALK_NO_RULE);
	stack[(SP - STACK) / 8 + 3] = TEXT + 0x310;
	walk_again(3, WALK_NO_RULE);
}

/* The window of a kilobyte crosses the end. */
static void words_at_the_end_of_memory_are_read(void **state _unused_)
{
	__u64 word;

	make_program();
	for (size_t i = 0; i < ARRAY_LENGTH(stack); i++)
		stack[i] = i + 1;
	for (size_t i = 0; i < ARRAY_LENGTH(stack); i++) {
		assert_int_equal(walk_read(&scratch->walk, STACK + 8 * i, &word), 0);
		assert_int_equal(word, i + 1);
	}
	for (size_t i = ARRAY_LENGTH(stack); i > 0; i--) {
		assert_int_equal(walk_read(&scratch->walk, STACK + 8 * (i - 1), &word), 0);
		assert_int_equal(word, i);
	}
	assert_int_equal(walk_read(&scratch->walk, STACK + 4, &word), 0);
	assert_true(word == 2ull << 32);
	assert_int_equal(walk_read(&scratch->walk, STACK + sizeof(stack), &word), -1);
	assert_int_equal(walk_read(&scratch->walk, STACK - 8, &word), -1);
}

/* uprobes replace return addresses and instructions. */
static void probed_returns_are_put_back(void **state _unused_)
{
	struct return_instance outer = {.stack = SP + 24, .orig_ret_vaddr = TEXT + 0x900};
	struct return_instance inner = {
		.stack = SP + 8, .orig_ret_vaddr = TEXT + 0x210, .next = &outer};

	make_program();
	probed.vaddr = TRAMPOLINE;
	probes.return_instances = &inner;
	stack[(SP - STACK) / 8 + 1] = stack[(SP - STACK) / 8 + 3] = TRAMPOLINE;
	assert_int_equal(walk_user_stack(), 3);
	assert_int_equal(scratch->stack.pcs[1], TEXT + 0x210);
	assert_int_equal(scratch->stack.pcs[2], TEXT + 0x900);
	assert_int_equal(scratch->sample.walk_end, WALK_COMPLETE);
	/* A trampoline that the kernel does not know of stays. */
	inner.next = NULL;
	assert_int_equal(walk_user_stack(), 3);
	assert_int_equal(scratch->stack.pcs[2], TRAMPOLINE);
}

/* Replace each return address of a deep stack in turn, then all of them; all rules are known. */
static void probed_returns_are_put_back_within_plain_steps(void **state _unused_)
{
	enum { DEPTH = 40 };
	static struct return_instance instances[DEPTH];
	static uint64_t deep[DEEP_WORDS(DEPTH)];

	make_program();
	make_deep_stack(deep, DEPTH);
	walk_again(DEPTH, WALK_COMPLETE);
	probed.vaddr = TRAMPOLINE;
	for (uint32_t probed_frame = 1; probed_frame <= DEPTH; probed_frame++) {
		make_deep_stack(deep, DEPTH);
		fake_kernel.num_memories--;
		probes.return_instances = NULL;
		for (uint32_t i = DEPTH - 1; i > 0; i--) {
			if (i != probed_frame && probed_frame < DEPTH)
				continue;
			instances[i] = (struct return_instance){.stack = 0x10000 + 8 * (2 * i - 1),
								.orig_ret_vaddr = deep[2 * i - 1],
								.next = probes.return_instances};
			probes.return_instances = &instances[i];
			deep[2 * i - 1] = TRAMPOLINE;
		}
		walk_again(DEPTH, WALK_COMPLETE);
		for (uint32_t i = 1; i + 1 < DEPTH; i++)
			assert_int_equal(scratch->stack.pcs[i], TEXT + 0x100 + i);
		assert_int_equal(scratch->stack.pcs[DEPTH - 1], TEXT + 0x900);
	}
}

static void a_replaced_instruction_is_where_it_was(void **state _unused_)
{
	static const uint64_t distances[] = {0, 3, MAX_INSTRUCTION, MAX_INSTRUCTION + 1};
	struct return_instance instance = {.stack = SP - 8, .orig_ret_vaddr = TEXT + 0x210};

	make_program();
	probed.vaddr = TRAMPOLINE;
	probes.vaddr = TEXT + 0x300;
	probes.xol_vaddr = TRAMPOLINE + XOL_SLOT_BYTES;
	for (size_t i = 0; i < ARRAY_LENGTH(distances); i++) {
		registers.ip = probes.xol_vaddr + distances[i];
		leave_probe(&registers, TRAMPOLINE);
		assert_int_equal(registers.ip, distances[i] <= MAX_INSTRUCTION
						       ? TEXT + 0x300 + distances[i]
						       : probes.xol_vaddr + distances[i]);
	}
	/* At the trampoline itself the function has returned. */
	probes.return_instances = &instance;
	registers.ip = TRAMPOLINE + XOL_SLOT_BYTES - 1;
	registers.sp = SP - 16;
	leave_probe(&registers, TRAMPOLINE);
	assert_int_equal(registers.ip, TEXT + 0x210);
	assert_int_equal(registers.sp, SP);
	registers.ip = TRAMPOLINE + XOL_AREA_BYTES;
	leave_probe(&registers, TRAMPOLINE);
	assert_int_equal(registers.ip, TRAMPOLINE + XOL_AREA_BYTES);
}

static uint8_t large[80 * WIRE_RAW_PAGE_BYTES];

/* The stack of a thread that is so deep. */
static struct wire_raw_sample *copy_deep(uint64_t depth_bytes)
{
	memset(large, 0x5a, sizeof(large));
	fake_kernel.num_memories = 0;
	fake_memory_add(STACK, large, sizeof(large));
	memory.start_stack = SP + depth_bytes;
	scratch->registers = (struct user_registers){.sp = SP, .cs = USER_CODE};
	assert_true(fill_raw_sample(WIRE_RAW_PAGES) > 0);
	return get_raw_sample();
}

static void both_ends_of_a_deep_stack_are_copied(void **state _unused_)
{
	const uint64_t most = (uint64_t)WIRE_RAW_PAGES * WIRE_RAW_PAGE_BYTES;
	const uint32_t num_end_pages = WIRE_RAW_PAGES / 2;
	struct wire_raw_sample *raw = copy_deep(most - 1);

	assert_int_equal(raw->far_sp, 0);
	assert_int_equal(raw->num_bytes, most - 1 + STACK_END_MARGIN);
	assert_int_equal(raw->num_far_bytes, 0);
	raw = copy_deep(most + 40 * WIRE_RAW_PAGE_BYTES);
	assert_int_equal(raw->far_sp,
			 STACK + most + (40 - num_end_pages + 1) * WIRE_RAW_PAGE_BYTES);
	assert_int_equal(raw->num_bytes,
			 (WIRE_RAW_PAGES - num_end_pages + 1) * WIRE_RAW_PAGE_BYTES - 0x100);
	assert_int_equal(raw->num_far_bytes, num_end_pages * WIRE_RAW_PAGE_BYTES);
	assert_int_equal(raw->bytes[raw->num_bytes + raw->num_far_bytes - 1], 0x5a);
}

/* Frames may have pages that were never touched. */
static void untouched_pages_of_a_stack_are_zeros(void **state _unused_)
{
	static uint8_t page[WIRE_RAW_PAGE_BYTES];
	struct wire_raw_sample *raw = get_raw_sample();

	memset(page, 0x5a, sizeof(page));
	memset(raw->bytes, 0xff, sizeof(raw->bytes));
	fake_memory_add(STACK, page, sizeof(page));
	fake_memory_add(STACK + 5 * sizeof(page), page, sizeof(page));
	fake_memory_add(STACK + 11 * sizeof(page), page, sizeof(page));
	assert_int_equal(copy_stack(0, STACK, ~0ull, WIRE_RAW_PAGES, 4), 6 * sizeof(page));
	assert_int_equal(raw->bytes[0], 0x5a);
	assert_int_equal(raw->bytes[sizeof(page)], 0);
	assert_int_equal(raw->bytes[5 * sizeof(page)], 0x5a);
	assert_int_equal(copy_stack(0, STACK, ~0ull, WIRE_RAW_PAGES, 5), 12 * sizeof(page));
	assert_int_equal(copy_stack(0, STACK, ~0ull, 4, 5), sizeof(page));
	assert_int_equal(copy_stack(0, STACK, STACK + 100, WIRE_RAW_PAGES, 5), 100);
	assert_int_equal(copy_stack(0, STACK + sizeof(page), ~0ull, WIRE_RAW_PAGES, 3), 0);
	/* At the end of the record there is no room. */
	assert_int_equal(copy_stack(WIRE_RAW_STACK_BYTES - sizeof(page) + 1, STACK, ~0ull,
				    WIRE_RAW_PAGES, 5),
			 0);
}

/* A handler runs on a signal stack: the copy goes on where the signal came. */
static void the_interrupted_stack_is_copied_as_well(void **state _unused_)
{
	static uint64_t signal_stack[512];
	struct wire_raw_sample *raw;
	const uint64_t address = 0x9000;
	const uint64_t context = sizeof(signal_stack) - 10 * CONTEXT_ALIGNMENT;

	memset(large, 0x5a, sizeof(large));
	fake_memory_add(STACK, large, sizeof(large));
	fake_memory_add(address, signal_stack, sizeof(signal_stack));
	signal_stack[(context + WALK_CONTEXT_STACK) / 8] = address;
	signal_stack[(context + WALK_CONTEXT_STACK) / 8 + 2] = sizeof(signal_stack);
	signal_stack[(context + WALK_CONTEXT_SP) / 8] = SP;
	task.sas_ss_sp = address;
	task.sas_ss_size = sizeof(signal_stack);
	scratch->registers = (struct user_registers){.sp = address + 0x80, .cs = USER_CODE};
	assert_true(fill_raw_sample(4) > 0);
	raw = get_raw_sample();
	assert_int_equal(raw->far_sp, SP);
	assert_int_equal(raw->num_bytes, sizeof(signal_stack) - 0x80);
	assert_int_equal(raw->num_far_bytes, 5 * WIRE_RAW_PAGE_BYTES - 0x100);
	assert_true(raw->has_signal_stack);
	assert_int_equal(raw->signal_stack, address);
	assert_int_equal(raw->signal_stack_bytes, sizeof(signal_stack));
	/* Without a context the handler's stack is all. */
	signal_stack[(context + WALK_CONTEXT_STACK) / 8 + 2]++;
	assert_int_equal(find_interrupted_sp(address + 0x80, address, sizeof(signal_stack)), 0);
}

static void the_alternate_stack_is_that_of_the_thread(void **state _unused_)
{
	task.sas_ss_sp = 0x9000;
	task.sas_ss_size = 0x2000;
	assert_true(walk_may_have_signal_stack(&scratch->walk, 0x9000, 0x2000));
	assert_false(walk_may_have_signal_stack(&scratch->walk, 0x9000, 0x1000));
	assert_false(walk_may_have_signal_stack(&scratch->walk, 0x8000, 0x2000));
}

/* The place of the context depends on the CPU. */
static void a_context_is_found_at_each_place(void **state _unused_)
{
	static uint64_t signal_stack[(MAX_CONTEXTS + 2) * CONTEXT_ALIGNMENT / 8];
	const uint64_t address = 0x9000;

	fake_memory_add(address, signal_stack, sizeof(signal_stack));
	/* It has room for its stack pointer. */
	for (uint64_t i = WALK_CONTEXT_SP / CONTEXT_ALIGNMENT + 1; i <= MAX_CONTEXTS + 1; i++) {
		uint64_t context = sizeof(signal_stack) - i * CONTEXT_ALIGNMENT;

		memset(signal_stack, 0, sizeof(signal_stack));
		signal_stack[(context + WALK_CONTEXT_STACK) / 8] = address;
		signal_stack[(context + WALK_CONTEXT_STACK) / 8 + 2] = sizeof(signal_stack);
		signal_stack[(context + WALK_CONTEXT_SP) / 8] = SP + i;
		assert_int_equal(find_interrupted_sp(address, address, sizeof(signal_stack)),
				 i <= MAX_CONTEXTS ? SP + i : 0);
		/* A handler's frame is below its context. */
		assert_int_equal(
			find_interrupted_sp(address + context + 8, address, sizeof(signal_stack)),
			0);
	}
}

static void the_hash_covers_each_frame(void **state _unused_)
{
	static const uint64_t lengths[] = {1,
					   2,
					   HASHED_AT_ONCE - 1,
					   HASHED_AT_ONCE,
					   HASHED_AT_ONCE + 1,
					   WIRE_MAX_FRAMES - 1,
					   WIRE_MAX_FRAMES};
	struct wire_stack *stack = get_scratch_stack();

	for (size_t i = 0; i < WIRE_MAX_FRAMES; i++)
		stack->pcs[i] = 0x1000 + i;
	for (size_t k = 0; k < ARRAY_LENGTH(lengths); k++) {
		uint64_t length = lengths[k];
		uint64_t hash = hash_stack(length, 0);

		for (size_t i = 0; i < length; i++) {
			uint64_t pc = stack->pcs[i];

			stack->pcs[i] = 7;
			assert_true(hash_stack(length, 0) != hash);
			stack->pcs[i] = pc;
		}
		assert_true(hash_stack(length, BPF_F_USER_STACK) != hash);
		assert_true(length < 2 || hash_stack(length - 1, 0) != hash);
		/* The frame after an odd number is set to 0. */
		stack->pcs[length - 1] = 0x1000 + length - 1;
		assert_int_equal(hash_stack(length, 0), hash);
		if (length < WIRE_MAX_FRAMES)
			stack->pcs[length] = 0x1000 + length;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_mapping_is_found),
		TEST(each_row_is_found),
		TEST(a_known_rule_is_that_of_its_address),
		TEST(a_mapping_has_no_rules_of_its_neighbours),
		TEST(a_mapping_without_pages_has_no_rule),
		TEST(a_stack_is_walked_to_its_outermost_frame),
		TEST(the_mappings_belong_to_one_program),
		TEST(a_walk_has_a_limit_of_frames),
		TEST(known_rules_give_the_same_stack),
		TEST(plain_steps_are_taken_some_at_once),
		TEST(a_stack_is_truncated_by_its_depth_alone),
		TEST(known_rules_are_those_of_the_program),
		TEST(a_walk_ends_beyond_the_pages_of_its_file),
		TEST(words_at_the_end_of_memory_are_read),
		TEST(probed_returns_are_put_back),
		TEST(probed_returns_are_put_back_within_plain_steps),
		TEST(a_replaced_instruction_is_where_it_was),
		TEST(both_ends_of_a_deep_stack_are_copied),
		TEST(untouched_pages_of_a_stack_are_zeros),
		TEST(the_interrupted_stack_is_copied_as_well),
		TEST(the_alternate_stack_is_that_of_the_thread),
		TEST(a_context_is_found_at_each_place),
		TEST(the_hash_covers_each_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
