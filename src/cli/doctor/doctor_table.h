/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/doctor/doctor_check.h"

struct doctor_check {
	const char *name; /* as sonda doctor NAME */
	doctor_check_fn *run;
	bool stops_record; /* a fault stops a recording that starts its own daemons */
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_n_checks;

/* This machine, its current directory, and its default service. */
void doctor_machine_init(struct doctor_machine *m);
