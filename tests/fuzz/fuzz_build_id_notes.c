/*
 * Notes: whatever the bytes and the alignment, an ID that is found lies in them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "objfile/objfile.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t aligns[] = {0, 1, 4, 8, 16};

	for (size_t i = 0; i < sizeof(aligns) / sizeof(aligns[0]); i++) {
		uint8_t id[BUILD_ID_SIZE_MAX];
		uint8_t id_size;
		int err = build_id_read_notes(data, size, aligns[i], id, &id_size);

		require(err == 0 || err == -ENODATA || err == -EINVAL);
		if (!err) {
			require(id_size > 0 && id_size <= BUILD_ID_SIZE_MAX);
			require(memmem(data, size, id, id_size) != NULL);
		}
	}
	return 0;
}
