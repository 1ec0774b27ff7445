/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* FtraceParseStatus: why a page of the kernel's ring was not read to its end. */

#define FTRACE_STATUS_OK 1
#define FTRACE_STATUSES 18 /* known ones, 0 and OK included */

/* What happened, as a part of a sentence. Any number is fine; one that is not known has a word,
 * too. */
const char *ftrace_status_words(uint64_t status);
