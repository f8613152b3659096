/*
 * reads_in_batches FILE: reads it past the page cache, 32 adjoining pieces at a time, which the kernel merges into
 * requests. Prints the number of bytes.
 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NUM_PIECES  32
#define PIECE_BYTES 4096

static char pieces[NUM_PIECES][PIECE_BYTES] __attribute__((aligned(PIECE_BYTES)));

static __attribute__((noinline)) long read_batch(aio_context_t context, int fd, long offset)
{
	struct iocb reads[NUM_PIECES];
	struct iocb *list[NUM_PIECES];
	struct io_event events[NUM_PIECES];
	long num_bytes = 0;

	memset(reads, 0, sizeof(reads));
	for (int i = 0; i < NUM_PIECES; i++) {
		reads[i].aio_lio_opcode = IOCB_CMD_PREAD;
		reads[i].aio_fildes = (__u32)fd;
		reads[i].aio_buf = (__u64)(unsigned long)pieces[i];
		reads[i].aio_nbytes = PIECE_BYTES;
		reads[i].aio_offset = offset + i * PIECE_BYTES;
		list[i] = &reads[i];
	}
	if (syscall(SYS_io_submit, context, NUM_PIECES, list) != NUM_PIECES ||
	    syscall(SYS_io_getevents, context, NUM_PIECES, NUM_PIECES, events, NULL) != NUM_PIECES)
		abort();
	for (int i = 0; i < NUM_PIECES; i++)
		num_bytes += events[i].res;
	return num_bytes;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
	aio_context_t context = 0;
	struct stat status;
	long num_bytes = 0;

	if (fd < 0 || fstat(fd, &status) || syscall(SYS_io_setup, NUM_PIECES, &context))
		abort();
	for (long offset = 0; offset + NUM_PIECES * PIECE_BYTES <= status.st_size;
	     offset += NUM_PIECES * PIECE_BYTES)
		num_bytes += read_batch(context, fd, offset);
	printf("%ld\n", num_bytes);
	return 0;
}
