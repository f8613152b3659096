/* Stacks of interpreters and the codes of their frames are sent once per CPU. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "hotspot_stack.h"
#include "runtime_stack.h"
#undef const
/* clang-format on */

static struct fake_code {
	struct wire_runtime_code code;
	uint64_t payload;
} record;

static struct scratch *scratch;
static struct wire_runtime_stack *stack;

/* State of the callbacks. */
static int num_reads;
static int is_unreadable;
static int num_asked;
static enum code_sending sending;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_ARRAY(sent_runtime, 1);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_PER_CPU(scratches);
	FAKE_RINGS(rings);
	scratch = get_scratch();
	scratch->sample.pid = 50;
	scratch->sample.generation = 3;
	stack = get_per_cpu(&runtime_stacks);
	stack->num_frames = 2;
	stack->runtime = WIRE_RUNTIME_PERL;
	stack->frames[0] = (struct wire_runtime_frame){.code = 0x1000, .fingerprint = 11};
	stack->frames[1] = (struct wire_runtime_frame){.code = 0x2000, .fingerprint = 12};
	num_reads = num_asked = is_unreadable = 0;
	sending = CODE_SENT;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static int read_code(int number _unused_)
{
	num_reads++;
	record.payload++;
	return is_unreadable ? -1 : 0;
}

static int send_code(int number)
{
	return send_runtime_code(number, &record, sizeof(record), read_code);
}

/* Result for the outer frame. */
static int say_sending(struct wire_runtime_stack *sent, int number)
{
	assert_ptr_equal(sent, stack);
	num_asked++;
	return number == 1 ? sending : CODE_SENT;
}

static int say_sendings(int first)
{
	return send_some_codes(first, say_sending);
}

static void a_code_is_sent_once(void **state _unused_)
{
	const struct wire_runtime_code *sent;

	assert_int_equal(send_code(0), CODE_SENT);
	sent = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(sent->pid, 50);
	assert_int_equal(sent->generation, 3);
	assert_int_equal(sent->runtime, WIRE_RUNTIME_PERL);
	assert_int_equal(send_code(0), CODE_SENT);
	assert_int_equal(num_reads, 1);
	assert_int_equal(send_code(1), CODE_SENT);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 2);
}

static void each_process_has_codes_of_its_own(void **state _unused_)
{
	assert_int_equal(send_code(0), CODE_SENT);
	scratch->sample.pid = 51;
	assert_int_equal(send_code(0), CODE_SENT);
	scratch->sample.generation = 4;
	assert_int_equal(send_code(0), CODE_SENT);
	stack->frames[0].fingerprint = 13;
	assert_int_equal(send_code(0), CODE_SENT);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 4);
}

static void an_unreadable_code_is_read_again(void **state _unused_)
{
	is_unreadable = 1;
	assert_int_equal(send_code(0), CODE_UNREAD);
	assert_int_equal(fake_kernel.num_records, 0);
	is_unreadable = 0;
	assert_int_equal(send_code(0), CODE_SENT);
	assert_int_equal(fake_kernel.num_records, 1);
}

static void a_full_ring_leaves_the_code_to_the_next_sample(void **state _unused_)
{
	fake_kernel.ring_room = 0;
	assert_int_equal(send_code(0), CODE_LOST);
	fake_kernel.ring_room = FAKE_ALL_FIT;
	assert_int_equal(send_code(0), CODE_SENT);
	assert_int_equal(fake_kernel.num_records, 1);
}

static void a_stack_is_sent_once(void **state _unused_)
{
	const struct wire_runtime_stack *sent;
	uint64_t hash = send_runtime_frames(stack, scratch, say_sendings);

	assert_true(hash != 0);
	assert_int_equal(num_asked, 2);
	sent = fake_record_last(WIRE_RUNTIME_STACK);
	assert_int_equal(sent->hash, hash);
	assert_int_equal(sent->num_frames, 2);
	assert_int_equal(sent->frames[1].code, 0x2000);
	assert_int_equal(fake_kernel.records[0].size,
			 offsetof(struct wire_runtime_stack, frames[2]));
	assert_int_equal(send_runtime_frames(stack, scratch, say_sendings), hash);
	assert_int_equal(num_asked, 2);
	assert_int_equal(fake_kernel.num_records, 1);
}

/* The page of a code may be resident at a later sample. */
static void a_stack_with_an_unread_code_asks_for_it_again(void **state _unused_)
{
	uint64_t hash;

	sending = CODE_UNREAD;
	hash = send_runtime_frames(stack, scratch, say_sendings);
	assert_true(hash != 0);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_STACK), 1);
	assert_int_equal(send_runtime_frames(stack, scratch, say_sendings), hash);
	assert_int_equal(num_asked, 4);
	sending = CODE_SENT;
	assert_int_equal(send_runtime_frames(stack, scratch, say_sendings), hash);
	assert_int_equal(num_asked, 6);
	assert_int_equal(send_runtime_frames(stack, scratch, say_sendings), hash);
	assert_int_equal(num_asked, 6);
	/* The stack itself was sent at first. */
	assert_int_equal(fake_record_count(WIRE_RUNTIME_STACK), 1);
}

static void a_stack_with_a_lost_code_is_not_sent(void **state _unused_)
{
	sending = CODE_LOST;
	assert_int_equal(send_runtime_frames(stack, scratch, say_sendings), 0);
	assert_int_equal(fake_kernel.num_records, 0);
	sending = CODE_SENT;
	assert_true(send_runtime_frames(stack, scratch, say_sendings) != 0);
	assert_int_equal(num_asked, 4);
	assert_int_equal(fake_kernel.num_records, 1);
}

static void a_full_ring_leaves_the_stack_to_the_next_sample(void **state _unused_)
{
	fake_kernel.ring_room = 0;
	assert_int_equal(send_runtime_frames(stack, scratch, say_sendings), 0);
	fake_kernel.ring_room = FAKE_ALL_FIT;
	assert_true(send_runtime_frames(stack, scratch, say_sendings) != 0);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_STACK), 1);
}

/* A forked process has the same frames. */
static void another_process_with_the_same_stack_sends_its_codes(void **state _unused_)
{
	uint64_t hash = send_runtime_frames(stack, scratch, say_sendings);

	scratch->sample.pid = 51;
	assert_int_equal(send_runtime_frames(stack, scratch, say_sendings), hash);
	assert_int_equal(num_asked, 4);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_STACK), 1);
}

static void the_hash_covers_each_field_of_a_stack(void **state _unused_)
{
	uint64_t hash = hash_runtime_stack();

	stack->end = WIRE_RUNTIME_DEEP;
	assert_true(hash_runtime_stack() != hash);
	stack->end = 0;
	stack->runtime = WIRE_RUNTIME_V8;
	assert_true(hash_runtime_stack() != hash);
	stack->runtime = WIRE_RUNTIME_PERL;
	stack->frames[1].position = 1;
	assert_true(hash_runtime_stack() != hash);
	stack->frames[1].position = 0;
	stack->num_frames = 1;
	assert_true(hash_runtime_stack() != hash);
	stack->num_frames = 2;
	assert_int_equal(hash_runtime_stack(), hash);
}

static void the_hash_covers_each_frame_of_a_deep_stack(void **state _unused_)
{
	uint64_t hash;

	stack->num_frames = WIRE_MAX_RUNTIME_FRAMES;
	hash = hash_runtime_stack();
	for (size_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++) {
		stack->frames[i].code++;
		assert_true(hash_runtime_stack() != hash);
		stack->frames[i].code--;
	}
	assert_int_equal(hash_runtime_stack(), hash);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_code_is_sent_once),
		TEST(each_process_has_codes_of_its_own),
		TEST(an_unreadable_code_is_read_again),
		TEST(a_full_ring_leaves_the_code_to_the_next_sample),
		TEST(a_stack_is_sent_once),
		TEST(a_stack_with_an_unread_code_asks_for_it_again),
		TEST(a_stack_with_a_lost_code_is_not_sent),
		TEST(a_full_ring_leaves_the_stack_to_the_next_sample),
		TEST(another_process_with_the_same_stack_sends_its_codes),
		TEST(the_hash_covers_each_field_of_a_stack),
		TEST(the_hash_covers_each_frame_of_a_deep_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
