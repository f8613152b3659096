#include "wire/request.h"

#include <string.h>

#include "base/attributes.h"
#include "unit.h"

/* Letters as the kernels' blk_fill_rwbs() makes them. */
static const struct {
	const char *letters;
	wire_u32 num_bytes;
	wire_u32 num_sectors;
	enum wire_request_kind kind;
} requests[] = {
	{"R", 4096, 8, WIRE_REQUEST_READ},
	{"RA", 131072, 256, WIRE_REQUEST_READ},
	{"RM", 4096, 8, WIRE_REQUEST_READ},
	{"RSM", 4096, 8, WIRE_REQUEST_READ},
	{"W", 4096, 8, WIRE_REQUEST_WRITE},
	{"WS", 4096, 8, WIRE_REQUEST_WRITE},
	{"WFS", 4096, 8, WIRE_REQUEST_WRITE},
	{"FWFS", 4096, 8, WIRE_REQUEST_WRITE},
	{"FWS", 0, 0, WIRE_REQUEST_FLUSH}, /* a flush that a file system asks for */
	{"D", 1 << 20, 2048, WIRE_REQUEST_DISCARD},
	{"DS", 1 << 20, 2048, WIRE_REQUEST_DISCARD},
	{"DE", 1 << 20, 2048, WIRE_REQUEST_DISCARD}, /* of what nobody may read any more */
	{"F", 0, 0, WIRE_REQUEST_FLUSH},
	{"FF", 0, 0, WIRE_REQUEST_FLUSH},
	{"FS", 0, 0, WIRE_REQUEST_FLUSH},
	{"ZR", 0, 0, WIRE_REQUEST_ZONE},
	{"ZRA", 0, 0, WIRE_REQUEST_ZONE},
	{"ZO", 0, 0, WIRE_REQUEST_ZONE},
	{"ZA", 4096, 8, WIRE_REQUEST_WRITE},
	{"ZAS", 4096, 8, WIRE_REQUEST_WRITE},
	{"N", 0, 0, WIRE_REQUEST_ZONE},
	{"N", 1 << 20, 2048, WIRE_REQUEST_WRITE}, /* zeros */
	{"NS", 4096, 8, WIRE_REQUEST_WRITE},
	{"N", 252, 0, WIRE_REQUEST_OTHER}, /* an inquiry */
	{"", 4096, 8, WIRE_REQUEST_OTHER},
	{"X", 4096, 8, WIRE_REQUEST_OTHER},
};

static void a_requests_kind_is_that_of_its_operation(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
		char letters[8] = {0};
		enum wire_request_kind kind;

		strncpy(letters, requests[i].letters, sizeof(letters) - 1);
		kind = wire_request_kind(letters, requests[i].num_bytes, requests[i].num_sectors);
		if (kind != requests[i].kind)
			fail_msg("'%s' of %u bytes is %d, expected %d", letters,
				 requests[i].num_bytes, kind, requests[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_requests_kind_is_that_of_its_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
