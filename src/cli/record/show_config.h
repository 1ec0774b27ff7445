/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/record/record_end.h"

/* --show-config: prints the config of the command line on standard output. Returns the exit
 * code. */
int record_show_config(struct record_command *c);
