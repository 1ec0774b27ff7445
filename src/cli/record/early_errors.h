/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "analyze/trace_scan.h"
#include "cli/record/recording_setup.h"
#include "cli/report/recording_sources.h"
#include "cli/report/refusals.h"

/* Prints warnings at the start, when the user can still correct the command line. */
void early_warnings_say(const struct recording_sources *s, const struct recording_setup *setup);

/*
 * Reports, during a streaming recording, what its producer of linux.ftrace could not record. The
 * first statistics of the producer list it. So a user is informed at once of a filter or a probe
 * that the kernel refuses, and of a typing error if this process cannot read the kernel's list of
 * events. sonda-probes commits these statistics before the first event; Perfetto's producer with
 * the first flush.
 */

/* Zero-initialise. */
struct early_errors {
	unsigned looks;
	bool done;
	enum refused_options refused; /* of filters and probes of the command line */
	/* While they are awaited: */
	struct event *timer; /* owned */
	unsigned waits;
	const struct recording_setup *setup; /* borrowed, as read and ctx */
	const struct trace_scan *read;
	void (*on_end)(void *ctx);
	void *ctx;
};

/* Call it about once a second. Prints once what the first statistics say was rejected. Looks for
 * these in read, the scan of the packets that this process has read, or in the file if the service
 * writes it; gives up after some looks. */
void early_errors_report(struct early_errors *e, const struct recording_setup *setup,
			 const struct trace_scan *read);

/*
 * If the kernel may refuse a filter or a probe of the command line, looks often until the first
 * statistics are there, or for two seconds: some producers write them at the end. Then it calls
 * on_end, and the command may run. Returns false if nothing is awaited.
 */
bool early_errors_await(struct early_errors *e, struct event_base *loop,
			const struct recording_setup *setup, const struct trace_scan *read,
			void (*on_end)(void *ctx), void *ctx);
void early_errors_deinit(struct early_errors *e);
