/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/event_counts.h"
#include "analyze/holes.h"
#include "analyze/name_list.h"

/* FtraceParseStatus: why a page of the kernel's ring could not be parsed completely. */

#define FTRACE_STATUS_OK 1
#define FTRACE_STATUSES 18 /* known ones, 0 and OK included */

/* Returns a description of the status, as part of a sentence. Any number is allowed; unknown ones
 * have a text as well. */
const char *ftrace_status_words(uint64_t status);

/*
 * Results from the ftrace packets of a trace: the events, their time span, and the losses of the
 * kernel's rings. Reads FtraceEventBundle and FtraceStats (protos/trace/ftrace).
 */

#define FTRACE_SCAN_MAX_RINGS 8192 /* rings (CPUs x packet sequences) that are distinguished */
#define FTRACE_SCAN_MAX_PROBES 1024 /* probes whose hits and misses are distinguished */

/* Counters of per_cpu/cpuN/stats. Overruns and dropped events are losses. */
struct ring_counters {
	uint64_t overrun;
	uint64_t commit_overrun;
	uint64_t dropped;
};

/* One CPU's ring as reported by one data source. The first report at the start and the last one at
 * the end are used. */
struct ring {
	uint32_t sequence; /* trusted_packet_sequence_id of the report */
	uint32_t cpu;
	uint32_t machine;
	uint64_t instance; /* hash of the tracefs instance's name; 0 unknown */
	bool has_start;
	bool has_end;
	bool overwrites; /* the ring is read on request only: overruns are no losses */
	struct ring_counters start;
	struct ring_counters end;
};

/* How often a probe was hit, and hit without recording. A span's call and return are one probe. */
struct probe_counts {
	char name[2 * EVENT_COUNTS_MAX_NAME + 2]; /* "group/name", without control characters */
	uint64_t hits, misses;
};

struct cpu_loss {
	uint32_t cpu;
	uint64_t events;
};

/* Zero-initialise; ftrace_scan_deinit frees. */
struct ftrace_scan {
	struct event_counts counts;
	/* The earliest and the latest event of the service's machine, in the trace's clock; 0
	 * without any. */
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t bundles;
	struct bundle_span span; /* of the last bundle */
	struct holes holes; /* intervals with missing events */
	uint32_t sequence; /* sequence of the next bundle; set by the caller */
	uint32_t machine; /* machine of the next packet; set by the caller */
	int64_t to_boot_ns; /* offset from an event's time to CLOCK_BOOTTIME; 0: same clock */
	uint64_t bundles_after_loss; /* bundles with a mark for missing events before them */
	uint64_t counted_losses; /* lost events, where bundles have their number */
	uint64_t bad_pages; /* pages that the producer could not parse completely */
	uint64_t statuses[FTRACE_STATUSES + 1]; /* bad pages by reason, unknown reasons last */
	uint32_t reported_statuses; /* bit mask: reasons in FtraceStats, which has no counts */
	uint64_t kprobe_misses; /* misses of all probes in the kernel during the recording */
	struct probe_counts *probes; /* owned; probes of sessions, by the last report */
	size_t n_probes;
	size_t cap_probes;
	struct name_list unknown; /* requested events that do not exist in the kernel */
	struct name_list failed; /* requested events that could not be enabled, with a reason */
	uint64_t unknown_more; /* further ones of a data source that only reports their number */
	uint64_t failed_more; /* the same of `failed` */
	struct name_list foreign; /* changes of the instance by others: events are missing */
	struct name_list problems; /* other errors of the producer: rejected features */
	struct ring *rings; /* owned */
	size_t n_rings;
	size_t cap_rings;
	uint32_t pages_per_cpu; /* kernel ring size as read back; 0 unknown */
	uint64_t start_misses; /* of all probes in the kernel, as reported at the last start */
};

void ftrace_scan_deinit(struct ftrace_scan *s);
/* Scans a serialized message. Returns false if it violates protobuf's rules; fields before the
 * error are used. */
bool ftrace_scan_bundle(struct ftrace_scan *s, const struct pb_field *bundle);
bool ftrace_scan_stats(struct ftrace_scan *s, uint32_t sequence, const struct pb_field *stats);

/* Records that rings overwrote because they are read on request only
 * (FtraceConfig.read_on_flush_only). */
struct ring_overwrites {
	uint64_t events; /* on all CPUs */
	uint64_t complete_ns; /* events' clock: from then on all CPUs are complete; 0: always */
};

/* Returns false if the trace has no such rings. */
bool ftrace_scan_overwrites(const struct ftrace_scan *s, struct ring_overwrites *ret);
/* Returns true if the hole reaches back to the start of tracing and its ring is read on request
 * only: such a ring overwrites its oldest events, so the hole is no loss. */
bool ftrace_scan_hole_is_before(const struct ftrace_scan *s, const struct hole *h);
/* Returns true if a data source reported its rings at the end. Otherwise the losses are unknown. */
bool ftrace_scan_has_rings(const struct ftrace_scan *s);
/* Returns each CPU's losses during the recording, by CPU number, without CPUs that lost nothing.
 * The numbers of all rings of a CPU are added up. If several data sources report the rings of one
 * instance, or do not say whose rings they are (Perfetto's read those of the top level), the
 * largest of their numbers is used. The caller frees *ret. Returns 0 or -ENOMEM. */
int ftrace_scan_losses(const struct ftrace_scan *s, struct cpu_loss **ret, size_t *ret_n);
