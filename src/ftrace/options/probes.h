/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/dynevents.h"
#include "ftrace/options/setup.h"

/*
 * FtraceConfig.kprobe_events and uprobe_events: the probes of a session.
 *
 *	probe: "vfs_read"                       FtraceEvent.kprobe_event, with the function's name
 *	definition: "p:g/n vfs_read a=%dx"      an event n of group g with field a, described by itself
 *	uprobe_events: "p:g/n /bin/x:0x40"      likewise
 */
#define PROBES_MAX 256u /* of a session: each takes the kernel some 50 ms to stop */

/* Makes all of them that can be had; the others are reported, with the kernel's reason. 0 or
 * -ENOMEM. */
int probes_make(const struct setup *s, struct dynevents *made);
