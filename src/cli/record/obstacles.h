/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "cli/report/record_facts.h"
#include "cli/terminal/console.h"

/*
 * Prints why this machine did not record what a recording lacks, in the sentences of sonda doctor.
 * own_daemons: the recording has started its own service; otherwise the service on socket (NULL:
 * the default address) has recorded.
 */
void obstacles_print(const struct record_facts *f, bool own_daemons, const char *socket,
		     struct console *console);

/*
 * Prints the sentence of sonda doctor about memory if a recording failed for lack of memory, as its
 * message why tells, and the machine is the reason.
 */
void obstacles_explain_failure(const char *why, bool own_daemons, const char *socket,
			       struct console *console);
