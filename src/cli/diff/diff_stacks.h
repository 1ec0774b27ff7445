/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/store/store.h"
#include "base/core/hash_table.h"

/*
 * The call stacks of both sides, added up by program and function: samples of CPUs, and waits. For
 * the differential flame graphs of sonda diff --html.
 *
 *	diff_stacks_add(s, &trace, side, scale)    for each recording
 *	diff_stacks_print(s, n_of_side, to)        the sums, each divided by the recordings of its side
 */

#define DIFF_STACKS_MAX 400000u /* nodes of a tree; further stacks end at their last node */

/* Node 0 is the root. A parent has a lower number than its children. */
struct diff_stack_node {
	struct {
		uint32_t parent, name;
	} key;
	UT_hash_handle hh;
	uint32_t number;
	double self[2]; /* ns of the unit of the comparison, by side */
};

struct diff_stack_name {
	char *key; /* owned: the name, NUL, the file */
	size_t len;
	UT_hash_handle hh;
	uint32_t number;
	int kind; /* enum code_kind */
};

enum diff_stack_kind { DIFF_STACKS_CPU, DIFF_STACKS_WAITS, DIFF_STACK_KINDS };

/* Zero-initialise; diff_stacks_deinit() frees. */
struct diff_stacks {
	struct diff_stack_node
		*nodes[DIFF_STACK_KINDS]; /* owned hashes, in the order of their numbers */
	struct diff_stack_name *names; /* owned hash, in the order of the numbers */
};

struct diff_stacks_trace {
	sqlite3 *db; /* borrowed; has the table chosen (analyze/report/chosen.h) */
	const struct store *store; /* borrowed */
	int64_t from, to; /* the window of samples, ns. Totals of waits have no times */
	int64_t period_ns; /* between two samples of a CPU */
};

/* Adds the stacks of a recording. scale: the factor for its times. Returns 0 or -ENOMEM; then some
 * of the stacks may be added. */
int diff_stacks_add(struct diff_stacks *s, const struct diff_stacks_trace *t, int side,
		    double scale);
/* Prints the sums as a JSON object: names [[function, file, kind]], cpu and waits [[parent, name,
 * A, B]]. */
void diff_stacks_print(const struct diff_stacks *s, const size_t n_of_side[2], FILE *to);
void diff_stacks_deinit(struct diff_stacks *s);
