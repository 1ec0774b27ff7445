#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/kernels/guest.sh TEST...
#
# In a guest of boot.sh: runs tests one after the other, and says all of what they said, each line with the test's name
# in place of its number. What a test needs more than this file has, boot.sh's init gives.
set -u
cd "$(dirname "$0")/../.." || exit 2

for t; do
  name=${t##*/test_}
  name=${name%.sh}
  began=$SECONDS
  timeout --kill-after=10 "${TEST_TIMEOUT:-180}" "$t" >/tmp/tap 2>/tmp/err </dev/null
  status=$?
  if [ $status = 77 ] && ! grep -q '^ok ' /tmp/tap; then
    echo "ok - $name # SKIP $(tail -n 1 /tmp/err)"
  else
    sed -nE "s/^((not )?ok) [0-9]+ *-? */\1 - $name: /p; /^#/p" /tmp/tap
    if ! grep -qE '^(not )?ok ' /tmp/tap || { [ $status != 0 ] && ! grep -q '^not ok ' /tmp/tap; }; then
      echo "not ok - $name: it ends well (exit code $status)"
      grep -vE '^ok ' /tmp/tap | tail -n 20 | sed 's/^/#   /'
      tail -n 20 /tmp/err | sed 's/^/#   /'
    fi
  fi
  echo "# $name took $((SECONDS - began)) s of the guest's time"
done
