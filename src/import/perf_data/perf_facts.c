/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/perf_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define PATH_SIZE 4096
#define MISC_BUILD_ID_SIZE (1u << 15) /* of a build id record: its size follows the bytes */

void perf_facts_deinit(struct perf_facts *f)
{
	for (size_t i = 0; i < f->n_build_ids; i++)
		free(f->build_ids[i].path);
	free(f->build_ids);
	tracing_data_deinit(&f->tracing);
	*f = (struct perf_facts){0};
}

/* Reads a string of a feature: u32 length with padding, then its bytes and a NUL. */
static void read_string(struct byte_reader *r, char *ret, size_t size)
{
	uint32_t len = byte_reader_u32(r);
	const uint8_t *at = byte_reader_read(r, len);
	struct byte_reader string = byte_reader_make(at, at ? len : 0);
	char text[256];

	byte_reader_string(&string, text, sizeof(text));
	import_copy_text(ret, size, text);
}

/* ---- build ids ---- */

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct perf_build_id *)a)->path,
		      ((const struct perf_build_id *)b)->path);
}

/* Reads a record: header | u32 pid | 20 bytes, u8 size, 3 bytes | path. */
int perf_facts_read_build_id(struct perf_facts *f, const uint8_t *record, size_t len)
{
	struct byte_reader r = byte_reader_make(record, len);
	struct perf_build_id id = {.len = PERF_BUILD_ID_MAX};
	char path[PATH_SIZE];
	uint16_t misc;
	uint8_t size;

	byte_reader_u32(&r);
	misc = byte_reader_u16(&r);
	byte_reader_u16(&r);
	byte_reader_u32(&r);
	byte_reader_number(&r, id.bytes, sizeof(id.bytes));
	size = byte_reader_u8(&r);
	byte_reader_read(&r, 3);
	byte_reader_string(&r, path, sizeof(path));
	if (r.failed || f->n_build_ids == PERF_BUILD_IDS_MAX)
		return -EBADMSG;
	if (misc & MISC_BUILD_ID_SIZE && size <= PERF_BUILD_ID_MAX)
		id.len = size;
	if (array_reserve(&f->build_ids, &f->build_ids_cap, f->n_build_ids + 1, sizeof(id)) ||
	    !(id.path = strdup(path)))
		return -ENOMEM;
	f->build_ids[f->n_build_ids++] = id;
	f->is_sorted = false;
	return 0;
}

const struct perf_build_id *perf_facts_find_build_id(struct perf_facts *f, const char *path)
{
	const struct perf_build_id key = {.path = (char *)path};

	if (!f->n_build_ids)
		return NULL;
	if (!f->is_sorted)
		qsort(f->build_ids, f->n_build_ids, sizeof(*f->build_ids), compare_paths);
	f->is_sorted = true;
	return bsearch(&key, f->build_ids, f->n_build_ids, sizeof(*f->build_ids), compare_paths);
}

static int read_build_ids(struct perf_facts *f, const uint8_t *data, size_t len)
{
	int r = 0;

	while (!r && len >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;

		memcpy(&h, data, sizeof(h));
		if (h.size < sizeof(h) || h.size > len)
			return -EBADMSG;
		r = perf_facts_read_build_id(f, data, h.size);
		data += h.size;
		len -= h.size;
	}
	return r;
}

/* ---- tracepoints ---- */

int perf_facts_read_tracing(struct perf_facts *f, const uint8_t *data, size_t len,
			    struct import_result *result)
{
	struct byte_reader r = byte_reader_make(data, len);
	struct tracing_head head;
	int error = tracing_head_read(&r, &head);

	if (!error && head.is_big_endian)
		return import_set_error(result, -EPROTONOSUPPORT,
					"the file was recorded on a big-endian machine");
	tracing_data_deinit(&f->tracing);
	error = error ?: tracing_data_read_header(&f->tracing, &r);
	error = error ?: tracing_data_read_ftrace_formats(&f->tracing, &r);
	error = error ?: tracing_data_read_formats(&f->tracing, &r);
	error = error ?: tracing_data_read_kallsyms(&f->tracing, &r);
	error = error ?: tracing_data_read_printk(&f->tracing, &r);
	f->has_tracing = !error;
	return error;
}

/* ---- features ---- */

/* Names of events: u32 number, u32 size of an attribute; attribute, u32 ids, name, ids. */
static int read_event_names(struct perf_attrs *attrs, const uint8_t *data, size_t len)
{
	struct byte_reader r = byte_reader_make(data, len);
	uint32_t n = byte_reader_u32(&r), attr_size = byte_reader_u32(&r), n_ids;

	for (uint32_t i = 0; i < n && !r.failed; i++) {
		char name[64];

		byte_reader_read(&r, attr_size);
		n_ids = byte_reader_u32(&r);
		read_string(&r, name, sizeof(name));
		byte_reader_read(&r, (uint64_t)n_ids * 8);
		if (!r.failed && i < attrs->n_events)
			memcpy(attrs->events[i].name, name, sizeof(name));
	}
	return r.failed ? -EBADMSG : 0;
}

/* Reads the clocks: u32 version, u32 clock, u64 CLOCK_REALTIME, u64 the clock. */
static int read_clocks(struct perf_facts *f, struct byte_reader *r)
{
	uint32_t version = byte_reader_u32(r);

	byte_reader_u32(r);
	f->realtime_ns = byte_reader_u64(r);
	f->clock_ns = byte_reader_u64(r);
	f->has_clocks = !r->failed && version == 1;
	return r->failed ? -EBADMSG : 0;
}

int perf_facts_read(struct perf_facts *f, struct perf_attrs *attrs, unsigned feature,
		    const uint8_t *data, size_t len, struct import_result *result)
{
	struct byte_reader r = byte_reader_make(data, len);

	switch (feature) {
	case PERF_FEATURE_TRACING_DATA:
		return perf_facts_read_tracing(f, data, len, result);
	case PERF_FEATURE_BUILD_ID:
		return read_build_ids(f, data, len);
	case PERF_FEATURE_OSRELEASE:
		read_string(&r, f->machine.release, sizeof(f->machine.release));
		break;
	case PERF_FEATURE_VERSION:
		read_string(&r, f->version, sizeof(f->version));
		break;
	case PERF_FEATURE_ARCH:
		read_string(&r, f->machine.machine, sizeof(f->machine.machine));
		break;
	case PERF_FEATURE_NRCPUS:
		byte_reader_u32(&r); /* those that the kernel could use */
		f->machine.n_cpus = byte_reader_u32(&r);
		break;
	case PERF_FEATURE_EVENT_DESC:
		return read_event_names(attrs, data, len);
	case PERF_FEATURE_CLOCK_DATA:
		return read_clocks(f, &r);
	case PERF_FEATURE_DIR_FORMAT:
		import_add_note(result,
				"the file is part of a perf.data directory; skipped the other "
				"files in the directory");
		break;
	case PERF_FEATURE_AUXTRACE:
		import_add_note(result, "hardware traces in AUX buffers are not imported");
		break;
	default:
		break;
	}
	return r.failed ? -EBADMSG : 0;
}
