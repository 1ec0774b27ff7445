#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
#
# sonda mcp over standard input and output: the protocol, hostile lines and arguments, files outside its directories, pages; and
# questions about planted recordings that its tools alone answer (mcp_client.py).
. "$(dirname "$0")/../lib.sh"
needs_commands protoc python3
export LC_ALL=C XDG_CONFIG_HOME=$TMP/config
T=$TMP/traces
mkdir -p "$T/planted" "$TMP/outside"
python3 tests/system/report_trace.py "$B/gen/fields.h" "$T/app.pf" || exit 1
python3 tests/system/findings_trace.py "$T/planted" || exit 1
for f in "$T"/planted/*.above; do
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$f" >"${f%.above}.pf" || exit 1
done
rm -f "$T"/planted/*.above "$T"/planted/*.below "$T"/planted/*.waits "$T"/planted/*.build
cp tests/data/traces/ring_losses.pftrace tests/data/traces/kernel_6.1.pftrace "$T"
mkdir "$T/load" && python3 tests/system/diff_traces.py "$T/load" || exit 1
for f in "$T"/load/[ab]*.txtpb; do
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$f" >"${f%.txtpb}.pf" || exit 1
done
rm -f "$T"/load/*.txtpb "$T"/load/*.json
cp "$T/app.pf" "$TMP/outside/secret.pf"
ln -s ../outside/secret.pf "$T/link.pf"
ln -s ../outside "$T/dir_link"
mkfifo "$T/pipe.pf"
echo text >"$T/text.pf"
verdicts_of python3 tests/system/mcp_client.py "$SONDA" "$T" "$TMP/outside"
no_offenders "no file was made outside" "$(find "$TMP/outside" -type f ! -name secret.pf)"

"$SONDA" mcp >"$TMP/got" 2>&1
[ $? = 2 ] && grep -q 'DIR is missing' "$TMP/got"
verdict "without a directory it does not start" $? "$TMP/got"
"$SONDA" mcp /nosuch </dev/null >"$TMP/got" 2>&1
[ $? = 1 ] && grep -q 'cannot open the directory /nosuch' "$TMP/got"
verdict "a directory that is not there" $? "$TMP/got"
exit $BAD
