/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* The tables cgroup_wait and cgroup_wait_length: waits for a CPU that the kernel counted. ts is the
 * end of the packet's interval. */
void import_cgroup_waits(struct import *im, struct machine *m, int64_t ts,
			 const struct pb_field *waits);
