/*
 * Formats whose writers need libraries that the module does without: there they are only read.
 */
#include "formats/format.h"
#include "formats/pprof.h"

const struct format format_pprof = {
	.name = "pprof",
	.extension = ".pb.gz",
	.summary = "pprof's profile: compressed, with addresses, lines, threads",
	.detect = pprof_detect,
	.read = pprof_read,
};

const struct format format_pftrace = {
	.name = "pftrace",
	.extension = ".pftrace",
	.summary = "Perfetto's trace: what happened when",
};
