#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The command line itself: help goes to stdout with exit code 0, mistakes to stderr with exit code 2.
. "$(dirname "$0")/../lib.sh"
check() { # NAME EXIT_CODE STDOUT_REGEX STDERR_REGEX ARGS...
  local name=$1 code=$2 out=$3 err=$4 got
  shift 4
  "$SONDA" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
  got=$?
  N=$((N + 1))
  if [ $got = "$code" ] && [[ $(<"$TMP/out") =~ $out ]] && [[ $(<"$TMP/err") =~ $err ]]; then
    echo "ok $N - $name"
  else
    echo "not ok $N - $name"
    { echo "exit code $got"; cat "$TMP/out" "$TMP/err"; } | sed 's/^/#   /'
    BAD=1
  fi
}

check "no verb" 2 '^$' '^usage: sonda VERB'
check "help lists the verbs" 0 'record .*help .*version' '^$' help
check "--help" 0 '^usage: sonda VERB' '^$' --help
check "-h" 0 '^usage: sonda VERB' '^$' -h
check "help of a verb" 0 '^usage: sonda record' '^$' help record
check "--help of a verb" 0 '^usage: sonda record' '^$' record --help
check "help of help" 0 '^sonda help: ' '^$' help help
check "help of trigger" 0 '^usage: sonda trigger' '^$' help trigger
check "trigger without a name" 2 '^$' '^sonda: trigger: NAME is missing.*see sonda help trigger' trigger
check "trigger without a service" 1 '^$' "no tracing service listens on $TMP/none; check the address" trigger --socket "$TMP/none" x
for verb in sessions status snapshot stop attach; do
  case $verb in stop | attach) name=(x) ;; *) name=() ;; esac
  check "help of $verb" 0 "^usage: sonda $verb" '^$' help $verb
  check "$verb without a service" 1 '^$' "no tracing service listens on $TMP/none; check the address" $verb --socket "$TMP/none" "${name[@]}"
  check "$verb with too many words" 2 '^$' "^sonda: $verb: unexpected argument '[ab]'.*see sonda help $verb" $verb a b
  check "$verb with a typing error" 2 '^$' "^sonda: $verb: unknown option --sokcet; did you mean --socket" $verb --sokcet x
done
check "version" 0 '^sonda [0-9]' '^$' version
check "--version" 0 '^sonda [0-9]' '^$' --version
check "a verb with a typing error" 2 '^$' "unknown verb 'recrod'; did you mean record\?" recrod
check "a verb that is none" 2 '^$' "unknown verb 'dance'; see sonda help" dance
check "help of a verb that is none" 2 '^$' "unknown verb 'dance'" help dance
check "an option with a typing error" 2 '^$' 'unknown option --tiem' record --tiem=5 sched
exit $BAD
