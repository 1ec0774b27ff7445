/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/dynevents.h"
#include "ftrace/options/setup.h"

/*
 * FtraceConfig.kprobe_events and uprobe_events: the probes of a session.
 *
 *	probe: "vfs_read"                       FtraceEvent.kprobe_event, with the function's name
 *	definition: "p:g/n vfs_read a=%dx"      event n of group g with field a, with a descriptor
 *	uprobe_events: "p:g/n /bin/x:0x40"      likewise
 */
#define PROBES_MAX 256u /* of a session; the kernel takes about 50 ms to remove each */

/* Creates the probes. Reports those that the kernel refuses, with its reason. Returns 0, -ENOMEM or
 * -ECANCELED. */
int probes_make(const struct setup *s, struct dynevents *made);
