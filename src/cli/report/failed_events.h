/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/name_list.h"
#include "base/text/str.h"

/*
 * FtraceStats.failed_ftrace_events as lines for a person, each ended:
 *
 *	group/name (reason)       events of one reason together
 *	option:field (reason)     sonda-probes says so of fields of FtraceConfig
 *
 * The place at which the kernel refused an expression is shown under it.
 */
void failed_events_tell(const struct name_list *failed, struct strbuf *lines);
