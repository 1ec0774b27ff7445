/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers of the tracing protocol that the service, the clients and the command line must share:
 * limits of a TraceConfig, and the meaning of zero or missing fields. Units are in the names.
 * Numbers of one layer only are defined in that layer.
 */

/* ---- a session ---- */

#define LIMIT_SESSIONS 15 /* in one service, including ended but unread ones */
#define LIMIT_SESSIONS_PER_UID 5
#define LIMIT_DURATION_MS 604800000u /* TraceConfig.duration_ms and trigger_timeout_ms: 7 days */
#define LIMIT_PENDING_FLUSHES 1000 /* of a session; further ones are rejected */

/* ---- buffers ---- */

#define LIMIT_BUFFERS 128 /* of a session */
#define LIMIT_BUFFER_SIZE_KB 4194303u /* one buffer stays below 4 GiB */

/* ---- with enable_extra_guardrails ---- */

#define GUARDRAIL_DURATION_MS 86400000u /* 24 hours */
#define GUARDRAIL_BUFFERS_KB 131072u /* sum of a session; guardrail_overrides may raise it */
#define GUARDRAIL_BUFFER_STEP_KB 4u /* every size_kb must be a multiple */
#define GUARDRAIL_RESTART_S 300 /* between two sessions of the same unique_session_name */

/* ---- meaning of zero ---- */

#define DEFAULT_FLUSH_TIMEOUT_MS 5000u /* TraceConfig.flush_timeout_ms, FlushRequest.timeout_ms */
#define DEFAULT_STOP_TIMEOUT_MS 5000u /* TraceConfig.data_source_stop_timeout_ms */
#define DEFAULT_SNAPSHOT_INTERVAL_MS 10000u /* BuiltinDataSource.snapshot_interval_ms */

/* ---- timeouts of the service ---- */

#define DURATION_START_WAIT_MS 5000u /* then duration_ms begins in any case */
#define ALL_STARTED_TIMEOUT_MS 20000u /* then the service lists sources that have not started */
#define MAX_SLOW_SOURCES 32 /* in one such list */

/* ---- shared memory of a producer (its layout: wire/smb_layout.h) ---- */

#define DEFAULT_SMB_BYTES (256u << 10) /* if neither config nor producer request a valid size */
#define DEFAULT_SMB_PAGE_BYTES 4096u
#define PROBES_SMB_BYTES (2u << 20) /* requested by the producers of this project */
#define PROBES_SMB_PAGE_BYTES (32u << 10)
#define LIMIT_PATCHES_PER_CHUNK 1024 /* in one CommitDataRequest.ChunkToPatch */

/* ---- flags of a flush: initiator and reason ---- */

#define FLUSH_REASON_MASK 0xfu
#define FLUSH_REASON_PERIODIC 0x1u
#define FLUSH_REASON_STOP 0x2u
#define FLUSH_REASON_CLONE 0x3u
#define FLUSH_BY_SERVICE 0x10u
#define FLUSH_BY_CLI 0x20u
#define FLUSH_FOR_BUGREPORT 0x100u

/* ---- replies in a stream ---- */

#define LIMIT_SLICE_BYTES (131072u - 512u) /* one ReadBuffersResponse.Slice */
#define READ_BATCH_BYTES 32768u /* a read batch ends at about this size */

/* ---- a file that the service writes ---- */

#define MIN_ROTATE_BYTES 65536u /* TraceConfig.rotate */
#define MIN_ROTATE_PERIOD_MS 1000u
#define MAX_ROTATE_KEEP 10000u

#define DEFAULT_FILE_WRITE_PERIOD_MS 5000u /* TraceConfig.file_write_period_ms */
#define MIN_FILE_WRITE_PERIOD_MS 100u /* smaller values are raised to this */
#define FILE_AUTO_FLUSH_PERIOD_MS 5000u /* WRITE_FLUSH_AUTO: above it, each write flushes */

/* ---- data sources ---- */

#define DEFAULT_DRAIN_PERIOD_MS 100u /* FtraceConfig.drain_period_ms; also for invalid values */
#define WATERMARK_DRAIN_PERIOD_MS 1000u /* the same, with drain_buffer_percent */
#define MIN_DRAIN_PERIOD_MS 1u
#define LIMIT_DRAIN_PERIOD_MS 60000u
#define PRODUCER_FLUSH_TIMEOUT_MS 1000u /* then a producer acks without the missing sources */

/* ---- command line ---- */

/* Central buffer of a recording without a config: a ring buffer, or, for a trace that is written
 * during the recording, the maximum backlog of the file. */
#define DEFAULT_RECORD_BUFFER_KB 32768u
#define STREAM_WRITE_PERIOD_MS 250u /* of a trace written during the recording */
#define NAMES_BUFFER_NAME "names" /* its second buffer, for names of processes and threads */
#define NAMES_BUFFER_MIN_KB 4096u
#define NAMES_AGAIN_PERIOD_MS 30000u /* its IncrementalStateConfig.clear_period_ms */
#define DEFAULT_FLUSH_PERIOD_MS 30000u /* its TraceConfig.flush_period_ms */
#define CONNECT_TIMEOUT_MS 5000u /* for a service to answer on a new connection */
#define ANSWER_TIMEOUT_MS 30000u /* for an answer of the service to a short request */
#define CLONE_TIMEOUT_MS 600000u /* for an answer after the service may have copied gigabytes */
#define RECORD_GRACE_MS 60000u /* after all timeouts, before a silent service is given up */
