/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/doctor/doctor_check.h"

struct doctor_check {
	const char *name; /* as sonda doctor NAME */
	doctor_check_fn *run;
	/* What a fault stops, of recordings that start their own daemons. */
	enum { STOPS_NOTHING, STOPS_KERNEL_EVENTS, STOPS_ALL } stops;
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_n_checks;

/* Sets m to this machine, the current directory, and the default service. */
void doctor_machine_init(struct doctor_machine *m);
