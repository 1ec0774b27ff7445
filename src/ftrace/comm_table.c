// SPDX-License-Identifier: Apache-2.0
/* Open addressing, never more than a quarter full; emptied by a new generation. */
#include "ftrace/comm_table.h"

_Static_assert(sizeof(struct comm) == COMM_LEN, "a name is its 16 bytes");

void comm_table_clear(struct comm_table *t)
{
	t->n = 0;
	if (++t->generation)
		return;
	memset(t->slots, 0, sizeof(t->slots));
	t->generation = 1;
}
