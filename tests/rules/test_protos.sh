#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# protos/ is valid as it is, without the options that the build adds, and keeps the plain layout that the generators
# in tools/ read: as many numbers come out of them as protoc sees fields.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$tmp"' EXIT

bad=0
# shellcheck disable=SC2046
if protoc -Iprotos -o "$tmp/all.desc" $(cd protos && find . -name '*.proto' | sed 's,^\./,,' | sort); then
  echo "ok 1 - protoc accepts protos/"
else
  echo "not ok 1 - protoc accepts protos/"
  bad=1
fi

fields=$(grep -hE '^ *(optional|repeated|required) [A-Za-z0-9_.]+ [a-zA-Z0-9_]+ = [0-9]+' -r protos | wc -l)
# Members of a oneof carry no label.
oneof=$(awk 'FNR == 1 { d = 0 } { sub(/\/\/.*/, "") } / oneof .*{/ { in_oneof = 1; next }
  in_oneof && /}/ { in_oneof = 0; next } in_oneof && / = [0-9]+/ { n++ } END { print n + 0 }' $(find protos -name '*.proto'))
numbers=$(grep -c '^	PB_' "$BUILD/gen/fields.h")
if [ "$numbers" = $((fields + oneof)) ]; then
  echo "ok 2 - gen/fields.h has a number for each of $numbers fields"
else
  echo "not ok 2 - gen/fields.h has $numbers numbers for $((fields + oneof)) fields"
  bad=1
fi
exit $bad
