/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the place of unwind_maps.c in a build without eBPF. */
#include "stacks/unwind/unwind_maps.h"

#include <errno.h>

int unwind_maps_create(struct unwind_maps *ret)
{
	return -ENOTSUP;
}

void unwind_maps_destroy(struct unwind_maps *m)
{
}

int unwind_maps_set_rule(const struct unwind_maps *m, uint16_t number,
			 const struct unwind_rule *rule)
{
	return -ENOTSUP;
}

int unwind_maps_set_file(const struct unwind_maps *m, const struct unwind_file_key *key,
			 const struct unwind_file *f)
{
	return -ENOTSUP;
}

void unwind_maps_remove_file(const struct unwind_maps *m, const struct unwind_file_key *key)
{
}

uint64_t unwind_maps_read_last_use(const struct unwind_maps *m, const struct unwind_file_key *key)
{
	return 0;
}

void unwind_maps_increment_changes(struct unwind_maps *m)
{
}
