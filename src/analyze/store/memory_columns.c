/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/memory_columns.h"

const struct column_def smaps_columns[SMAPS_PROPORTIONAL + 1] = {
	[SMAPS_ID] = {.name = "id", .kind = COLUMN_ID},
	[SMAPS_UPID] = {.name = "upid", .kind = COLUMN_U32},
	[SMAPS_TS] = {.name = "ts", .kind = COLUMN_TS},
	[SMAPS_PATH] = {.name = "path", .kind = COLUMN_STRING},
	[SMAPS_SIZE] = {.name = "size_kb", .kind = COLUMN_I64},
	[SMAPS_PRIVATE_DIRTY] = {.name = "private_dirty_kb", .kind = COLUMN_I64},
	[SMAPS_SWAP] = {.name = "swap_kb", .kind = COLUMN_I64},
	[SMAPS_FILE_NAME] = {.name = "file_name", .kind = COLUMN_STRING},
	[SMAPS_START] = {.name = "start_address", .kind = COLUMN_I64},
	[SMAPS_MODULE_TIMESTAMP] = {.name = "module_timestamp", .kind = COLUMN_I64},
	[SMAPS_MODULE_DEBUGID] = {.name = "module_debugid", .kind = COLUMN_STRING},
	[SMAPS_MODULE_DEBUG_PATH] = {.name = "module_debug_path", .kind = COLUMN_STRING},
	[SMAPS_PROTECTION] = {.name = "protection_flags", .kind = COLUMN_I64},
	[SMAPS_PRIVATE_CLEAN] = {.name = "private_clean_resident_kb", .kind = COLUMN_I64},
	[SMAPS_SHARED_DIRTY] = {.name = "shared_dirty_resident_kb", .kind = COLUMN_I64},
	[SMAPS_SHARED_CLEAN] = {.name = "shared_clean_resident_kb", .kind = COLUMN_I64},
	[SMAPS_LOCKED] = {.name = "locked_kb", .kind = COLUMN_I64},
	[SMAPS_PROPORTIONAL] = {.name = "proportional_resident_kb", .kind = COLUMN_I64},
};

const struct column_def mappings_columns[MAPPINGS_SWAP_PSS + 1] = {
	[MAPPINGS_ID] = {.name = "id", .kind = COLUMN_ID},
	[MAPPINGS_TS] = {.name = "ts", .kind = COLUMN_TS},
	[MAPPINGS_UPID] = {.name = "upid", .kind = COLUMN_U32},
	[MAPPINGS_PATH] = {.name = "path", .kind = COLUMN_STRING},
	[MAPPINGS_IS_DELETED] = {.name = "is_deleted", .kind = COLUMN_U32},
	[MAPPINGS_COUNT] = {.name = "aggregate_count", .kind = COLUMN_I64},
	[MAPPINGS_SIZE] = {.name = "size_kb", .kind = COLUMN_I64},
	[MAPPINGS_RSS] = {.name = "rss_kb", .kind = COLUMN_I64},
	[MAPPINGS_ANONYMOUS] = {.name = "anonymous_kb", .kind = COLUMN_I64},
	[MAPPINGS_SWAP] = {.name = "swap_kb", .kind = COLUMN_I64},
	[MAPPINGS_SHARED_CLEAN] = {.name = "shared_clean_kb", .kind = COLUMN_I64},
	[MAPPINGS_SHARED_DIRTY] = {.name = "shared_dirty_kb", .kind = COLUMN_I64},
	[MAPPINGS_PRIVATE_CLEAN] = {.name = "private_clean_kb", .kind = COLUMN_I64},
	[MAPPINGS_PRIVATE_DIRTY] = {.name = "private_dirty_kb", .kind = COLUMN_I64},
	[MAPPINGS_LOCKED] = {.name = "locked_kb", .kind = COLUMN_I64},
	[MAPPINGS_PSS] = {.name = "pss_kb", .kind = COLUMN_I64},
	[MAPPINGS_PSS_DIRTY] = {.name = "pss_dirty_kb", .kind = COLUMN_I64},
	[MAPPINGS_SWAP_PSS] = {.name = "swap_pss_kb", .kind = COLUMN_I64},
};
