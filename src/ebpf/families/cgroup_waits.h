/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ebpf/engine/family.h"

/*
 * Waits for a CPU by control group (bpf/cgroup_waits.h), as packets: what was added since the last
 * packet, once a second.
 *
 * Format: perfetto.protos.CgroupWaits (an extension of sonda).
 */
#define CGROUP_WAITS_EACH 64u /* rows of a packet */

struct cgroup_waits_reader;

/* Makes the kernel allocate the memory of a group only when it has a wait, if this kernel can. Call
 * it before the load. */
void cgroup_waits_prepare(struct ebpf_object *o, const struct ebpf_features *f);
/* Prepares reading the waits of a loaded object. Returns 0 or -errno. */
int cgroup_waits_reader_new(const struct ebpf_run *r, struct cgroup_waits_reader **ret);
void cgroup_waits_reader_free(struct cgroup_waits_reader *c);
/* Writes the rows if they are due, or if the run has to write everything. Pending values of tracks
 * are written before. lost: waits that found no room so far. Returns 0 or -errno. */
int cgroup_waits_read(struct cgroup_waits_reader *c, const struct ebpf_run *r, uint64_t lost);
