/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "cli/record/record_options.h"
#include "config/trace_config.pb-c.h"

/*
 * --unit, --container, --pod, --cgroup and --program: whose events are recorded. sonda-probes finds
 * the processes; sonda refuses names that it finds to be unknown or ambiguous.
 */

/* Sets the subject in the data sources that support one. command: the pid of the COMMAND, which may
 * start what is awaited; 0: none. Returns 0 or -ENOMEM. */
int record_subject_set(Pb__TraceConfig *config, const struct record_options *o, uint32_t command);
/* Checks that names refer to something on this machine. starts_programs: the command of the
 * recording may start the programs; c->wait likewise allows that they do not run yet. Without the
 * rights to read the names of containers, it leaves these to sonda-probes. Returns 0, or -errno and
 * sets e. */
int record_subject_check_names(const Pb__SubjectConfig *c, bool starts_programs,
			       struct err_text *e);
/* The same for the names in the options. */
int record_subject_check(const struct record_options *o, struct err_text *e);
