#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# query() of lib.sh: no test reads the answer to another question, also when trace_processor is too slow.
. "$(dirname "$0")/lib.sh"
trace=tests/data/traces/ring_losses.pftrace

[ "$(query $trace "select 1 as a")" = '[{"a":1}]' ]
verdict "a question is answered" $?
query $trace "select 2 as a" | head -c 1 >/dev/null
[ "$(query $trace "select 3 as a")" = '[{"a":3}]' ]
verdict "an answer that is not read whole is not that of the next question" $?
[[ "$(query $trace "select nothing")" = 'error '* ]]
verdict "a statement that fails is an error" $?
kill -STOP "$TPQ"
late=$(ANSWER_SECONDS=0.1 query tests/data/traces/generic_events.pftrace "select 4 as a")
kill -CONT "$TPQ"
[[ "$late" = "trace_processor does not answer"* ]] && [[ "$(query $trace "select 5 as a")" != *'"a":4'* ]]
verdict "an answer that comes too late is discarded" $?
echo "1..$N"
exit $BAD
