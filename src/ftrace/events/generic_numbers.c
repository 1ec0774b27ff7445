// SPDX-License-Identifier: Apache-2.0
/* New numbers are taken going round, so that one is used again as late as can be. */
#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "ftrace/events/generic_numbers.h"

struct entry {
	uint64_t shape;
	uint32_t number;
	uint32_t takers;
	UT_hash_handle hh;
};

/* Of this process. */
static struct entry *by_shape;
static struct entry *by_number[GENERIC_NUMBERS]; /* from GENERIC_NUMBER_FIRST on; owned */
static uint32_t turn;

/* There is a number that is free. NULL: memory is out. */
static struct entry *new_entry(uint64_t shape)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	while (by_number[turn])
		turn = (turn + 1) % GENERIC_NUMBERS;
	e->shape = shape;
	e->number = GENERIC_NUMBER_FIRST + turn;
	HASH_ADD(hh, by_shape, shape, sizeof(e->shape), e);
	if (!e->hh.tbl) {
		free(e);
		return NULL;
	}
	by_number[turn] = e;
	turn = (turn + 1) % GENERIC_NUMBERS;
	return e;
}

int generic_number_take(uint64_t shape, uint32_t *ret)
{
	struct entry *e;

	HASH_FIND(hh, by_shape, &shape, sizeof(shape), e);
	if (!e && HASH_COUNT(by_shape) == GENERIC_NUMBERS)
		return -ENOSPC;
	if (!e)
		e = new_entry(shape);
	if (!e)
		return -ENOMEM;
	e->takers++;
	*ret = e->number;
	return 0;
}

void generic_number_give(uint32_t number)
{
	uint32_t at = number - GENERIC_NUMBER_FIRST;
	struct entry *e = at < GENERIC_NUMBERS ? by_number[at] : NULL;

	if (!e || --e->takers)
		return;
	by_number[at] = NULL;
	HASH_DELETE(hh, by_shape, e);
	free(e);
}
