/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/table.h"

/* The columns of the tables of a process's memory mappings. Sizes are in KiB. */

/* Of mappings that have a message each. From SMAPS_SIZE on in the order of SmapsEntry. */
enum smaps_column {
	SMAPS_ID,
	SMAPS_UPID,
	SMAPS_TS,
	SMAPS_PATH,
	SMAPS_SIZE,
	SMAPS_PRIVATE_DIRTY,
	SMAPS_SWAP,
	SMAPS_FILE_NAME,
	SMAPS_START,
	SMAPS_MODULE_TIMESTAMP,
	SMAPS_MODULE_DEBUGID,
	SMAPS_MODULE_DEBUG_PATH,
	SMAPS_PROTECTION,
	SMAPS_PRIVATE_CLEAN,
	SMAPS_SHARED_DIRTY,
	SMAPS_SHARED_CLEAN,
	SMAPS_LOCKED,
	SMAPS_PROPORTIONAL
};

/* Of mappings that are columns. From MAPPINGS_SIZE on in the order of PackedSmaps. */
enum memory_mapping_column {
	MAPPINGS_ID,
	MAPPINGS_TS,
	MAPPINGS_UPID,
	MAPPINGS_PATH,
	MAPPINGS_IS_DELETED,
	MAPPINGS_COUNT,
	MAPPINGS_SIZE,
	MAPPINGS_RSS,
	MAPPINGS_ANONYMOUS,
	MAPPINGS_SWAP,
	MAPPINGS_SHARED_CLEAN,
	MAPPINGS_SHARED_DIRTY,
	MAPPINGS_PRIVATE_CLEAN,
	MAPPINGS_PRIVATE_DIRTY,
	MAPPINGS_LOCKED,
	MAPPINGS_PSS,
	MAPPINGS_PSS_DIRTY,
	MAPPINGS_SWAP_PSS
};

extern const struct column_def smaps_columns[SMAPS_PROPORTIONAL + 1];
extern const struct column_def mappings_columns[MAPPINGS_SWAP_PSS + 1];
