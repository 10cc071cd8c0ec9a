#!/bin/sh
# Creates Temporal's two databases and upgrades them to this image's version. Each step is skipped
# if it is already done, so every start may run it.
set -eu
for store in temporal visibility; do
  database=temporal
  if [ "$store" = visibility ]; then database=temporal_visibility; fi
  tool() { temporal-sql-tool --plugin "$SQL_PLUGIN" --ep "$SQL_HOST" -p "$SQL_PORT" -u "$SQL_USER" --db "$database" "$@"; } # SQL_PASSWORD is read from the environment
  tool create
  tool setup-schema -v 0.0
  tool update-schema --schema-name "postgresql/v12/$store"
done
