/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "client/boost.h"

/* Runs the calling thread as urgently as its data sources ask for, and as before when none does. */

/* Zero-initialise. */
struct priority_boost {
	bool active; /* the others are what was before */
	int policy;
	int priority; /* of a real-time policy */
	int nice;
};

/* BOOST_NONE: as before the first. 0, or -errno (-EPERM, -EACCES): it runs on as it did. */
int priority_boost_apply(struct priority_boost *p, struct boost boost);
