/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/trace_scan.h"
#include "cli/record/recording_setup.h"
#include "cli/report/refusals.h"

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
};

/* Returns true if the kernel may refuse a filter or a probe of the command line: then the command
 * waits for the first statistics. */
bool early_errors_are_awaited(const struct early_errors *e, const struct recording_setup *setup);

/* Call it about once a second, or more often while a command waits. Prints once what the first statistics say was rejected. Looks for
 * these in read, the scan of the packets that this process has read, or in the file if the service
 * writes it; gives up after some looks. */
void early_errors_report(struct early_errors *e, const struct recording_setup *setup,
			 const struct trace_scan *read);
