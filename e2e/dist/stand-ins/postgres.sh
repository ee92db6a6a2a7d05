#!/bin/bash
# Creates the database on the first start, as the image `postgres` documents it: POSTGRES_PASSWORD, POSTGRES_DB, and the files of
# /docker-entrypoint-initdb.d in the order of their names, while the server listens on a Unix socket only.
set -Eeuo pipefail
if [ "$(id -u)" = 0 ]; then
    install -d -o postgres -g postgres -m 700 "$PGDATA"
    install -d -o postgres -g postgres /var/run/postgresql
    exec setpriv --reuid=postgres --regid=postgres --init-groups bash "$0" "$@"
fi
export POSTGRES_USER="${POSTGRES_USER:-postgres}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") --auth-host=scram-sha-256 --auth-local=trust > /dev/null
    printf 'host all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
    pg_ctl --wait --options="-c listen_addresses=''" start > /dev/null
    createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
    for file in /docker-entrypoint-initdb.d/*; do
        case $file in
            *.sql) psql --set=ON_ERROR_STOP=1 --no-psqlrc --quiet --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --file="$file" ;;
            *.sh) if [ -x "$file" ]; then "$file"; else . "$file"; fi ;;
        esac
    done
    pg_ctl --mode=fast --wait stop > /dev/null
fi
exec "$@" -c listen_addresses='*'
