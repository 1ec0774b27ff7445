/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/made_events.h"

/*
 * How often the kernel passed a session's probes (hits), and how often it could not record that
 * (misses, of probes in the kernel). Source: kprobe_profile and uprobe_profile of tracefs.
 *
 * Sets hits and misses of each probe of m; where they cannot be read they stay as they are.
 */
void probe_profile_read(struct made_events *m);
