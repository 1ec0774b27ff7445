/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/*
 * What took longer than the config allows (bpf/outliers.h), as slices: waits and stalls on the thread's
 * own track, as it does nothing else meanwhile; block requests on one below it.
 */
struct outliers;

/* Of a loaded object; what is of the run is borrowed. 0 or -errno. */
int outliers_new(struct ebpf_run *r, struct outliers **ret);
/* NULL is fine, for all of them. */
void outliers_free(struct outliers *o);
/* After tracks_begin, and behind all other tracks of it. 0 or -errno. */
int outliers_read(struct outliers *o);
/* Removes the track of those that were left out. */
void outliers_hide(struct outliers *o);
