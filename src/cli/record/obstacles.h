/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "cli/report/record_facts.h"
#include "cli/terminal/console.h"

/*
 * Prints why this machine did not record what a recording lacks, in the sentences of sonda doctor.
 * own_daemons: the recording has started its own service; otherwise that on socket (NULL: the
 * default) has recorded.
 */
void obstacles_print(const struct record_facts *f, bool own_daemons, const char *socket,
		     struct console *console);

/*
 * Prints the reason in the sentence of sonda doctor if the machine made a recording fail with
 * `why`.
 */
void obstacles_explain_failure(const char *why, bool own_daemons, const char *socket,
			       struct console *console);
