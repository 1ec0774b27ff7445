/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/findings/findings.h"
#include "cli/report_options.h"
#include "cli/report_table.h"

/* sonda report findings: known problems, for one machine of the trace. */
struct findings_output {
	struct trace_tables *tables; /* has the tables that reports use */
	const struct report_options *options;
	struct report_style *style;
	const struct report_losses *losses; /* losses for JSON; NULL: the caller prints them */
	struct finding_window window;
	int64_t machine; /* machine for the commands; -1: there is only one */
	FILE *out;
	bool answered; /* output: the trace has what at least one finding needs */
};

/* Prints the report as text, CSV or JSON. Returns 0, or a negative errno and sets e. */
int report_findings_print(struct findings_output *o, struct err_text *e);
