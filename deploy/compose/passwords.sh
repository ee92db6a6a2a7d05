#!/bin/sh
# Sets the passwords of the roles when the database's container creates the database.
set -eu
for role in migrate serve read; do
    name=$(printf 'RDS_%s_PASSWORD' "$role" | tr '[:lower:]' '[:upper:]')
    # psql quotes the value; it is not in the process list.
    psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --quiet --set ON_ERROR_STOP=1 <<SQL
\\getenv password $name
ALTER ROLE rds_$role PASSWORD :'password';
SQL
done
