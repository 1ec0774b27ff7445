/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/memory_columns.h"

const struct column_def smaps_columns[SMAPS_PROPORTIONAL + 1] = {
	[SMAPS_ID] = {"id", COLUMN_ID, 0, NULL},
	[SMAPS_UPID] = {"upid", COLUMN_U32, 0, NULL},
	[SMAPS_TS] = {"ts", COLUMN_TS, 0, NULL},
	[SMAPS_PATH] = {"path", COLUMN_STRING, 0, NULL},
	[SMAPS_SIZE] = {"size_kb", COLUMN_I64, 0, NULL},
	[SMAPS_PRIVATE_DIRTY] = {"private_dirty_kb", COLUMN_I64, 0, NULL},
	[SMAPS_SWAP] = {"swap_kb", COLUMN_I64, 0, NULL},
	[SMAPS_FILE_NAME] = {"file_name", COLUMN_STRING, 0, NULL},
	[SMAPS_START] = {"start_address", COLUMN_I64, 0, NULL},
	[SMAPS_MODULE_TIMESTAMP] = {"module_timestamp", COLUMN_I64, 0, NULL},
	[SMAPS_MODULE_DEBUGID] = {"module_debugid", COLUMN_STRING, 0, NULL},
	[SMAPS_MODULE_DEBUG_PATH] = {"module_debug_path", COLUMN_STRING, 0, NULL},
	[SMAPS_PROTECTION] = {"protection_flags", COLUMN_I64, 0, NULL},
	[SMAPS_PRIVATE_CLEAN] = {"private_clean_resident_kb", COLUMN_I64, 0, NULL},
	[SMAPS_SHARED_DIRTY] = {"shared_dirty_resident_kb", COLUMN_I64, 0, NULL},
	[SMAPS_SHARED_CLEAN] = {"shared_clean_resident_kb", COLUMN_I64, 0, NULL},
	[SMAPS_LOCKED] = {"locked_kb", COLUMN_I64, 0, NULL},
	[SMAPS_PROPORTIONAL] = {"proportional_resident_kb", COLUMN_I64, 0, NULL},
};

const struct column_def mappings_columns[MAPPINGS_SWAP_PSS + 1] = {
	[MAPPINGS_ID] = {"id", COLUMN_ID, 0, NULL},
	[MAPPINGS_TS] = {"ts", COLUMN_TS, 0, NULL},
	[MAPPINGS_UPID] = {"upid", COLUMN_U32, 0, NULL},
	[MAPPINGS_PATH] = {"path", COLUMN_STRING, 0, NULL},
	[MAPPINGS_IS_DELETED] = {"is_deleted", COLUMN_U32, 0, NULL},
	[MAPPINGS_COUNT] = {"aggregate_count", COLUMN_I64, 0, NULL},
	[MAPPINGS_SIZE] = {"size_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_RSS] = {"rss_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_ANONYMOUS] = {"anonymous_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_SWAP] = {"swap_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_SHARED_CLEAN] = {"shared_clean_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_SHARED_DIRTY] = {"shared_dirty_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_PRIVATE_CLEAN] = {"private_clean_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_PRIVATE_DIRTY] = {"private_dirty_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_LOCKED] = {"locked_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_PSS] = {"pss_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_PSS_DIRTY] = {"pss_dirty_kb", COLUMN_I64, 0, NULL},
	[MAPPINGS_SWAP_PSS] = {"swap_pss_kb", COLUMN_I64, 0, NULL},
};
