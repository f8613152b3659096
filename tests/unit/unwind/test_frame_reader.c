/*
 * Entries of .eh_frame and .debug_frame: every form that compilers write, and broken ones.
 */
#include "unit.h"

#include "frame_writer.h"
#include "unwind/frame_reader.h"

#define START 0x12340
#define SIZE  0x120

static int set_up(void **state)
{
	static struct frame_writer writer;

	writer = (struct frame_writer){.elf_address = 0x20000};
	*state = &writer;
	return 0;
}

static int tear_down(void **state)
{
	struct frame_writer *writer = *state;

	text_release(&writer->bytes);
	return 0;
}

static struct frame_reader read_section(const struct frame_section *section)
{
	struct frame_reader reader = {0};

	assert_int_equal(frame_reader_add_section(&reader, section), 0);
	return reader;
}

static struct frame_reader read_all(const struct frame_writer *writer)
{
	struct frame_section section = frame_writer_get_section(writer);

	return read_section(&section);
}

static void assert_function(const struct frame_reader *reader, size_t index, uint64_t start,
			    uint64_t size)
{
	assert_true(index < reader->functions.length);
	assert_int_equal(reader->functions.items[index].start, start);
	assert_int_equal(reader->functions.items[index].size, size);
}

/* One function of this form, read back. */
static void assert_form(struct frame_writer *writer, const struct frame_writer_cie *cie)
{
	struct frame_reader reader;

	frame_writer_add_cie(writer, cie);
	frame_writer_add_function(writer, START, SIZE, CODE(DW_CFA_nop));
	reader = read_all(writer);
	assert_int_equal(reader.num_malformed, 0);
	assert_int_equal(reader.functions.length, 1);
	assert_function(&reader, 0, START, SIZE);
	assert_int_equal(reader.cies.items[0].code_align, 1);
	assert_int_equal(reader.cies.items[0].data_align, -8);
	assert_int_equal(reader.cies.items[0].ra_register, 16);
	frame_reader_release(&reader);
}

static void assert_encoding(struct frame_writer *writer, uint8_t encoding)
{
	struct frame_writer_cie cie = usual_cie;

	cie.encoding = encoding;
	assert_form(writer, &cie);
	text_truncate(&writer->bytes, 0);
}

static void every_pointer_encoding_is_read(void **state)
{
	static const uint8_t forms[] = {DW_EH_PE_absptr,  DW_EH_PE_udata4, DW_EH_PE_udata8,
					DW_EH_PE_sdata4,  DW_EH_PE_sdata8, DW_EH_PE_signed,
					DW_EH_PE_uleb128, DW_EH_PE_sleb128};
	struct frame_writer *writer = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++)
		assert_encoding(writer, forms[i]);
	assert_encoding(writer, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	assert_encoding(writer, DW_EH_PE_pcrel | DW_EH_PE_sdata8);
	assert_encoding(writer, DW_EH_PE_pcrel | DW_EH_PE_absptr);
	assert_encoding(writer, DW_EH_PE_aligned);
	writer->elf_address = START + 0x100;
	assert_encoding(writer, DW_EH_PE_pcrel | DW_EH_PE_sdata2);
}

static void pointers_relative_to_text_or_data_use_its_address(void **state)
{
	static const uint8_t bases[] = {DW_EH_PE_textrel, DW_EH_PE_datarel};
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;

	for (size_t i = 0; i < ARRAY_LENGTH(bases); i++) {
		struct frame_section section;
		struct frame_reader reader;

		cie.encoding = bases[i] | DW_EH_PE_udata4;
		frame_writer_add_cie(writer, &cie);
		frame_writer_add_function(writer, START, SIZE, NO_CODE);
		section = frame_writer_get_section(writer);
		section.text_address = 0x100000;
		section.data_address = 0x200000;
		reader = read_section(&section);
		assert_function(&reader, 0, START + 0x100000 * (i + 1), SIZE);
		frame_reader_release(&reader);
		text_truncate(&writer->bytes, 0);
	}
}

static void a_pointer_that_cannot_be_resolved_is_malformed(void **state)
{
	static const uint8_t encodings[] = {
		DW_EH_PE_omit,
		DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		DW_EH_PE_textrel | DW_EH_PE_udata4, /* no .text is known */
		DW_EH_PE_funcrel | DW_EH_PE_udata4,
		0x05,
		0x6b,
	};
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;

	for (size_t i = 0; i < ARRAY_LENGTH(encodings); i++) {
		struct frame_reader reader;

		cie.encoding = encodings[i];
		frame_writer_add_cie(writer, &cie);
		frame_writer_add_function(writer, START, SIZE, NO_CODE);
		reader = read_all(writer);
		assert_int_equal(reader.functions.length, 0);
		assert_int_equal(reader.num_malformed, 1);
		frame_reader_release(&reader);
		text_truncate(&writer->bytes, 0);
	}
}

static void every_version_and_augmentation_is_read(void **state)
{
	static const uint8_t versions[] = {1, 3, 4};
	static const char *const augmentations[] = {"", "eh", "z", "zR", "zPLR", "zRS", "zRB"};
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		for (size_t j = 0; j < ARRAY_LENGTH(augmentations); j++) {
			cie.version = versions[i];
			cie.augmentation = augmentations[j];
			assert_form(writer, &cie);
			text_truncate(&writer->bytes, 0);
		}
	}
}

static void lengths_of_64_bits_are_read(void **state)
{
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;

	cie.is_64_bit = true;
	assert_form(writer, &cie);
	text_truncate(&writer->bytes, 0);
	writer->is_debug_frame = true;
	cie.augmentation = "";
	assert_form(writer, &cie);
}

static void a_function_of_debug_frame_may_precede_its_common_part(void **state)
{
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;
	struct frame_writer first = {.is_debug_frame = true, .cie = &cie};
	struct frame_reader reader;

	cie.augmentation = "";
	writer->is_debug_frame = true;
	/* Written once to see how long it is. */
	frame_writer_add_function(&first, START, SIZE, NO_CODE);
	writer->cie = &cie;
	writer->cie_offset = first.bytes.length;
	frame_writer_add_function(writer, START, SIZE, NO_CODE);
	frame_writer_add_cie(writer, &cie);
	reader = read_all(writer);
	assert_int_equal(reader.num_malformed, 0);
	assert_function(&reader, 0, START, SIZE);
	frame_reader_release(&reader);
	text_release(&first.bytes);
}

static void terminators_between_entries_are_stepped_over(void **state)
{
	struct frame_writer *writer = *state;
	struct frame_reader reader;

	frame_writer_add_terminator(writer);
	frame_writer_add_cie(writer, &usual_cie);
	frame_writer_add_function(writer, START, SIZE, NO_CODE);
	frame_writer_add_terminator(writer);
	frame_writer_add_terminator(writer);
	frame_writer_add_cie(writer, &usual_cie);
	frame_writer_add_function(writer, START + SIZE, SIZE, NO_CODE);
	frame_writer_add_terminator(writer);
	reader = read_all(writer);
	assert_int_equal(reader.num_malformed, 0);
	assert_int_equal(reader.functions.length, 2);
	assert_function(&reader, 1, START + SIZE, SIZE);
	frame_reader_release(&reader);
}

static void functions_find_their_common_part_among_many(void **state)
{
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;
	size_t offsets[50];
	struct frame_reader reader;

	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
		frame_writer_add_cie(writer, &cie);
		offsets[i] = writer->cie_offset;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
		writer->cie_offset = offsets[i * 7 % ARRAY_LENGTH(offsets)];
		frame_writer_add_function(writer, START + i * SIZE, SIZE, NO_CODE);
	}
	reader = read_all(writer);
	assert_int_equal(reader.functions.length, ARRAY_LENGTH(offsets));
	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++)
		assert_int_equal(reader.functions.items[i].cie, i * 7 % ARRAY_LENGTH(offsets));
	frame_reader_release(&reader);
}

static void a_function_without_code_or_at_address_zero_is_left_out(void **state)
{
	struct frame_writer *writer = *state;
	struct frame_reader reader;

	frame_writer_add_cie(writer, &usual_cie);
	frame_writer_add_function(writer, START, 0, NO_CODE);
	frame_writer_add_function(writer, 0, SIZE, NO_CODE);
	reader = read_all(writer);
	assert_int_equal(reader.functions.length, 0);
	assert_int_equal(reader.num_malformed, 0);
	frame_reader_release(&reader);
}

static void a_function_that_names_no_common_part_is_malformed(void **state)
{
	struct frame_writer *writer = *state;
	struct frame_reader reader;

	frame_writer_add_cie(writer, &usual_cie);
	writer->cie_offset = 4;
	frame_writer_add_function(writer, START, SIZE, NO_CODE);
	writer->cie_offset = (size_t)-4;
	frame_writer_add_function(writer, START, SIZE, NO_CODE);
	reader = read_all(writer);
	assert_int_equal(reader.functions.length, 0);
	assert_int_equal(reader.num_malformed, 2);
	frame_reader_release(&reader);
}

static void functions_of_an_unknown_form_are_malformed(void **state)
{
	static const struct {
		uint8_t version;
		const char *augmentation;
	} forms[] = {{2, "zR"}, {5, "zR"}, {1, "zX"}, {1, "armcc+"}, {1, "R"}};
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;
	struct frame_reader reader;

	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
		cie.version = forms[i].version;
		cie.augmentation = forms[i].augmentation;
		frame_writer_add_cie(writer, &cie);
		frame_writer_add_function(writer, START, SIZE, NO_CODE);
	}
	reader = read_all(writer);
	assert_int_equal(reader.functions.length, 0);
	assert_int_equal(reader.num_malformed, 2 * ARRAY_LENGTH(forms));
	frame_reader_release(&reader);
}

static void what_precedes_a_truncated_entry_is_kept(void **state)
{
	struct frame_writer *writer = *state;
	size_t whole;

	frame_writer_add_cie(writer, &usual_cie);
	frame_writer_add_function(writer, START, SIZE, NO_CODE);
	whole = writer->bytes.length;
	frame_writer_add_function(writer, START + SIZE, SIZE, CODE(1, 2, 3, 4));
	for (size_t size = whole + 1; size < writer->bytes.length; size++) {
		struct frame_section section = frame_writer_get_section(writer);
		struct frame_reader reader;

		section.size = size;
		reader = read_section(&section);
		assert_int_equal(reader.functions.length, 1);
		assert_int_equal(reader.num_malformed, 1);
		frame_reader_release(&reader);
	}
}

static void lengths_beyond_the_section_end_it(void **state)
{
	static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 11, 1ull << 63, 1ull << 32};
	struct frame_writer *writer = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		struct frame_reader reader;

		frame_writer_add_u32(writer, UINT32_MAX);
		frame_writer_add_u64(writer, lengths[i]);
		frame_writer_add_u64(writer, 0);
		reader = read_all(writer);
		assert_int_equal(reader.num_malformed, 1);
		frame_reader_release(&reader);
		text_truncate(&writer->bytes, 0);
	}
}

static void an_end_beyond_the_last_address_is_malformed(void **state)
{
	struct frame_writer *writer = *state;
	struct frame_writer_cie cie = usual_cie;
	struct frame_reader reader;

	cie.encoding = DW_EH_PE_absptr;
	frame_writer_add_cie(writer, &cie);
	frame_writer_add_function(writer, UINT64_MAX - 5, 10, NO_CODE);
	frame_writer_add_function(writer, START, UINT64_MAX - 5, NO_CODE);
	reader = read_all(writer);
	assert_int_equal(reader.functions.length, 0);
	assert_int_equal(reader.num_malformed, 2);
	frame_reader_release(&reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_pointer_encoding_is_read),
		TEST(pointers_relative_to_text_or_data_use_its_address),
		TEST(a_pointer_that_cannot_be_resolved_is_malformed),
		TEST(every_version_and_augmentation_is_read),
		TEST(lengths_of_64_bits_are_read),
		TEST(a_function_of_debug_frame_may_precede_its_common_part),
		TEST(terminators_between_entries_are_stepped_over),
		TEST(functions_find_their_common_part_among_many),
		TEST(a_function_without_code_or_at_address_zero_is_left_out),
		TEST(a_function_that_names_no_common_part_is_malformed),
		TEST(functions_of_an_unknown_form_are_malformed),
		TEST(what_precedes_a_truncated_entry_is_kept),
		TEST(lengths_beyond_the_section_end_it),
		TEST(an_end_beyond_the_last_address_is_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
