#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# The same frames to Perfetto's service and to ours: each connection hears the same, to the field and in the same order.
# Where the two mean to differ is not asked here; docs/internals/service.md tells it. Between a line that starts a timer and the next
# line that has to come before it ends, a busy machine takes a while: those timers have a second or more.
. "$(dirname "$0")/lib.sh"
ANSWERS=$B/tests/interop/service_answers
needs_built "$ANSWERS"

buffer='buffers { size_kb: 64 experimental_mode: TRACE_BUFFER_V2 }'
source="$buffer data_sources { config { name: \"s\" } }"

# What both answer to the lines on stdin (service_answers.c has the words).
alike() { # WHAT
  local family dir
  cat >"$TMP/script"
  for family in perfetto sonda; do
    dir=$(mktemp -d "$TMP/$family.XXXX")
    use_sockets "$dir"
    start_service $family "$dir" && timeout 60 "$ANSWERS" <"$TMP/script" >"$TMP/$family" 2>&1 || echo "exit code $?" >>"$TMP/$family"
    stop_all
  done
  # Both may fail alike.
  diff -U 3 "$TMP/perfetto" "$TMP/sonda" >"$TMP/diff" && ! grep -q '^exit code' "$TMP/sonda" && ! grep -q '^  no ' "$TMP/sonda" && grep -q '^  ' "$TMP/sonda"
  verdict "$1" $? "$TMP/diff"
}

alike "a recording from both sides" <<END
p producer
p register s
c consumer
c ObserveEvents 1=1 1=2
c config $source
p put 1 1 a b
p put 2 1 c
c read
c read
c Flush 1=2000
p ack
c DisableTracing
c DisableTracing
c read
c StartTracing
c FreeBuffers
c FreeBuffers
c config $source
c FreeBuffers
END

# The config: a field of a high number first; a message whose fields have neither the order of their numbers nor numbers that
# each service knows; fields that no service knows, or only one, among them the one in which sondad names the user.
alike "a producer gets the config byte for byte" <<END
p producer exact
p register s start stop
c consumer
c source c23e0161d20600f206008a07091201620a0161a01f05807d07897d0102030405060708a0e209058ae20902080148010a0173
c DisableTracing
c FreeBuffers
c source 0a0173
END

alike "calls without a session, and before there is anything" <<END
c consumer
c DisableTracing
c StartTracing
c FreeBuffers
c read
c GetTraceStats
c Detach 1='k'
c Attach 1='k'
c CloneSession 1=7
c CloneSession 4='no'
c SaveTraceForBugreport 15=1
p producer
p InitializeConnection 3='again'
p NotifyDataSourceStarted 1=5
p NotifyDataSourceStopped 1=5
p UnregisterDataSource 1='none'
p ActivateTriggers 1='none'
p CommitData 3=5
p Sync
END

alike "deferred start, flushes in each state, who answers them" <<END
p producer
p register s
p register t no_flush
q producer
q register s
c consumer
c config $buffer data_sources { config { name: "s" } } data_sources { config { name: "t" } } deferred_start: true
c Flush 1=100
c StartTracing
c StartTracing
c Flush 1=5000 2=0x24
p ack
q ack
c Flush 1=5000
c Flush 1=5000
q ack
p ack
c Flush 1=100
c until Flush
c until Flush
c until Flush
c until Flush
c until Flush
c DisableTracing
c until EnableTracing
c Flush 1=100
END

alike "starts and stops that another producer acknowledges, too late" <<END
p producer
p register s start stop
q producer
c consumer
c ObserveEvents 1=1 1=2
c config $source data_source_stop_timeout_ms: 9000
q NotifyDataSourceStarted 1=1
p NotifyDataSourceStopped 1=1
p NotifyDataSourceStarted 1=1
p NotifyDataSourceStarted 1=1
c DisableTracing
q NotifyDataSourceStopped 1=1
p NotifyDataSourceStopped 1=1
p NotifyDataSourceStopped 1=1
c FreeBuffers
c config $source data_source_stop_timeout_ms: 200
p NotifyDataSourceStarted 1=2
c DisableTracing
c until EnableTracing
c until EnableTracing
END

alike "data sources that come, go and come back" <<END
c consumer
c ObserveEvents 1=1
c config $source
p producer
p register s
p register s
p UnregisterDataSource 1='s'
p register s
p close
q producer
q register s
c DisableTracing
q UnregisterDataSource 1='s'
q register s
END

alike "filters by producer, and their change" <<END
p producer
p register s
q producer
q register s
c consumer
c config $buffer data_sources { config { name: "s" } producer_name_filter: "p" }
c change $buffer data_sources { config { name: "s" } producer_name_regex_filter: "[pq]" }
c change $buffer data_sources { config { name: "s" } producer_name_filter: "q" }
c change $buffer data_sources { config { name: "other" } }
c DisableTracing
END

alike "detached, attached, freed" <<END
p producer
p register s
c consumer
c config $source
c Detach 1=''
c Detach 1='k'
c Detach 1='k'
c GetTraceStats
p put 1 1 a
d consumer
d Attach 1='other'
d Attach 1='k'
d Attach 1='k'
d EnableTracing 2=1
d read
d DisableTracing
d FreeBuffers
e consumer
e config $source
f consumer
f config $source
e Detach 1='same'
f Detach 1='same'
e close
f close
END

alike "a duration ends, an empty flush with it" <<END
c consumer
c config $buffer duration_ms: 150
c until EnableTracing
c read
END

alike "clones: what is in them, whose they are" <<END
p producer
p register s
c consumer
c config $source unique_session_name: "u"
p put 1 1 a
d consumer
d CloneSession 1=1
p ack
d read
d read
d DisableTracing
d StartTracing
d config $source
d FreeBuffers
p put 1 1 b
c read
p put 1 1 c
d CloneSession 4='u'
p ack
d read
e consumer
e CloneSession 1=3
e config $buffer unique_session_name: "u"
c FreeBuffers
END

alike "buffers that go over to a clone, or are emptied for it" <<END
p producer
p register s
p register t
c consumer
c config buffers { size_kb: 64 transfer_on_clone: true } buffers { size_kb: 64 clear_before_clone: true } \
data_sources { config { name: "s" } } data_sources { config { name: "t" target_buffer: 1 } } flush_timeout_ms: 1500
p put 1 1 gone
p put 2 2 cleared
d consumer
d CloneSession 1=1
p put 1 1 too
p put 2 2 kept
d until CloneSession
d read
p put 1 1 later
p put 2 2 later
c read
END

trigger() { # MODE TIMEOUT DELAY
  echo "trigger_config { trigger_mode: $1 trigger_timeout_ms: $2 triggers { name: \"t\" stop_delay_ms: $3 } }"
}
alike "a trigger that starts" <<END
p producer
p register s
c consumer
c config $source $(trigger START_TRACING 9000 1000)
c read
p ActivateTriggers 1='other'
p ActivateTriggers 1='t'
p put 1 1 a
p until GetAsyncCommand
p until GetAsyncCommand
p until GetAsyncCommand
p until GetAsyncCommand
p ack
c until EnableTracing
c read
p ActivateTriggers 1='t'
END

alike "a trigger that stops, one that does not come" <<END
p producer
p register s
c consumer
c config $source $(trigger STOP_TRACING 9000 1000)
p put 1 1 a
c read
p ActivateTriggers 1='t'
p until GetAsyncCommand
p until GetAsyncCommand
p until GetAsyncCommand
p until GetAsyncCommand
p ack
c until EnableTracing
c read
c FreeBuffers
c config $source $(trigger STOP_TRACING 1500 0) flush_timeout_ms: 1500
p put 1 2 b
p until GetAsyncCommand
p until GetAsyncCommand
p until GetAsyncCommand
p until GetAsyncCommand
p ack
c until EnableTracing
c read
END

alike "a trigger that asks for a clone" <<END
p producer
p register s
c consumer
c ObserveEvents 1=4
c config $source $(trigger CLONE_SNAPSHOT 9000 0)
p put 1 1 a
p ActivateTriggers 1='t'
p ActivateTriggers 1='other'
d consumer
d CloneSession 1=1 5='t' 6='p'
p ack
d read
c read
END

alike "triggers that are not for everybody, nor for ever" <<END
p producer
p register s
q producer
c consumer
c ObserveEvents 1=4
c config $source trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 9000 \
triggers { name: "p_only" producer_name_regex: "p" } triggers { name: "never" skip_probability: 1 } \
triggers { name: "once" max_per_24_h: 1 } }
q ActivateTriggers 1='p_only'
q ActivateTriggers 1='never'
q ActivateTriggers 1='once'
p ActivateTriggers 1='once'
p ActivateTriggers 1='never'
c FreeBuffers
c config $source trigger_config { trigger_mode: STOP_TRACING use_clone_snapshot_if_available: true trigger_timeout_ms: 9000 \
triggers { name: "once" max_per_24_h: 1 } triggers { name: "twice" max_per_24_h: 2 } }
p ActivateTriggers 1='once'
p ActivateTriggers 1='twice'
c DisableTracing
c until EnableTracing
END

sized() { # PRODUCER FIELDS: a producer and a session with a producers { } for it
  echo "$1 producer
$1 register s
c config $source producers { producer_name: \"$1\" $2 }
c FreeBuffers
$1 UnregisterDataSource 1='s'"
}
sizes() {
  echo "c consumer"
  sized a "shm_size_kb: 512 page_size_kb: 16"
  sized b "shm_size_kb: 12 page_size_kb: 8"
  sized d "page_size_kb: 64"
  sized e "shm_size_kb: 40000"
  sized f "page_size_kb: 12"
  sized g "shm_size_kb: 4 } producers { producer_name: \"g\" shm_size_kb: 8"
  sized h "shm_size_kb: 4 } producers { producer_name: \"x\" shm_size_kb: 8"
}
alike "the memory that a config asks for" < <(sizes)

alike "names, semaphores, exclusive sessions" <<END
a consumer
b consumer
c consumer
a config $buffer unique_session_name: "n"
b config $buffer unique_session_name: "n"
a DisableTracing
b config $buffer unique_session_name: "n"
a FreeBuffers
b config $buffer session_semaphores { name: "s" max_other_session_count: 1 }
a config $buffer session_semaphores { name: "s" max_other_session_count: 5 }
c config $buffer session_semaphores { name: "s" max_other_session_count: 5 }
c config $buffer exclusive_prio: 2
d consumer
d config $buffer
d config $buffer exclusive_prio: 2
d config $buffer exclusive_prio: 3
END

alike "as many sessions as a user may have" <<END
a consumer
b consumer
c consumer
d consumer
e consumer
f consumer
a config $buffer
b config $buffer
c config $buffer
d config $buffer
e config $buffer
f config $buffer
a FreeBuffers
f config $buffer
END

alike "who hangs up" <<END
p producer
p register s
c consumer
c config $source
p put 1 1 a
c close
p put 1 1 late
d consumer
d config $source
p put 2 2 b
p close
d read
d DisableTracing
d until EnableTracing
END

# Each by a consumer that goes on with the next one; what is refused is reported at once.
configs() {
  echo "c consumer"
  while read -r config; do printf 'c config %s\nc FreeBuffers\n' "$config"; done <<END
buffers {}
buffers { size_kb: 4194304 }
buffers { size_kb: 4 } duration_ms: 604800000
buffers { size_kb: 4 } duration_ms: 604800001
data_sources { config { name: "s" } }
buffers { size_kb: 4 } data_sources { config { name: "s" target_buffer: 1 } }
buffers { size_kb: 4 name: "a" } buffers { size_kb: 4 name: "a" }
buffers { size_kb: 4 name: "a" } buffers { size_kb: 4 name: "b" } data_sources { config { name: "s" target_buffer_name: "b" } }
buffers { size_kb: 4 name: "a" } data_sources { config { name: "s" target_buffer_name: "c" } }
buffers { size_kb: 4 name: "a" } buffers { size_kb: 4 name: "b" } data_sources { config { name: "s" target_buffer_name: "a" target_buffer: 1 } }
buffers { size_kb: 4 } bugreport_filename: "a/b"
buffers { size_kb: 4 } bugreport_filename: "a-b_C.9"
buffers { size_kb: 4 } $(trigger STOP_TRACING 0 1)
buffers { size_kb: 4 } $(trigger STOP_TRACING 604800001 1)
buffers { size_kb: 4 } $(trigger STOP_TRACING 1000 1) duration_ms: 5
buffers { size_kb: 4 } $(trigger CLONE_SNAPSHOT 1000 1) write_into_file: true output_path: "/nowhere/at/all"
buffers { size_kb: 4 } trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 9 triggers { name: "t" } triggers { name: "t" } }
buffers { size_kb: 4 } trigger_config { trigger_mode: START_TRACING use_clone_snapshot_if_available: true trigger_timeout_ms: 9 triggers { name: "t" } }
buffers { size_kb: 4 } write_into_file: true
buffers { size_kb: 4 } write_into_file: true output_path: "/nowhere/at/all"
buffers { size_kb: 4 } write_into_file: true output_path: "/etc/passwd"
buffers { size_kb: 4 } priority_boost {}
buffers { size_kb: 4 } priority_boost { policy: POLICY_SCHED_FIFO priority: 100 }
buffers { size_kb: 4 } trace_filter {}
buffers { size_kb: 4 } trace_filter { bytecode: "abc" }
enable_extra_guardrails: true buffers { size_kb: 4 } duration_ms: 86400001
enable_extra_guardrails: true buffers { size_kb: 63 }
enable_extra_guardrails: true buffers { size_kb: 131076 }
enable_extra_guardrails: true buffers { size_kb: 4 } deferred_start: true
enable_extra_guardrails: true buffers { size_kb: 131076 } guardrail_overrides { max_tracing_buffer_size_kb: 131076 }
enable_extra_guardrails: true buffers { size_kb: 4 }
enable_extra_guardrails: true buffers { size_kb: 4 } unique_session_name: "other"
buffers { size_kb: 4 } notify_traceur: true statsd_metadata { triggering_alert_id: 1 } incident_report_config { destination_package: "a" } statsd_logging: STATSD_LOGGING_ENABLED bugreport_score: 3 activate_triggers: "x" trace_attributes { attribute { key: "a" long_value: 3 } }
END
}
alike "which configs are refused" < <(configs)

echo "1..$N"
exit $BAD
