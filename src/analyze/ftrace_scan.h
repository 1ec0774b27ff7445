/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/event_counts.h"
#include "analyze/holes.h"
#include "analyze/name_list.h"

/* FtraceParseStatus: why a page of the kernel's ring was not read to its end. */

#define FTRACE_STATUS_OK 1
#define FTRACE_STATUSES 18 /* known ones, 0 and OK included */

/* What happened, as a part of a sentence. Any number is fine; one that is not known has a word,
 * too. */
const char *ftrace_status_words(uint64_t status);

/*
 * What the ftrace packets of a trace say: which events, from when to when, and what the kernel's
 * rings lost. Reads FtraceEventBundle and FtraceStats (protos/trace/ftrace).
 */

#define FTRACE_SCAN_MAX_RINGS 8192 /* rings (CPUs x recording sequences) that are distinguished */
#define FTRACE_SCAN_MAX_PROBES 1024 /* whose misses are distinguished */

/* Counters of per_cpu/cpuN/stats. Overruns and dropped events are lost ones. */
struct ring_counters {
	uint64_t overrun;
	uint64_t commit_overrun;
	uint64_t dropped;
};

/* One CPU's ring as one data source reported it: the first report at the start and the last one at
 * the end count. */
struct ring {
	uint32_t sequence; /* trusted_packet_sequence_id of the report */
	uint32_t cpu;
	bool has_start;
	bool has_end;
	struct ring_counters start;
	struct ring_counters end;
};

/* A probe that was passed and could not record. */
struct probe_loss {
	char name[2 * EVENT_COUNTS_MAX_NAME + 2]; /* "group/name", plain */
	uint64_t misses;
};

struct cpu_loss {
	uint32_t cpu;
	uint64_t events;
};

/* Zero-initialise; ftrace_scan_deinit frees. */
struct ftrace_scan {
	struct event_counts counts;
	uint64_t first_ns; /* earliest and latest event, in the trace's clock; 0 without any */
	uint64_t last_ns;
	uint64_t bundles;
	struct bundle_span span; /* of the last bundle */
	struct holes holes; /* where events are missing */
	uint32_t sequence; /* of the packet with the next bundle; set by the caller */
	int64_t to_boot_ns; /* what makes CLOCK_BOOTTIME of an event's time; 0: that is its clock */
	uint64_t bundles_after_loss; /* bundles that say that events are missing before them */
	uint64_t counted_losses; /* how many, as far as the bundles know the number */
	uint64_t bad_pages; /* pages that the producer could not read whole */
	uint64_t statuses[FTRACE_STATUSES + 1]; /* of them by reason; the last: not known to us */
	uint32_t told_statuses; /* bits: reasons that FtraceStats tell, which do not count them */
	uint64_t kprobe_misses; /* of all probes in the kernel together */
	struct probe_loss *probes; /* owned; only those with misses, by the last report */
	size_t n_probes;
	size_t cap_probes;
	struct name_list unknown; /* requested events that the kernel does not have */
	struct name_list failed; /* requested events that could not be switched on, with a reason */
	uint64_t unknown_more; /* that the producer told as a number only, of one data source */
	uint64_t failed_more;
	struct name_list problems; /* other words of the producer: features that were refused */
	struct ring *rings; /* owned */
	size_t n_rings;
	size_t cap_rings;
	uint32_t pages_per_cpu; /* kernel ring size as read back, 0 unknown */
	uint64_t start_misses; /* of probes, in the last report of a start */
};

void ftrace_scan_deinit(struct ftrace_scan *s);
/* Serialized messages. false: they break protobuf's rules; what was read before that counts. */
bool ftrace_scan_bundle(struct ftrace_scan *s, const uint8_t *data, size_t len);
bool ftrace_scan_stats(struct ftrace_scan *s, uint32_t sequence, const uint8_t *data, size_t len);

/* Did any data source report its rings at the end? Without it the losses are not known. */
bool ftrace_scan_has_rings(const struct ftrace_scan *s);
/* What each CPU's ring lost during the recording, by CPU number, CPUs without loss left out. Data
 * sources of one session read the same rings: the largest of their numbers is taken. *ret is the
 * caller's to free. Returns 0 or -ENOMEM. */
int ftrace_scan_losses(const struct ftrace_scan *s, struct cpu_loss **ret, size_t *ret_n);
