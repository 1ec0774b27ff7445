/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct owner_share;

/* How much of a table the files of each user take up. Files of root are not limited: most programs
 * and libraries are root's. The files of other users cannot fill the table. */
struct owner_shares {
	/* Set by the caller. */
	uint32_t max_each; /* of the files of one user */
	uint32_t max_all; /* of the files of all users but root */

	struct owner_share *all; /* owned; by user */
	uint32_t total; /* of all users but root */
};

/* Returns whether n more would be within the limits. */
bool owner_shares_have_room(const struct owner_shares *s, uint32_t owner, uint32_t n);
/* Adds n rows to the share of an owner. Returns false and changes nothing if the share would exceed
 * a limit or memory runs out. */
bool owner_shares_add(struct owner_shares *s, uint32_t owner, uint32_t n);
/* Takes n rows, which were added before, off the share of an owner. */
void owner_shares_remove(struct owner_shares *s, uint32_t owner, uint32_t n);
void owner_shares_deinit(struct owner_shares *s);
