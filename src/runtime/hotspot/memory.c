#include "runtime/hotspot/memory.h"

/* Mappings start and end at multiples of this. */
#define PAGE_BYTES 4096
/* At once. */
#define MAX_READ (64u << 10)

static int read_all(const struct hotspot_memory *memory, uint64_t address, uint8_t *ret,
		    size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t part = size - done < MAX_READ ? size - done : MAX_READ;
		int err = memory->read(memory->context, address + done, ret + done, part);

		if (err)
			return err;
		done += part;
	}
	return 0;
}

int hotspot_read_some(const struct hotspot_memory *memory, uint64_t address, void *ret,
		      size_t least, size_t size, size_t *ret_size)
{
	uint64_t last_page = (address + size) & ~(uint64_t)(PAGE_BYTES - 1);
	int err = read_all(memory, address, ret, size);

	if (!err) {
		*ret_size = size;
		return 0;
	}
	/* The excess of the request is less than a page. */
	if (last_page < address + least || last_page == address + size)
		return err;
	err = read_all(memory, address, ret, last_page - address);
	if (err)
		return err;
	*ret_size = last_page - address;
	return 0;
}
