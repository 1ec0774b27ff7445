/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Memory of one import. */
struct budget {
	uint64_t used, limit; /* bytes */
	int error; /* 0, -ENOMEM, or -EFBIG: over the limit */
};

/* Takes bytes out of the budget. Returns false, and sets the error, if they are not left. */
bool budget_take(struct budget *b, uint64_t bytes);
