/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "import/file/import_result.h"
#include "import/file/trace_facts.h"
#include "import/formats/tracing_data.h"
#include "import/perf_data/perf_attrs.h"

/* What the header features of a perf.data say (tools/perf/Documentation/perf.data-file-format.txt
 * of the kernel's sources): sections of a file, or records of a stream. */
enum perf_feature {
	PERF_FEATURE_TRACING_DATA = 1,
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_AUXTRACE = 18,
	PERF_FEATURE_DIR_FORMAT = 24,
	PERF_FEATURE_COMPRESSED = 27,
	PERF_FEATURE_CLOCK_DATA = 29,
	PERF_FEATURES = 256,
};

#define PERF_BUILD_ID_MAX 20
#define PERF_BUILD_IDS_MAX 65536

struct perf_build_id {
	char *path; /* owned */
	uint8_t bytes[PERF_BUILD_ID_MAX];
	uint32_t len;
};

struct perf_facts {
	struct recorded_machine machine;
	char version[48]; /* of perf */
	struct perf_build_id *build_ids; /* owned; sorted by path when is_sorted */
	size_t n_build_ids, build_ids_cap;
	bool is_sorted;
	bool has_clocks; /* the next two are the same moment */
	uint64_t realtime_ns, clock_ns;
	struct tracing_data tracing; /* owned */
	bool has_tracing;
};

void perf_facts_deinit(struct perf_facts *f);

/* Reads a feature; unknown ones are ignored. Returns 0, -EBADMSG or -ENOMEM. */
int perf_facts_read(struct perf_facts *f, struct perf_attrs *attrs, unsigned feature,
		    const uint8_t *data, size_t len, struct import_result *result);
/* Reads the record of a build id, with its header. Returns 0, -EBADMSG or -ENOMEM. */
int perf_facts_read_build_id(struct perf_facts *f, const uint8_t *record, size_t len);
/* Reads the formats of tracepoints, in place of those read before. Returns 0, -EBADMSG, -ENOMEM, or
 * -EPROTONOSUPPORT, which is in result. */
int perf_facts_read_tracing(struct perf_facts *f, const uint8_t *data, size_t len,
			    struct import_result *result);

/* Returns the build id of the file, or NULL. */
const struct perf_build_id *perf_facts_find_build_id(struct perf_facts *f, const char *path);
