#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The rules for Prometheus and the dashboard for Grafana: they are valid, and name metrics that sonda metrics has.
. "$(dirname "$0")/../lib.sh"
needs_commands /usr/bin/python3
if command -v promtool >/dev/null; then
  check "promtool finds nothing wrong with the rules" promtool check rules share/sonda/prometheus/sonda.rules.yml
else
  skip "promtool finds nothing wrong with the rules" "promtool (package prometheus) is not installed"
fi
check "the dashboard is JSON" python3 -m json.tool share/sonda/grafana/sonda.json "$TMP/json"

sed -n 's/^.*X([A-Z_]*, "\(sonda_[a-z_]*\)", \([A-Z]*\),.*/\1 \2/p' src/analyze/metrics/metrics_list.h |
  awk '{ print $2 == "HISTOGRAM" ? $1 "_bucket\n" $1 "_sum\n" $1 "_count" : $1 }' | sort -u >"$TMP/known"
[ "$(wc -l <"$TMP/known")" -gt 40 ]
verdict "the list of metrics was read" $? "$TMP/known"
for file in share/sonda/prometheus/sonda.rules.yml share/sonda/grafana/sonda.json; do
  no_offenders "$file names metrics that exist" \
    "$(grep -oE '(^|[^a-z_:])sonda_[a-z_]+' "$file" | grep -oE 'sonda_[a-z_]+' | sort -u | comm -23 - "$TMP/known")"
done
no_offenders "the manual has all metrics" "$(sed -E 's/_(bucket|sum|count)$//' "$TMP/known" | sort -u |
  while read -r name; do grep -q "$name" docs/reference/metrics.md || echo "$name"; done)"
exit $BAD
