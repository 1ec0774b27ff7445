/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.tracing_cpumask: the CPUs whose events are recorded, as hexadecimal words of 32 bits
 * with commas between them, those of the highest CPUs first. 0, or -errno with a problem where the
 * kernel does not take it, or where it names no CPU: others would be recorded than were asked for.
 */
int traced_cpus_set(const struct setup *s);
