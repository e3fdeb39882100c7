#!/bin/sh
# Installs what `npm run bench -- --sql` needs beside npm's packages, from Debian: PostgreSQL, wrk, and perf for the
# instructions by thread. Run it as root; the bench itself installs nothing.
set -eu
export DEBIAN_FRONTEND=noninteractive
# The package makes no cluster of its own: the bench starts one in a temporary folder for each run.
mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.d/pixstate-bench.conf
apt-get update
apt-get install -y --no-install-recommends postgresql wrk
# It is not in every image's sources, and the bench does without it.
apt-get install -y --no-install-recommends linux-perf || echo 'no linux-perf: instructions will not be measured' >&2
