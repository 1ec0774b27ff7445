/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line about a recording that goes on. */

struct progress {
	uint64_t elapsed_ms;
	uint64_t duration_ms; /* 0: until Ctrl-C */
	bool has_bytes;
	uint64_t bytes; /* in the central buffer, overwritten ones included */
	bool has_events;
	uint64_t events; /* of the kernel's rings */
	uint64_t lost;
};

#define PROGRESS_MAX 160
/* "  12 s of 60 s   1,204,331 events   21.4 MB   0 lost". Returns buf. */
char *progress_format(const struct progress *p, char buf[static PROGRESS_MAX]);
