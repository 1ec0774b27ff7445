/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/stats.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/hash_table.h"

enum severity { INFO, LOSS, ERROR };
enum source { TRACE, ANALYSIS };

struct stat_def {
	const char *name;
	enum severity severity;
	enum source source;
	bool indexed;
	const char *description;
};

static const struct stat_def defs[STATS] = {
	[STAT_TRACED_BUF_BUFFER_SIZE] = {"traced_buf_buffer_size", INFO, TRACE, true,
					 "of BufferStats"},
	[STAT_TRACED_BUF_BYTES_WRITTEN] = {"traced_buf_bytes_written", INFO, TRACE, true,
					   "of BufferStats"},
	[STAT_TRACED_BUF_BYTES_READ] = {"traced_buf_bytes_read", INFO, TRACE, true,
					"of BufferStats"},
	[STAT_TRACED_BUF_BYTES_OVERWRITTEN] = {"traced_buf_bytes_overwritten", INFO, TRACE, true,
					       "of BufferStats"},
	[STAT_TRACED_BUF_CHUNKS_WRITTEN] = {"traced_buf_chunks_written", INFO, TRACE, true,
					    "of BufferStats"},
	[STAT_TRACED_BUF_CHUNKS_READ] = {"traced_buf_chunks_read", INFO, TRACE, true,
					 "of BufferStats"},
	[STAT_TRACED_BUF_CHUNKS_DISCARDED] = {"traced_buf_chunks_discarded", INFO, TRACE, true,
					      "of BufferStats"},
	[STAT_TRACED_BUF_CHUNKS_OVERWRITTEN] = {"traced_buf_chunks_overwritten", INFO, TRACE, true,
						"of BufferStats"},
	[STAT_TRACED_BUF_CHUNKS_REWRITTEN] = {"traced_buf_chunks_rewritten", INFO, TRACE, true,
					      "of BufferStats"},
	[STAT_TRACED_BUF_CHUNKS_COMMITTED_OUT_OF_ORDER] =
		{"traced_buf_chunks_committed_out_of_order", INFO, TRACE, true, "of BufferStats"},
	[STAT_TRACED_BUF_PADDING_BYTES_WRITTEN] = {"traced_buf_padding_bytes_written", INFO, TRACE,
						   true, "of BufferStats"},
	[STAT_TRACED_BUF_PADDING_BYTES_CLEARED] = {"traced_buf_padding_bytes_cleared", INFO, TRACE,
						   true, "of BufferStats"},
	[STAT_TRACED_BUF_PATCHES_SUCCEEDED] = {"traced_buf_patches_succeeded", INFO, TRACE, true,
					       "of BufferStats"},
	[STAT_TRACED_BUF_READAHEADS_SUCCEEDED] = {"traced_buf_readaheads_succeeded", INFO, TRACE,
						  true, "of BufferStats"},
	[STAT_TRACED_BUF_READAHEADS_FAILED] = {"traced_buf_readaheads_failed", INFO, TRACE, true,
					       "of BufferStats"},
	[STAT_TRACED_BUF_WRITE_WRAP_COUNT] = {"traced_buf_write_wrap_count", INFO, TRACE, true,
					      "of BufferStats"},
	[STAT_TRACED_BUF_PATCHES_FAILED] = {"traced_buf_patches_failed", LOSS, TRACE, true,
					    "of BufferStats"},
	[STAT_TRACED_BUF_TRACE_WRITER_PACKET_LOSS] = {"traced_buf_trace_writer_packet_loss", LOSS,
						      TRACE, true, "of BufferStats"},
	[STAT_TRACED_BUF_ABI_VIOLATIONS] = {"traced_buf_abi_violations", LOSS, TRACE, true,
					    "of BufferStats"},
	[STAT_TRACED_BUF_SEQUENCE_PACKET_LOSS] =
		{"traced_buf_sequence_packet_loss", LOSS, ANALYSIS, true,
		 "packets that are missing in sequences of this buffer"},
	[STAT_TRACED_BUF_INCREMENTAL_SEQUENCES_DROPPED] =
		{"traced_buf_incremental_sequences_dropped", LOSS, ANALYSIS, true,
		 "sequences of this buffer whose state was lost for good"},
	[STAT_TRACED_BUF_BYTES_FILTERED_OUT] = {"traced_buf_bytes_filtered_out", INFO, TRACE, true,
						"bytes of the buffer that the filter removed"},
	[STAT_TRACED_BUF_CLONE_DONE_TIMESTAMP_NS] = {"traced_buf_clone_done_timestamp_ns", INFO,
						     TRACE, true,
						     "when the buffer was copied to the clone"},
	[STAT_FILTER_INPUT_BYTES] = {"filter_input_bytes", INFO, TRACE, false, "of FilterStats"},
	[STAT_FILTER_INPUT_PACKETS] = {"filter_input_packets", INFO, TRACE, false,
				       "of FilterStats"},
	[STAT_FILTER_OUTPUT_BYTES] = {"filter_output_bytes", INFO, TRACE, false, "of FilterStats"},
	[STAT_FILTER_TIME_TAKEN_NS] = {"filter_time_taken_ns", INFO, TRACE, false,
				       "of FilterStats"},
	[STAT_FILTER_ERRORS] = {"filter_errors", ERROR, TRACE, false,
				"packets that the filter could not read"},
	[STAT_TRACED_CHUNKS_DISCARDED] = {"traced_chunks_discarded", INFO, TRACE, false,
					  "of TraceStats"},
	[STAT_TRACED_PATCHES_DISCARDED] = {"traced_patches_discarded", INFO, TRACE, false,
					   "of TraceStats"},
	[STAT_TRACED_PRODUCERS_CONNECTED] = {"traced_producers_connected", INFO, TRACE, false,
					     "of TraceStats"},
	[STAT_TRACED_PRODUCERS_SEEN] = {"traced_producers_seen", INFO, TRACE, false,
					"of TraceStats"},
	[STAT_TRACED_DATA_SOURCES_REGISTERED] = {"traced_data_sources_registered", INFO, TRACE,
						 false, "of TraceStats"},
	[STAT_TRACED_DATA_SOURCES_SEEN] = {"traced_data_sources_seen", INFO, TRACE, false,
					   "of TraceStats"},
	[STAT_TRACED_TRACING_SESSIONS] = {"traced_tracing_sessions", INFO, TRACE, false,
					  "of TraceStats"},
	[STAT_TRACED_TOTAL_BUFFERS] = {"traced_total_buffers", INFO, TRACE, false, "of TraceStats"},
	[STAT_TRACED_FLUSHES_REQUESTED] = {"traced_flushes_requested", INFO, TRACE, false,
					   "of TraceStats"},
	[STAT_TRACED_FLUSHES_SUCCEEDED] = {"traced_flushes_succeeded", INFO, TRACE, false,
					   "of TraceStats"},
	[STAT_TRACED_FLUSHES_FAILED] = {"traced_flushes_failed", LOSS, TRACE, false,
					"of TraceStats"},
	[STAT_TRACED_FINAL_FLUSH_FAILED] = {"traced_final_flush_failed", LOSS, TRACE, false,
					    "the flush at the end was not answered in time"},
	[STAT_TRACED_FINAL_FLUSH_SUCCEEDED] = {"traced_final_flush_succeeded", INFO, TRACE, false,
					       "the flush at the end was answered"},
	[STAT_FTRACE_CPU_ENTRIES_BEGIN] = {"ftrace_cpu_entries_begin", INFO, TRACE, true,
					   "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_OVERRUN_BEGIN] = {"ftrace_cpu_overrun_begin", INFO, TRACE, true,
					   "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_COMMIT_OVERRUN_BEGIN] = {"ftrace_cpu_commit_overrun_begin", INFO, TRACE,
						  true, "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_BYTES_BEGIN] = {"ftrace_cpu_bytes_begin", INFO, TRACE, true,
					 "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_DROPPED_EVENTS_BEGIN] = {"ftrace_cpu_dropped_events_begin", INFO, TRACE,
						  true, "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_READ_EVENTS_BEGIN] = {"ftrace_cpu_read_events_begin", INFO, TRACE, true,
					       "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_ENTRIES_END] = {"ftrace_cpu_entries_end", INFO, TRACE, true,
					 "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_OVERRUN_END] = {"ftrace_cpu_overrun_end", INFO, TRACE, true,
					 "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_COMMIT_OVERRUN_END] = {"ftrace_cpu_commit_overrun_end", INFO, TRACE, true,
						"of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_BYTES_END] = {"ftrace_cpu_bytes_end", INFO, TRACE, true,
				       "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_DROPPED_EVENTS_END] = {"ftrace_cpu_dropped_events_end", INFO, TRACE, true,
						"of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_READ_EVENTS_END] = {"ftrace_cpu_read_events_end", INFO, TRACE, true,
					     "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_ENTRIES_DELTA] = {"ftrace_cpu_entries_delta", INFO, TRACE, true,
					   "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_OVERRUN_DELTA] = {"ftrace_cpu_overrun_delta", INFO, TRACE, true,
					   "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_COMMIT_OVERRUN_DELTA] = {"ftrace_cpu_commit_overrun_delta", ERROR, TRACE,
						  true, "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_BYTES_DELTA] = {"ftrace_cpu_bytes_delta", INFO, TRACE, true,
					 "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_DROPPED_EVENTS_DELTA] = {"ftrace_cpu_dropped_events_delta", ERROR, TRACE,
						  true, "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_READ_EVENTS_DELTA] = {"ftrace_cpu_read_events_delta", INFO, TRACE, true,
					       "of a CPU's ring in the kernel"},
	[STAT_FTRACE_CPU_NOW_TS_BEGIN] = {"ftrace_cpu_now_ts_begin", INFO, TRACE, true,
					  "of a CPU's ring in the kernel, ns"},
	[STAT_FTRACE_CPU_OLDEST_EVENT_TS_BEGIN] = {"ftrace_cpu_oldest_event_ts_begin", INFO, TRACE,
						   true, "of a CPU's ring in the kernel, ns"},
	[STAT_FTRACE_CPU_NOW_TS_END] = {"ftrace_cpu_now_ts_end", INFO, TRACE, true,
					"of a CPU's ring in the kernel, ns"},
	[STAT_FTRACE_CPU_OLDEST_EVENT_TS_END] = {"ftrace_cpu_oldest_event_ts_end", INFO, TRACE,
						 true, "of a CPU's ring in the kernel, ns"},
	[STAT_FTRACE_CPU_HAS_DATA_LOSS] = {"ftrace_cpu_has_data_loss", LOSS, TRACE, true,
					   "the ring of this CPU lost events"},
	[STAT_FTRACE_KPROBE_HITS_BEGIN] = {"ftrace_kprobe_hits_begin", INFO, TRACE, false,
					   "of kprobes"},
	[STAT_FTRACE_KPROBE_MISSES_BEGIN] = {"ftrace_kprobe_misses_begin", INFO, TRACE, false,
					     "of kprobes"},
	[STAT_FTRACE_KPROBE_HITS_END] = {"ftrace_kprobe_hits_end", INFO, TRACE, false,
					 "of kprobes"},
	[STAT_FTRACE_KPROBE_MISSES_END] = {"ftrace_kprobe_misses_end", INFO, TRACE, false,
					   "of kprobes"},
	[STAT_FTRACE_KPROBE_HITS_DELTA] = {"ftrace_kprobe_hits_delta", INFO, TRACE, false,
					   "of kprobes"},
	[STAT_FTRACE_KPROBE_MISSES_DELTA] = {"ftrace_kprobe_misses_delta", LOSS, TRACE, false,
					     "of kprobes"},
	[STAT_FTRACE_SETUP_ERRORS] = {"ftrace_setup_errors", INFO, TRACE, false,
				      "events and options that the kernel refused"},
	[STAT_FTRACE_ABI_ERRORS_SKIPPED_ZERO_DATA_LENGTH] =
		{"ftrace_abi_errors_skipped_zero_data_length", INFO, ANALYSIS, false,
		 "empty records in rings"},
	[STAT_FTRACE_BUNDLE_TOKENIZER_ERRORS] = {"ftrace_bundle_tokenizer_errors", ERROR, ANALYSIS,
						 false, "events without a CPU or a time"},
	[STAT_FTRACE_MISSING_EVENT_ID] = {"ftrace_missing_event_id", INFO, ANALYSIS, false,
					  "events without a message"},
	[STAT_FTRACE_PACKET_BEFORE_TRACING_START] = {"ftrace_packet_before_tracing_start", INFO,
						     ANALYSIS, false,
						     "events older than the recording"},
	[STAT_FTRACE_GENERIC_DESCRIPTOR_ERRORS] = {"ftrace_generic_descriptor_errors", INFO,
						   ANALYSIS, false,
						   "events that no descriptor describes"},
	[STAT_COMPACT_SCHED_HAS_PARSE_ERRORS] = {"compact_sched_has_parse_errors", ERROR, ANALYSIS,
						 false, "columns of different length"},
	[STAT_COMPACT_SCHED_SWITCH_SKIPPED] = {"compact_sched_switch_skipped", INFO, ANALYSIS,
					       false, "first switches of the CPUs"},
	[STAT_COMPACT_SCHED_WAKING_SKIPPED] = {"compact_sched_waking_skipped", INFO, ANALYSIS,
					       false,
					       "wakings before the first switch of their CPU"},
	[STAT_MISMATCHED_SCHED_SWITCH_TIDS] = {"mismatched_sched_switch_tids", ERROR, ANALYSIS,
					       false,
					       "switches from another thread than the last one to"},
	[STAT_TASK_STATE_INVALID] = {"task_state_invalid", ERROR, ANALYSIS, false,
				     "states of threads that no kernel has"},
	[STAT_MM_UNKNOWN_TYPE] = {"mm_unknown_type", ERROR, ANALYSIS, false,
				  "mm_event records of an unknown type"},
	[STAT_TRACED_CLONE_STARTED_TIMESTAMP_NS] = {"traced_clone_started_timestamp_ns", INFO,
						    TRACE, false, "when the clone began"},
	[STAT_CONFIG_WRITE_INTO_FILE_NO_FLUSH] =
		{"config_write_into_file_no_flush", ERROR, TRACE, false,
		 "1: the service wrote a file without flushing producers"},
	[STAT_CONFIG_WRITE_INTO_FILE_DISCARD] =
		{"config_write_into_file_discard", LOSS, TRACE, true,
		 "1: the buffer of a session that was written into a file discards"},
	[STAT_TRACED_CLONE_TRIGGER_TIMESTAMP_NS] = {"traced_clone_trigger_timestamp_ns", INFO,
						    TRACE, false,
						    "when the trigger of a clone came"},
	[STAT_RSS_STAT_UNKNOWN_THREAD_FOR_MM_ID] = {"rss_stat_unknown_thread_for_mm_id", INFO,
						    ANALYSIS, false,
						    "memory counters of an unknown process"},
	[STAT_RSS_STAT_NEGATIVE_SIZE] = {"rss_stat_negative_size", INFO, ANALYSIS, false,
					 "memory counters below 0"},
	[STAT_SYSTRACE_PARSE_FAILURE] = {"systrace_parse_failure", ERROR, ANALYSIS, false,
					 "lines of trace_marker that are no markers"},
	[STAT_MISPLACED_END_EVENT] = {"misplaced_end_event", LOSS, ANALYSIS, false,
				      "slices that end inside another one"},
	[STAT_SLICE_DROP_OVERLAPPING_COMPLETE_EVENT] = {"slice_drop_overlapping_complete_event",
							ERROR, TRACE, false,
							"slices that overlap another one"},
	[STAT_SLICE_NEGATIVE_DURATION] = {"slice_negative_duration", ERROR, ANALYSIS, false,
					  "slices that end before they begin"},
	[STAT_TRUNCATED_SYS_WRITE_DURATION] = {"truncated_sys_write_duration", INFO, ANALYSIS,
					       false, "writes that a marker ends"},
	[STAT_PACKET_SKIPPED_SEQ_NEEDS_INCREMENTAL_STATE_INVALID] =
		{"packet_skipped_seq_needs_incremental_state_invalid", INFO, ANALYSIS, false,
		 "packets whose sequence lost its state"},
	[STAT_INTERNED_DATA_SKIPPED_INCREMENTAL_STATE_INVALID] =
		{"interned_data_skipped_incremental_state_invalid", INFO, ANALYSIS, false,
		 "interned data of a sequence that lost its state"},
	[STAT_INTERNED_DATA_TOKENIZER_ERRORS] =
		{"interned_data_tokenizer_errors", INFO, ANALYSIS, false,
		 "interned data without a number, and unknown numbers"},
	[STAT_INCREMENTAL_STATE_CLEARED_MISSING_SEQUENCE_ID] =
		{"incremental_state_cleared_missing_sequence_id", ERROR, ANALYSIS, false,
		 "packets without a sequence"},
	[STAT_PREVIOUS_PACKET_DROPPED_MISSING_SEQUENCE_ID] =
		{"previous_packet_dropped_missing_sequence_id", ERROR, ANALYSIS, false,
		 "packets without a sequence"},
	[STAT_TRACE_PACKET_DEFAULTS_MISSING_SEQUENCE_ID] =
		{"trace_packet_defaults_missing_sequence_id", ERROR, ANALYSIS, false,
		 "packets without a sequence"},
	[STAT_INTERNED_DATA_MISSING_SEQUENCE_ID] = {"interned_data_missing_sequence_id", ERROR,
						    ANALYSIS, false, "packets without a sequence"},
	[STAT_CLOCK_SYNC_FAILURE_UNKNOWN_SOURCE_CLOCK] = {"clock_sync_failure_unknown_source_clock",
							  ERROR, ANALYSIS, false,
							  "times that no snapshot converts"},
	[STAT_CLOCK_SYNC_FAILURE_UNKNOWN_TARGET_CLOCK] = {"clock_sync_failure_unknown_target_clock",
							  ERROR, ANALYSIS, false,
							  "times that no snapshot converts"},
	[STAT_CLOCK_SYNC_FAILURE_NO_PATH] = {"clock_sync_failure_no_path", ERROR, ANALYSIS, false,
					     "times that no snapshot converts"},
	[STAT_CLOCK_SYNC_FAILURE_UNDEFERRABLE_PACKET_LOSS] =
		{"clock_sync_failure_undeferrable_packet_loss", LOSS, ANALYSIS, false,
		 "packets that were dropped with such a time"},
	[STAT_INVALID_CLOCK_SNAPSHOTS] = {"invalid_clock_snapshots", ERROR, ANALYSIS, false,
					  "snapshots that contradict themselves or others"},
	[STAT_TRACE_SORTER_NEGATIVE_TIMESTAMP_DROPPED] = {"trace_sorter_negative_timestamp_dropped",
							  ERROR, TRACE, false,
							  "events before time 0"},
	[STAT_PROCESS_TRACKER_ERRORS] = {"process_tracker_errors", ERROR, ANALYSIS, false,
					 "threads of two processes"},
	[STAT_PROCESS_TRACKER_PARENT_PID_CHANGED] = {"process_tracker_parent_pid_changed", INFO,
						     ANALYSIS, false,
						     "processes that got another parent"},
	[STAT_MEMINFO_UNKNOWN_KEYS] = {"meminfo_unknown_keys", ERROR, ANALYSIS, false,
				       "counters without a name"},
	[STAT_VMSTAT_UNKNOWN_KEYS] = {"vmstat_unknown_keys", ERROR, ANALYSIS, false,
				      "counters without a name"},
	[STAT_PSI_UNKNOWN_RESOURCE] = {"psi_unknown_resource", ERROR, ANALYSIS, false,
				       "counters without a name"},
	[STAT_PROC_STAT_UNKNOWN_COUNTERS] = {"proc_stat_unknown_counters", ERROR, ANALYSIS, false,
					     "counters without a name"},
	[STAT_INVALID_CPU_TIMES] = {"invalid_cpu_times", ERROR, ANALYSIS, false,
				    "counters without a name"},
	[STAT_SONDA_TRACK_EVENTS_DROPPED] = {"sonda_track_events_dropped", LOSS, TRACE, false,
					     "packets of track events that libsonda dropped"},
	[STAT_TRACK_EVENT_MISSING_TIMESTAMP] = {"track_event_missing_timestamp", ERROR, ANALYSIS,
						false, "malformed track events"},
	[STAT_TRACK_EVENT_PARSER_ERRORS] = {"track_event_parser_errors", INFO, ANALYSIS, false,
					    "malformed track events"},
	[STAT_PERF_CPU_LOST_RECORDS] = {"perf_cpu_lost_records", LOSS, TRACE, true,
					"samples and other records that the kernel dropped"},
	[STAT_PERF_SAMPLES_SKIPPED] = {"perf_samples_skipped", ERROR, ANALYSIS, false,
				       "samples that the profiler skipped"},
	[STAT_PERF_SAMPLES_SKIPPED_DATALOSS] = {"perf_samples_skipped_dataloss", LOSS, TRACE, false,
						"samples that found the profiler's queue full"},
	[STAT_PERF_PROCESS_SHARD_COUNT] = {"perf_process_shard_count", INFO, TRACE, true,
					   "groups of processes, of which one is sampled"},
	[STAT_PERF_CHOSEN_PROCESS_SHARD] = {"perf_chosen_process_shard", INFO, TRACE, true,
					    "the group that is sampled"},
	[STAT_PERF_GUARDRAIL_STOP_TS] =
		{"perf_guardrail_stop_ts", LOSS, TRACE, true,
		 "when the profiler reached a limit of its own and stopped"},
	[STAT_STACKPROFILE_EMPTY_CALLSTACK] = {"stackprofile_empty_callstack", ERROR, TRACE, false,
					       "call stacks without frames"},
	[STAT_STACKPROFILE_INVALID_STRING_ID] = {"stackprofile_invalid_string_id", ERROR, TRACE,
						 false, "strings of call stacks that are missing"},
	[STAT_STACKPROFILE_INVALID_MAPPING_ID] = {"stackprofile_invalid_mapping_id", ERROR, TRACE,
						  false, "mappings that are missing"},
	[STAT_STACKPROFILE_INVALID_FRAME_ID] = {"stackprofile_invalid_frame_id", ERROR, TRACE,
						false, "frames that are missing"},
	[STAT_STACKPROFILE_INVALID_CALLSTACK_ID] = {"stackprofile_invalid_callstack_id", ERROR,
						    TRACE, false, "call stacks that are missing"},
	[STAT_TRACK_EVENT_TOKENIZER_ERRORS] = {"track_event_tokenizer_errors", INFO, ANALYSIS,
					       false, "malformed track events"},
	[STAT_TRACK_EVENT_COUNTER_INVALID_TRACK_UUID] = {"track_event_counter_invalid_track_uuid",
							 ERROR, ANALYSIS, false,
							 "malformed track events"},
	[STAT_TRACK_EVENT_MISSING_SEQUENCE_ID] = {"track_event_missing_sequence_id", ERROR,
						  ANALYSIS, false, "malformed track events"},
	[STAT_TRACK_EVENT_COUNTER_MISSING_TRACK_UUID] = {"track_event_counter_missing_track_uuid",
							 ERROR, ANALYSIS, false,
							 "malformed track events"},
	[STAT_TRACK_EVENT_COUNTER_MISSING_VALUE] = {"track_event_counter_missing_value", ERROR,
						    ANALYSIS, false, "malformed track events"},
	[STAT_TRACK_EVENT_EXTRA_COUNTER_MISSING_TRACK_UUIDS] =
		{"track_event_extra_counter_missing_track_uuids", ERROR, ANALYSIS, false,
		 "malformed track events"},
	[STAT_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUID_MISMATCH] =
		{"track_event_extra_counter_track_uuid_mismatch", ERROR, ANALYSIS, false,
		 "malformed track events"},
	[STAT_TRACK_EVENT_EXTRA_COUNTER_EXCEEDS_MAX] = {"track_event_extra_counter_exceeds_max",
							ERROR, ANALYSIS, false,
							"malformed track events"},
	[STAT_TRACK_EVENT_EXTRA_COUNTER_INVALID_TRACK] = {"track_event_extra_counter_invalid_track",
							  ERROR, ANALYSIS, false,
							  "malformed track events"},
	[STAT_TRACK_EVENT_STATE_MISSING_TRACK_UUID] = {"track_event_state_missing_track_uuid",
						       ERROR, ANALYSIS, false,
						       "malformed track events"},
	[STAT_TRACK_DESCRIPTOR_MISSING_UUID] = {"track_descriptor_missing_uuid", ERROR, ANALYSIS,
						false, "malformed track descriptors"},
	[STAT_TRACK_DESCRIPTOR_THREAD_MISSING_PID_TID] = {"track_descriptor_thread_missing_pid_tid",
							  ERROR, ANALYSIS, false,
							  "malformed track descriptors"},
	[STAT_TRACK_DESCRIPTOR_PROCESS_MISSING_PID] = {"track_descriptor_process_missing_pid",
						       ERROR, ANALYSIS, false,
						       "malformed track descriptors"},
	[STAT_TRACK_DESCRIPTOR_DEFAULT_TRACK_WITH_PARENT] =
		{"track_descriptor_default_track_with_parent", ERROR, ANALYSIS, false,
		 "malformed track descriptors"},
	[STAT_TRACK_DESCRIPTOR_CONFLICTING_RESERVATION] =
		{"track_descriptor_conflicting_reservation", ERROR, ANALYSIS, false,
		 "malformed track descriptors"},
	[STAT_TRACK_EVENT_TRACK_HIERARCHY_LOOP] = {"track_event_track_hierarchy_loop", ERROR,
						   ANALYSIS, false, "malformed track events"},
	[STAT_TRACK_EVENT_TRACK_HIERARCHY_TOO_DEEP] = {"track_event_track_hierarchy_too_deep",
						       ERROR, ANALYSIS, false,
						       "malformed track events"},
	[STAT_TRACK_HIERARCHY_MISSING_UUID] = {"track_hierarchy_missing_uuid", INFO, ANALYSIS,
					       false, "tracks whose parent is not in the trace"},
	[STAT_THREAD_DESCRIPTOR_MISSING_SEQUENCE_ID] = {"thread_descriptor_missing_sequence_id",
							ERROR, ANALYSIS, false,
							"malformed thread descriptors"},
	[STAT_THREAD_DESCRIPTOR_SKIPPED_STATE_INVALID] =
		{"thread_descriptor_skipped_incremental_state_invalid", ERROR, ANALYSIS, false,
		 "thread descriptors after a loss"},
	[STAT_TRACK_EVENT_SKIPPED_TIMESTAMP_DELTA] =
		{"track_event_skipped_timestamp_delta_without_valid_state", ERROR, ANALYSIS, false,
		 "track events without the value that theirs is a difference to"},
	[STAT_TRACK_EVENT_SKIPPED_THREAD_TIME_DELTA] =
		{"track_event_skipped_thread_time_delta_without_valid_state", ERROR, ANALYSIS,
		 false, "track events without the value that theirs is a difference to"},
	[STAT_TRACK_EVENT_SKIPPED_INSTRUCTION_DELTA] =
		{"track_event_skipped_thread_instruction_delta_without_valid_state", ERROR,
		 ANALYSIS, false, "track events without the value that theirs is a difference to"},
	[STAT_FLOW_DUPLICATE_ID] = {"flow_duplicate_id", ERROR, TRACE, false,
				    "flows that do not connect slices"},
	[STAT_FLOW_NO_ENCLOSING_SLICE] = {"flow_no_enclosing_slice", ERROR, TRACE, false,
					  "flows that do not connect slices"},
	[STAT_FLOW_STEP_WITHOUT_START] = {"flow_step_without_start", INFO, TRACE, false,
					  "flows that do not connect slices"},
	[STAT_FLOW_END_WITHOUT_START] = {"flow_end_without_start", INFO, TRACE, false,
					 "flows that do not connect slices"},
	[STAT_FLOW_INVALID_ID] = {"flow_invalid_id", ERROR, TRACE, false,
				  "flows that do not connect slices"},
	[STAT_FLOW_WITHOUT_DIRECTION] = {"flow_without_direction", ERROR, TRACE, false,
					 "flows that do not connect slices"},
	[STAT_KERNEL_TRACKEVENT_FORMAT_ERROR] = {"kernel_trackevent_format_error", ERROR, ANALYSIS,
						 false,
						 "events that name slices or counters wrongly"},
};

struct stat_key {
	uint64_t stat;
	int64_t index;
};

struct stat_count {
	struct stat_key key;
	int64_t value;
	UT_hash_handle hh;
};

void stats_deinit(struct store *s)
{
	HASH_FREE(s->stats);
}

static struct stat_count *stats_find(const struct store *s, enum stat_number stat, int64_t index)
{
	struct stat_key key = {.stat = stat, .index = index};
	struct stat_count *c;

	HASH_FIND(hh, s->stats, &key, sizeof(key), c);
	return c;
}

static struct stat_count *stats_make(struct store *s, enum stat_number stat, int64_t index)
{
	struct stat_count *c = stats_find(s, stat, index);

	if (c || !budget_take(&s->budget, sizeof(*c)))
		return c;
	c = calloc(1, sizeof(*c));
	if (!c) {
		s->budget.error = -ENOMEM;
		return NULL;
	}
	c->key = (struct stat_key){.stat = stat, .index = index};
	HASH_ADD(hh, s->stats, key, sizeof(c->key), c);
	if (c->hh.tbl)
		return c;
	free(c);
	s->budget.error = -ENOMEM;
	return NULL;
}

void stats_add(struct store *s, enum stat_number stat, int64_t index, int64_t n)
{
	struct stat_count *c = stats_make(s, stat, index);

	if (c)
		c->value = (int64_t)((uint64_t)c->value + (uint64_t)n);
}

void stats_set(struct store *s, enum stat_number stat, int64_t index, int64_t value)
{
	struct stat_count *c = stats_make(s, stat, index);

	if (c)
		c->value = value;
}

int64_t stats_get(const struct store *s, enum stat_number stat, int64_t index)
{
	const struct stat_count *c = stats_find(s, stat, index);

	return c ? c->value : 0;
}

static void stats_add_row(struct store *s, enum stat_number stat, int64_t index, int64_t value)
{
	static const char *const severities[] = {"info", "data_loss", "error"};
	static const char *const sources[] = {"trace", "analysis"};
	const struct stat_def *d = &defs[stat];
	struct table *t = &s->tables[TABLE_STATS];
	uint32_t row = table_append(t);

	table_set_u32(t, STATS_NAME, row, strings_intern_z(&s->strings, d->name));
	table_set_i64(t, STATS_IDX, row, index); /* STAT_NO_INDEX is NULL_I64 */
	table_set_u32(t, STATS_SEVERITY, row,
		      strings_intern_z(&s->strings, severities[d->severity]));
	table_set_u32(t, STATS_SOURCE, row, strings_intern_z(&s->strings, sources[d->source]));
	table_set_i64(t, STATS_VALUE, row, value);
	table_set_u32(t, STATS_DESCRIPTION, row, strings_intern_z(&s->strings, d->description));
	table_set_u32(t, STATS_KEY, row, stat);
}

static int by_stat_and_index(const struct stat_count *a, const struct stat_count *b)
{
	if (a->key.stat != b->key.stat)
		return a->key.stat < b->key.stat ? -1 : 1;
	return a->key.index < b->key.index ? -1 : a->key.index > b->key.index;
}

void stats_fill_table(struct store *s)
{
	const struct stat_count *c;

	HASH_SORT(s->stats, by_stat_and_index);
	c = s->stats;
	for (unsigned i = 0; i < STATS; i++) {
		if (!defs[i].indexed && (!c || c->key.stat != i))
			stats_add_row(s, i, STAT_NO_INDEX, 0);
		for (; c && c->key.stat == i; c = c->hh.next)
			stats_add_row(s, i, c->key.index, c->value);
	}
}
