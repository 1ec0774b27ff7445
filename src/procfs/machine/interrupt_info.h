/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/text/span.h"

struct pb_enc;

/*
 * Who handles which interrupt, as one InterruptInfo message, one row of /proc/interrupts a step: those
 * that have a number.
 *
 * Format: protos/trace/system_info/interrupt_info.proto.
 */

/* Takes a row off the text of /proc/interrupts. False: there is none left. */
bool interrupt_info_step(struct span *text, struct pb_enc *e);
