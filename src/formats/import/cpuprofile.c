/*
 * The .cpuprofile files of V8, which Chrome and Node.js write: one object with the nodes and the
 * samples; see cpu_nodes.h. Files without a list of samples have a count at each node, and no time.
 */
#include <errno.h>
#include <string.h>

#include "formats/cpu_nodes.h"
#include "formats/format.h"
#include "formats/reader.h"

#define DETECTION_TOKENS 200

/* Where the lists stand; 0: nowhere. */
struct places {
	size_t samples;
	size_t deltas;
};

static void take_place(struct json *json, size_t *place)
{
	enum json_token token = json_next(json);

	*place = json->offset;
	json_skip(json, token);
}

static int read_members(struct cpu_nodes *nodes, struct json *json, struct places *places)
{
	enum json_token token = json_next(json);
	int err = 0;

	if (token != JSON_OBJECT && token != JSON_FAILED)
		return import_fail_byte(nodes->import, json->offset,
					"expected an object with nodes");
	while (!err && (token = json_next(json)) == JSON_KEY) {
		if (json_is(json, "nodes"))
			err = cpu_nodes_read(nodes, json);
		else if (json_is(json, "samples"))
			take_place(json, &places->samples);
		else if (json_is(json, "timeDeltas"))
			take_place(json, &places->deltas);
		else if (json_is(json, "startTime"))
			nodes->start_us = json_take_u64(json);
		else if (json_is(json, "endTime"))
			nodes->end_us = json_take_u64(json);
		else
			json_skip_value(json);
	}
	if (!err && token != JSON_FAILED)
		token = json_next(json);
	if (!err && token == JSON_FAILED)
		err = reader_fail_json(nodes->import, json, 0);
	if (!err && !nodes->nodes.length)
		err = import_fail_byte(nodes->import, 0, "expected an object with nodes");
	return err;
}

static int read_cpuprofile(struct import *import)
{
	struct cpu_nodes nodes = {.import = import};
	struct places places = {0};
	struct json json = json_of(import->data, import->size);
	uint32_t thread;
	int err = read_members(&nodes, &json, &places);

	if (!err)
		err = reader_add_nameless_thread(import, &thread);
	if (!err && places.samples)
		err = cpu_nodes_read_samples(&nodes, places.samples, places.deltas);
	if (!err)
		err = cpu_nodes_finish(&nodes, thread);
	json_release(&json);
	cpu_nodes_release(&nodes);
	return err;
}

/* Nodes with call frames. */
static enum detection detect(const uint8_t *data, size_t size)
{
	struct json json = json_of(data, size);
	bool has_nodes = false;
	bool has_frame = false;

	if (json_next(&json) == JSON_OBJECT) {
		for (int i = 0; i < DETECTION_TOKENS && !(has_nodes && has_frame); i++) {
			enum json_token token = json_next(&json);

			if (token == JSON_FAILED || token == JSON_END)
				break;
			has_nodes |= token == JSON_KEY && json_is(&json, "nodes");
			has_frame |= token == JSON_KEY && json_is(&json, "callFrame");
		}
	}
	json_release(&json);
	return has_nodes && has_frame ? DETECTED_SURE : DETECTED_NOT;
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.extension = ".cpuprofile",
	.summary = "CPU profiles of Chrome and Node.js",
	.detect = detect,
	.read = read_cpuprofile,
};
