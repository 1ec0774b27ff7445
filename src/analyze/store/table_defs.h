/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/* The tables, by enum store_table. */
extern const struct table_def table_defs[TABLES];

/* States whose numbers are fixed; store_init() makes them. */
#define STORE_STATE_RUNNING 0
#define STORE_STATE_RUNNABLE 1
