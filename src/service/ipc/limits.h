/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits of the service. Limits that clients need as well are in config/limits.h. A limit of one
 * object names that object. All other limits MAX_X apply to all users together; one user may have a
 * quarter of them (quota.h). docs/reference/security.md lists them.
 */

/* Limits of memory are lower if the machine or the control group has little memory: see quota.c. */

/* ---- connections; a further one is accepted and closed ---- */

#define MAX_PRODUCER_CONNECTIONS 4096
#define MAX_REMOTE_PRODUCER_CONNECTIONS 512 /* of these, on TCP and vsock, with relays */
#define MAX_PRODUCER_CONNECTIONS_PER_ADDRESS 128
#define MAX_CONSUMER_CONNECTIONS 256
/* Descriptors of the process that are reserved for uses other than connections. */
#define OTHER_DESCRIPTORS 1024u

/* Descriptors of a user that wait to be closed (base/system/background_close.h). Above the limit, a
 * connection of the user ends when it sends another descriptor, and new connections are refused. */
#define MAX_CLOSING 2048u

/* Queued bytes for a peer that does not read; above it the connection is closed. A producer
 * receives each config twice; a consumer the list of all data sources (MAX_DESCRIPTOR_BYTES_ALL)
 * and at most one batch of its trace. */
#define PRODUCER_SEND_LIMIT (4u << 20)
#define CONSUMER_SEND_LIMIT (48u << 20)
/* Bytes of incomplete frames and queued replies of all connections. A connection that would exceed
 * the limit is closed. */
#define MAX_CONN_BYTES (512ull << 20)
/* While more is queued for a consumer, its requests are not read. Requests of producers are always
 * read: a producer that is sending may not be reading commands, and both sides would wait for each
 * other. */
#define CONSUMER_HOLD_LIMIT (256u << 10)

/* ---- a producer ---- */

#define MAX_NAME_BYTES 1024 /* of a producer, a data source, an SDK version */
#define MAX_SOURCES_PER_PRODUCER 512 /* registered data sources */
#define MAX_DESCRIPTOR_BYTES (128u << 10) /* of one data source: the limit of a frame */
#define MAX_DESCRIPTOR_BYTES_PER_PRODUCER (512u << 10)
#define MAX_DESCRIPTOR_BYTES_ALL (32u << 20)
/* Shared memory of producers; above it a producer gets DEFAULT_SMB_BYTES. All memory of a user may
 * be scraped in one iteration of the loop. */
#define MAX_SMB_BYTES (1ull << 30)
/* Registered writers: the sum of the highest id of each producer, rounded up to a power of 2. */
#define MAX_WRITERS (4u << 20)

/* ---- other machines ---- */

#define MAX_MACHINES 64 /* reported by relays; remote_machines.h: which one is replaced */
#define MAX_MACHINES_PER_ADDRESS (MAX_MACHINES / 4)
#define MAX_SYSTEM_INFO_BYTES (16u << 10) /* of InitRelay; one that is larger is rejected */
#define MAX_SYNC_CLOCKS 16 /* in one SyncClock; one with more is rejected */

/* ---- a session ---- */

#define MAX_CONFIG_BYTES (8u << 20) /* of one config, decoded */
#define MAX_CONFIG_BYTES_ALL (192u << 20)
#define MAX_CONFIG_SOURCES 1024u /* data_sources of a config */

#define MAX_SESSIONS                                                                               \
	(LIMIT_SESSIONS / 3 * 4) /* LIMIT_SESSIONS for all users other than root      \
					       */
#define MAX_BUFFERS 4096
#define MAX_INSTANCES 4096 /* data source instances of one session */
/* Steps of work to set up the data sources of a session, and to offer a data source that is
 * registered later to one session. Data sources that need more are left out. A step is one step of
 * a regular expression, about 10 ns. */
#define MAX_SETUP_STEPS (4u << 20)
#define MAX_OFFER_STEPS (512u << 10)
/* Writers of a session; packets of further ones are dropped. */
#define MAX_SEQUENCES (1u << 20)
#define MAX_SOURCE_CONFIG_BYTES (127u << 10) /* of one data source; its copy must fit a frame */

/* Minimum period of flushes, of clearing of incremental state and of clock snapshots in the config
 * of a consumer that is not root. Shorter periods are raised to it. */
#define MIN_PERIOD_MS 100u

/* ---- reading ---- */

/* Fragments and chunks that one read batch examines, whether they yield packets or not. A batch of
 * small packets ends earlier. */
#define READ_PASS_STEPS 8192u
/* Fields at the top level of a packet; one with more is dropped. TracePacket has no repeated
 * field. */
#define MAX_PACKET_FIELDS (1u << 16)
/* A larger packet is copied, and sent in pieces of this size. */
#define LARGE_PACKET_BYTES (1u << 20)

/* ---- triggers ---- */

#define MAX_TRIGGERS 256u /* of a config */
#define MAX_TRIGGER_NAMES 256u /* in one ActivateTriggers; one with more is rejected */
/* Steps of regular expressions for one ActivateTriggers. Triggers that need more are ignored. */
#define MAX_TRIGGER_STEPS (1u << 20)
#define MAX_RECEIVED_TRIGGERS 1024u /* of a session, not yet written; the oldest is dropped */
#define MAX_DUE_TRIGGERS 64u /* of a session: clones that wait for their delay */
/* Activations that are remembered for 24 hours: of one trigger name, and of all names. A
 * max_per_24_h above MAX_TRIGGER_HITS_PER_NAME is no limit. */
#define MAX_TRIGGER_HITS_PER_NAME 2048u
#define MAX_TRIGGER_HITS 16384u

/* ---- relations between sessions ---- */

#define MAX_SEMAPHORES 64u /* session_semaphores of a config */
#define MAX_CONCURRENT_EVENTS 4096u /* of a session, not yet written; further ones are dropped */

/* ---- clones ---- */

#define MAX_CLONES 128u /* cloned sessions, and those that are being made */
/* Memory that is prepared for a clone in a turn of the loop: one huge page, in about 0.3 ms. */
#define CLONE_PART_BYTES (2u << 20)

/* ---- a file that the service writes ---- */

#define FILE_BATCH_BYTES (256u << 10) /* read and written in about one loop iteration */
#define FILE_FILL_BYTES (256u << 10) /* new in a buffer: written before the period ends */
#define MAX_FILE_PARTS 8 /* open at a time in a rotation: the newest and those not ended */
#define MAX_FILE_COPIES 8 /* clones that wait for the writer of a file; further ones are refused */
#define FILE_TAIL_BYTES                                                                            \
	(16u << 10) /* of a rotated file: kept free for the statistics at its end  \
				     */
/* Timeouts of the shutdown: it waits for sessions to end and for consumers to read them. */
#define SHUTDOWN_READER_MS 3000 /* if nothing is read */
#define SHUTDOWN_SESSION_MS 15000 /* if a session that has not ended makes no progress */
#define SHUTDOWN_MS 60000 /* in total */
#define FILE_STALL_MS 10000 /* an ended session waits this long for a file that accepts nothing */
#define FILE_SYNC_MS 60000 /* an ended session waits this long for fdatasync(2) */
/* Threads that write: one for each session with a file, and for each file that hangs. */
#define MAX_WRITE_THREADS 64
#define MAX_WRITE_THREADS_OF_USERS (MAX_WRITE_THREADS / 4 * 3) /* other than root */

/* ---- a regular expression of a config ---- */

#define MAX_REGEX_FILTERS 64 /* of all data sources of a config */

/* ---- a trace filter ---- */

#define MAX_FILTER_WORDS (1u << 17) /* varints of bytecode and of overlay; a frame has fewer */
#define MAX_FILTER_RULES 128u /* for strings */
#define MAX_FILTER_DEPTH 512u /* levels of nested messages; a deeper packet is dropped */
/* Steps of regular expressions for one packet; a packet that needs more is dropped. So is one with
 * more fields. */
#define MAX_FILTER_STEPS (4u << 20)
#define MAX_FILTER_FIELDS (4u << 20)
