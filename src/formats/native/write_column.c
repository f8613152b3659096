/*
 * A column on its way to gzip. Large columns without repetitions are not searched for any: that is
 * the slowest part of gzip, and its chance matches make the rest larger. Measured with a million
 * stacks: 2.2 MB in a tenth of the time, instead of 2.6 MB.
 */
#include <errno.h>

#include "formats/native/write.h"

/* Smaller columns are compressed as text is: recordings have the same stacks in many threads. */
#define LARGE_COLUMN_BYTES 65536

int native_writer_set_repetitive(struct native_writer *writer, bool is_repetitive)
{
	return writer->gzip ? gzip_sink_set_repetitive(writer->gzip, is_repetitive) : 0;
}

/* A large column has repetitions if most numbers are like the one before, such as threads. */
static bool is_repetitive(const char *data, size_t size)
{
	size_t num_repeated = 0;

	for (size_t i = 1; i < size; i++)
		num_repeated += data[i] == data[i - 1];
	return size < LARGE_COLUMN_BYTES || num_repeated > size / 4 * 3;
}

int native_writer_put_column(struct native_writer *writer, struct column *column, bool is_whole)
{
	_cleanup_(text_release) struct text text = {0};
	int err;

	column_write(column, is_whole, &text);
	column_release(column);
	if (text.failed)
		return -ENOMEM;
	err = native_writer_set_repetitive(writer, is_repetitive(text.data, text.length));
	if (err)
		return err;
	return sink_flush(writer->sink, &text);
}
